//! One run of a comparison.

use super::groups::Settings;
use super::personalisation::Fit;
use super::published::{LastEpisodes, Published};
use super::reach::Course;
use crate::evaluation::{Evaluations, VariantSet};
use crate::run::{Round, RunData};
use crate::{Incomparable, ReportError};
use fedrl_stats::mean;
use serde::{Deserialize, Serialize, Serializer};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use toml::Table;

/// One run of a comparison. A measure that covers a round without a finite return is NaN, `null`
/// in JSON.
#[derive(Debug, Clone, Serialize)]
pub struct Member {
    /// Its directory, as it was given.
    #[serde(rename = "run", serialize_with = "display")]
    pub path: PathBuf,
    /// Its seed.
    pub seed: u64,
    /// How many rounds it has finished.
    pub rounds: usize,
    /// Mean return over the last tenth of its rounds, rounded down, at least one.
    #[serde(rename = "final")]
    pub final_return: f64,
    /// Mean return over all of its rounds.
    pub area: f64,
    /// Means of its evaluations.
    pub evaluation: EvaluationMeans,
    /// How well its agents do in the end, if they record episodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_episodes: Option<LastEpisodes>,
    /// How well it fits its agents, if that has been looked at.
    #[serde(rename = "personalisation", skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// Processor seconds of its training, NaN for a run that does not say.
    #[serde(skip)]
    pub process_seconds: f64,
    /// Round and mean return, ascending; NaN where it was not finite.
    #[serde(skip)]
    pub(super) curve: Vec<(u64, f64)>,
    /// Where it and its agents stand after each round.
    #[serde(skip)]
    pub(super) course: Course,
}

fn display<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Mean returns of the final policy on sets of environment variants; `None` for a set without
/// an evaluation, NaN where a return was not finite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EvaluationMeans {
    /// On those that the agents trained on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<f64>,
    /// On new ones within the trained range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpolation: Option<f64>,
    /// On new ones outside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extrapolation: Option<f64>,
}

/// One of the sets.
type Set = fn(&EvaluationMeans) -> Option<f64>;

impl EvaluationMeans {
    /// Every set, to be narrowed by [`Self::where_known`].
    pub(super) const ALL: Self =
        EvaluationMeans { agents: Some(0.0), interpolation: Some(0.0), extrapolation: Some(0.0) };

    fn read(evaluations: &Evaluations) -> Self {
        let mean = |set| evaluations.get(set).map(|evaluation| evaluation.mean.unwrap_or(f64::NAN));
        EvaluationMeans {
            agents: mean(VariantSet::Agents),
            interpolation: mean(VariantSet::Interpolation),
            extrapolation: mean(VariantSet::Extrapolation),
        }
    }

    /// The sets of these that `other` has too.
    pub(super) fn where_known(&self, other: &Self) -> Self {
        EvaluationMeans {
            agents: self.agents.and(other.agents),
            interpolation: self.interpolation.and(other.interpolation),
            extrapolation: self.extrapolation.and(other.extrapolation),
        }
    }

    /// A value for each of these sets.
    pub(super) fn map(&self, value: impl Fn(Set) -> f64) -> Self {
        EvaluationMeans {
            agents: self.agents.map(|_| value(|means| means.agents)),
            interpolation: self.interpolation.map(|_| value(|means| means.interpolation)),
            extrapolation: self.extrapolation.map(|_| value(|means| means.extrapolation)),
        }
    }
}

/// A run before it has found its group.
pub(super) struct Candidate {
    pub(super) environment: String,
    pub(super) algorithm: String,
    pub(super) settings: Settings,
    pub(super) published: Option<Published>,
    pub(super) member: Member,
}

/// The parts of an experiment that are not part of its group.
#[derive(Deserialize)]
struct Apart {
    training: Training,
    published: Option<Published>,
}

#[derive(Deserialize)]
struct Training {
    seed: u64,
}

impl Candidate {
    /// Reads the run directory `run`, which has finished a round.
    pub(super) fn read(run: &Path) -> Result<Self, ReportError> {
        let metrics = run.join("metrics.jsonl");
        let data = match RunData::read(run) {
            // The file comes with the first round.
            Err(ReportError::Read { path, source, .. }) if path == metrics && source.kind() == ErrorKind::NotFound => {
                return Err(Incomparable::NoRound(run.into()).into());
            }
            data => data?,
        };
        if data.rounds.is_empty() {
            return Err(Incomparable::NoRound(run.into()).into());
        }
        let experiment: Table = parse(run, &data.config_text)?;
        let apart: Apart = parse(run, &data.config_text)?;
        let point = |round: &Round| (round.round, round.return_mean.unwrap_or(f64::NAN));
        let curve: Vec<(u64, f64)> = data.rounds.iter().map(point).collect();
        let returns: Vec<f64> = curve.iter().map(|(_, value)| *value).collect();
        let last = (returns.len() / 10).max(1);
        let fit = Fit::of(&data);
        Ok(Candidate {
            environment: data.config.environment.id,
            algorithm: data.config.algorithm.name,
            settings: Settings::new(&experiment),
            published: apart.published,
            member: Member {
                path: run.into(),
                seed: apart.training.seed,
                rounds: returns.len(),
                final_return: mean(&returns[returns.len() - last..]),
                area: mean(&returns),
                evaluation: EvaluationMeans::read(&data.evaluations),
                last_episodes: LastEpisodes::read(&data.rounds),
                curve,
                fit,
                process_seconds: data.rounds.iter().map(|round| round.process_seconds.unwrap_or(f64::NAN)).sum(),
                course: Course::new(&data.rounds, data.config.agents.count),
            },
        })
    }
}

fn parse<T: for<'a> Deserialize<'a>>(run: &Path, config: &str) -> Result<T, ReportError> {
    let expected = "a resolved experiment with training.seed";
    toml::from_str(config).map_err(|source| ReportError::parse(&run.join("config.toml"), expected, source))
}
