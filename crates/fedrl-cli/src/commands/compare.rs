//! `fedrl compare`.

use anyhow::Result;
use fedrl_report::compare::{
    Comparison, Estimate, EvaluationMeans, FitOverRuns, Group, Member, PublishedOrder, Reach, compare,
};
use fedrl_train::RunDirectory;
use serde::Serialize;
use serde_json::{Value, json};

use super::family::runs_of;
use super::published;
use crate::args::CompareArgs;
use crate::exit::{Done, Usage};
use crate::output::{Output, table};

/// Compares runs.
pub fn run(args: &CompareArgs) -> Result<Done> {
    let output = Output::from(args.output);
    if let Some(file) = args.svg.as_deref().filter(|file| file.is_dir()) {
        return Err(Usage(format!("--svg {} is a directory, expected a file to write", file.display())).into());
    }
    let runs = runs_of(&args.runs)?;
    for run in &runs {
        if RunDirectory::open(run)?.source()?.is_batch() {
            let path = run.display();
            return Err(Usage(format!("{path} is a batch of runs; `fedrl report {path}` prints its tables")).into());
        }
    }
    let comparison = compare(&runs)?;
    if let Some(file) = &args.svg {
        comparison.write_svg(file)?;
    }
    notes(&comparison).iter().for_each(|line| output.note(line));
    output.text(text(&comparison, args.reach))?;
    let reach = args.reach.map(|threshold| json!({"threshold": threshold, "groups": comparison.reach(threshold)}));
    output.value(&Said { comparison: &comparison, reach, published_orders: comparison.published_orders() })?;
    Ok(Done::Complete)
}

/// A line of `--json`.
#[derive(Serialize)]
struct Said<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    #[serde(skip_serializing_if = "Option::is_none")]
    reach: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    published_orders: Vec<PublishedOrder>,
}

/// What a reader of the numbers should know of the runs.
fn notes(comparison: &Comparison) -> Vec<String> {
    let runs = || comparison.groups.iter().flat_map(|group| &group.runs);
    let rounds = |run: &Member| run.rounds;
    let mut notes = Vec::new();
    if let (Some(least), Some(most)) = (runs().map(rounds).min(), runs().map(rounds).max())
        && least != most
    {
        notes
            .push(format!("note: the runs have finished from {least} to {most} rounds; each counts with those it has"));
    }
    let holed: Vec<String> =
        runs().filter(|run| !run.area.is_finite()).map(|run| run.path.display().to_string()).collect();
    if !holed.is_empty() {
        notes.push(format!("note: rounds without a finite return, hence no mean over them: {}", holed.join(", ")));
    }
    notes
}

/// The tables for people.
fn text(comparison: &Comparison, reach: Option<f64>) -> String {
    let groups = &comparison.groups;
    let rows = groups.iter().map(|group| {
        let [final_return, area] = [&group.final_return, &group.area].map(|estimate| cells(estimate, number));
        [vec![group.label.clone(), group.runs.len().to_string()], final_return, area].concat()
    });
    let returns = table(&["training return", "seeds", "final", "95 %", "area", "95 %"], rows.collect(), 1);
    let reach = reach.map(|threshold| soonness(threshold, &comparison.reach(threshold)));
    let sections = [Some(returns), differences(groups), reach, evaluations(groups), personalisation(groups)];
    let sections: Vec<String> = sections.into_iter().flatten().chain(published::sections(comparison)).collect();
    format!("\n{}\n\n{}\n", comparison.environment, sections.join("\n\n"))
}

/// The differences to the first group, if there is another.
fn differences(groups: &[Group]) -> Option<String> {
    let (first, others) = groups.split_first().filter(|(_, others)| !others.is_empty())?;
    let row = |group: &Group| {
        let mut row = vec![group.label.clone()];
        match group.paired.as_ref().filter(|paired| !paired.seeds.is_empty()) {
            Some(paired) => {
                row.push(paired.seeds.len().to_string());
                row.extend(cells(&paired.final_return, signed));
                row.extend(cells(&paired.area, signed));
            }
            None => row.extend(["0", "no common seed", "", "", ""].map(String::from)),
        }
        row
    };
    let title = format!("minus {}", first.label);
    let header = [title.as_str(), "pairs", "final", "95 %", "area", "95 %"];
    Some(table(&header, others.iter().map(row).collect(), 1))
}

/// How soon the groups reach a return; and their agents, each by itself, where that is known of all.
fn soonness(threshold: f64, groups: &[Reach]) -> String {
    let title = format!("reaches {threshold}");
    let header = [title.as_str(), "runs that do", "rounds", "95 %", "environment steps", "95 %", "processor s", "95 %"];
    let row = |group: &Reach| {
        let of = vec![group.label.clone(), format!("{} of {}", group.reached, group.runs)];
        let soon = [cells(&group.rounds, whole), cells(&group.env_steps, whole)].concat();
        [of, soon, cells(&group.process_seconds, number)].concat()
    };
    let runs = table(&header, groups.iter().map(row).collect(), 1);
    own_soonness(&title, groups).map_or(runs.clone(), |agents| format!("{runs}\n\n{agents}"))
}

/// How soon agents do.
fn own_soonness(title: &str, groups: &[Reach]) -> Option<String> {
    let row = |group: &Reach| {
        let own = group.agents?;
        let of = vec![group.label.clone(), format!("{} of {}", own.reached, own.agents)];
        Some([of, cells(&own.steps, whole), cells(&own.episodes, whole)].concat())
    };
    let rows = groups.iter().map(row).collect::<Option<Vec<_>>>()?;
    Some(table(&[title, "agents that do", "own steps", "95 %", "own episodes", "95 %"], rows, 1))
}

/// The evaluations that every run has, if there are any.
fn evaluations(groups: &[Group]) -> Option<String> {
    type Set = (&'static str, fn(&EvaluationMeans) -> Option<f64>);
    let all: [Set; 3] = [
        ("agents", |means| means.agents),
        ("interpolation", |means| means.interpolation),
        ("extrapolation", |means| means.extrapolation),
    ];
    let first = groups.first()?;
    let sets: Vec<Set> = all.into_iter().filter(|(_, mean)| mean(&first.evaluation).is_some()).collect();
    if sets.is_empty() {
        return None;
    }
    let header: Vec<&str> = std::iter::once("evaluation").chain(sets.iter().map(|(name, _)| *name)).collect();
    let row = |group: &Group| {
        let means = sets.iter().map(|(_, mean)| mean(&group.evaluation).map_or_else(none, number));
        std::iter::once(group.label.clone()).chain(means).collect()
    };
    Some(table(&header, groups.iter().map(row).collect(), 1))
}

/// How well the groups fit their agents, if every run of one has been looked at.
pub(super) fn personalisation(groups: &[Group]) -> Option<String> {
    if groups.iter().all(|group| group.fit.is_none()) {
        return None;
    }
    let header = ["personalisation", "seeds", "worst error", "95 %", "median", "rank correlation", "95 %"];
    let header = [&header[..], &["processor s", "95 %"]].concat();
    let row = |group: &Group| {
        let of = vec![group.label.clone(), group.runs.len().to_string()];
        let fit = group.fit.map_or_else(|| vec![none(); 7], fit);
        [of, fit].concat()
    };
    Some(table(&header, groups.iter().map(row).collect(), 1))
}

fn fit(fit: FitOverRuns) -> Vec<String> {
    let FitOverRuns { worst_error, worst_error_median, rank_correlation, process_seconds } = fit;
    let median = vec![number(worst_error_median)];
    let means = [cells(&rank_correlation, number), cells(&process_seconds, number)].concat();
    [cells(&worst_error, number), median, means].concat()
}

/// The mean and the interval.
pub(super) fn cells(estimate: &Estimate, write: fn(f64) -> String) -> Vec<String> {
    let Estimate { mean, low, high, .. } = *estimate;
    let interval = if low.is_nan() || high.is_nan() { none() } else { format!("{} .. {}", write(low), write(high)) };
    vec![write(mean), interval]
}

pub(super) fn number(value: f64) -> String {
    if value.is_finite() { format!("{value:.2}") } else { none() }
}

fn whole(value: f64) -> String {
    if value.is_finite() { format!("{value:.0}") } else { none() }
}

pub(super) fn signed(value: f64) -> String {
    if value.is_finite() { format!("{value:+.2}") } else { none() }
}

/// What stands for a number that is not there.
pub(super) fn none() -> String {
    "–".into()
}
