//! The tables for people.

use fedrl_eval::adapt::{FewShot, RunMean, SeedMean, Start, StartOverRuns, VariantAdaptation, VariantOverRuns};

use super::Record;
use super::folder::FolderRecord;
use crate::commands::eval::variant_name;
use crate::output::table;

impl Record {
    /// A run's tables, two for each variant.
    pub(super) fn text(&self) -> String {
        let Record { on, round, steps, seeds, .. } = self;
        let head = format!("\n{on} (round {round}, {seeds} new agents each, {steps} steps)\n");
        self.variants.iter().fold(head, |text, variant| text + &self.variant(variant))
    }

    fn variant(&self, variant: &VariantAdaptation) -> String {
        let zero_shot = variant.zero_shot.iter().map(|zero| {
            let nearest = if variant.nearest_agent == Some(zero.agent) { "nearest" } else { "" };
            let agent = if variant.nearest_agent.is_none() { "all".into() } else { zero.agent.to_string() };
            let interval = format!("{:.1} .. {:.1}", zero.low, zero.high);
            vec![agent, format!("{:.1}", zero.mean), interval, nearest.into()]
        });
        let zero_shot = table(&["head of", "as it is", "95 %", ""], zero_shot.collect(), 1);
        let name = variant_name(&variant.parameters);
        format!("\n{name}\n{zero_shot}\n\n{}\n", self.few_shot(&variant.few_shot))
    }

    fn few_shot(&self, few_shot: &[FewShot]) -> String {
        let rows = few_shot.iter().map(|few| {
            let end = few.curve.last().map_or_else(nothing, |point| seeds(&point.returns));
            let soon = [seeds(&few.steps_to_threshold), seeds(&few.episodes_to_threshold)].concat();
            [start(&few.start), end, soon, vec![share(few.never)]].concat()
        });
        let to = format!("steps to {}", self.threshold);
        table(&["from", "Φ", "at the end", "95 %", &to, "95 %", "episodes", "95 %", "never"], rows.collect(), 2)
    }
}

impl FolderRecord {
    /// The tables of a folder of runs, two for each variant.
    pub(super) fn text(&self) -> String {
        let FolderRecord { on, runs, steps, seeds, .. } = self;
        let rounds = || runs.iter().map(|run| run.round);
        let rounds = match (rounds().min(), rounds().max()) {
            (Some(first), Some(last)) if first != last => format!("rounds {first} to {last}"),
            (first, _) => format!("round {}", first.unwrap_or(0)),
        };
        let count = runs.len();
        let head = format!("\n{on} ({count} runs, {rounds}, {seeds} new agents each in every run, {steps} steps)\n");
        self.variants.iter().fold(head, |text, variant| text + &self.variant(variant))
    }

    fn variant(&self, variant: &VariantOverRuns) -> String {
        let zero_shot = [("nearest", &variant.zero_shot.nearest), ("mean of all", &variant.zero_shot.all)];
        let zero_shot = zero_shot.map(|(head, mean)| [vec![head.to_string()], over_runs(mean)].concat());
        let zero_shot = table(&["head", "as it is", "95 %"], zero_shot.into(), 1);
        let name = variant_name(&variant.parameters);
        format!("\n{name}\n{zero_shot}\n\n{}\n", self.few_shot(&variant.few_shot))
    }

    fn few_shot(&self, few_shot: &[StartOverRuns]) -> String {
        let rows = few_shot.iter().map(|few| {
            let end = few.curve.last().map_or_else(nothing, |point| over_runs(&point.returns));
            let soon = [over_runs(&few.steps_to_threshold), over_runs(&few.episodes_to_threshold)].concat();
            let runs = few.steps_to_threshold.runs.to_string();
            [start(&few.start), end, soon, vec![runs, share(few.never)]].concat()
        });
        let to = format!("steps to {}", self.threshold);
        let columns = ["from", "Φ", "at the end", "95 %", &to, "95 %", "episodes", "95 %", "in runs", "never"];
        table(&columns, rows.collect(), 2)
    }
}

/// What stands for a number that is not there.
const NONE: &str = "–";

fn nothing() -> Vec<String> {
    vec![NONE.into(); 2]
}

fn start(start: &Start) -> Vec<String> {
    vec![start.beginning.as_str().into(), if start.frozen { "frozen".into() } else { String::new() }]
}

fn share(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn seeds(SeedMean { mean, low, high }: &SeedMean) -> Vec<String> {
    cells(*mean, *low, *high)
}

fn over_runs(RunMean { mean, low, high, .. }: &RunMean) -> Vec<String> {
    cells(*mean, *low, *high)
}

/// A mean and its interval; dashes where there is none.
fn cells(mean: f64, low: f64, high: f64) -> Vec<String> {
    let digits = if mean.abs() < 1000.0 { 1 } else { 0 };
    let number = |x: f64| format!("{x:.digits$}");
    let interval = if low.is_nan() { NONE.into() } else { format!("{} .. {}", number(low), number(high)) };
    vec![if mean.is_nan() { NONE.into() } else { number(mean) }, interval]
}
