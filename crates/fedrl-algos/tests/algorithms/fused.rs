//! Every algorithm, in lanes, in kernels, and by the reference path: the same rounds. Kernels run on any wgpu
//! adapter, a software one (Mesa's llvmpipe) included.

use fedrl_algos::fast_fedpg::{FastFedPg, FastFedPgConfig};
use fedrl_algos::fedhapg_m::FedHapgM;
use fedrl_algos::fedsvrpg_m::FedSvrpgM;
use fedrl_algos::momentum::{MomentumConfig, PersonalPart};
use fedrl_algos::{
    Advantage, Agent, Algorithm, Divergence, Estimates, Estimator, Fused, OnDevice, Sampled, ServerState, World,
};
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{DeviceChoice, Engine, select};
use fedrl_envs::{Instance, find};
use fedrl_models::{Policy, PolicyConfig};

use crate::fast_fedpg::config as fast_config;
use crate::support::config;

/// What does the arithmetic.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Path {
    Reference,
    Lanes,
    Kernels,
}

/// Twenty agents, more than there are lanes, in variants of an environment.
fn world(id: &str, path: Path, batch: usize) -> (World<f32>, Policy) {
    let environment = find(id).unwrap();
    let spec = environment.spec();
    let hidden = PolicyConfig { hidden: vec![8, 8], ..PolicyConfig::default() };
    let policy = Policy::new(&hidden, &spec.observation, &spec.action).unwrap();
    let first = &spec.parameters[0];
    let agents: Vec<Agent<f32>> = (0..20)
        .map(|id| {
            let value = if first.default == 0.0 { 0.05 * id as f64 } else { first.default * (0.8 + 0.02 * id as f64) };
            let instance = Instance::new(environment, [(first.name.to_string(), value)].into()).unwrap();
            Agent { id, simulator: instance.simulator(), spec }
        })
        .collect();
    let engine = |choice| Engine::new(&select(choice, 0).unwrap());
    let estimates: Box<dyn Estimates<f32>> = match path {
        Path::Reference => {
            Box::new(Sampled { engine: engine(DeviceChoice::Reference), policy: policy.clone(), foreign: None })
        }
        Path::Lanes => Box::new(Fused::new(engine(DeviceChoice::Cpu).fused(&policy).unwrap(), &agents, batch)),
        Path::Kernels => {
            let engine = engine(DeviceChoice::Wgpu(0));
            Box::new(OnDevice::new(engine.resident(&policy, spec).unwrap()))
        }
    };
    let world = World { estimates, agents, seed: 5, max_episode_steps: 200, on_divergence: Divergence::Stop };
    (world, policy)
}

/// Rounds of `algorithm` by a path and by the reference: θ, and what was lived through.
#[allow(clippy::print_stderr, reason = "a tie is for the reader of the test's output")]
fn assert_same<A: Algorithm<f32>>(path: Path, id: &str, algorithm: &A, batch: usize, rounds: u32, tolerance: f64) {
    let everyone: Vec<usize> = (0..20).collect();
    let run = |path: Path| {
        let (world, policy) = world(id, path, batch);
        let theta = policy.initial(Key::new(1, Purpose::Initialisation));
        let mut done = algorithm.start(&world, theta.clone()).unwrap();
        let mut reports = Vec::new();
        for round in 0..rounds {
            done = algorithm.round(&world, &done.state, round, &everyone).unwrap();
            reports.append(&mut done.reports);
        }
        (theta, done.state.theta().to_vec(), reports)
    };
    let ((start, expected, seen), (_, found, lived)) = (run(Path::Reference), run(path));
    let closest = seen.iter().map(|report| report.metrics.lived.margin).fold(f64::INFINITY, f64::min);
    let distance = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
    let size = distance(&expected, &vec![0.0; expected.len()]);
    let error = distance(&found, &expected) / size;
    // A tie excuses a difference, not the comparison.
    if error > tolerance && closest < 1e-6 {
        eprintln!("{id}: a tie: a draw lay {closest:e} from its threshold, so the two cannot be compared");
        return;
    }
    assert!(
        error <= tolerance,
        "{id}, {path:?}, batches of {batch}: θ differs by {error:e}; the closest draw lay {closest:e} from its threshold"
    );
    let way = distance(&expected, &start) / size;
    // Nothing but rounding moves it where rewards are all alike and less their mean.
    assert!(error <= 0.01 * way + 1e-15, "{id}: θ moved by {way:e} and differs by {error:e}");
    for (a, b) in seen.iter().zip(&lived) {
        let (a, b) = (&a.metrics, &b.metrics);
        assert_eq!(
            (a.lived.trajectories, a.lived.terminated, a.lived.env_steps, a.local_steps),
            (b.lived.trajectories, b.lived.terminated, b.lived.env_steps, b.local_steps)
        );
        let returns = (a.lived.return_sum, b.lived.return_sum);
        assert!((returns.0 - returns.1).abs() <= 10.0 * tolerance * a.lived.env_steps as f64, "{id}: {returns:?}");
        let norms = (a.gradient_norm(), b.gradient_norm());
        assert!((norms.0 - norms.1).abs() <= 20.0 * tolerance * norms.0 + 1e-12, "{id}, {path:?}: {norms:?}");
        assert_eq!(a.importance.as_ref().map(|w| w.count), b.importance.as_ref().map(|w| w.count));
    }
}

const SMOOTH: [&str; 3] = ["CartPole-v1", "Acrobot-v1", "RandomMDP-v0"];

/// Every estimator, what is done to it, and entropy, spread over the batches.
fn variants() -> Vec<MomentumConfig> {
    let base = || MomentumConfig { local_step_size: 3e-4, global_step_size: 3e-3, ..config(0.5) };
    vec![
        MomentumConfig { batch: 1, ..base() },
        MomentumConfig { batch: 3, advantage: Advantage::Standardised, is_clip: Some(1.1), ..base() },
        MomentumConfig { batch: 18, advantage: Advantage::Baseline, ..base() },
        MomentumConfig { batch: 2, estimator: Estimator::Reinforce, entropy: 0.1, ..base() },
        MomentumConfig { batch: 2, estimator: Estimator::RewardToGo, direction_clip: Some(0.2), ..base() },
    ]
}

/// Every variant on every environment in lanes; in kernels, each of which a software adapter takes a second
/// to compile, every variant on CartPole and the first on the others.
fn assert_all_same<A: Algorithm<f32>>(algorithm: impl Fn(MomentumConfig) -> A) {
    for id in SMOOTH {
        for (index, config) in variants().into_iter().enumerate() {
            let batch = config.batch;
            let algorithm = algorithm(config);
            assert_same(Path::Lanes, id, &algorithm, batch, 3, 1e-4);
            if id == SMOOTH[0] || index == 0 {
                assert_same(Path::Kernels, id, &algorithm, batch, 3, 1e-4);
            }
        }
    }
}

#[test]
fn fedsvrpg_m() {
    assert_all_same(|config| FedSvrpgM::new(config, 3));
}

#[test]
fn plain_averaging() {
    assert_all_same(|config| FedSvrpgM::new(MomentumConfig { beta: 1.0, ..config }, 3));
}

#[test]
fn fedhapg_m() {
    assert_all_same(|config| FedHapgM::new(config, 3));
}

#[test]
fn fast_fedpg() {
    let config = FastFedPgConfig { local_step_size: 3e-4, ..fast_config() };
    let batch = config.batch;
    for (path, id) in SMOOTH.into_iter().flat_map(|id| [(Path::Lanes, id), (Path::Kernels, id)]) {
        assert_same(path, id, &FastFedPg::new(config.clone()), batch, 3, 1e-4);
    }
}

/// Rows that differ from the start, and memories of which a part is each agent's own.
#[test]
fn personal_heads() {
    let config = MomentumConfig { personal: Some(PersonalPart::Head), ..variants().remove(1) };
    let (_, policy) = world("CartPole-v1", Path::Lanes, config.batch);
    for path in [Path::Lanes, Path::Kernels] {
        let batch = config.batch;
        let svrpg = FedSvrpgM::new(config.clone(), 3).with_heads(&policy, true);
        assert_same(path, "CartPole-v1", &svrpg, batch, 3, 1e-4);
        let hapg = FedHapgM::new(config.clone(), 3).with_heads(&policy, true);
        assert_same(path, "CartPole-v1", &hapg, batch, 3, 1e-4);
    }
}

/// So many trajectories that a software adapter has room for half of the agents.
#[test]
fn agents_in_blocks_for_which_the_device_has_room() {
    let config = || MomentumConfig { batch: 100, local_steps: 2, ..variants().remove(0) };
    assert_same(Path::Kernels, "CartPole-v1", &FedSvrpgM::new(config(), 1), 100, 1, 1e-4);
    assert_same(Path::Kernels, "CartPole-v1", &FedHapgM::new(config(), 1), 100, 1, 1e-4);
}

/// Not in kernels: a software adapter would take minutes for them.
#[test]
fn robots_for_one_local_step() {
    for id in ["HalfCheetah-v5", "Hopper-v5", "Walker2d-v5"] {
        let config = MomentumConfig { local_steps: 1, horizon: 20, batch: 2, ..variants().remove(0) };
        assert_same(Path::Lanes, id, &FedSvrpgM::new(config.clone(), 1), 2, 1, 1e-3);
        assert_same(Path::Lanes, id, &FedHapgM::new(config, 1), 2, 1, 1e-3);
    }
}
