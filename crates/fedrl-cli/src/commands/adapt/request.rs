//! What is asked for.

use std::path::Path;

use fedrl_algos::value::{ValueExperiment, ValueName};
use fedrl_eval::adapt::{Beginning, Start};
use fedrl_train::Setup;

use crate::args::AdaptArgs;
use crate::exit::Usage;

const STEPS: u32 = 10_000;
const SEEDS: u32 = 5;

/// What is asked for, of whichever run.
pub(super) struct Request<'a> {
    pub(super) args: &'a AdaptArgs,
    /// What is compared.
    pub(super) starts: Vec<Start>,
}

impl<'a> Request<'a> {
    /// Refuses numbers out of range and beginnings that nobody knows.
    pub(super) fn new(args: &'a AdaptArgs) -> Result<Self, Usage> {
        check(args)?;
        Ok(Request { args, starts: starts(args)? })
    }

    /// The return to reach. In CartPole every step is worth 1, so that the cap is the most there is.
    pub(super) fn threshold(&self, setup: &Setup) -> Result<f64, Usage> {
        let id = setup.environment.spec().id;
        let standard = (id == "CartPole-v1").then(|| 0.975 * setup.max_episode_steps() as f64);
        self.args.threshold.or(standard).ok_or_else(|| {
            Usage(format!("--threshold is not given, and {id} has no default: expected the return to reach"))
        })
    }

    /// `adapt/SET.json`, with what is not standard in its name; `checkpoint` names one that is not the latest.
    pub(super) fn file(&self, on: &str, checkpoint: &str) -> String {
        let AdaptArgs { steps, seeds, threshold, frozen, .. } = *self.args;
        let mut from: Vec<&str> = self.args.from.iter().map(String::as_str).collect();
        from.sort_unstable();
        from.dedup();
        let parts = [
            (self.args.checkpoint != "latest").then(|| format!("-{checkpoint}")),
            (steps != STEPS).then(|| format!("-steps-{steps}")),
            (seeds != SEEDS).then(|| format!("-seeds-{seeds}")),
            threshold.map(|threshold| format!("-threshold-{threshold}")),
            (!from.is_empty()).then(|| format!("-from-{}", from.join("-"))),
            frozen.then(|| "-frozen".into()),
        ];
        format!("adapt/{on}{}.json", parts.into_iter().flatten().collect::<String>())
    }
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

/// Every beginning, with everything before the head frozen and not, unless told otherwise.
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

/// The numbers of a run that learned the values of choices.
pub(super) fn values<'a>(run: &Path, setup: &'a Setup) -> Result<&'a ValueExperiment, Usage> {
    setup.experiment.algorithm.value().ok_or_else(|| {
        let (run, name) = (run.display(), setup.experiment.algorithm.name());
        let known = ValueName::ALL.map(ValueName::as_str).join(", ");
        Usage(format!("{run} was trained by {name}, which learns no values of choices; `adapt` expects one of {known}"))
    })
}
