//! `fedrl bench round`: rounds of training, without anything being written down.

use std::path::Path;

use anyhow::Result;
use fedrl_algos::{Algorithm, AnyAlgorithm, World};
use fedrl_core::wide::widest;
use fedrl_engine::{DeviceChoice, Engine, select};
use fedrl_train::{Setup, Source};
use serde::Serialize;

use super::measure::{Rates, measure, peak_memory_mib, short};
use crate::args::{BenchOptions, OutputArgs};
use crate::output::{Output, table};

#[derive(Serialize)]
struct Row {
    bench: &'static str,
    algorithm: &'static str,
    environment: String,
    agents: usize,
    threads: usize,
    device: String,
    vectors: &'static str,
    env_steps_per_round: f64,
    /// Rounds.
    #[serde(flatten)]
    rounds: Rates,
    peak_memory_mib: Option<f64>,
}

/// What is measured without an experiment.
const DEFAULT: &str = include_str!("default.toml");

/// Measures rounds of an experiment with every number of agents.
pub fn run(config: Option<&Path>, set: &[String], device: &str, options: &BenchOptions) -> Result<()> {
    let output = Output::from(OutputArgs { json: options.json, quiet: false });
    let selection = select(device.parse::<DeviceChoice>()?, usize::MAX)?;
    let engine = Engine::new(&selection);
    let mut rows = Vec::new();
    for &agents in &options.agents {
        let mut source = match config {
            Some(path) => Source::read(path)?,
            None => Source::parse("fedrl bench round", DEFAULT)?,
        };
        set.iter().try_for_each(|setting| source.set(setting))?;
        source.set(&format!("agents.count={agents}"))?;
        let name = source.name().to_string();
        let setup = Setup::new(source.experiment()?, &name)?;
        let world = setup.world_on(&engine);
        let mut theta = setup.initial()?;
        if config.is_none() {
            balance(&setup, &mut theta);
        }
        let (rates, env_steps_per_round) = match setup.algorithm() {
            AnyAlgorithm::FedSvrpgM(algorithm) => rounds_of(&algorithm, &world, theta, options)?,
            AnyAlgorithm::FedHapgM(algorithm) => rounds_of(&algorithm, &world, theta, options)?,
            AnyAlgorithm::FastFedPg(algorithm) => rounds_of(&algorithm, &world, theta, options)?,
            AnyAlgorithm::Value(algorithm) => rounds_of(&algorithm, &world, theta, options)?,
        };
        let row = Row {
            bench: "round",
            algorithm: setup.experiment.algorithm.name(),
            environment: setup.experiment.environment.id.clone(),
            agents,
            threads: options.threads,
            device: selection.name(),
            vectors: widest(),
            env_steps_per_round,
            rounds: rates,
            peak_memory_mib: peak_memory_mib(),
        };
        rows.push(vec![
            format!("{}, {}", row.algorithm, row.environment),
            agents.to_string(),
            short(row.rounds.per_second),
            short(row.rounds.per_core_second),
            format!("{} .. {}", short(row.rounds.slowest), short(row.rounds.fastest)),
            short(row.rounds.per_core_second * env_steps_per_round),
            row.peak_memory_mib.map_or_else(String::new, |mib| format!("{mib:.0} MiB")),
        ]);
        output.value(&row)?;
    }
    let header = format!("{}, {} threads, {}", selection.name(), options.threads, widest());
    let columns = [&header, "agents", "rounds/s", "per core", "range", "steps/s per core", "peak memory"];
    output.text(table(&columns, rows, 1))?;
    Ok(())
}

/// The rate of an algorithm's first round, again and again, and the environment steps of it.
fn rounds_of<A: Algorithm<f32>>(
    algorithm: &A,
    world: &World<f32>,
    theta: Vec<f32>,
    options: &BenchOptions,
) -> Result<(Rates, f64)> {
    let everyone: Vec<usize> = (0..world.agents.len()).collect();
    let start = algorithm.start(world, theta)?.state;
    let mut env_steps = 0;
    let rates = measure(options.repeats, || {
        let done = algorithm.round(world, &start, 0, &everyone)?;
        env_steps = done.reports.iter().map(|report| report.metrics.lived.env_steps).sum();
        Ok(1.0)
    })?;
    Ok((rates, env_steps as f64))
}

/// Makes a policy of CartPole keep the pole up, so that every trajectory is lived to its horizon: the
/// first unit of every hidden layer hears the pole lean, and the outputs listen to it alone.
fn balance(setup: &Setup, theta: &mut [f32]) {
    let lean = [0.1, 0.2, 2.0, 0.6];
    let last = setup.policy.network.layers().len() - 1;
    for (k, layer) in setup.policy.network.layers().iter().enumerate() {
        let row = |unit: usize| layer.weight.start + unit * layer.inputs;
        if k == 0 {
            theta[row(0)..][..layer.inputs].copy_from_slice(&lean);
        } else {
            for unit in 0..if k == last { layer.outputs } else { 1 } {
                theta[row(unit)..][..layer.inputs].fill(0.0);
                theta[row(unit)] = if k < last { 2.0 } else { 20.0 * (2.0 * unit as f32 - 1.0) };
            }
        }
    }
}
