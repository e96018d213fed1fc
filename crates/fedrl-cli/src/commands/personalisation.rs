//! `fedrl personalisation`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fedrl_algos::value::{ValueExperiment, ValueName};
use fedrl_engine::Mode;
use fedrl_eval::personalisation::{Measure, Personalisation, ValueError, tail};
use fedrl_eval::{Actors, Protocol};
use fedrl_report::compare::{Comparison, compare};
use fedrl_train::{RunDirectory, Setup};
use serde::Serialize;
use serde_json::json;

use super::compare::personalisation as over_seeds;
use super::eval::{Trained, open, trained, variant_name};
use super::family::runs_of;
use crate::args::PersonalisationArgs;
use crate::exit::{Done, Usage};
use crate::output::{Output, table};

/// What was found and of what: `personalisation.json`, and a line of `--json` with the run's path.
#[derive(Debug, Serialize)]
struct Record {
    /// The checkpoint's round.
    round: u32,
    /// Greedy episodes of each agent.
    episodes: usize,
    /// γ of values and returns.
    discount: f64,
    /// Steps after a state that are looked at for its value.
    tail: usize,
    /// ε of the episodes in which environments are compared.
    exploration: f64,
    #[serde(flatten)]
    found: Personalisation,
}

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    run: String,
    #[serde(flatten)]
    record: &'a Record,
}

/// A run, opened.
struct Run {
    directory: RunDirectory,
    setup: Setup,
    trained: Trained,
}

/// Measures a run's checkpoint, or those of many runs.
pub fn run(args: &PersonalisationArgs) -> Result<Done> {
    let output = Output::from(args.output);
    let paths = runs_of(std::slice::from_ref(&args.run))?;
    let many = paths.as_slice() != [args.run.clone()];
    let folder = args.run.display();
    if many && args.checkpoint.is_some() {
        return Err(Usage(format!("--checkpoint: {folder} holds many runs; name one of its directories")).into());
    }
    if paths.is_empty() {
        return Err(Usage(format!("{folder} holds no run yet; train them with `fedrl resume`")).into());
    }
    // All of them can be measured, and put beside each other, before anything is written.
    let checkpoint = args.checkpoint.as_deref().unwrap_or("latest");
    let runs = paths.iter().map(|path| Run::open(path, checkpoint)).collect::<Result<Vec<_>>>()?;
    if many {
        compare(&paths)?;
    }

    let mut rows = Vec::with_capacity(runs.len());
    for run in &runs {
        let record = run.record()?;
        let file = run.file(checkpoint);
        run.directory.write(&file, &serde_json::to_vec_pretty(&record)?).with_context(|| format!("writing {file}"))?;
        output.value(&Line { run: run.directory.path().display().to_string(), record: &record })?;
        if many {
            rows.push(run.row(&record));
        } else {
            output.text(record.text())?;
        }
    }
    if many {
        let header = ["run", "worst error", "95 %", "of agent", "rank correlation"];
        output.text(format!("\n{}", table(&header, rows, 1)))?;
        show(&args.run, &paths, output)?;
    }
    Ok(Done::Complete)
}

/// What seeds have in common.
fn show(folder: &Path, paths: &[PathBuf], output: Output) -> Result<()> {
    let Comparison { groups, .. } = compare(paths)?;
    output.text(format!("\n{}", over_seeds(&groups).unwrap_or_default()))?;
    let groups: Vec<_> = groups
        .iter()
        .map(|group| json!({"label": group.label, "runs": group.runs.len(), "personalisation": group.fit}))
        .collect();
    output.value(&json!({"run": folder.display().to_string(), "groups": groups}))?;
    Ok(())
}

impl Run {
    /// Opens a run that can be measured.
    fn open(path: &Path, checkpoint: &str) -> Result<Self> {
        let (directory, setup) = open(path)?;
        let experiment = values(path, &setup)?;
        // That there is nothing to measure does not depend on what was learned.
        let measure = measure(&setup, experiment, Actors::Common(&[]));
        measure.check().map_err(|problem| Usage(format!("{}: {problem}", path.display())))?;
        let trained = trained(&directory, &setup, checkpoint)?;
        Ok(Run { directory, setup, trained })
    }

    fn record(&self) -> Result<Record> {
        let experiment = values(self.directory.path(), &self.setup)?;
        let measure = measure(&self.setup, experiment, self.trained.actors(&self.setup, "agents"));
        Ok(Record {
            round: self.trained.round,
            episodes: measure.protocol.episodes,
            discount: measure.discount,
            tail: tail(measure.discount),
            exploration: measure.exploration,
            found: measure.measure()?,
        })
    }

    /// Its file; a report shows that of the newest checkpoint.
    fn file(&self, checkpoint: &str) -> String {
        let suffix = if checkpoint == "latest" { String::new() } else { format!("-round-{:06}", self.trained.round) };
        format!("personalisation{suffix}.json")
    }

    /// A line of a folder's table.
    fn row(&self, record: &Record) -> Vec<String> {
        let name = self.directory.path().file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
        let Personalisation { worst, similarity, .. } = &record.found;
        let interval = format!("{} .. {}", number(worst.low), number(worst.high));
        let correlation = cosine(similarity.rank_correlation);
        vec![name, number(worst.error), interval, worst.agent.to_string(), correlation]
    }
}

/// The numbers of a run that learned action values.
fn values<'a>(run: &Path, setup: &'a Setup) -> Result<&'a ValueExperiment, Usage> {
    setup.experiment.algorithm.value().ok_or_else(|| {
        let (run, name) = (run.display(), setup.experiment.algorithm.name());
        let known = ValueName::ALL.map(ValueName::as_str).join(", ");
        Usage(format!(
            "{run} was trained by {name}, which learns no values of choices; `personalisation` expects one of {known}"
        ))
    })
}

fn measure<'a>(setup: &'a Setup, experiment: &ValueExperiment, actors: Actors<'a>) -> Measure<'a> {
    Measure {
        policy: &setup.policy,
        actors,
        instances: &setup.agents,
        discount: experiment.config.discount,
        exploration: experiment.config.exploration,
        protocol: Protocol {
            episodes: setup.experiment.evaluation.episodes,
            max_episode_steps: setup.max_episode_steps(),
            mode: Mode::Greedy,
            seed: setup.experiment.training.seed,
        },
    }
}

impl Record {
    /// The tables for people.
    fn text(&self) -> String {
        let Personalisation { worst, agents, similarity } = &self.found;
        let row = |agent: &ValueError| {
            let interval = format!("{} .. {}", number(agent.low), number(agent.high));
            let numbers = [agent.value, agent.estimate, agent.error].map(number);
            [vec![agent.agent.to_string(), variant_name(&agent.parameters)], numbers.into(), vec![interval]].concat()
        };
        let columns = ["agent", "variant", "value", "estimate", "error", "95 %"];
        let errors = table(&columns, agents.iter().map(row).collect(), 2);
        let matrices = [
            ("environments", &similarity.environments),
            ("heads", &similarity.heads),
            ("shared layers", &similarity.shared),
        ];
        let rows = matrices.map(|(name, matrix)| std::iter::once(name.to_string()).chain(range(matrix)).collect());
        let alike = table(&["cosine of two agents'", "least", "mean", "greatest"], rows.into(), 1);
        format!(
            "\npersonalisation (round {}, {} episodes each)\n{errors}\nworst error {} ({} .. {}), of agent {}\n\n{alike}\n\
             rank correlation of heads and environments {}\n",
            self.round,
            self.episodes,
            number(worst.error),
            number(worst.low),
            number(worst.high),
            worst.agent,
            cosine(similarity.rank_correlation),
        )
    }
}

/// The least entry that is not on the diagonal, their mean, and the greatest.
fn range(matrix: &[Vec<f64>]) -> [String; 3] {
    let rows = matrix.iter().enumerate();
    let others = rows.flat_map(|(row, entries)| entries.iter().enumerate().filter(move |(column, _)| *column != row));
    let others: Vec<f64> = others.map(|(_, cosine)| *cosine).collect();
    let edge = |q| fedrl_stats::quantile(&others, q);
    [edge(0.0), fedrl_stats::mean(&others), edge(1.0)].map(cosine)
}

/// An error or a return: two digits behind the point, or what a small one needs.
fn number(value: f64) -> String {
    let digits = if value != 0.0 && value.abs() < 1.0 { 4 } else { 2 };
    if value.is_finite() { format!("{value:.digits$}") } else { "–".into() }
}

fn cosine(value: f64) -> String {
    if value.is_finite() { format!("{value:.4}") } else { "–".into() }
}
