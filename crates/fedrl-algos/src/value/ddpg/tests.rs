//! An update by hand.

use fedrl_core::Space;
use fedrl_models::{Activation, Policy, PolicyConfig};

use super::config::DdpgConfig;
use super::network::ActorCritic;
use super::update::DdpgWorker;
use crate::value::Shares;
use crate::value::method::{Done, Part, Worker};
use crate::value::replay::{Remembered, Replay};
use crate::value::state::{Counts, Learner};

/// An actor 1-1-1 and a critic 2-1-1 with ReLU, θ = [w, b | v_s, v_a, c | u, d | q, e], and an agent that remembers
/// two transitions.
struct Small {
    network: ActorCritic,
    theta: Vec<f32>,
    target: Vec<f32>,
    moments: [Vec<f32>; 2],
    replay: Vec<f32>,
}

fn line() -> Space {
    Space::Box { low: vec![-1.0], high: vec![1.0] }
}

fn config() -> DdpgConfig {
    DdpgConfig {
        discount: 0.5,
        learning_rate: 0.1,
        local_steps: 1,
        batch: 2,
        replay: 2,
        learning_starts: 1,
        exploration: 0.1,
        target_rate: 0.5,
        moments: None,
        updates: None,
        iterations: 1,
    }
}

fn small() -> Small {
    let policy = PolicyConfig { hidden: vec![1], activation: Activation::Relu, ..PolicyConfig::default() };
    let policy = Policy::new(&policy, &line(), &line()).unwrap();
    let mut replay = vec![0.0; 2 * Replay::width(1, 1)];
    let mut ring = Replay::new(&mut replay, 1, 1);
    ring.store(0, Remembered { observation: &[1.0], next: &[2.0], action: &[0.5], reward: 1.0, terminated: false });
    ring.store(1, Remembered { observation: &[2.0], next: &[1.0], action: &[-0.5], reward: -1.0, terminated: true });
    Small {
        network: ActorCritic::new(&policy, Shares::Representation),
        theta: vec![1.0, 0.0, 1.0, 2.0, 0.5, 0.5, -0.25, 2.0, 0.0],
        target: vec![1.0, 0.0, 1.0, 1.0, 0.0, 0.25, 0.0, 1.0, 0.5],
        moments: [vec![0.0; 9], vec![0.0; 9]],
        replay,
    }
}

impl Small {
    /// An update of `part` from both transitions; the gradient that it took.
    fn update(&mut self, part: Part) -> (Vec<f32>, Done) {
        let (mut counts, mut episode_return, config) = (Counts::default(), 0.0, config());
        let [first, second] = &mut self.moments;
        let mut learner = Learner {
            theta: &mut self.theta,
            target: &mut self.target,
            first,
            second,
            replay: Replay::new(&mut self.replay, 1, 1),
            state: &mut [],
            episode_return: &mut episode_return,
            counts: &mut counts,
        };
        let mut worker = DdpgWorker::new(&self.network, &config, &line());
        let done = worker.learn(&mut learner, part, &[0, 1]);
        (worker.gradient, done)
    }
}

fn near(found: &[f32], expected: &[f32]) {
    assert!(found.iter().zip(expected).all(|(x, y)| (x - y).abs() < 2e-6), "{found:?}, expected {expected:?}");
}

/// By hand, γ = ½. The critic: hidden 1 + 2 · 0.5 + 0.5 = 2.5, Q = 5; the target actor says 0.25 · 2 = 0.5 at
/// s′ = 2, the target critic 2.5 + 0.5 = 3, so y = 1 + ½ · 3 and δ = 2.5. The other: hidden 2 − 1 + 0.5 = 1.5,
/// Q = 3; it ended, so y = −1 and δ = 4. Loss (6.25 + 16)/2 = 11.125. With B = 2, dL/dQ = δ:
/// dq = 2.5 · 2.5 + 4 · 1.5 = 12.25, de = 6.5; slopes of hidden values 5 and 8: dv_s = 5 + 16 = 21,
/// dv_a = 2.5 − 4 = −1.5, dc = 13. Adam's first step is 0.1 against the sign of each.
///
/// The actor says 0.25 and 0.75. Under the critic after its step ∂Q/∂a = 1.9 · 2.1 = 3.99 at both, so
/// dL/dμ = −1.995, inverted by (1 − 0.25)/2 and (1 − 0.75)/2: −0.748125 and −0.249375. Hidden values are 1 and 2:
/// du = −1.246875, dd = −0.9975, dw = ½ du = −0.6234375, db = ½ dd = −0.49875.
///
/// Targets go half of the way.
#[test]
fn an_update_by_hand() {
    let mut small = small();
    let (gradient, done) = small.update(Part::All);
    assert_eq!(done.loss, 11.125);
    let expected = [-0.623_437_5, -0.498_75, 21.0, -1.5, 13.0, -1.246_875, -0.9975, 12.25, 6.5];
    near(&gradient, &expected);
    let norm = expected.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    assert!((done.gradient_norm - norm).abs() < 1e-5);
    near(&small.theta, &[1.1, 0.1, 0.9, 2.1, 0.4, 0.6, -0.15, 1.9, -0.1]);
    near(&small.target, &[1.05, 0.05, 0.95, 1.55, 0.2, 0.425, -0.075, 1.45, 0.2]);
}

#[test]
fn an_update_of_one_part_leaves_every_byte_of_the_other() {
    for (part, moved) in [(Part::Head, 5..9), (Part::Body, 0..5)] {
        let (before, mut after) = (small(), small());
        after.update(part);
        for column in 0..9 {
            let same = |before: &[f32], after: &[f32]| before[column].to_bits() == after[column].to_bits();
            let kept = same(&before.theta, &after.theta)
                && same(&before.target, &after.target)
                && (0..2).all(|i| same(&before.moments[i], &after.moments[i]));
            assert_eq!(kept, !moved.contains(&column), "{part:?}, column {column}");
        }
        assert_eq!(before.replay, after.replay);
    }
}
