//! Value learning: what is sent, what stays, and that it learns.

use std::collections::BTreeMap;
use std::ops::Range;

use fedrl_algos::value::{Moments, Strategy, Updates, ValueConfig, ValueLearning, ValueState};
use fedrl_algos::{Algorithm, Divergence, Round, ServerState};
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::Matrix;
use fedrl_envs::{CartPole, Environment};
use fedrl_models::{Activation, Initialisation, Policy, PolicyConfig};

use crate::support::{Bench, SEED, world};

const ALL: [Strategy; 6] = [
    Strategy::PFEDDQN_REP,
    Strategy::DQN,
    Strategy::FEDDQN,
    Strategy::LFRL,
    Strategy::PER_DQN_AVG,
    Strategy::FEDASYNQ_IMAVG,
];

/// A network of eight hidden units that learns soon.
fn config() -> ValueConfig {
    ValueConfig {
        discount: 0.98,
        learning_rate: 0.002,
        local_steps: 1,
        batch: 16,
        replay: 60,
        learning_starts: 20,
        exploration: 0.1,
        target_period: 30,
        decay: 0.5,
        decay_episodes: 100,
        moments: None,
        updates: None,
        iterations: 50,
        fusion: None,
    }
}

fn policy(hidden: usize) -> Policy {
    let spec = CartPole.spec();
    let config = PolicyConfig {
        hidden: vec![hidden],
        activation: Activation::Relu,
        initialisation: Initialisation::UniformFanIn,
        ..PolicyConfig::default()
    };
    Policy::new(&config, &spec.observation, &spec.action).unwrap()
}

struct Training {
    bench: Bench<f32>,
    algorithm: ValueLearning,
    policy: Policy,
    theta: Vec<f32>,
}

fn training(strategy: Strategy, config: ValueConfig, hidden: usize) -> Training {
    let (bench, policy) = (world(&[0.3, 0.5, 0.7], &[hidden]), policy(hidden));
    let theta = policy.initial(Key::new(SEED, Purpose::Initialisation));
    Training { algorithm: ValueLearning::new(config, strategy, &policy, 3), bench, policy, theta }
}

impl Training {
    fn start(&self) -> ValueState {
        self.algorithm.start(&self.bench, self.theta.clone()).unwrap().state
    }

    fn round(&self, state: &ValueState, participants: &[usize]) -> Round<ValueState> {
        self.algorithm.round(&self.bench, state, 0, participants).unwrap()
    }

    /// The state after so many rounds of all agents.
    fn after(&self, rounds: usize) -> ValueState {
        (0..rounds).fold(self.start(), |state, _| self.round(&state, &[0, 1, 2]).state)
    }

    /// Columns of the last layer.
    fn head(&self) -> Range<usize> {
        self.policy.network.head()
    }

    /// An agent's row of a matrix of the state.
    fn row<'a>(&self, state: &'a ValueState, name: &str, agent: usize) -> &'a [f32] {
        let matrix = state.vectors()[name];
        let width = matrix.len() / 3;
        &matrix[agent * width..][..width]
    }
}

type Saved = (BTreeMap<String, Vec<f32>>, BTreeMap<String, Vec<u32>>);

fn save(state: &ValueState) -> Saved {
    let vectors = state.vectors().into_iter().map(|(name, x)| (name.to_string(), x.to_vec())).collect();
    (vectors, state.counts().into_iter().map(|(name, x)| (name.to_string(), x)).collect())
}

#[test]
fn a_state_that_was_saved_goes_on_as_if_nothing_had_happened() {
    for strategy in ALL {
        let training = training(strategy, config(), 8);
        let middle = training.after(2);
        let (vectors, counts) = save(&middle);
        let loaded = ValueState::restore(vectors, counts).unwrap();
        assert_eq!(loaded, middle, "{strategy:?}");
        assert_eq!(training.round(&loaded, &[0, 1, 2]).state, training.after(3), "{strategy:?}");
        for missing in ["theta", "agents.replay", "shared.first"] {
            let (mut vectors, counts) = save(&middle);
            vectors.remove(missing);
            assert_eq!(ValueState::restore(vectors, counts).err(), Some(missing));
        }
    }
}

#[test]
fn neither_threads_nor_rounds_change_a_byte() {
    for strategy in ALL {
        let expected = training(strategy, config(), 8).after(4);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| training(strategy, config(), 8).after(4)), expected, "{strategy:?}");
        }
        let longer = training(strategy, ValueConfig { iterations: 100, ..config() }, 8).after(2);
        assert_eq!(longer, expected, "{strategy:?}");
    }
}

#[test]
fn messages_are_as_long_as_what_is_shared() {
    let (body, network) = (4 * 8 + 8, 4 * 8 + 8 + 8 * 2 + 2);
    // Two numbers tell three agents apart: two more inputs for eight units. Sixteen regions, two actions.
    let lengths = [
        (Strategy::PFEDDQN_REP, body, 0),
        (Strategy::DQN, 0, 0),
        (Strategy::FEDDQN, network, 0),
        (Strategy::PER_DQN_AVG, network + 2 * 8, 0),
        (Strategy::FEDASYNQ_IMAVG, network, 32),
    ];
    for (strategy, shared, visits) in lengths {
        for (moments, copies) in [(Moments::Averaged, 3), (Moments::Local, 1)] {
            let training = training(strategy, ValueConfig { moments: Some(moments), ..config() }, 8);
            for report in training.round(&training.start(), &[0, 1, 2]).reports {
                assert_eq!(report.bytes_down, 50 * 4 * copies * shared, "{strategy:?}");
                assert_eq!(report.bytes_up, 50 * 4 * (copies * shared + visits), "{strategy:?}");
            }
        }
    }
}

/// The state with `change` done to a matrix's row of agent 0.
fn changed(training: &Training, state: &ValueState, name: &str, change: impl Fn(&mut [f32])) -> ValueState {
    let (mut vectors, counts) = save(state);
    let matrix = vectors.get_mut(name).unwrap();
    let width = matrix.len() / 3;
    let row = &mut matrix[..width];
    let personal = if name.starts_with("agents.replay") { 0 } else { training.head().start };
    change(&mut row[personal..]);
    ValueState::restore(vectors, counts).unwrap()
}

/// Before anything is learned Φ stays as it is: then nothing of one agent's head, its moments, replay or
/// life reaches another, not even through Φ.
#[test]
fn what_is_personal_never_leaves() {
    let training = training(Strategy::PFEDDQN_REP, ValueConfig { learning_starts: 60, ..config() }, 8);
    let state = training.start();
    let expected = training.round(&state, &[0, 1, 2]).state;
    for name in ["agents.theta", "agents.target", "agents.first", "agents.second", "agents.replay"] {
        let other = changed(&training, &state, name, |row| row.iter_mut().for_each(|x| *x = 0.75 - *x));
        let found = training.round(&other, &[0, 1, 2]).state;
        for name in state.vectors().keys().filter(|name| name.starts_with("agents.")) {
            for agent in [1, 2] {
                assert_eq!(training.row(&found, name, agent), training.row(&expected, name, agent), "{name} {agent}");
            }
        }
        assert_eq!(found.vectors()["shared.theta"], expected.vectors()["shared.theta"]);
    }
}

#[test]
fn the_server_has_the_mean_of_what_agents_say_and_heads_differ() {
    let training = training(Strategy::PFEDDQN_REP, config(), 8);
    let state = training.after(2);
    let shared = state.vectors()["shared.theta"];
    let rows: Vec<&[f32]> = (0..3).map(|agent| training.row(&state, "agents.theta", agent)).collect();
    for (column, x) in shared.iter().enumerate() {
        let sum: f64 = rows.iter().map(|row| f64::from(row[column])).sum();
        assert_eq!(*x, (sum / 3.0) as f32);
    }
    let head = training.head();
    assert_ne!(rows[0][head.clone()], rows[1][head.clone()]);
    // Policies are the shared columns with each agent's head; the common one has the mean of the heads.
    let policies: &Matrix<f32> = state.policies().unwrap();
    for (agent, row) in rows.iter().enumerate() {
        assert_eq!(policies.row(agent), [shared, &row[head.clone()]].concat());
    }
    assert_eq!(state.theta()[..shared.len()], *shared);
    for column in head {
        let sum: f64 = rows.iter().map(|row| f64::from(row[column])).sum();
        assert_eq!(state.theta()[column], (sum / 3.0) as f32);
    }
}

/// 004 Alg. 1, line 1: one Φ_0, and θ_0^i for every agent at random.
#[test]
fn agents_begin_with_one_representation_and_heads_of_their_own() {
    for (strategy, shared) in [(Strategy::PFEDDQN_REP, 4 * 8 + 8), (Strategy::DQN, 0), (Strategy::FEDDQN, 58)] {
        let mut training = training(strategy, config(), 8);
        let given = training.start();
        training.algorithm = training.algorithm.with_heads_drawn(&policy(8));
        let drawn = training.start();
        for agent in 0..3 {
            let theta = training.row(&drawn, "agents.theta", agent);
            assert_eq!(training.row(&given, "agents.theta", agent), training.theta, "{strategy:?}: as given");
            assert_eq!(theta[..shared], training.theta[..shared], "{strategy:?}");
            for (column, x) in theta.iter().enumerate().skip(shared) {
                assert_ne!(*x, training.theta[column], "{strategy:?}: column {column}");
                assert_ne!(*x, training.row(&drawn, "agents.theta", (agent + 1) % 3)[column]);
                // U(±1/√fan-in): of four inputs in the body, of eight units in the head.
                assert!(x.abs() <= if column < 40 { 0.5 } else { 8f32.powf(-0.5) });
            }
            assert_eq!(training.row(&drawn, "agents.target", agent), theta, "{strategy:?}");
        }
    }
}

#[test]
fn targets_are_copied_when_their_period_is_over() {
    // Of 10 iterations each; copies at t = 0, 30, 60.
    let training = training(Strategy::DQN, ValueConfig { iterations: 10, learning_starts: 5, ..config() }, 8);
    let states: Vec<ValueState> = (0..8).map(|rounds| training.after(rounds)).collect();
    let row = |rounds: usize, name: &str| training.row(&states[rounds], name, 1).to_vec();
    for (rounds, copied) in [(1, 0), (3, 0), (4, 3), (6, 3), (7, 6)] {
        assert_eq!(row(rounds, "agents.target"), row(copied, "agents.theta"), "after {rounds} rounds");
        assert_ne!(row(rounds, "agents.target"), row(rounds, "agents.theta"));
    }
}

/// Replays of 60 after 150 steps: the newest 60, in a ring.
#[test]
fn an_agent_remembers_what_it_lived_through_last() {
    let training = training(Strategy::DQN, config(), 8);
    let (before, after) = (training.after(2), training.after(3));
    let (old, new) = (training.row(&before, "agents.replay", 0), training.row(&after, "agents.replay", 0));
    // Steps 100..150 lie in places 40..60 and 0..30; steps 90..100 stay in 30..40.
    let width = 11;
    for place in 0..60 {
        let [old, new] = [old, new].map(|replay| &replay[place * width..][..width]);
        assert_eq!(old == new, (30..40).contains(&place), "place {place}");
    }
}

#[test]
fn agents_that_take_no_part_stay_as_they_are() {
    let training = training(Strategy::PFEDDQN_REP, config(), 8);
    let state = training.after(2);
    let round = training.round(&state, &[0, 2]);
    assert_eq!(round.reports.iter().map(|report| report.agent).collect::<Vec<_>>(), [0, 2]);
    for name in state.vectors().keys().filter(|name| name.starts_with("agents.")) {
        assert_eq!(training.row(&round.state, name, 1), training.row(&state, name, 1), "{name}");
        assert_ne!(training.row(&round.state, name, 0), training.row(&state, name, 0), "{name}");
    }
    // Its policy is its head on what the others learned.
    let head = training.head();
    let (old, new) = (state.policies().unwrap().row(1), round.state.policies().unwrap().row(1));
    assert_eq!(old[head.clone()], new[head.clone()]);
    assert_ne!(old[..head.start], new[..head.start]);
}

#[test]
fn an_agent_that_diverges_ends_the_run_or_is_left_out() {
    let mut training = training(Strategy::PFEDDQN_REP, config(), 8);
    let poisoned = changed(&training, &training.after(2), "agents.theta", |head| head.fill(f32::NAN));
    let error = training.algorithm.round(&training.bench, &poisoned, 2, &[0, 1, 2]).unwrap_err();
    assert!(error.to_string().starts_with("agent 0 diverged"), "{error}");
    training.bench.on_divergence = Divergence::DropAgent;
    let round = training.round(&poisoned, &[0, 1, 2]);
    assert_eq!(round.reports.iter().map(|report| report.diverged).collect::<Vec<_>>(), [true, false, false]);
    assert!(round.state.vectors()["shared.theta"].iter().all(|x| x.is_finite()));
    assert_ne!(round.state.vectors()["shared.theta"], poisoned.vectors()["shared.theta"]);
}

/// One agent alone: Φ is its own, whoever averages it.
#[test]
fn alone_nothing_depends_on_a_server() {
    let alone = |strategy| {
        let policy = policy(8);
        let bench = world(&[0.5], &[8]);
        let config = ValueConfig { updates: Some(Updates::Joint), ..config() };
        let algorithm = ValueLearning::new(config, strategy, &policy, 1);
        let theta = policy.initial(Key::new(SEED, Purpose::Initialisation));
        let start = algorithm.start(&bench, theta).unwrap().state;
        (0..3).fold(start, |state, _| algorithm.round(&bench, &state, 0, &[0]).unwrap().state)
    };
    let dqn = alone(Strategy::DQN);
    for strategy in [Strategy::FEDDQN, Strategy::PFEDDQN_REP, Strategy::FEDASYNQ_IMAVG] {
        assert_eq!(alone(strategy).theta(), dqn.theta(), "{strategy:?}");
    }
}

/// And no gradient of it is taken: the loop with the head alone.
#[test]
fn a_frozen_representation_stays_to_the_byte() {
    let training = training(Strategy::DQN, ValueConfig { updates: Some(Updates::Head), ..config() }, 8);
    let (start, after) = (training.start(), training.after(3));
    let body = training.head().start;
    for agent in 0..3 {
        for name in ["agents.theta", "agents.first", "agents.second"] {
            let (before, now) = (training.row(&start, name, agent), training.row(&after, name, agent));
            assert_eq!(before[..body], now[..body], "{name}");
            assert_ne!(before[body..], now[body..], "{name}");
        }
    }
}

/// Mean return of the episodes in the last 3,000 of 10,000 iterations.
fn learned(strategy: Strategy) -> f64 {
    let numbers = ValueConfig { batch: 32, replay: 5000, learning_starts: 200, exploration: 0.05, ..config() };
    let training = training(strategy, ValueConfig { iterations: 1000, ..numbers }, 64);
    let (mut state, mut returns) = (training.start(), Vec::new());
    for round in 0..10 {
        let done = training.round(&state, &[0, 1, 2]);
        state = done.state;
        let late = done.reports.into_iter().filter(|_| round >= 7);
        returns.extend(late.filter_map(|report| report.metrics.values).flat_map(|values| values.returns));
    }
    fedrl_stats::mean(&returns)
}

/// Three times as long as a random policy, which keeps the pole up for about 20 steps.
#[test]
fn every_algorithm_learns_to_balance_three_different_poles() {
    let learned: Vec<f64> = ALL.into_iter().map(learned).collect();
    for (strategy, learned_by) in ALL.into_iter().zip(&learned) {
        assert!(*learned_by > 60.0, "{strategy:?}: {learned:?}");
    }
}
