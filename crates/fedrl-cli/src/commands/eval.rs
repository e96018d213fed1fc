//! `fedrl eval`.

use std::path::Path;

use anyhow::{Context, Result};
use fedrl_engine::{Engine, Matrix, Mode, select};
use fedrl_envs::{Instance, Parameters};
use fedrl_eval::{Actors, Evaluation, Foreigners, Protocol};
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
            let mut row =
                vec![name, format!("{:.1}", variant.mean), format!("{:.1} .. {:.1}", variant.low, variant.high)];
            if let Some(Foreigners { nearest_agent, mean_over_agents, best_agent }) = variant.agents {
                row.extend([nearest_agent.to_string(), format!("{mean_over_agents:.1}"), format!("{best_agent:.1}")]);
            }
            row
        });
        let foreign = self.evaluation.variants.iter().any(|variant| variant.agents.is_some());
        let columns = ["variant", "return", "95 %", "by agent", "mean of agents", "best agent"];
        let columns = if foreign { &columns[..] } else { &columns[..3] };
        let Evaluation { mean, worst, cvar, .. } = self.evaluation;
        format!(
            "\n{} (round {}, {} episodes each)\n{}\nmean {mean:.1}   worst {worst:.1}   mean of the worst fifth {cvar:.1}\n",
            self.on,
            self.round,
            self.evaluation.variants.first().map_or(0, |variant| variant.episodes),
            table(columns, rows.collect(), 1)
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

/// What a checkpoint knows.
pub struct Trained {
    /// Its round.
    pub round: u32,
    /// θ of the policy that stands for all agents.
    pub theta: Vec<f32>,
    /// θ of every agent's own policy, where they have their own.
    pub policies: Option<Matrix<f32>>,
}

impl Trained {
    /// Who acts in the variants of the set `on`.
    pub fn actors<'a>(&'a self, setup: &'a Setup, on: &str) -> Actors<'a> {
        match &self.policies {
            None => Actors::Common(&self.theta),
            Some(policies) if on == "agents" => Actors::Own(policies),
            Some(policies) => Actors::Agents { policies, homes: &setup.agents },
        }
    }
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
    trained: &Trained,
    (on, instances): (&str, &[Instance]),
    request: &Request,
) -> Result<Record> {
    let protocol = Protocol {
        episodes: request.episodes,
        max_episode_steps: setup.max_episode_steps(),
        mode: request.mode,
        seed: setup.experiment.training.seed,
    };
    let evaluation = fedrl_eval::evaluate(engine, &setup.policy, trained.actors(setup, on), instances, &protocol)?;
    let record = Record { on: on.into(), round: trained.round, greedy: request.mode == Mode::Greedy, evaluation };
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

/// What the checkpoint that `--checkpoint` names knows.
pub fn trained(directory: &RunDirectory, setup: &Setup, checkpoint: &str) -> Result<Trained> {
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
    Ok(Trained { round, theta, policies: checkpoint.policies(setup.policy.parameter_count()) })
}

/// Evaluates a run's checkpoint.
pub fn run(args: &EvalArgs) -> Result<Done> {
    let output = Output::from(args.output);
    let (directory, setup) = open(&args.run)?;
    if let Some(episodes) = args.episodes.filter(|episodes| !(1..=1_000_000).contains(episodes)) {
        return Err(Usage(format!("--episodes is {episodes}, expected a whole number from 1 to 1000000")).into());
    }
    let chosen = chosen_sets(args.on.as_deref(), &setup)?;
    let trained = trained(&directory, &setup, &args.checkpoint)?;

    let engine = Engine::new(&select(args.device.parse()?, setup.work())?);
    let mode = if args.greedy { Mode::Greedy } else { setup.mode() };
    let mut suffix = String::new();
    if args.checkpoint != "latest" {
        suffix += &format!("-round-{:06}", trained.round);
    }
    if mode != setup.mode() {
        suffix += "-greedy";
    }
    let standard = setup.experiment.evaluation.episodes;
    let episodes = args.episodes.unwrap_or(standard);
    if episodes != standard {
        suffix += &format!("-episodes-{episodes}");
    }
    let request = Request { mode, episodes, suffix };
    for (on, instances) in &chosen {
        let record = evaluate(&directory, &setup, &engine, &trained, (on, instances), &request)?;
        output.text(record.table())?;
        output.value(&Line { run: directory.path().display().to_string(), record: &record })?;
    }
    Ok(Done::Complete)
}

/// The sets that `--on` names: every one unless it is given.
pub fn chosen_sets(on: Option<&str>, setup: &Setup) -> Result<Vec<(String, Vec<Instance>)>> {
    match on {
        Some(on) => Ok(vec![chosen_set(on, setup)?]),
        None => Ok(sets(setup).into_iter().map(|(name, set)| (name.to_string(), set)).collect()),
    }
}

/// The set of this name, or in this file.
pub fn chosen_set(on: &str, setup: &Setup) -> Result<(String, Vec<Instance>)> {
    if let Some((name, set)) = sets(setup).into_iter().find(|(name, _)| *name == on) {
        return Ok((name.to_string(), set));
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
    Ok((format!("file-{}", path.file_stem().map_or(on.into(), |stem| stem.to_string_lossy())), instances))
}
