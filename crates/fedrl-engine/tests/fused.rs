//! Lanes give what the reference path gives: the same trajectories, log-probabilities, gradients and
//! Hessian-vector products, for every kind of environment and network.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use fedrl_core::random::{Key, Purpose};
use fedrl_core::wide::Pack;
use fedrl_engine::fused::{Fused, Lane, Lived, pack, row};
use fedrl_engine::{DeviceChoice, Engine, Matrix, Mode, Replica, Trajectories, select};
use fedrl_envs::{Environment, Instance, Simulator, find};
use fedrl_models::{Activation, Policy, PolicyConfig};
use fedrl_stats::kolmogorov_smirnov;

/// Some agents in variants of an environment, with parameters of their own.
struct Scene {
    environment: &'static dyn Environment,
    policy: Policy,
    fused: Fused,
    simulators: Vec<Simulator<f32>>,
    thetas: Vec<Vec<f32>>,
}

impl Scene {
    fn new(id: &str, hidden: &[usize], activation: Activation, agents: usize) -> Self {
        let environment = find(id).unwrap();
        let spec = environment.spec();
        let config = PolicyConfig { hidden: hidden.to_vec(), activation, ..PolicyConfig::default() };
        let policy = Policy::new(&config, &spec.observation, &spec.action).unwrap();
        let first = &spec.parameters[0];
        let instance = |i: usize| {
            let value =
                if id.starts_with("Random") { 0.05 * i as f64 } else { first.default * (0.9 + 0.02 * i as f64) };
            Instance::new(environment, [(first.name.to_string(), value)].into()).unwrap()
        };
        let theta = |i: usize| {
            let mut theta = policy.initial(Key::new(i as u64, Purpose::Initialisation));
            theta[policy.log_std()].iter_mut().for_each(|x| *x = -0.5);
            theta
        };
        Scene {
            environment,
            fused: Fused::new(&policy).unwrap(),
            simulators: (0..agents).map(|i| instance(i).simulator()).collect(),
            thetas: (0..agents).map(theta).collect(),
            policy,
        }
    }

    fn replicas(&self) -> Vec<Replica<'_, f32>> {
        let agents = self.simulators.iter().zip(&self.thetas).enumerate();
        let key = |i: usize| Key::new(3, Purpose::Training).child([i as u32, 0, 0, 0]);
        let spec = self.environment.spec();
        agents.map(|(i, (simulator, theta))| Replica { theta, simulator, spec, key: key(i) }).collect()
    }

    /// One trajectory of every agent, by both paths.
    fn live(&self, horizon: usize) -> (Trajectories<f32>, Lived) {
        let reference = Engine::new(&select(DeviceChoice::Reference, 0).unwrap());
        let replicas = self.replicas();
        let expected = reference.rollout(&self.policy, &replicas, 1, horizon, Mode::Sampled).unwrap();
        let lanes: Vec<Lane> = replicas.iter().map(|replica| Lane::new(replica, 0)).collect();
        let (lived, _) = self.fused.rollout(&lanes, self.environment.spec(), horizon, Mode::Sampled);
        (expected, lived)
    }
}

fn engine() -> Engine<f32> {
    Engine::new(&select(DeviceChoice::Reference, 0).unwrap())
}

/// Beside the greatest number of `expected`.
fn assert_close(found: impl IntoIterator<Item = f32>, expected: &[f32], tolerance: f32, what: &str) {
    let found: Vec<f32> = found.into_iter().collect();
    assert_eq!(found.len(), expected.len(), "{what}");
    let greatest = expected.iter().fold(1e-3f32, |greatest, x| greatest.max(x.abs()));
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / greatest;
        assert!(error <= tolerance, "{what}: number {i} is {found}, expected {expected} of at most {greatest}");
    }
}

/// Trajectories, then everything that is derived from them.
fn assert_same(id: &str, hidden: &[usize], activation: Activation, horizon: usize, tolerance: f32) {
    let scene = Scene::new(id, hidden, activation, 13);
    let (expected, lived) = scene.live(horizon);
    assert!(expected.margins.iter().all(|&margin| margin > 1e-6), "a tie: {:?}", expected.margins);
    for (lane, expected) in expected.replicas.iter().map(|replica| &replica[0]).enumerate() {
        let found = lived.trajectory(lane);
        assert_eq!((found.len(), found.terminated), (expected.len(), expected.terminated), "{id}, lane {lane}");
        assert_close(found.observations, &expected.observations, tolerance, "observations");
        assert_close(found.actions, &expected.actions, tolerance, "actions");
        assert_close(found.rewards, &expected.rewards, tolerance, "rewards");
    }
    for (found, expected) in lived.margins.iter().zip(&expected.margins) {
        assert!(found == expected || (found - expected).abs() < 1e-4, "margins {found} and {expected}");
    }

    // At parameters other than those that acted, along a direction, with some weights.
    let theta: Vec<Vec<f32>> =
        scene.thetas.iter().map(|theta| theta.iter().map(|x| 0.9 * x + 0.01).collect()).collect();
    let along: Vec<Vec<f32>> =
        scene.thetas.iter().map(|theta| (0..theta.len()).map(|i| 0.1 * (i as f32).sin()).collect()).collect();
    let weight = |step: usize| 1.0 / (1.0 + step as f32);
    let weights: Vec<Vec<f32>> =
        expected.replicas.iter().map(|replica| (0..replica[0].len()).map(weight).collect()).collect();
    let packed: Vec<Pack> = (0..lived.steps())
        .map(|step| Pack(std::array::from_fn(|lane| if step < lived.lengths[lane] { weight(step) } else { 0.0 })))
        .collect();
    let (thetas, alongs) = (Matrix::from_rows(&theta), Matrix::from_rows(&along));
    let (theta, along) = (pack(theta.iter().map(Vec::as_slice)), pack(along.iter().map(Vec::as_slice)));

    let engine = engine();
    let scores = engine.scores(&scene.policy, &thetas, &expected);
    let values = scene.fused.values(&theta, &lived);
    let logs = scene.fused.log_probabilities(&theta, &lived, &values);
    for (lane, expected) in scores.values().unwrap().iter().enumerate() {
        assert_close(lived.of_lane(&logs, lane), expected, tolerance, "log probabilities");
    }
    let gradients = scores.gradient(&weights).unwrap();
    let gradient = scene.fused.gradient(&theta, &lived, &values, &packed);
    let pass = scene.fused.pass(&theta, &lived, &packed);
    assert_eq!(
        (&pass.logs[..], &pass.gradient[..]),
        (&logs[..], &gradient[..]),
        "one pass gives the same bytes as two"
    );
    for lane in 0..scene.thetas.len() {
        assert_close(row(&gradient, lane), gradients.row(lane), tolerance, "gradient");
    }

    let tangents = engine.tangents(&scene.policy, &thetas, &alongs, &expected);
    let rates = scene.fused.rates(&theta, &along, &lived, &values);
    for (lane, expected) in tangents.values().unwrap().iter().enumerate() {
        assert_close(lived.of_lane(&rates.values, lane), expected, tolerance, "rates");
    }
    let products = tangents.gradient(&weights).unwrap();
    let product = scene.fused.hessian_product(&theta, &along, &lived, &values, &rates, &packed);
    for lane in 0..scene.thetas.len() {
        assert_close(row(&product, lane), products.row(lane), tolerance, "Hessian-vector product");
    }
}

#[test]
fn cartpole_with_every_kind_of_network() {
    assert_same("CartPole-v1", &[8, 8], Activation::Tanh, 60, 1e-4);
    assert_same("CartPole-v1", &[5], Activation::Relu, 60, 1e-4);
    assert_same("CartPole-v1", &[], Activation::Tanh, 60, 1e-4);
    assert_same("CartPole-v1", &[64, 3, 17], Activation::Tanh, 60, 1e-4);
}

#[test]
fn acrobot_and_a_decision_process() {
    assert_same("Acrobot-v1", &[8, 8], Activation::Tanh, 40, 1e-3);
    assert_same("RandomMDP-v0", &[7], Activation::Tanh, 40, 1e-4);
}

#[test]
fn robots_for_a_few_steps() {
    for id in ["HalfCheetah-v5", "Hopper-v5", "Walker2d-v5"] {
        assert_same(id, &[16, 16], Activation::Tanh, 10, 1e-3);
    }
}

#[test]
fn episodes_are_those_of_the_reference_and_one_alone_is_one_of_them() {
    let scene = Scene::new("CartPole-v1", &[8, 8], Activation::Tanh, 5);
    let replicas = scene.replicas();
    let lanes = Engine::new(&select(DeviceChoice::Cpu, 0).unwrap());
    for mode in [Mode::Sampled, Mode::Greedy] {
        let outcomes = |engine: &Engine<f32>| engine.episodes(&scene.policy, &replicas, 30, 200, mode).unwrap();
        let found = outcomes(&lanes);
        // 150 episodes in sixteen lanes, begun as lanes become free.
        assert_eq!(found, outcomes(&engine()));
        #[cfg(feature = "wgpu")]
        assert_eq!(found, outcomes(&Engine::new(&select(DeviceChoice::Wgpu(0), 0).unwrap())));
        for number in [0, 29] {
            let episodes = lanes.episode(&scene.policy, &replicas, number, 200, mode).unwrap();
            for (episode, outcomes) in episodes.iter().zip(&found) {
                assert_eq!(episode.outcome(), outcomes[number]);
            }
        }
    }
    assert!(lanes.episodes(&scene.policy, &[], 3, 10, Mode::Sampled).unwrap().is_empty());
}

#[test]
fn a_lane_does_not_know_its_neighbours() {
    for id in ["CartPole-v1", "HalfCheetah-v5"] {
        let scene = Scene::new(id, &[8, 8], Activation::Tanh, 11);
        let (replicas, spec) = (scene.replicas(), scene.environment.spec());
        let lanes: Vec<Lane> = replicas.iter().map(|replica| Lane::new(replica, 2)).collect();
        let gradient = |lanes: &[Lane]| {
            let (lived, values) = scene.fused.rollout(lanes, spec, 50, Mode::Sampled);
            let theta = pack(lanes.iter().map(|lane| lane.theta));
            let packs = scene.fused.gradient(&theta, &lived, &values, &lived.rewards);
            (0..lanes.len()).map(|lane| row(&packs, lane).collect::<Vec<f32>>()).collect::<Vec<_>>()
        };
        let together = gradient(&lanes);
        for (number, lane) in lanes.iter().enumerate() {
            assert_eq!(gradient(&[*lane])[0], together[number], "{id}, lane {number}");
        }
        assert_eq!(gradient(&lanes[4..9]), together[4..9]);
    }
}

/// Rounding grows on a robot that touches the ground: single trajectories part after some time, but what
/// they are like does not change.
#[test]
fn whole_episodes_of_robots_are_alike_in_distribution() {
    for id in ["HalfCheetah-v5", "Hopper-v5", "Walker2d-v5"] {
        let mut samples = [const { (Vec::new(), Vec::new()) }; 2];
        for seed in 0..8 {
            let mut scene = Scene::new(id, &[16, 16], Activation::Tanh, 12);
            scene.thetas = vec![scene.thetas[seed].clone(); 12];
            let (expected, lived) = scene.live(1000);
            let theta = pack(scene.thetas.iter().map(Vec::as_slice));
            let values = scene.fused.values(&theta, &lived);
            let gradient = scene.fused.gradient(&theta, &lived, &values, &lived.rewards);
            let weights: Vec<Vec<f32>> = expected.replicas.iter().map(|replica| replica[0].rewards.clone()).collect();
            let scores = engine().scores(&scene.policy, &Matrix::from_rows(&scene.thetas), &expected);
            let gradients = scores.gradient(&weights).unwrap();
            let norm = |x: &mut dyn Iterator<Item = f32>| x.map(|x| f64::from(x * x)).sum::<f64>().sqrt();
            for lane in 0..12 {
                samples[0].0.push(expected.replicas[lane][0].total_reward());
                samples[0].1.push(norm(&mut gradients.row(lane).iter().copied()));
                samples[1].0.push(lived.trajectory(lane).total_reward());
                samples[1].1.push(norm(&mut row(&gradient, lane)));
            }
        }
        let [reference, lanes] = samples;
        for (what, a, b) in [("returns", reference.0, lanes.0), ("gradient norms", reference.1, lanes.1)] {
            let p = kolmogorov_smirnov(&a, &b);
            assert!(p > 0.01, "{id}: {what} differ, p = {p}");
        }
    }
}
