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
            parts
                .extend([(network.body(), learner.counts.body_steps), (network.embedded(), learner.counts.body_steps)]);
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

#[cfg(test)]
mod tests {
    use super::super::replay::Replay;
    use super::super::state::Counts;
    use super::super::strategy::Strategy;
    use super::*;
    use fedrl_core::Space;
    use fedrl_models::{Activation, Policy, PolicyConfig};

    /// A 1-1-2 network with ReLU, θ = [w, b | u_0, u_1, c_0, c_1], and an agent that remembers two transitions.
    struct Small {
        network: QNetwork,
        theta: Vec<f32>,
        target: Vec<f32>,
        first: Vec<f32>,
        second: Vec<f32>,
        replay: Vec<f32>,
    }

    fn small() -> Small {
        let config = PolicyConfig { hidden: vec![1], activation: Activation::Relu, ..PolicyConfig::default() };
        let observation = Space::Box { low: vec![-1.0], high: vec![1.0] };
        let policy = Policy::new(&config, &observation, &Space::Discrete { n: 2 }).unwrap();
        let mut replay = vec![0.0; 2 * Replay::width(1)];
        let mut ring = Replay::new(&mut replay, 1);
        let first = Remembered { observation: &[1.0], next: &[2.0], action: 0, reward: 1.0, terminated: false };
        let second = Remembered { observation: &[2.0], next: &[1.0], action: 1, reward: -1.0, terminated: true };
        ring.store(0, first);
        ring.store(1, second);
        Small {
            network: QNetwork::new(&policy, Strategy::PFEDDQN_REP, 1),
            theta: vec![2.0, 1.0, 0.5, -1.0, 0.25, 0.0],
            target: vec![1.0, 0.0, 1.0, 2.0, 0.0, 0.5],
            first: vec![0.0; 6],
            second: vec![0.0; 6],
            replay,
        }
    }

    impl Small {
        /// An update of `part` from both transitions; the gradient that it took.
        fn update(&mut self, part: Part) -> (Vec<f32>, Done) {
            let (mut counts, mut episode_return) = (Counts::default(), 0.0);
            let mut learner = Learner {
                theta: &mut self.theta,
                target: &mut self.target,
                first: &mut self.first,
                second: &mut self.second,
                replay: Replay::new(&mut self.replay, 1),
                state: &mut [],
                episode_return: &mut episode_return,
                counts: &mut counts,
            };
            let mut workspace = Workspace::new(&self.network, 2);
            workspace.places = vec![0, 1];
            let done = workspace.update(&self.network, &mut learner, part, 0.5, 0.1);
            (workspace.gradient, done)
        }
    }

    /// By hand, γ = ½. Hidden values: h(1) = 2 + 1 = 3, h(2) = 5.
    /// Transition 0: Q(1, 0) = 0.5 · 3 + 0.25 = 1.75. Q⁻(2, ·) = (2, 4.5), so the target is 1 + ½ · 4.5 = 3.25 and
    /// δ = −1.5. Transition 1: Q(2, 1) = −5; it ended, so the target is −1 and δ = −4.
    /// Loss (2.25 + 16)/2 = 9.125. With B = 2, dL/dQ = δ: dL/du_0 = −1.5 · 3 = −4.5, dL/du_1 = −4 · 5 = −20,
    /// dL/dc = (−1.5, −4). dL/dh = −1.5 · 0.5 = −0.75 and −4 · −1 = 4: dL/dw = −0.75 · 1 + 4 · 2 = 7.25, dL/db = 3.25.
    /// Adam's first step is α times the sign of the gradient.
    #[test]
    fn an_update_by_hand() {
        let mut small = small();
        let (gradient, done) = small.update(Part::All);
        assert_eq!(gradient, [7.25, 3.25, -4.5, -20.0, -1.5, -4.0]);
        assert_eq!(done.loss, 9.125);
        let norm = (7.25f64.powi(2) + 3.25f64.powi(2) + 4.5f64.powi(2) + 400.0 + 2.25 + 16.0).sqrt();
        assert!((done.gradient_norm - norm).abs() < 1e-6);
        let expected = [1.9, 0.9, 0.6, -0.9, 0.35, 0.1];
        assert!(small.theta.iter().zip(expected).all(|(x, y): (&f32, f32)| (x - y).abs() < 1e-6), "{:?}", small.theta);
    }

    #[test]
    fn an_update_of_one_part_leaves_every_byte_of_the_other() {
        for (part, moved) in [(Part::Head, 2..6), (Part::Body, 0..2)] {
            let (before, mut after) = (small(), small());
            after.update(part);
            for column in 0..6 {
                let same = before.theta[column].to_bits() == after.theta[column].to_bits()
                    && before.first[column].to_bits() == after.first[column].to_bits()
                    && before.second[column].to_bits() == after.second[column].to_bits();
                assert_eq!(same, !moved.contains(&column), "{part:?}, column {column}");
            }
            assert_eq!(before.target, after.target);
            assert_eq!(before.replay, after.replay);
        }
    }
}
