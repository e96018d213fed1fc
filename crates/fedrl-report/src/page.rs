//! The HTML page.

use crate::ReportError;
use crate::evaluation::{Evaluation, VariantSet};
use crate::figures::Figures;
use crate::format::{NONE, bytes, count, measured, plain};
use crate::personalisation::Personalisation;
use crate::run::{Round, RunData};
use askama::Template;

/// Fills the template.
pub(crate) fn render(run: &RunData, figures: &Figures) -> Result<String, ReportError> {
    let config = &run.config;
    let agents = config.agents.count;
    let page = Page {
        title: format!("{} on {}", config.algorithm.name, config.environment.id),
        agents: format!("{agents} {}", if agents == 1 { "agent" } else { "agents" }),
        rounds: run.rounds.len(),
        facts: facts(run),
        scores: VariantSet::ALL.map(|set| score(set, run.evaluations.get(set))).into(),
        weights: weights(run),
        figures,
        parameter: run.evaluations.single_parameter(),
        tables: tables(run),
        fit: run.personalisation.as_ref().map(fit),
        config: &run.config_text,
        manifest: manifest(run),
    };
    Ok(page.render()?)
}

/// What the template shows, in words.
#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    title: String,
    agents: String,
    rounds: usize,
    facts: Vec<Fact>,
    scores: Vec<Score>,
    /// What there is to say about the importance weights.
    weights: String,
    figures: &'a Figures,
    /// The one parameter that varies, if it is one.
    parameter: Option<&'a str>,
    tables: Vec<Table>,
    /// How well policies fit their agents, where it was measured.
    fit: Option<Fit>,
    config: &'a str,
    manifest: Vec<(&'a str, String)>,
}

struct Fact {
    label: &'static str,
    value: String,
}

/// The mean and the worst return on a set; `None` if it was not evaluated.
struct Score {
    label: &'static str,
    mean_and_worst: Option<(String, String)>,
}

/// The variants of a set.
struct Table {
    title: &'static str,
    file: &'static str,
    content: Option<TableContent>,
}

struct TableContent {
    summary: String,
    parameters: Vec<String>,
    rows: Vec<Row>,
}

struct Row {
    number: usize,
    parameters: Vec<String>,
    mean: String,
    interval: String,
    episodes: u64,
}

struct Fit {
    summary: String,
    correlation: String,
    parameters: Vec<String>,
    rows: Vec<FitRow>,
}

struct FitRow {
    agent: usize,
    parameters: Vec<String>,
    /// Earned, estimated, the mean square of the difference.
    numbers: [String; 3],
    interval: String,
}

fn facts(run: &RunData) -> Vec<Fact> {
    let last = run.rounds.last();
    let steps = last.and_then(|round| round.env_steps);
    [
        ("Rounds", count(run.rounds.len() as f64)),
        ("Environment steps", steps.map_or(NONE.into(), count)),
        ("Sent by agents", bytes(run.latest(|round| round.bytes_up))),
        ("Sent to agents", bytes(run.latest(|round| round.bytes_down))),
        ("Final training return", measured(last.and_then(|round| round.return_mean))),
    ]
    .map(|(label, value)| Fact { label, value })
    .into()
}

fn score(set: VariantSet, evaluation: Option<&Evaluation>) -> Score {
    let mean_and_worst = evaluation.map(|e| (measured(e.mean), measured(e.worst)));
    Score { label: set.title(), mean_and_worst }
}

fn weights(run: &RunData) -> String {
    let present = |round: &Round| round.non_finite.or(round.weight_mean).or(round.effective_sample_size).is_some();
    let non_finite = run.total(|round| round.non_finite);
    if run.rounds.is_empty() {
        "No round was completed.".into()
    } else if !run.rounds.iter().any(present) {
        "This algorithm uses no importance weights.".into()
    } else if non_finite > 0.0 {
        format!("Weights that were not finite, over all rounds: {}.", count(non_finite))
    } else {
        "All weights were finite.".into()
    }
}

fn tables(run: &RunData) -> Vec<Table> {
    let table = |set: VariantSet| Table {
        title: set.title(),
        file: set.name(),
        content: run.evaluations.get(set).map(|evaluation| content(run, set, evaluation)),
    };
    VariantSet::ALL.map(table).into()
}

fn content(run: &RunData, set: VariantSet, evaluation: &Evaluation) -> TableContent {
    let of_set = || run.evaluations.numbered().filter(move |(_, other, _)| *other == set);
    let mut parameters: Vec<String> = of_set().flat_map(|(.., variant)| variant.parameters.keys().cloned()).collect();
    parameters.sort();
    parameters.dedup();
    let rows = of_set().map(|(number, _, variant)| Row {
        number,
        parameters: parameters
            .iter()
            .map(|name| variant.parameters.get(name).map_or(NONE.into(), |value| plain(*value)))
            .collect(),
        mean: measured(variant.mean),
        interval: format!("{} to {}", measured(variant.low), measured(variant.high)),
        episodes: variant.episodes,
    });
    let rows = rows.collect();
    let summary = format!(
        "After round {}: mean {}, worst {}, mean of the worst fifth (CVaR) {}.",
        evaluation.round,
        measured(evaluation.mean),
        measured(evaluation.worst),
        measured(evaluation.cvar),
    );
    TableContent { summary, parameters, rows }
}

fn fit(found: &Personalisation) -> Fit {
    let mut parameters: Vec<String> = found.agents.iter().flat_map(|agent| agent.parameters.keys().cloned()).collect();
    parameters.sort();
    parameters.dedup();
    let rows = found.agents.iter().map(|agent| FitRow {
        agent: agent.agent,
        parameters: parameters
            .iter()
            .map(|name| agent.parameters.get(name).map_or(NONE.into(), |value| plain(*value)))
            .collect(),
        numbers: [agent.value, agent.estimate, agent.error].map(measured),
        interval: format!("{} to {}", measured(agent.low), measured(agent.high)),
    });
    let rows = rows.collect();
    let (round, episodes, worst) = (found.round, found.episodes, &found.worst);
    let summary = format!(
        "After round {round}, {episodes} greedy episodes each: the worst error is agent {}’s, {} ({} to {}).",
        worst.agent,
        measured(worst.error),
        measured(worst.low),
        measured(worst.high),
    );
    Fit { summary, correlation: measured(found.similarity.rank_correlation), parameters, rows }
}

fn manifest(run: &RunData) -> Vec<(&str, String)> {
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::Null => NONE.into(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    run.manifest.iter().map(|(key, value)| (key.as_str(), text(value))).collect()
}
