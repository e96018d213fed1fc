//! One agent at deep Q-learning: ε-greedy actions, and gradient steps on the TD errors of minibatches.

use fedrl_core::Real;
use fedrl_core::random::{Block, Key, high_mul};
use fedrl_models::minibatch::{Minibatch, Single};

use super::config::ValueConfig;
use super::network::QNetwork;
use super::visits::{region, regions};
use crate::value::method::{Done, Part, Worker};
use crate::value::replay::Remembered;
use crate::value::state::Learner;

/// An agent's network at work.
pub(super) struct QWorker<'a> {
    network: &'a QNetwork,
    config: &'a ValueConfig,
    online: Minibatch,
    target: Minibatch,
    gradient: Vec<f32>,
    /// max Q⁻(s′, ·) of every transition.
    best: Vec<f32>,
    /// The network for one observation.
    greedy: Single,
    /// Visits to every region, where they weigh.
    visits: Vec<u32>,
}

impl<'a> QWorker<'a> {
    pub(super) fn new(network: &'a QNetwork, config: &'a ValueConfig, counts_visits: bool) -> Self {
        let visits = if counts_visits { regions(network.observation(), network.actions()) } else { 0 };
        QWorker {
            network,
            config,
            online: Minibatch::new(&network.network, config.batch),
            target: Minibatch::new(&network.network, config.batch),
            gradient: vec![0.0; network.columns()],
            best: vec![0.0; config.batch],
            greedy: Single::new(&network.network),
            visits: vec![0; visits],
        }
    }
}

impl Worker for QWorker<'_> {
    /// Line 5 of 004 Alg. 4: Q⁻ ← Q if T_target divides t.
    fn begin(&mut self, t: u32, learner: &mut Learner) {
        if t.is_multiple_of(self.config.target_period) {
            learner.target.copy_from_slice(learner.theta);
        }
    }

    /// ε-greedily.
    fn act(&mut self, learner: &Learner, observation: &[f32], key: Key, action: &mut [f32]) {
        let Block { a, b, .. } = key.block([learner.counts.steps, 0, 0, 0]);
        let chosen = if f64::from(f32::unit(a)) < self.config.exploration {
            high_mul(b, self.network.actions() as u32) as usize
        } else {
            let embedding = &learner.theta[self.network.embedded()];
            most(self.greedy.forward(learner.theta, observation.iter().chain(embedding).copied()))
        };
        if let Some(count) = (!self.visits.is_empty()).then(|| &mut self.visits[region(observation, chosen)]) {
            *count += 1;
        }
        action[0] = chosen as f32;
    }

    /// One step of Adam on ‖Q(s, a) − (r + γ max Q⁻(s′, ·))‖² / B over the transitions in `places`, of the
    /// columns of `part` alone. Nothing follows a terminated transition; a truncated one is bootstrapped from.
    fn learn(&mut self, learner: &mut Learner, part: Part, places: &[usize]) -> Done {
        let network = self.network;
        self.recall(learner, places);
        self.online.forward(learner.theta);
        self.target.forward(learner.target);
        let loss = self.errors(learner, places);

        let layers = network.network.layers().len();
        let wanted = match part {
            Part::Head => layers - 1..layers,
            Part::Body => 0..layers - 1,
            Part::All => 0..layers,
        };
        self.online.backward(learner.theta, wanted, &mut self.gradient);

        learner.count(part);
        let (body_steps, head_steps) = (learner.counts.body_steps, learner.counts.head_steps);
        let step_size = self.config.step_size(learner.counts.episodes);
        let mut square = 0.0;
        if part != Part::Head {
            network.embed_gradient(learner.theta, &mut self.gradient);
            square += learner.step(network.body(), body_steps, &self.gradient, step_size);
            square += learner.step(network.embedded(), body_steps, &self.gradient, step_size);
        }
        if part != Part::Body {
            square += learner.step(network.head(), head_steps, &self.gradient, step_size);
        }
        Done { loss, gradient_norm: square.sqrt(), step_size }
    }

    fn visits(&self) -> &[u32] {
        &self.visits
    }

    fn forget(&mut self) {
        self.visits.fill(0);
    }
}

impl QWorker<'_> {
    /// Writes the transitions in `places` into the networks' inputs, s and s′.
    fn recall(&mut self, learner: &Learner, places: &[usize]) {
        let embedded = self.network.embedded();
        let (ours, theirs) = (&learner.theta[embedded.clone()], &learner.target[embedded]);
        for (sample, &place) in places.iter().enumerate() {
            let Remembered { observation, next, .. } = learner.replay.get(place);
            self.online.set_input(sample, observation.iter().chain(ours).copied());
            self.target.set_input(sample, next.iter().chain(theirs).copied());
        }
    }

    /// δ = Q(s, a) − (r + γ max Q⁻(s′, ·)) of every transition: writes dL/dQ = 2δ/B where a was chosen, else 0,
    /// and returns the mean of δ².
    fn errors(&mut self, learner: &Learner, places: &[usize]) -> f64 {
        let discount = self.config.discount as f32;
        self.best.copy_from_slice(self.target.output(0));
        for action in 0..self.network.actions() {
            self.online.slope_mut(action).fill(0.0);
            let values = self.target.output(action);
            self.best.iter_mut().zip(values).for_each(|(best, &value)| *best = best.max(value));
        }
        let batch = places.len();
        let mut squares = 0.0;
        for (sample, (&place, &best)) in places.iter().zip(&self.best).enumerate() {
            let Remembered { action, reward, terminated, .. } = learner.replay.get(place);
            let future = if terminated { 0.0 } else { discount * best };
            let action = action[0] as usize;
            let error = self.online.output(action)[sample] - (reward + future);
            self.online.slope_mut(action)[sample] = 2.0 * error / batch as f32;
            squares += f64::from(error).powi(2);
        }
        squares / batch as f64
    }
}

/// The place of the greatest number, the first of equals.
fn most(values: &[f32]) -> usize {
    let better = |best: usize, (place, &value): (usize, &f32)| if value > values[best] { place } else { best };
    values.iter().enumerate().fold(0, better)
}

#[cfg(test)]
mod tests {
    use super::super::strategy::Strategy;
    use super::*;
    use crate::value::replay::Replay;
    use crate::value::state::Counts;
    use fedrl_core::Space;
    use fedrl_models::{Activation, Policy, PolicyConfig};

    /// A 1-1-2 network with ReLU, θ = [w, b | u_0, u_1, c_0, c_1], and an agent that remembers two transitions.
    struct Small {
        network: QNetwork,
        config: ValueConfig,
        theta: Vec<f32>,
        target: Vec<f32>,
        first: Vec<f32>,
        second: Vec<f32>,
        replay: Vec<f32>,
    }

    fn config() -> ValueConfig {
        ValueConfig {
            discount: 0.5,
            learning_rate: 0.1,
            local_steps: 1,
            batch: 2,
            replay: 2,
            learning_starts: 1,
            exploration: 0.0,
            target_period: 30,
            decay: 1.0,
            decay_episodes: 100,
            moments: None,
            updates: None,
            iterations: 1,
            fusion: None,
        }
    }

    fn small() -> Small {
        let hidden = PolicyConfig { hidden: vec![1], activation: Activation::Relu, ..PolicyConfig::default() };
        let observation = Space::Box { low: vec![-1.0], high: vec![1.0] };
        let policy = Policy::new(&hidden, &observation, &Space::Discrete { n: 2 }).unwrap();
        let mut replay = vec![0.0; 2 * Replay::width(1, 1)];
        let mut ring = Replay::new(&mut replay, 1, 1);
        let first = Remembered { observation: &[1.0], next: &[2.0], action: &[0.0], reward: 1.0, terminated: false };
        let second = Remembered { observation: &[2.0], next: &[1.0], action: &[1.0], reward: -1.0, terminated: true };
        ring.store(0, first);
        ring.store(1, second);
        Small {
            network: QNetwork::new(&policy, Strategy::PFEDDQN_REP, 1),
            config: config(),
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
                replay: Replay::new(&mut self.replay, 1, 1),
                state: &mut [],
                episode_return: &mut episode_return,
                counts: &mut counts,
            };
            let mut worker = QWorker::new(&self.network, &self.config, false);
            let done = worker.learn(&mut learner, part, &[0, 1]);
            (worker.gradient, done)
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

    #[test]
    fn the_first_of_the_greatest_wins() {
        assert_eq!(most(&[1.0, 3.0, 3.0, 2.0]), 1);
        assert_eq!(most(&[f32::NAN, 1.0]), 0);
    }
}
