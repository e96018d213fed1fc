//! `fedrl adapt`.

mod folder;
mod request;
mod tables;

use std::path::Path;

use anyhow::{Context, Result};
use fedrl_algos::value::ValueConfig;
use fedrl_engine::{DeviceChoice, Engine, select};
use fedrl_envs::Instance;
use fedrl_eval::adapt::{Adaptation, VariantAdaptation, adapt};
use fedrl_eval::{Actors, Protocol};
use fedrl_train::{RunDirectory, Setup};
use serde::Serialize;

use super::eval::{Trained, chosen_set, open, trained};
use crate::args::AdaptArgs;
use crate::exit::Done;
use crate::output::Output;
use request::Request;

/// An adaptation and what it is of: `adapt/SET.json`, and a line of `--json` with the run's path.
#[derive(Debug, Serialize)]
struct Record {
    /// The set of variants.
    on: String,
    /// The checkpoint's round.
    round: u32,
    /// Environment steps of every new agent.
    steps: u32,
    /// New agents for each variant and beginning.
    seeds: u32,
    /// The return to reach.
    threshold: f64,
    /// Variant by variant.
    variants: Vec<VariantAdaptation>,
}

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a, R> {
    run: String,
    #[serde(flatten)]
    record: &'a R,
}

/// Adapts what a run's checkpoint has learned, or those of a folder of runs.
pub fn run(args: &AdaptArgs) -> Result<Done> {
    let output = Output::from(args.output);
    let request = Request::new(args)?;
    let engine = Engine::new(&select(DeviceChoice::Cpu, 0)?);
    if let Some(runs) = folder::runs(&args.run)? {
        folder::adapt(&args.run, &runs, &request, &engine, output)?;
    } else {
        let run = Run::read(&args.run, &request)?;
        let record = run.adapt(&request, &engine)?;
        output.text(record.text())?;
        output.value(&run.line(&record))?;
    }
    Ok(Done::Complete)
}

/// A run that can be adapted.
struct Run {
    directory: RunDirectory,
    setup: Setup,
    config: ValueConfig,
    trained: Trained,
    /// The set of variants.
    on: String,
    instances: Vec<Instance>,
    threshold: f64,
}

impl Run {
    /// Reads the run in `path`.
    ///
    /// # Errors
    /// It is none, or not one that this can be asked of.
    fn read(path: &Path, request: &Request) -> Result<Self> {
        let (directory, setup) = open(path)?;
        let config = request::values(path, &setup)?.config.clone();
        let threshold = request.threshold(&setup)?;
        let (on, instances) = chosen_set(&request.args.on, &setup)?;
        let trained = trained(&directory, &setup, &request.args.checkpoint)?;
        Ok(Run { directory, setup, config, trained, on, instances, threshold })
    }

    /// Adapts it and writes `adapt/SET.json`.
    fn adapt(&self, request: &Request, engine: &Engine<f32>) -> Result<Record> {
        let AdaptArgs { steps, seeds, .. } = *request.args;
        let setup = &self.setup;
        let protocol = Protocol {
            episodes: setup.experiment.evaluation.episodes,
            max_episode_steps: setup.max_episode_steps(),
            mode: setup.mode(),
            seed: setup.experiment.training.seed,
        };
        let adaptation = Adaptation {
            policy: &setup.policy,
            learned: self.learned(),
            config: self.config.clone(),
            protocol,
            steps,
            seeds,
            threshold: self.threshold,
            starts: request.starts.clone(),
        };
        let variants = adapt(engine, &adaptation, &self.instances)?;
        let round = self.trained.round;
        let record = Record { on: self.on.clone(), round, steps, seeds, threshold: self.threshold, variants };
        write(&self.directory, &request.file(&self.on, &format!("round-{round:06}")), &record)?;
        Ok(record)
    }

    /// What there is to begin with. Agents are at home nowhere here: the nearest may be the one that is.
    fn learned(&self) -> Actors<'_> {
        match &self.trained.policies {
            None => Actors::Common(&self.trained.theta),
            Some(policies) => Actors::Agents { policies, homes: &self.setup.agents },
        }
    }

    fn line<'a>(&self, record: &'a Record) -> Line<'a, Record> {
        Line { run: self.directory.path().display().to_string(), record }
    }
}

/// Writes a record into a run, or a folder of runs.
fn write(directory: &RunDirectory, file: &str, record: &impl Serialize) -> Result<()> {
    directory.write(file, &serde_json::to_vec_pretty(record)?).with_context(|| format!("writing {file}"))
}
