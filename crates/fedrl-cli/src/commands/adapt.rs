//! `fedrl adapt`.

use anyhow::{Context, Result};
use fedrl_algos::value::{ValueExperiment, ValueName};
use fedrl_engine::{DeviceChoice, Engine, select};
use fedrl_eval::adapt::{Adaptation, Beginning, FewShot, SeedMean, Start, VariantAdaptation, adapt};
use fedrl_eval::{Actors, Protocol};
use fedrl_train::Setup;
use serde::Serialize;

use super::eval::{Trained, chosen_sets, open, trained, variant_name};
use crate::args::AdaptArgs;
use crate::exit::{Done, Usage};
use crate::output::{Output, table};

const STEPS: u32 = 10_000;
const SEEDS: u32 = 5;

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
struct Line<'a> {
    run: String,
    #[serde(flatten)]
    record: &'a Record,
}

/// Adapts what a run's checkpoint has learned.
pub fn run(args: &AdaptArgs) -> Result<Done> {
    let output = Output::from(args.output);
    check(args)?;
    let (directory, setup) = open(&args.run)?;
    let experiment = values(args, &setup)?;
    let starts = starts(args)?;
    let threshold = threshold(args, &setup)?;
    let sets = chosen_sets(Some(&args.on), &setup)?;
    let trained = trained(&directory, &setup, &args.checkpoint)?;

    let engine = Engine::new(&select(DeviceChoice::Cpu, 0)?);
    let adaptation = Adaptation {
        policy: &setup.policy,
        learned: learned(&trained, &setup),
        config: experiment.config.clone(),
        protocol: Protocol {
            episodes: setup.experiment.evaluation.episodes,
            max_episode_steps: setup.max_episode_steps(),
            mode: setup.mode(),
            seed: setup.experiment.training.seed,
        },
        steps: args.steps,
        seeds: args.seeds,
        threshold,
        starts,
    };
    for (on, instances) in sets {
        let variants = adapt(&engine, &adaptation, &instances)?;
        let Adaptation { steps, seeds, .. } = adaptation;
        let file = format!("adapt/{on}{}.json", suffix(args, trained.round));
        let record = Record { on, round: trained.round, steps, seeds, threshold, variants };
        directory.write(&file, &serde_json::to_vec_pretty(&record)?).with_context(|| format!("writing {file}"))?;
        output.text(record.text())?;
        output.value(&Line { run: directory.path().display().to_string(), record: &record })?;
    }
    Ok(Done::Complete)
}

/// Refuses numbers out of range.
fn check(args: &AdaptArgs) -> Result<(), Usage> {
    let refuse = |option: &str, value: String, expected: &str| Err(Usage(format!("{option} is {value}, {expected}")));
    if !(1..=100_000_000).contains(&args.steps) {
        return refuse("--steps", args.steps.to_string(), "expected a whole number from 1 to 100000000");
    }
    if !(1..=10_000).contains(&args.seeds) {
        return refuse("--seeds", args.seeds.to_string(), "expected a whole number from 1 to 10000");
    }
    match args.threshold.filter(|threshold| !threshold.is_finite()) {
        Some(threshold) => refuse("--threshold", threshold.to_string(), "expected a finite number"),
        None => Ok(()),
    }
}

/// The numbers of a run that learned action values.
fn values<'a>(args: &AdaptArgs, setup: &'a Setup) -> Result<&'a ValueExperiment, Usage> {
    setup.experiment.algorithm.value().ok_or_else(|| {
        let (run, name) = (args.run.display(), setup.experiment.algorithm.name());
        let known = ValueName::ALL.map(ValueName::as_str).join(", ");
        Usage(format!("{run} was trained by {name}, which learns no values of choices; `adapt` expects one of {known}"))
    })
}

/// What is compared: every beginning, with everything before the head frozen and not, unless told otherwise.
fn starts(args: &AdaptArgs) -> Result<Vec<Start>, Usage> {
    let names = Beginning::ALL.map(Beginning::as_str);
    if let Some(unknown) = args.from.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(Usage(format!("--from: {}", fedrl_core::unknown_name("beginning", unknown, &names))));
    }
    let wanted =
        |beginning: &Beginning| args.from.is_empty() || args.from.iter().any(|name| name == beginning.as_str());
    let freedoms: &[bool] = if args.frozen { &[true] } else { &[false, true] };
    let beginnings = Beginning::ALL.into_iter().filter(wanted);
    Ok(beginnings.flat_map(|beginning| freedoms.iter().map(move |&frozen| Start { beginning, frozen })).collect())
}

/// The return to reach. In CartPole every step is worth 1, so that the cap is the most there is.
fn threshold(args: &AdaptArgs, setup: &Setup) -> Result<f64, Usage> {
    let id = setup.environment.spec().id;
    let standard = (id == "CartPole-v1").then(|| 0.975 * setup.max_episode_steps() as f64);
    args.threshold.or(standard).ok_or_else(|| {
        Usage(format!("--threshold is not given, and {id} has no default: expected the return to reach"))
    })
}

/// What there is to begin with. Agents are at home nowhere here: the nearest may be the one that is.
fn learned<'a>(trained: &'a Trained, setup: &'a Setup) -> Actors<'a> {
    match &trained.policies {
        None => Actors::Common(&trained.theta),
        Some(policies) => Actors::Agents { policies, homes: &setup.agents },
    }
}

/// What the file's name gets where it is not the standard adaptation.
fn suffix(args: &AdaptArgs, round: u32) -> String {
    let mut from: Vec<&str> = args.from.iter().map(String::as_str).collect();
    from.sort_unstable();
    from.dedup();
    let parts = [
        (args.checkpoint != "latest").then(|| format!("-round-{round:06}")),
        (args.steps != STEPS).then(|| format!("-steps-{}", args.steps)),
        (args.seeds != SEEDS).then(|| format!("-seeds-{}", args.seeds)),
        args.threshold.map(|threshold| format!("-threshold-{threshold}")),
        (!from.is_empty()).then(|| format!("-from-{}", from.join("-"))),
        args.frozen.then(|| "-frozen".into()),
    ];
    parts.into_iter().flatten().collect()
}

impl Record {
    /// The tables for people.
    fn text(&self) -> String {
        let Record { on, round, steps, seeds, .. } = self;
        let head = format!("\n{on} (round {round}, {seeds} new agents each, {steps} steps)\n");
        self.variants.iter().fold(head, |text, variant| text + &self.variant(variant))
    }

    fn variant(&self, variant: &VariantAdaptation) -> String {
        let zero_shot = variant.zero_shot.iter().map(|zero| {
            let nearest = if variant.nearest_agent == Some(zero.agent) { "nearest" } else { "" };
            let agent = if variant.nearest_agent.is_none() { "all".into() } else { zero.agent.to_string() };
            vec![agent, format!("{:.1}", zero.mean), interval(zero.low, zero.high), nearest.into()]
        });
        let zero_shot = table(&["head of", "as it is", "95 %", ""], zero_shot.collect(), 1);
        let name = variant_name(&variant.parameters);
        format!("\n{name}\n{zero_shot}\n\n{}\n", self.few_shot(&variant.few_shot))
    }

    fn few_shot(&self, few_shot: &[FewShot]) -> String {
        let rows = few_shot.iter().map(|few| {
            let end = few.curve.last().map_or(["–".into(), String::new()], |point| cells(&point.returns));
            let start = [few.start.beginning.as_str().into(), if few.start.frozen { "frozen" } else { "" }.to_string()];
            let soon = [cells(&few.steps_to_threshold), cells(&few.episodes_to_threshold)].concat();
            [start.to_vec(), end.to_vec(), soon, vec![format!("{:.0} %", 100.0 * few.never)]].concat()
        });
        let to = format!("steps to {}", self.threshold);
        let columns = ["from", "Φ", "at the end", "95 %", &to, "95 %", "episodes", "95 %", "never"];
        table(&columns, rows.collect(), 2)
    }
}

/// A mean over seeds and its interval; dashes over none.
fn cells(estimate: &SeedMean) -> [String; 2] {
    if estimate.mean.is_nan() {
        return ["–".into(), "–".into()];
    }
    let digits = if estimate.mean.abs() < 1000.0 { 1 } else { 0 };
    let number = |x: f64| format!("{x:.digits$}");
    [number(estimate.mean), format!("{} .. {}", number(estimate.low), number(estimate.high))]
}

fn interval(low: f64, high: f64) -> String {
    format!("{low:.1} .. {high:.1}")
}
