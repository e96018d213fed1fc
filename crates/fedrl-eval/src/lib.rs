//! How a policy does in environments, trained on or not; or many policies, each where it belongs.

mod actors;
pub mod adapt;
pub mod personalisation;

use fedrl_core::random::{Key, Purpose};
use fedrl_engine::fused::Outcome;
use fedrl_engine::{Engine, EngineError, Mode, Replica, Trajectory};
use fedrl_envs::{Instance, Parameters, Simulator};
use fedrl_models::Policy;
use fedrl_stats::{bootstrap_interval, cvar, mean};
use rayon::prelude::*;
use serde::Serialize;

pub use actors::{Actors, nearest};

/// Share of the variants, the worst ones, over which [`Evaluation::cvar`] averages.
pub const CVAR_SHARE: f64 = 0.2;

const RESAMPLES: usize = 2000;
const CONFIDENCE: f64 = 0.95;

/// How to evaluate.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// Episodes per variant.
    pub episodes: usize,
    /// Steps after which an episode is truncated.
    pub max_episode_steps: usize,
    /// Whether actions are sampled or the most probable ones.
    pub mode: Mode,
    /// Seed of every draw. Variant i meets the same draws whatever the policy, so that policies
    /// are compared on the same episodes.
    pub seed: u64,
}

/// The return in one variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantReturn {
    /// The parameters in which it differs.
    pub parameters: Parameters,
    /// Episodes run.
    pub episodes: usize,
    /// Mean undiscounted return.
    pub mean: f64,
    /// Lower end of the mean's 95 % bootstrap interval.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// How agents do whose own variant it is not, if they have policies of their own.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Foreigners>,
}

/// How the policies of agents do in a variant that is nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Foreigners {
    /// The agent that lives nearest: the one whose return counts.
    pub nearest_agent: usize,
    /// Mean return over the agents' policies.
    pub mean_over_agents: f64,
    /// Return of the best of them.
    pub best_agent: f64,
}

/// The returns in a set of variants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// Variant by variant.
    pub variants: Vec<VariantReturn>,
    /// Mean over variants.
    pub mean: f64,
    /// Return in the worst variant.
    pub worst: f64,
    /// Mean over the worst fifth of the variants.
    pub cvar: f64,
}

/// Evaluates `actors` in every one of `instances`, zero-shot.
///
/// # Errors
/// The device failed.
pub fn evaluate(
    engine: &Engine<f32>,
    policy: &Policy,
    actors: Actors,
    instances: &[Instance],
    protocol: &Protocol,
) -> Result<Evaluation, EngineError> {
    let agents = foreigners(engine, policy, actors, instances, protocol)?;
    let returns = returns(engine, policy, actors, instances, protocol)?;

    let summarise = |(index, (instance, returns)): (usize, (&Instance, Vec<f64>))| {
        let mut rng = Key::new(protocol.seed, Purpose::Bootstrap).child([index as u32, 0, 0, 0]).rng();
        let interval = bootstrap_interval(&returns, mean, RESAMPLES, CONFIDENCE, &mut rng);
        VariantReturn {
            parameters: instance.given().clone(),
            episodes: returns.len(),
            mean: mean(&returns),
            low: interval.low,
            high: interval.high,
            agents: agents.get(index).copied(),
        }
    };
    let variants: Vec<VariantReturn> = instances.par_iter().zip(returns).enumerate().map(summarise).collect();
    let means: Vec<f64> = variants.iter().map(|variant| variant.mean).collect();
    let worst = means.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(Evaluation { mean: mean(&means), worst, cvar: cvar(&means, CVAR_SHARE), variants })
}

/// The returns of every episode in every variant.
fn returns(
    engine: &Engine<f32>,
    policy: &Policy,
    actors: Actors,
    instances: &[Instance],
    protocol: &Protocol,
) -> Result<Vec<Vec<f64>>, EngineError> {
    let simulators: Vec<Simulator<f32>> = instances.iter().map(Instance::simulator).collect();
    let replicas = replicas(actors, instances, &simulators, protocol);
    let outcomes = engine.episodes(policy, &replicas, protocol.episodes, protocol.max_episode_steps, protocol.mode)?;
    let returns = |outcomes: &Vec<Outcome>| outcomes.iter().map(|outcome| outcome.total_reward).collect();
    Ok(outcomes.iter().map(returns).collect())
}

/// How agents do in variants that are nobody's; nothing where nobody else acts.
fn foreigners(
    engine: &Engine<f32>,
    policy: &Policy,
    actors: Actors,
    instances: &[Instance],
    protocol: &Protocol,
) -> Result<Vec<Foreigners>, EngineError> {
    let Actors::Agents { policies, homes } = actors else { return Ok(Vec::new()) };
    let mut means = vec![Vec::new(); instances.len()];
    for agent in 0..policies.rows() {
        let returns = returns(engine, policy, Actors::Common(policies.row(agent)), instances, protocol)?;
        means.iter_mut().zip(returns).for_each(|(means, returns)| means.push(mean(&returns)));
    }
    let foreigners = |(instance, means): (&Instance, &Vec<f64>)| Foreigners {
        nearest_agent: nearest(homes, instance),
        mean_over_agents: mean(means),
        best_agent: means.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    };
    Ok(instances.iter().zip(&means).map(foreigners).collect())
}

/// One episode of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    /// The states, the last one included.
    pub states: Vec<Vec<f32>>,
    /// Undiscounted return.
    pub total_reward: f64,
    /// Whether it ended by itself.
    pub terminated: bool,
}

/// The episode number `episode`, from 0 and below the protocol's number of episodes, of what
/// [`evaluate`] evaluates in every one of `instances`.
///
/// # Errors
/// The device failed.
pub fn watch(
    engine: &Engine<f32>,
    policy: &Policy,
    actors: Actors,
    instances: &[Instance],
    protocol: &Protocol,
    episode: usize,
) -> Result<Vec<Watched>, EngineError> {
    let simulators: Vec<Simulator<f32>> = instances.iter().map(Instance::simulator).collect();
    let replicas = replicas(actors, instances, &simulators, protocol);
    let seen = engine.episode(policy, &replicas, episode, protocol.max_episode_steps, protocol.mode)?;
    let watched = |(replica, seen): (&Replica<f32>, &Trajectory<f32>)| Watched {
        states: engine.states(policy, replica, episode, seen),
        total_reward: seen.total_reward(),
        terminated: seen.terminated,
    };
    Ok(replicas.iter().zip(&seen).map(watched).collect())
}

/// The policies in every one of `instances`.
fn replicas<'a>(
    actors: Actors<'a>,
    instances: &'a [Instance],
    simulators: &'a [Simulator<f32>],
    protocol: &Protocol,
) -> Vec<Replica<'a, f32>> {
    let key = Key::new(protocol.seed, Purpose::Evaluation);
    let variants = instances.iter().zip(simulators).enumerate();
    let replica = |(i, (instance, simulator)): (usize, (&'a Instance, &'a Simulator<f32>))| Replica {
        theta: actors.theta(i, instance),
        simulator,
        spec: instance.spec(),
        key: key.child([i as u32, 0, 0, 0]),
    };
    variants.map(replica).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedrl_engine::{DeviceChoice, Matrix, select};
    use fedrl_envs::{CartPole, Environment};
    use fedrl_models::PolicyConfig;

    /// A linear policy that pushes towards the side to which the pole falls, certain of itself.
    fn balancing() -> (Policy, Vec<f32>) {
        let spec = CartPole.spec();
        let config = PolicyConfig { hidden: vec![], ..PolicyConfig::default() };
        let policy = Policy::new(&config, &spec.observation, &spec.action).unwrap();
        let right = [0.0, 0.0, 30.0, 10.0];
        let theta = right.map(|x: f32| -x).into_iter().chain(right).chain([0.0, 0.0]).collect();
        (policy, theta)
    }

    fn returns(policy: &Policy, theta: &[f32], seed: u64) -> Evaluation {
        let variant = |length| Instance::new(&CartPole, [("length".to_string(), length)].into()).unwrap();
        let protocol = Protocol { episodes: 20, max_episode_steps: 200, mode: Mode::Sampled, seed };
        let engine = Engine::new(&select(DeviceChoice::Cpu, 0).unwrap());
        evaluate(&engine, policy, Actors::Common(theta), &[0.3, 0.5, 0.7].map(variant), &protocol).unwrap()
    }

    #[test]
    fn a_policy_that_balances_is_told_from_one_that_does_not() {
        let (policy, theta) = balancing();
        let good = returns(&policy, &theta, 1);
        assert!(good.mean > 150.0, "{good:?}");
        let bad = returns(&policy, &vec![0.0; theta.len()], 1);
        assert!(bad.mean < 40.0, "{bad:?}");
        for evaluation in [&good, &bad] {
            assert_eq!(evaluation.worst, evaluation.variants.iter().map(|v| v.mean).fold(f64::INFINITY, f64::min));
            assert!(evaluation.worst <= evaluation.cvar && evaluation.cvar <= evaluation.mean);
            assert!(evaluation.variants.iter().all(|v| v.low <= v.mean && v.mean <= v.high && v.episodes == 20));
        }
        assert_eq!(bad, returns(&policy, &vec![0.0; theta.len()], 1));
        assert_ne!(bad, returns(&policy, &vec![0.0; theta.len()], 2));
    }

    #[test]
    fn every_agent_acts_at_home_and_the_nearest_elsewhere() {
        let (policy, good) = balancing();
        let policies = Matrix::from_rows([good.clone(), vec![0.0; good.len()]]);
        let variants = |lengths: [f64; 2]| {
            lengths.map(|length| Instance::new(&CartPole, [("length".to_string(), length)].into()).unwrap())
        };
        let homes = variants([0.3, 0.7]);
        let protocol = Protocol { episodes: 5, max_episode_steps: 200, mode: Mode::Sampled, seed: 1 };
        let engine = Engine::new(&select(DeviceChoice::Cpu, 0).unwrap());
        let own = evaluate(&engine, &policy, Actors::Own(&policies), &homes, &protocol).unwrap();
        assert!(own.variants[0].mean > 150.0 && own.variants[1].mean < 40.0, "{own:?}");
        assert!(own.variants.iter().all(|variant| variant.agents.is_none()));

        let agents = Actors::Agents { policies: &policies, homes: &homes };
        let held_out = variants([0.6, 0.2]);
        let evaluation = evaluate(&engine, &policy, agents, &held_out, &protocol).unwrap();
        let nearest = [1, 0];
        for ((variant, nearest), i) in evaluation.variants.iter().zip(nearest).zip(0..) {
            let alone = |agent: usize| {
                let common = Actors::Common(policies.row(agent));
                evaluate(&engine, &policy, common, &held_out, &protocol).unwrap().variants[i].mean
            };
            let agents = variant.agents.unwrap();
            assert_eq!((agents.nearest_agent, variant.mean), (nearest, alone(nearest)));
            assert_eq!(agents.best_agent, alone(0).max(alone(1)));
            assert!((agents.mean_over_agents - (alone(0) + alone(1)) / 2.0).abs() < 1e-9);
        }
    }

    #[test]
    fn an_episode_that_is_watched_is_one_of_those_evaluated() {
        let (policy, theta) = balancing();
        let instances = [Instance::new(&CartPole, Default::default()).unwrap()];
        let engine = Engine::new(&select(DeviceChoice::Cpu, 0).unwrap());
        // Of a policy that falls now and then.
        let theta: Vec<f32> = theta.iter().map(|x| 0.1 * x).collect();
        let protocol = Protocol { episodes: 3, max_episode_steps: 200, mode: Mode::Sampled, seed: 5 };
        let mean = evaluate(&engine, &policy, Actors::Common(&theta), &instances, &protocol).unwrap().mean;
        let watched = [0, 1, 2]
            .map(|i| watch(&engine, &policy, Actors::Common(&theta), &instances, &protocol, i).unwrap().remove(0));
        assert!((watched.iter().map(|episode| episode.total_reward).sum::<f64>() / 3.0 - mean).abs() < 1e-12);
        assert_ne!(watched[0].states, watched[1].states);
        for episode in watched {
            // A reward of 1 for every step; within the limits up to the last state, and then not if it fell.
            assert_eq!(episode.states.len() as f64, episode.total_reward + 1.0);
            let stands = |state: &Vec<f32>| state[0].abs() <= 2.4 && state[2].abs() <= 12f32.to_radians();
            let (last, before) = episode.states.split_last().unwrap();
            assert!(before.iter().all(stands));
            assert_eq!(stands(last), !episode.terminated);
        }
    }

    /// Rounding grows on a pole that is kept up: states made again by other arithmetic than the one that
    /// lived would show it falling.
    #[test]
    fn a_pole_that_stands_for_a_long_episode_stands_in_what_is_watched() {
        let (policy, theta) = balancing();
        let position = [1.0, 2.0];
        let theta: Vec<f32> = theta
            .iter()
            .enumerate()
            .map(|(i, &x)| if i < 8 && i % 4 < 2 { position[i % 4] * if i < 4 { -1.0 } else { 1.0 } } else { x })
            .collect();
        let instances = [Instance::new(&CartPole, Default::default()).unwrap()];
        let protocol = Protocol { episodes: 3, max_episode_steps: 500, mode: Mode::Sampled, seed: 7 };
        for choice in [DeviceChoice::Cpu, DeviceChoice::Reference] {
            let engine = Engine::new(&select(choice, 0).unwrap());
            let watched = watch(&engine, &policy, Actors::Common(&theta), &instances, &protocol, 2).unwrap().remove(0);
            assert!(watched.total_reward == 500.0 && !watched.terminated, "{}", watched.total_reward);
            let stands = |state: &Vec<f32>| state[0].abs() <= 2.4 && state[2].abs() <= 12f32.to_radians();
            assert!(watched.states.iter().all(stands));
        }
    }
}
