//! Small worlds to run the algorithm in.

use fedrl_algos::momentum::{MomentumConfig, Step};
use fedrl_algos::{Advantage, Agent, Algorithm, Divergence, Estimator, Round, World};
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{DeviceChoice, Engine, select};
use fedrl_envs::{CartPole, Environment, Instance};
use fedrl_models::{Policy, PolicyConfig};

pub const SEED: u64 = 17;

/// Agents with poles of these lengths and a policy with these hidden layers.
pub fn world(lengths: &[f64], hidden: &[usize]) -> World {
    let spec = CartPole.spec();
    let config = PolicyConfig { hidden: hidden.to_vec(), ..PolicyConfig::default() };
    let agents = lengths.iter().enumerate().map(|(id, &length)| {
        let instance = Instance::new(&CartPole, [("length".to_string(), length)].into()).unwrap();
        Agent { id, simulator: instance.simulator(), spec }
    });
    World {
        engine: Engine::new(&select(DeviceChoice::Cpu, 0).unwrap()),
        policy: Policy::new(&config, &spec.observation, &spec.action).unwrap(),
        agents: agents.collect(),
        seed: SEED,
        max_episode_steps: 200,
        on_divergence: Divergence::Stop,
    }
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

pub fn initial(world: &World) -> Vec<f32> {
    world.policy.initial(Key::new(SEED, Purpose::Initialisation))
}

/// The rounds of a training, all agents taking part, the start first.
pub fn train<A: Algorithm>(world: &World, algorithm: &A, rounds: u32) -> Vec<Round<A::State>> {
    let everyone: Vec<usize> = (0..world.agents.len()).collect();
    let mut done = vec![algorithm.start(world, initial(world)).unwrap()];
    for round in 0..rounds {
        let next = algorithm.round(world, &done[round as usize].state, round, &everyone).unwrap();
        done.push(next);
    }
    done
}

/// ‖a − b‖ / ‖b‖.
pub fn relative(a: &[f32], b: &[f64]) -> f64 {
    let difference: f64 = a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - b).powi(2)).sum();
    (difference / b.iter().map(|b| b * b).sum::<f64>()).sqrt()
}
