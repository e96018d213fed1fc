//! `fedrl bench`.

mod env;
mod measure;
mod rollout;
mod round;

use anyhow::{Context, Result};
use fedrl_envs::{Environment, Instance, Parameters};

use crate::args::{BenchCommand, BenchOptions};
use crate::exit::{Done, Usage};

/// Measures something.
pub fn run(command: &BenchCommand) -> Result<Done> {
    match command {
        BenchCommand::Env { envs, options } => with_threads(options, || env::run(envs, options))?,
        BenchCommand::Rollout { envs, hidden, device, options } => {
            with_threads(options, || rollout::run(rollout::Kind::Rollout, envs, hidden, device, options))?;
        }
        BenchCommand::Eval { envs, hidden, device, options } => {
            with_threads(options, || rollout::run(rollout::Kind::Evaluation, envs, hidden, device, options))?;
        }
        BenchCommand::Round { config, set, device, options } => {
            with_threads(options, || round::run(config.as_deref(), set, device, options))?;
        }
    }
    Ok(Done::Complete)
}

/// Runs `f` with as many threads as were asked for.
fn with_threads(options: &BenchOptions, f: impl FnOnce() -> Result<()> + Send) -> Result<()> {
    if !(1..=1000).contains(&options.repeats) {
        return Err(Usage(format!("--repeats is {}, expected a whole number from 1 to 1000", options.repeats)).into());
    }
    if let Some(count) = options.agents.iter().find(|count| !(1..=10_000_000).contains(*count)) {
        return Err(Usage(format!("--agents {count}: expected whole numbers from 1 to 10000000")).into());
    }
    if !(1..=4096).contains(&options.threads) {
        return Err(Usage(format!("--threads is {}, expected a whole number from 1 to 4096", options.threads)).into());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build().context("starting threads")?;
    pool.install(f)
}

/// As many variants of an environment: those of which the first parameter, a length or a gravity, say, is
/// from 0.7 to 1.3 times its default.
fn variants(environment: &'static dyn Environment, count: usize) -> Result<Vec<Instance>> {
    let first = &environment.spec().parameters[0];
    let value = |i: usize| first.default * (0.7 + 0.6 * i as f64 / count.saturating_sub(1).max(1) as f64);
    let variant = |i: usize| Instance::new(environment, Parameters::from([(first.name.to_string(), value(i))]));
    Ok((0..count).map(variant).collect::<Result<Vec<_>, _>>()?)
}

/// The environments that were named, or these by default.
fn environments(names: &[String], default: &[&str]) -> Result<Vec<&'static dyn Environment>> {
    let names: Vec<&str> = if names.is_empty() { default.to_vec() } else { names.iter().map(String::as_str).collect() };
    Ok(names.into_iter().map(fedrl_envs::find).collect::<Result<Vec<_>, _>>().map_err(Usage)?)
}
