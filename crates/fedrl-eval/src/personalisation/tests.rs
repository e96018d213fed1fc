use super::*;
use fedrl_engine::{DeviceChoice, Engine, Matrix, Mode, select};
use fedrl_envs::{CartPole, Environment, Hopper, RandomMdp};
use fedrl_models::{Activation, PolicyConfig};

use crate::evaluate;

fn poles(lengths: &[f64]) -> Vec<Instance> {
    let pole = |&length: &f64| Instance::new(&CartPole, [("length".to_string(), length)].into()).unwrap();
    lengths.iter().map(pole).collect()
}

fn policy(environment: &dyn Environment, hidden: Vec<usize>) -> Policy {
    let config = PolicyConfig { hidden, activation: Activation::Relu, ..PolicyConfig::default() };
    let spec = environment.spec();
    Policy::new(&config, &spec.observation, &spec.action).unwrap()
}

fn protocol(episodes: usize, max_episode_steps: usize) -> Protocol {
    Protocol { episodes, max_episode_steps, mode: Mode::Greedy, seed: 3 }
}

/// Without weights, by biases alone: both push to the right whatever they see and take that to be worth 5 and 9.
#[test]
fn an_error_that_follows_from_the_length_of_an_episode() {
    let (policy, homes) = (policy(&CartPole, vec![]), poles(&[0.3, 0.7]));
    let worth = |value: f32| [&[0.0; 8][..], &[0.0, value]].concat();
    let policies = Matrix::from_rows([worth(5.0), worth(9.0)]);
    let actors = Actors::Own(&policies);
    let protocol = protocol(1, 200);
    let measure = Measure { policy: &policy, actors, instances: &homes, discount: 0.5, exploration: 0.1, protocol };
    let found = measure.measure().unwrap();

    // The same episode as an evaluation's: a step is worth 1, so that its return n is its length, and t steps after
    // its beginning 1 + 1/2 + .. of n − t terms are left, 2 (1 − 2^(t−n)).
    let engine = Engine::new(&select(DeviceChoice::Cpu, 0).unwrap());
    let evaluated = evaluate(&engine, &policy, actors, &homes, &protocol).unwrap();
    for ((agent, variant), worth) in found.agents.iter().zip(&evaluated.variants).zip([5.0, 9.0]) {
        let n = variant.mean as i32;
        assert!(n < 20 && agent.states == n as usize, "{agent:?}");
        let values = || (0..n).map(|t| 2.0 * (1.0 - 0.5f64.powi(n - t)));
        let error = values().map(|value| (worth - value).powi(2)).sum::<f64>() / f64::from(n);
        assert!((agent.error - error).abs() < 1e-12, "{agent:?} {error}");
        assert!((agent.value - values().sum::<f64>() / f64::from(n)).abs() < 1e-12);
        assert_eq!((agent.estimate, &agent.parameters), (worth, &variant.parameters));
    }
    assert_eq!((found.worst.agent, found.worst.error), (1, found.agents[1].error));
}

/// A pole that is kept up for ever is worth 1 / (1 − γ) = 2 at every step, the last one before the time limit, too;
/// were values cut off there, the last of the 20 states would be worth 1. The second agent's pole falls, and is
/// worth less than 2 before.
#[test]
fn a_time_limit_takes_nothing_from_a_value() {
    let (policy, homes) = (policy(&CartPole, vec![]), poles(&[0.5, 0.5]));
    let right = [1.0f32, 2.0, 30.0, 10.0].map(|x| 1e-6 * x);
    let upright: Vec<f32> = right.map(|x| -x).into_iter().chain(right).chain([2.0, 2.0]).collect();
    let falling = [&[0.0; 8][..], &[0.0, 2.0]].concat();
    let policies = Matrix::from_rows([upright, falling]);
    let measure = Measure {
        policy: &policy,
        actors: Actors::Own(&policies),
        instances: &homes,
        discount: 0.5,
        exploration: 0.0,
        protocol: protocol(3, 20),
    };
    let [upright, falling] = &measure.measure().unwrap().agents[..] else { panic!("two agents") };
    assert_eq!(upright.states, 3 * 20, "those within the limit");
    // What is behind the 14 steps that are looked at: at most 2 · 2⁻¹⁴.
    assert!((upright.value - 2.0).abs() < 2e-4 && upright.error < 1e-7, "{upright:?}");
    assert!(falling.states < 3 * 20 && falling.value < 1.9, "{falling:?}");
}

/// Three agents with one hidden layer: the first two share it.
#[test]
fn heads_layers_before_them_and_environments_are_compared() {
    let (policy, homes) = (policy(&CartPole, vec![3]), poles(&[0.3, 0.3, 0.5, 0.9]));
    let theta = |low| policy.initial(Key { low, high: 1 });
    // The head: 3 · 2 weights and 2 biases from column 15 on.
    let with_head = |theta: &[f32], head: [f32; 8]| [&theta[..15], &head].concat();
    let ones = [1.0; 8];
    let policies = Matrix::from_rows([
        with_head(&theta(1), ones),
        with_head(&theta(1), ones.map(|x| -2.0 * x)),
        with_head(&theta(2), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        with_head(&theta(3), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ]);
    let measure = Measure {
        policy: &policy,
        actors: Actors::Own(&policies),
        instances: &homes,
        discount: 0.9,
        exploration: 0.3,
        protocol: protocol(2, 30),
    };
    let Similarity { environments, heads, shared, rank_correlation } = measure.measure().unwrap().similarity;
    assert_eq!((shared[0][1], heads[0][1]), (1.0, -1.0));
    assert!(shared[0][2] < 1.0);
    // 1 / √8, and (1 + 0) / √2.
    assert!((heads[0][2] - 1.0 / 8f64.sqrt()).abs() < 1e-12 && (heads[2][3] - 0.5f64.sqrt()).abs() < 1e-12);
    assert_eq!(environments[0][1], 1.0, "one environment twice");
    assert!(1.0 > environments[0][2] && environments[0][2] > environments[0][3], "{environments:?}");
    assert!(environments[2][3] > environments[0][3], "{environments:?}");
    for matrix in [&environments, &heads, &shared] {
        for (i, row) in matrix.iter().enumerate() {
            assert!(row[i] == 1.0 && row.iter().enumerate().all(|(j, x)| *x == matrix[j][i]), "{matrix:?}");
        }
    }
    assert!((-1.0..=1.0).contains(&rank_correlation));

    let common = Measure { actors: Actors::Common(policies.row(2)), ..measure };
    let Similarity { heads, shared, rank_correlation, .. } = common.measure().unwrap().similarity;
    assert!(heads.iter().chain(&shared).flatten().all(|cosine| *cosine == 1.0));
    assert!(rank_correlation.is_nan(), "what is the same everywhere has no order");

    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        format!("{:?}", pool.install(|| measure.measure().unwrap()))
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let refused = |environment: &'static dyn Environment, agents: usize, discount: f64| {
        let policy = policy(environment, vec![]);
        let instances = vec![Instance::new(environment, Default::default()).unwrap(); agents];
        let theta = policy.initial(Key { low: 1, high: 1 });
        let actors = Actors::Common(&theta);
        let protocol = protocol(1, 10);
        let measure = Measure { policy: &policy, actors, instances: &instances, discount, exploration: 0.0, protocol };
        assert_eq!(measure.check().err(), measure.measure().err());
        measure.check().unwrap_err()
    };
    assert_eq!(refused(&CartPole, 1, 0.9), PersonalisationError::Alone(1));
    assert_eq!(refused(&CartPole, 2, 1.0), PersonalisationError::Undiscounted);
    assert_eq!(refused(&Hopper, 2, 0.9), PersonalisationError::Vectors { environment: "Hopper-v5" });
    assert_eq!(refused(&RandomMdp, 2, 0.9), PersonalisationError::Random { environment: "RandomMDP-v0" });
}
