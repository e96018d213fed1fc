//! What a run directory says.

use crate::ReportError;
use crate::adaptation::{self, Adaptation};
use crate::evaluation::{self, Evaluations};
use crate::personalisation::{self, Personalisation};
use serde::Deserialize;
use std::io::ErrorKind;
use std::path::Path;

/// The files of a run directory, read.
pub(crate) struct RunData {
    pub(crate) config: Config,
    /// The text of `config.toml`.
    pub(crate) config_text: String,
    /// The entries of `manifest.json` in their order; empty without one.
    pub(crate) manifest: serde_json::Map<String, serde_json::Value>,
    /// The completed rounds, ascending.
    pub(crate) rounds: Vec<Round>,
    pub(crate) evaluations: Evaluations,
    /// By the names of their files.
    pub(crate) adaptations: Vec<Adaptation>,
    /// `None` where it was not measured.
    pub(crate) personalisation: Option<Personalisation>,
}

/// The part of the configuration that the report names.
#[derive(Deserialize)]
pub(crate) struct Config {
    pub(crate) environment: Environment,
    pub(crate) algorithm: Algorithm,
    pub(crate) agents: Agents,
}

#[derive(Deserialize)]
pub(crate) struct Environment {
    pub(crate) id: String,
}

#[derive(Deserialize)]
pub(crate) struct Algorithm {
    pub(crate) name: String,
}

#[derive(Deserialize)]
pub(crate) struct Agents {
    pub(crate) count: usize,
}

/// The metrics of one round that the report shows. A number that was not finite is `None`.
#[derive(Deserialize)]
pub(crate) struct Round {
    /// Counted from 1.
    pub(crate) round: u64,
    #[serde(rename = "train/return_mean")]
    pub(crate) return_mean: Option<f64>,
    /// Cumulative.
    #[serde(rename = "train/env_steps")]
    pub(crate) env_steps: Option<f64>,
    /// Cumulative, as `bytes_down`.
    #[serde(rename = "federation/total_bytes_up")]
    pub(crate) bytes_up: Option<f64>,
    #[serde(rename = "federation/total_bytes_down")]
    pub(crate) bytes_down: Option<f64>,
    #[serde(rename = "importance/weight_mean")]
    pub(crate) weight_mean: Option<f64>,
    /// A fraction of the trajectories.
    #[serde(rename = "importance/effective_sample_size")]
    pub(crate) effective_sample_size: Option<f64>,
    /// How many weights; `None` for an algorithm without importance weights.
    #[serde(rename = "importance/non_finite")]
    pub(crate) non_finite: Option<f64>,
    /// Processor seconds of the round.
    #[serde(rename = "time/process_seconds")]
    pub(crate) process_seconds: Option<f64>,
    /// One entry per agent, `None` for those that did not take part.
    #[serde(rename = "agents/return", default)]
    pub(crate) agent_returns: Vec<Option<f64>>,
    /// By agent, environment steps of the round.
    #[serde(rename = "agents/env_steps", default)]
    pub(crate) agent_steps: Vec<Option<f64>>,
    /// By agent, the episodes that ended in the round, `None` for agents that did not take part; empty for
    /// algorithms that do not record them.
    #[serde(rename = "agents/returns", default)]
    pub(crate) episode_returns: Vec<Option<Vec<Option<f64>>>>,
}

impl RunData {
    /// Reads the run directory `run`.
    pub(crate) fn read(run: &Path) -> Result<Self, ReportError> {
        let (config, config_text) = read_config(&run.join("config.toml"))?;
        Ok(RunData {
            config,
            config_text,
            manifest: read_json(&run.join("manifest.json"), "a JSON object")?.unwrap_or_default(),
            rounds: read_rounds(&run.join("metrics.jsonl"))?,
            evaluations: evaluation::read(&run.join("eval"))?,
            adaptations: adaptation::read(&run.join("adapt"))?,
            personalisation: personalisation::read(run)?,
        })
    }

    /// The last round's value of a metric that is counted from the start.
    pub(crate) fn latest(&self, metric: impl Fn(&Round) -> Option<f64>) -> f64 {
        self.rounds.iter().rev().find_map(metric).unwrap_or(0.0)
    }

    /// The sum over the rounds of a metric that is counted per round.
    pub(crate) fn total(&self, metric: impl Fn(&Round) -> Option<f64>) -> f64 {
        self.rounds.iter().filter_map(metric).sum()
    }
}

/// The JSON document at `path`; `None` if there is no such file.
pub(crate) fn read_json<T: for<'a> Deserialize<'a>>(
    path: &Path,
    expected: &'static str,
) -> Result<Option<T>, ReportError> {
    match std::fs::read(path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map(Some).map_err(|source| ReportError::parse(path, expected, source))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ReportError::Read { path: path.into(), expected, source }),
    }
}

fn read_config(path: &Path) -> Result<(Config, String), ReportError> {
    let expected = "a resolved experiment with environment.id, algorithm.name and agents.count";
    let text =
        std::fs::read_to_string(path).map_err(|source| ReportError::Read { path: path.into(), expected, source })?;
    let config = toml::from_str(&text).map_err(|source| ReportError::parse(path, expected, source))?;
    Ok((config, text))
}

fn read_rounds(path: &Path) -> Result<Vec<Round>, ReportError> {
    let expected = "the metrics of the completed rounds, one JSON object per line";
    let bytes = std::fs::read(path).map_err(|source| ReportError::Read { path: path.into(), expected, source })?;
    let mut rounds: Vec<Round> = Vec::new();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let line_number = index + 1;
        let round: Round = match serde_json::from_slice(line) {
            Ok(round) => round,
            // The run was killed while it wrote; only the last line can lack its end.
            Err(_) if !line.ends_with(b"\n") => break,
            Err(source) => {
                return Err(ReportError::Line { path: path.into(), line: line_number, what: "round", source });
            }
        };
        if let Some(previous) = rounds.last().map(|last| last.round).filter(|previous| *previous >= round.round) {
            return Err(ReportError::Order { path: path.into(), line: line_number, round: round.round, previous });
        }
        rounds.push(round);
    }
    Ok(rounds)
}
