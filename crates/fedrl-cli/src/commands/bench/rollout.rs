//! `fedrl bench rollout` and `fedrl bench eval`: a policy that acts in many environments at once.

use anyhow::Result;
use fedrl_core::random::{Key, Purpose};
use fedrl_core::wide::widest;
use fedrl_engine::{DeviceChoice, Engine, Mode, Replica, select};
use fedrl_envs::{Environment, Instance, Simulator};
use fedrl_eval::{Actors, Protocol, evaluate};
use fedrl_models::{Policy, PolicyConfig};
use serde::Serialize;

use super::measure::{Rates, measure, short};
use super::{environments, variants};
use crate::args::{BenchOptions, OutputArgs};
use crate::output::{Output, table};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Episodes, begun anew as they end.
    Rollout,
    /// `fedrl eval`, its intervals included.
    Evaluation,
}

#[derive(Serialize)]
struct Row {
    bench: &'static str,
    environment: &'static str,
    agents: usize,
    hidden: Vec<usize>,
    threads: usize,
    device: String,
    vectors: &'static str,
    /// What the rates are of: environment steps, or episodes with the intervals of their means.
    of: &'static str,
    #[serde(flatten)]
    rates: Rates,
}

/// Measures every environment with every number of agents.
pub fn run(kind: Kind, envs: &[String], hidden: &[usize], device: &str, options: &BenchOptions) -> Result<()> {
    let selection = select(device.parse::<DeviceChoice>()?, usize::MAX)?;
    let engine = Engine::new(&selection);
    let output = Output::from(OutputArgs { json: options.json, quiet: false });
    let default: &[&str] = if kind == Kind::Rollout { &["CartPole-v1", "Acrobot-v1"] } else { &["CartPole-v1"] };
    let (bench, of) = if kind == Kind::Rollout { ("rollout", "steps") } else { ("eval", "episodes") };
    let mut rows = Vec::new();
    for environment in environments(envs, default)? {
        let spec = environment.spec();
        let config = PolicyConfig { hidden: hidden.to_vec(), ..PolicyConfig::default() };
        let policy = Policy::new(&config, &spec.observation, &spec.action)?;
        for &agents in &options.agents {
            let rates = match kind {
                Kind::Rollout => rollout(&engine, environment, &policy, agents, options)?,
                Kind::Evaluation => evaluation(&engine, environment, &policy, agents, options)?,
            };
            rows.push(vec![
                spec.id.to_string(),
                agents.to_string(),
                short(rates.per_second),
                short(rates.per_core_second),
                format!("{} .. {}", short(rates.slowest), short(rates.fastest)),
            ]);
            let (hidden, threads) = (hidden.to_vec(), options.threads);
            let (environment, device, vectors) = (spec.id, selection.name(), widest());
            output.value(&Row { bench, environment, agents, hidden, threads, device, vectors, of, rates })?;
        }
    }
    let header = format!("{}, {} threads, {}", selection.name(), options.threads, widest());
    output.text(table(&[&header, "agents", &format!("{of}/s"), "per core", "range"], rows, 1))?;
    Ok(())
}

/// Episodes of an agent at a time: their ends meet lanes that wait seldom.
const EPISODES: usize = 16;

fn rollout(
    engine: &Engine<f32>,
    environment: &'static dyn Environment,
    policy: &Policy,
    agents: usize,
    options: &BenchOptions,
) -> Result<Rates> {
    let spec = environment.spec();
    let theta = policy.initial(Key::new(0, Purpose::Initialisation));
    let instances = variants(environment, agents)?;
    let simulators: Vec<Simulator<f32>> = instances.iter().map(Instance::simulator).collect();
    let root = Key::new(0, Purpose::Evaluation);
    let replica =
        |(agent, simulator)| Replica { theta: &theta, simulator, spec, key: root.child([agent as u32, 0, 0, 0]) };
    let replicas: Vec<Replica<f32>> = simulators.iter().enumerate().map(replica).collect();
    let episodes = (agents * EPISODES).max(4096).min(agents.max(65_536)).div_ceil(agents);
    measure(options.repeats, || {
        let outcomes = engine.episodes(policy, &replicas, episodes, spec.max_episode_steps, Mode::Sampled)?;
        Ok(outcomes.iter().flatten().map(|outcome| outcome.steps as f64).sum())
    })
}

fn evaluation(
    engine: &Engine<f32>,
    environment: &'static dyn Environment,
    policy: &Policy,
    agents: usize,
    options: &BenchOptions,
) -> Result<Rates> {
    let spec = environment.spec();
    let theta = policy.initial(Key::new(0, Purpose::Initialisation));
    let instances = variants(environment, agents)?;
    let protocol = Protocol { episodes: 20, max_episode_steps: spec.max_episode_steps, mode: Mode::Sampled, seed: 0 };
    measure(options.repeats, || {
        let evaluation = evaluate(engine, policy, Actors::Common(&theta), &instances, &protocol)?;
        Ok(evaluation.variants.iter().map(|variant| variant.episodes as f64).sum())
    })
}
