//! Small worlds to run the algorithm in.

use fedrl_algos::momentum::{MomentumConfig, Step};
use std::ops::{Deref, DerefMut};

use fedrl_algos::{Advantage, Agent, Algorithm, Divergence, Estimator, Round, Sampled, World};
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{DeviceChoice, Engine, Number, select};
use fedrl_envs::{CartPole, Environment, Instance};
use fedrl_models::{Policy, PolicyConfig};

pub const SEED: u64 = 17;

/// A world, and what runs policies in it.
pub struct Bench<F> {
    pub world: World<F>,
    pub engine: Engine<F>,
    pub policy: Policy,
}

impl<F> Deref for Bench<F> {
    type Target = World<F>;

    fn deref(&self) -> &World<F> {
        &self.world
    }
}

impl<F> DerefMut for Bench<F> {
    fn deref_mut(&mut self) -> &mut World<F> {
        &mut self.world
    }
}

/// Agents with poles of these lengths and a policy with these hidden layers, run by `engine`.
fn world_of<F: Number>(engine: Engine<F>, lengths: &[f64], hidden: &[usize]) -> Bench<F> {
    let spec = CartPole.spec();
    let config = PolicyConfig { hidden: hidden.to_vec(), ..PolicyConfig::default() };
    let agents = lengths.iter().enumerate().map(|(id, &length)| {
        let instance = Instance::new(&CartPole, [("length".to_string(), length)].into()).unwrap();
        Agent { id, simulator: instance.simulator(), spec }
    });
    let policy = Policy::new(&config, &spec.observation, &spec.action).unwrap();
    let world = World {
        estimates: Box::new(Sampled { engine: engine.clone(), policy: policy.clone(), foreign: None }),
        agents: agents.collect(),
        seed: SEED,
        max_episode_steps: 200,
        on_divergence: Divergence::Stop,
    };
    Bench { world, engine, policy }
}

/// A world as training runs it.
pub fn world(lengths: &[f64], hidden: &[usize]) -> Bench<f32> {
    world_of(Engine::new(&select(DeviceChoice::Cpu, 0).unwrap()), lengths, hidden)
}

/// A world in f64, for what has to be exact.
pub fn exact_world(lengths: &[f64], hidden: &[usize]) -> Bench<f64> {
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
        entropy: 0.0,
        exact: false,
        step: Step::Constant,
        is_clip: None,
        direction_clip: None,
        personal: None,
    }
}

pub fn initial<F: Number>(world: &Bench<F>) -> Vec<F> {
    let theta = world.policy.initial(Key::new(SEED, Purpose::Initialisation));
    theta.into_iter().map(|x| F::from_f64(f64::from(x))).collect()
}

/// The rounds of a training, all agents taking part, the start first.
pub fn train<F: Number, A: Algorithm<F>>(world: &Bench<F>, algorithm: &A, rounds: u32) -> Vec<Round<A::State>> {
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
