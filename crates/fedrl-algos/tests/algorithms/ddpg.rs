//! DDPG in the loop of value learning: what is sent, what stays, and that it learns to hop.

use std::collections::BTreeMap;

use fedrl_algos::value::{DdpgConfig, Moments, Shares, ValueLearning, ValueState};
use fedrl_algos::{Agent, Algorithm, Divergence, Round, Sampled, ServerState, World};
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{DeviceChoice, Engine, select};
use fedrl_envs::Instance;
use fedrl_models::{Activation, Initialisation, Policy, PolicyConfig};

use crate::support::SEED;

const ALL: [Shares; 3] = [Shares::Representation, Shares::Nothing, Shares::Network];

fn config() -> DdpgConfig {
    DdpgConfig {
        discount: 0.99,
        learning_rate: 0.001,
        local_steps: 1,
        batch: 16,
        replay: 60,
        learning_starts: 20,
        exploration: 0.1,
        target_rate: 0.005,
        moments: None,
        updates: None,
        iterations: 30,
    }
}

/// Three Hoppers with thin, usual and thick legs.
struct Training {
    world: World<f32>,
    policy: Policy,
    algorithm: ValueLearning,
}

fn training(shares: Shares, config: DdpgConfig, hidden: &[usize]) -> Training {
    let hopper = fedrl_envs::find("Hopper-v5").unwrap();
    let spec = hopper.spec();
    let policy = PolicyConfig {
        hidden: hidden.to_vec(),
        activation: Activation::Relu,
        initialisation: Initialisation::UniformFanIn,
        ..PolicyConfig::default()
    };
    let policy = Policy::new(&policy, &spec.observation, &spec.action).unwrap();
    let agents = [0.03, 0.04, 0.05].into_iter().enumerate().map(|(id, radius)| {
        let instance = Instance::new(hopper, [("geom_radius.leg".to_string(), radius)].into()).unwrap();
        Agent { id, simulator: instance.simulator(), spec }
    });
    let engine = Engine::new(&select(DeviceChoice::Cpu, 0).unwrap());
    let world = World {
        estimates: Box::new(Sampled { engine, policy: policy.clone(), foreign: None }),
        agents: agents.collect(),
        seed: SEED,
        max_episode_steps: 1000,
        on_divergence: Divergence::Stop,
    };
    let algorithm = ValueLearning::ddpg(config, shares, &policy).with_heads_drawn(&policy);
    Training { world, policy, algorithm }
}

impl Training {
    fn start(&self) -> ValueState {
        let theta = self.policy.initial(Key::new(SEED, Purpose::Initialisation));
        self.algorithm.start(&self.world, theta).unwrap().state
    }

    fn round(&self, state: &ValueState) -> Round<ValueState> {
        self.algorithm.round(&self.world, state, 0, &[0, 1, 2]).unwrap()
    }

    fn after(&self, rounds: usize) -> ValueState {
        (0..rounds).fold(self.start(), |state, _| self.round(&state).state)
    }

    /// Columns of both bodies.
    fn bodies(&self) -> usize {
        let critics = (self.policy.inputs() + 3) * 8 + 8;
        self.policy.network.body().len() + critics
    }
}

fn row<'a>(state: &'a ValueState, name: &str, agent: usize) -> &'a [f32] {
    let matrix = state.vectors()[name];
    let width = matrix.len() / 3;
    &matrix[agent * width..][..width]
}

#[test]
fn a_state_that_was_saved_goes_on_as_if_nothing_had_happened_and_threads_change_no_byte() {
    for shares in ALL {
        let training = training(shares, config(), &[8]);
        let middle = training.after(2);
        let vectors: BTreeMap<String, Vec<f32>> =
            middle.vectors().into_iter().map(|(name, x)| (name.to_string(), x.to_vec())).collect();
        let counts = middle.counts().into_iter().map(|(name, x)| (name.to_string(), x)).collect();
        let loaded = ValueState::restore(vectors, counts).unwrap();
        let expected = training.after(3);
        assert_eq!(training.round(&loaded).state, expected, "{shares:?}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(|| training.after(3)), expected, "{shares:?}");
    }
}

#[test]
fn messages_are_as_long_as_what_is_shared() {
    for (moments, copies) in [(Moments::Averaged, 3), (Moments::Local, 1)] {
        for shares in ALL {
            let training = training(shares, DdpgConfig { moments: Some(moments), ..config() }, &[8]);
            let shared = match shares {
                Shares::Nothing => 0,
                // Bodies of 11 · 8 + 8 and 14 · 8 + 8 numbers; heads of 8 · 3 + 3 and 8 + 1.
                Shares::Representation => 216,
                Shares::Network => 216 + 36,
            };
            for report in training.round(&training.start()).reports {
                assert_eq!((report.bytes_up, report.bytes_down), (30 * 4 * copies * shared, 30 * 4 * copies * shared));
            }
        }
    }
}

/// One Φ of actor and critic for all, heads of one's own from the beginning and never averaged.
#[test]
fn bodies_are_the_mean_and_heads_stay() {
    let training = training(Shares::Representation, config(), &[8]);
    let bodies = training.bodies();
    assert_eq!(bodies, 216);
    let (start, state) = (training.start(), training.after(2));
    let heads = |state: &ValueState, agent: usize| row(state, "agents.theta", agent)[bodies..].to_vec();
    for agent in 0..3 {
        let other = (agent + 1) % 3;
        assert_eq!(row(&start, "agents.theta", agent)[..bodies], row(&start, "agents.theta", other)[..bodies]);
        let pairs = [&start, &state].map(|state| (heads(state, agent), heads(state, other)));
        assert!(pairs.iter().all(|(one, two)| one.iter().zip(two).all(|(x, y)| x != y)));
    }
    for (column, x) in state.vectors()["shared.theta"].iter().enumerate() {
        let sum: f64 = (0..3).map(|agent| f64::from(row(&state, "agents.theta", agent)[column])).sum();
        assert_eq!(*x, (sum / 3.0) as f32);
    }
    // An agent's policy is the shared body of the actor and its own head.
    let (policies, body) = (state.policies().unwrap(), training.policy.network.body());
    for agent in 0..3 {
        assert_eq!(policies.row(agent)[body.clone()], state.vectors()["shared.theta"][body.clone()]);
        let head = training.policy.network.head();
        assert_eq!(policies.row(agent)[head.clone()], heads(&state, agent)[..head.len()]);
    }
}

/// Until it learns, an agent tries every action alike; what it did lies within the bounds, noise and all.
#[test]
fn actions_are_within_their_bounds() {
    let loud = DdpgConfig { exploration: 2.0, replay: 90, ..config() };
    let training = training(Shares::Nothing, loud, &[8]);
    let state = training.after(3);
    // Rows of 2 · 11 + 3 + 2 numbers.
    let actions: Vec<&[f32]> = row(&state, "agents.replay", 1).chunks_exact(27).map(|row| &row[22..25]).collect();
    assert_eq!(actions.len(), 90);
    let (random, noisy) = actions.split_at(20);
    assert!(actions.iter().flat_map(|action| action.iter()).all(|x| (-1.0..=1.0).contains(x)));
    // 60 even draws: none at a bound. With σ = 2 at least half of the noisy ones are beyond one.
    let at_bounds = |actions: &[&[f32]]| actions.iter().flat_map(|a| a.iter()).filter(|x| x.abs() == 1.0).count();
    assert_eq!(at_bounds(random), 0);
    assert!(at_bounds(noisy) > 105, "{}", at_bounds(noisy));
    let mean = random.iter().flat_map(|a| a.iter()).sum::<f32>() / 60.0;
    // sd of the mean of 60: 0.577/√60 = 0.075; four of them.
    assert!(mean.abs() < 0.3, "{mean}");
}

/// Mean return of the episodes in the last 1,000 of 5,000 iterations.
fn learned(shares: Shares) -> f64 {
    let numbers = DdpgConfig { batch: 64, replay: 5000, learning_starts: 500, ..config() };
    let training = training(shares, DdpgConfig { iterations: 1000, ..numbers }, &[64, 64]);
    let (mut state, mut returns) = (training.start(), Vec::new());
    for round in 0..5 {
        let done = training.round(&state);
        state = done.state;
        let late = done.reports.into_iter().filter(|_| round == 4);
        returns.extend(late.filter_map(|report| report.metrics.values).flat_map(|values| values.returns));
    }
    fedrl_stats::mean(&returns)
}

/// Three times as much as random actions, which have 17.3.
#[test]
fn every_form_learns_to_hop() {
    let learned: Vec<f64> = ALL.into_iter().map(learned).collect();
    assert!(learned.iter().all(|&mean| mean > 52.0), "{learned:?}");
}
