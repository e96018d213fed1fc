//! One gradient step on the TD error of a minibatch.

use fedrl_models::minibatch::{Minibatch, Single};

use super::adam::Adam;
use super::network::QNetwork;
use super::replay::Remembered;
use super::state::Learner;

/// Which columns are updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The last layer.
    Head,
    /// Everything else.
    Body,
    /// Both.
    All,
}

/// Memory that an agent's updates and actions need for the time being.
pub(super) struct Workspace {
    online: Minibatch,
    target: Minibatch,
    gradient: Vec<f32>,
    /// max Q⁻(s′, ·) of every transition.
    best: Vec<f32>,
    /// Places of the minibatch in the replay memory.
    pub(super) places: Vec<usize>,
    /// What the agent sees.
    pub(super) observation: Vec<f32>,
    /// What it sees after its step.
    pub(super) next: Vec<f32>,
    /// The network for one observation.
    pub(super) greedy: Single,
}

/// What an update came to.
pub(super) struct Done {
    /// Mean squared TD error before it.
    pub(super) loss: f64,
    /// Euclidean norm of its gradient.
    pub(super) gradient_norm: f64,
}

impl Workspace {
    pub(super) fn new(network: &QNetwork, batch: usize) -> Self {
        let seen = vec![0.0; network.observation()];
        Workspace {
            online: Minibatch::new(&network.network, batch),
            target: Minibatch::new(&network.network, batch),
            gradient: vec![0.0; network.columns()],
            best: vec![0.0; batch],
            places: vec![0; batch],
            observation: seen.clone(),
            next: seen,
            greedy: Single::new(&network.network),
        }
    }

    /// One step of Adam on ‖Q(s, a) − (r + γ max Q⁻(s′, ·))‖² / B over the transitions in `places`, of the
    /// columns of `part` alone. Nothing follows a terminated transition; a truncated one is bootstrapped from.
    pub(super) fn update(
        &mut self,
        network: &QNetwork,
        learner: &mut Learner,
        part: Part,
        discount: f32,
        step_size: f64,
    ) -> Done {
        self.recall(network, learner);
        self.online.forward(learner.theta);
        self.target.forward(learner.target);
        let loss = self.errors(network.actions(), learner, discount);

        let last = network.network.layers().len() - 1;
        let wanted = match part {
            Part::Head => last..last + 1,
            Part::Body => 0..last,
            Part::All => 0..last + 1,
        };
        self.online.backward(learner.theta, wanted, &mut self.gradient);
        let mut parts = Vec::with_capacity(3);
        if part != Part::Head {
            learner.counts.body_steps += 1;
            network.embed_gradient(learner.theta, &mut self.gradient);
            parts.extend([(network.body(), learner.counts.body_steps), (network.embedded(), learner.counts.body_steps)]);
        }
        if part != Part::Body {
            learner.counts.head_steps += 1;
            parts.push((network.head(), learner.counts.head_steps));
        }
        let mut square = 0.0;
        for (columns, count) in parts {
            let gradient = &self.gradient[columns.clone()];
            let theta = &mut learner.theta[columns.clone()];
            let (first, second) = (&mut learner.first[columns.clone()], &mut learner.second[columns]);
            square += Adam { theta, first, second, gradient }.step(count, step_size);
        }
        Done { loss, gradient_norm: square.sqrt() }
    }

    /// Writes the transitions in `places` into the networks' inputs, s and s′.
    fn recall(&mut self, network: &QNetwork, learner: &Learner) {
        let (ours, theirs) = (&learner.theta[network.embedded()], &learner.target[network.embedded()]);
        for (sample, &place) in self.places.iter().enumerate() {
            let Remembered { observation, next, .. } = learner.replay.get(place);
            self.online.set_input(sample, observation.iter().chain(ours).copied());
            self.target.set_input(sample, next.iter().chain(theirs).copied());
        }
    }

    /// δ = Q(s, a) − (r + γ max Q⁻(s′, ·)) of every transition: writes dL/dQ = 2δ/B where a was chosen, else 0,
    /// and returns the mean of δ².
    fn errors(&mut self, actions: usize, learner: &Learner, discount: f32) -> f64 {
        self.best.copy_from_slice(self.target.output(0));
        for action in 0..actions {
            self.online.slope_mut(action).fill(0.0);
            let values = self.target.output(action);
            self.best.iter_mut().zip(values).for_each(|(best, &value)| *best = best.max(value));
        }
        let batch = self.places.len();
        let mut squares = 0.0;
        for (sample, (&place, &best)) in self.places.iter().zip(&self.best).enumerate() {
            let Remembered { action, reward, terminated, .. } = learner.replay.get(place);
            let future = if terminated { 0.0 } else { discount * best };
            let error = self.online.output(action)[sample] - (reward + future);
            self.online.slope_mut(action)[sample] = 2.0 * error / batch as f32;
            squares += f64::from(error).powi(2);
        }
        squares / batch as f64
    }
}
