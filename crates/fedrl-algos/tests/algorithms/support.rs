//! Small worlds to run the algorithm in.

use fedrl_algos::momentum::{MomentumConfig, Step};
use fedrl_algos::{Advantage, Agent, Algorithm, Divergence, Estimator, Round, World};
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{DeviceChoice, Engine, Number, select};
use fedrl_envs::{CartPole, Environment, Instance};
use fedrl_models::{Policy, PolicyConfig};

pub const SEED: u64 = 17;

/// Agents with poles of these lengths and a policy with these hidden layers, run by `engine`.
fn world_of<F: Number>(engine: Engine<F>, lengths: &[f64], hidden: &[usize]) -> World<F> {
    let spec = CartPole.spec();
    let config = PolicyConfig { hidden: hidden.to_vec(), ..PolicyConfig::default() };
    let agents = lengths.iter().enumerate().map(|(id, &length)| {
        let instance = Instance::new(&CartPole, [("length".to_string(), length)].into()).unwrap();
        Agent { id, simulator: instance.simulator(), spec }
    });
    World {
        engine,
        policy: Policy::new(&config, &spec.observation, &spec.action).unwrap(),
        agents: agents.collect(),
        seed: SEED,
        max_episode_steps: 200,
        on_divergence: Divergence::Stop,
    }
}

/// A world as training runs it.
pub fn world(lengths: &[f64], hidden: &[usize]) -> World<f32> {
    world_of(Engine::new(&select(DeviceChoice::Cpu, 0).unwrap()), lengths, hidden)
}

/// A world in f64, for what has to be exact.
pub fn exact_world(lengths: &[f64], hidden: &[usize]) -> World<f64> {
    world_of(Engine::double(), lengths, hidden)
}

pub fn config(beta: f64) -> MomentumConfig {
    MomentumConfig {
        beta,
        local_steps: 3,
        local_step_size: 0.003,
        global_step_size: 0.02,
        discount: 0.97,
        horizon: 40,
        batch: 2,
        u0_batch: None,
        estimator: Estimator::Gpomdp,
        advantage: Advantage::None,
        step: Step::Constant,
        is_clip: None,
        direction_clip: None,
    }
}

pub fn initial<F: Number>(world: &World<F>) -> Vec<F> {
    let theta = world.policy.initial(Key::new(SEED, Purpose::Initialisation));
    theta.into_iter().map(|x| F::from_f64(f64::from(x))).collect()
}

/// The rounds of a training, all agents taking part, the start first.
pub fn train<F: Number, A: Algorithm<F>>(world: &World<F>, algorithm: &A, rounds: u32) -> Vec<Round<A::State>> {
    let everyone: Vec<usize> = (0..world.agents.len()).collect();
    let mut done = vec![algorithm.start(world, initial(world)).unwrap()];
    for round in 0..rounds {
        let next = algorithm.round(world, &done[round as usize].state, round, &everyone).unwrap();
        done.push(next);
    }
    done
}

/// ‖a − b‖ / ‖b‖.
pub fn relative<F: Number>(a: &[F], b: &[f64]) -> f64 {
    let difference: f64 = a.iter().zip(b).map(|(a, b)| (a.as_double() - b).powi(2)).sum();
    (difference / b.iter().map(|b| b * b).sum::<f64>()).sqrt()
}
