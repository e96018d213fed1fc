//! `fedrl eval`.

use std::path::Path;

use anyhow::{Context, Result};
use fedrl_engine::{Engine, Mode, select};
use fedrl_envs::{Instance, Parameters};
use fedrl_eval::{Evaluation, Protocol};
use fedrl_train::{Batch, ConfigError, RunDirectory, Setup, variant_set_from_file};
use serde::Serialize;

use crate::args::EvalArgs;
use crate::exit::{Done, Usage};
use crate::output::{Output, table};

/// An evaluation and what it is of: `eval/SET.json`, and a line of `--json` with the run's path.
#[derive(Debug, Serialize)]
pub struct Record {
    /// The set of variants.
    pub on: String,
    /// The checkpoint's round.
    pub round: u32,
    /// Whether actions were the most probable ones.
    pub greedy: bool,
    /// The returns.
    #[serde(flatten)]
    pub evaluation: Evaluation,
}

impl Record {
    /// The table for people.
    pub fn table(&self) -> String {
        let rows = self.evaluation.variants.iter().map(|variant| {
            let name = variant_name(&variant.parameters);
            vec![name, format!("{:.1}", variant.mean), format!("{:.1} .. {:.1}", variant.low, variant.high)]
        });
        let Evaluation { mean, worst, cvar, .. } = self.evaluation;
        format!(
            "\n{} (round {}, {} episodes each)\n{}\nmean {mean:.1}   worst {worst:.1}   mean of the worst fifth {cvar:.1}\n",
            self.on,
            self.round,
            self.evaluation.variants.first().map_or(0, |variant| variant.episodes),
            table(&["variant", "return", "95 %"], rows.collect(), 1)
        )
    }
}

/// A variant by the parameters that were set.
pub fn variant_name(given: &Parameters) -> String {
    let parameters: Vec<String> = given.iter().map(|(name, value)| format!("{name}={value:.4}")).collect();
    if parameters.is_empty() { "nominal".into() } else { parameters.join(" ") }
}

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    run: String,
    #[serde(flatten)]
    record: &'a Record,
}

/// How to evaluate.
pub struct Request {
    /// Sampled or most probable actions.
    pub mode: Mode,
    /// Episodes per variant.
    pub episodes: usize,
    /// What the file's name gets where it is not the standard evaluation.
    pub suffix: String,
}

/// The sets of variants that an experiment names, agents first.
pub fn sets(setup: &Setup) -> Vec<(&str, Vec<Instance>)> {
    let held_out = setup.held_out.iter().map(|set| (set.name, set.instances.clone()));
    std::iter::once(("agents", setup.agents.clone())).chain(held_out).collect()
}

/// Evaluates the policy of a round on one set and writes `eval/SET.json`.
pub fn evaluate(
    directory: &RunDirectory,
    setup: &Setup,
    engine: &Engine<f32>,
    (round, theta): (u32, &[f32]),
    (on, instances): (&str, &[Instance]),
    request: &Request,
) -> Result<Record> {
    let protocol = Protocol {
        episodes: request.episodes,
        max_episode_steps: setup.max_episode_steps(),
        mode: request.mode,
        seed: setup.experiment.training.seed,
    };
    let evaluation = fedrl_eval::evaluate(engine, &setup.policy, theta, instances, &protocol)?;
    let record = Record { on: on.into(), round, greedy: request.mode == Mode::Greedy, evaluation };
    let file = format!("eval/{on}{}.json", request.suffix);
    let json = serde_json::to_vec_pretty(&record)?;
    directory.write(&file, &json).with_context(|| format!("writing {file}"))?;
    Ok(record)
}

/// Opens a run that keeps policies.
pub fn open(run: &Path) -> Result<(RunDirectory, Setup)> {
    let directory = RunDirectory::open(run)?;
    let source = directory.source()?;
    if source.is_batch() {
        let path = run.display();
        return Err(Usage(if Batch::fits(&source)? {
            format!("{path} is a batch of runs: it keeps results, not policies")
        } else {
            format!("{path} holds many runs: name one of its directories")
        })
        .into());
    }
    let name = source.name().to_string();
    let setup = Setup::new(source.experiment()?, &name)?;
    Ok((directory, setup))
}

/// The round and the parameters that `--checkpoint` names.
pub fn policy(directory: &RunDirectory, setup: &Setup, checkpoint: &str) -> Result<(u32, Vec<f32>)> {
    let path = directory.path().display();
    let round = match checkpoint {
        "latest" => None,
        "best" => directory.best_round()?,
        number => Some(number.parse().map_err(|_| {
            Usage(format!("--checkpoint {number}: expected latest, best, or a round that has a checkpoint"))
        })?),
    };
    let checkpoint = directory
        .checkpoint(round)?
        .ok_or_else(|| Usage(format!("{path} has no checkpoint yet; train it with `fedrl resume`")))?;
    let round = checkpoint.header.progress.round;
    let theta = fedrl_models::files::from_bytes(&setup.policy, &checkpoint.policy)
        .with_context(|| format!("{path} round {round}: policy.safetensors"))?;
    Ok((round, theta))
}

/// Evaluates a run's checkpoint.
pub fn run(args: &EvalArgs) -> Result<Done> {
    let output = Output::from(args.output);
    let (directory, setup) = open(&args.run)?;
    if let Some(episodes) = args.episodes.filter(|episodes| !(1..=1_000_000).contains(episodes)) {
        return Err(Usage(format!("--episodes is {episodes}, expected a whole number from 1 to 1000000")).into());
    }
    let chosen = chosen_sets(args.on.as_deref(), &setup)?;
    let (round, theta) = policy(&directory, &setup, &args.checkpoint)?;

    let engine = Engine::new(&select(args.device.parse()?, setup.work())?);
    let mode = if args.greedy { Mode::Greedy } else { Mode::Sampled };
    let mut suffix = String::new();
    if args.checkpoint != "latest" {
        suffix += &format!("-round-{round:06}");
    }
    if args.greedy {
        suffix += "-greedy";
    }
    let standard = setup.experiment.evaluation.episodes;
    let episodes = args.episodes.unwrap_or(standard);
    if episodes != standard {
        suffix += &format!("-episodes-{episodes}");
    }
    let request = Request { mode, episodes, suffix };
    for (on, instances) in &chosen {
        let record = evaluate(&directory, &setup, &engine, (round, &theta), (on, instances), &request)?;
        output.text(record.table())?;
        output.value(&Line { run: directory.path().display().to_string(), record: &record })?;
    }
    Ok(Done::Complete)
}

/// The sets that `--on` names: every one unless it is given.
pub fn chosen_sets(on: Option<&str>, setup: &Setup) -> Result<Vec<(String, Vec<Instance>)>> {
    let named: Vec<(String, Vec<Instance>)> =
        sets(setup).into_iter().map(|(name, set)| (name.to_string(), set)).collect();
    let Some(on) = on else { return Ok(named) };
    if let Some(set) = named.iter().find(|(name, _)| name == on) {
        return Ok(vec![set.clone()]);
    }
    if ["interpolation", "extrapolation"].contains(&on) {
        return Err(Usage(format!("the experiment has no set `{on}`; add `{on} = {{ .. }}` to [environment]")).into());
    }
    let path = Path::new(on);
    if !path.exists() {
        let known = ["agents", "interpolation", "extrapolation"];
        return Err(Usage(format!(
            "--on: {}, or a TOML file",
            fedrl_core::unknown_name("set of variants", on, &known)
        ))
        .into());
    }
    let instances = variant_set_from_file(path)?
        .instances(setup.environment, None, setup.experiment.training.seed, 3)
        .map_err(|problem| ConfigError::at(on, "", problem))?;
    Ok(vec![(format!("file-{}", path.file_stem().map_or(on.into(), |stem| stem.to_string_lossy())), instances)])
}
