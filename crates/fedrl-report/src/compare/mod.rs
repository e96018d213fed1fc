//! Several runs side by side, paired by seed.
//!
//! Runs whose experiments are equal but for the seed are one [`Group`]. Two measures of a run:
//! its *final* return, the mean of `train/return_mean` over the last tenth of its rounds, and the
//! *area* under its learning curve, the mean over all of them. A seed decides the initial policy,
//! the variants and who takes part; differences between groups are therefore taken seed by seed,
//! which is the sharper comparison where seeds differ much.

mod estimate;
mod figure;
mod groups;
mod member;
mod personalisation;
mod published;
mod reach;

pub use estimate::Estimate;
pub use member::{EvaluationMeans, Member};
pub use personalisation::{Fit, FitOverRuns};
pub use published::{LAST_EPISODES, LastEpisodes, LastEpisodesOverRuns, Published, PublishedOrder, Verdict};
pub use reach::{NEWEST_EPISODES, OwnReach, Reach, SMOOTHED};

use crate::{Incomparable, ReportError, save};
use estimate::Of;
use fedrl_stats::mean;
use member::Candidate;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Several runs in one environment, side by side.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// The id of the environment.
    pub environment: String,
    /// The experiments, in the order of their first runs; others are compared to the first.
    pub groups: Vec<Group>,
}

/// Runs of one experiment with different seeds.
#[derive(Debug, Clone, Serialize)]
pub struct Group {
    /// The algorithm and what else distinguishes the experiment: `fedsvrpg-m beta=0.2`.
    pub label: String,
    /// The name of its algorithm.
    pub algorithm: String,
    /// Mean of the final return over the runs.
    #[serde(rename = "final")]
    pub final_return: Estimate,
    /// Mean of the area under the learning curve, per round, over the runs.
    pub area: Estimate,
    /// What distinguishes it from the first group; `None` for the first.
    pub paired: Option<Paired>,
    /// Means of the evaluations over the runs.
    pub evaluation: EvaluationMeans,
    /// How well the agents do in the end, if all runs record their episodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_episodes: Option<LastEpisodesOverRuns>,
    /// How well it fits its agents, if all runs have been looked at.
    #[serde(rename = "personalisation", skip_serializing_if = "Option::is_none")]
    pub fit: Option<FitOverRuns>,
    /// What others report of the experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// The runs, by seed.
    pub runs: Vec<Member>,
}

/// Differences to the first group, seed by seed: positive where this group has the higher return.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Paired {
    /// The seeds that both groups have; where there is none, the differences are unknown.
    pub seeds: Vec<u64>,
    /// Mean difference of the final return.
    #[serde(rename = "final")]
    pub final_return: Estimate,
    /// Mean difference of the area.
    pub area: Estimate,
}

/// Compares the run directories `runs`. A run that is still training counts with the rounds that
/// it has finished.
///
/// # Errors
///
/// [`ReportError::Incomparable`] for no run, a run given twice, two runs of the same experiment
/// and seed, a run without a finished round, and runs in different environments; otherwise a
/// [`ReportError`] that names the file that cannot be used.
pub fn compare(runs: &[PathBuf]) -> Result<Comparison, ReportError> {
    given_once(runs)?;
    let candidates = runs.iter().map(|run| Candidate::read(run)).collect::<Result<Vec<_>, _>>()?;
    let first = candidates.first().ok_or(Incomparable::NoRun)?;
    if let Some(other) = candidates.iter().find(|other| other.environment != first.environment) {
        return Err(Incomparable::Environments {
            one: first.member.path.clone(),
            of_one: first.environment.clone(),
            other: other.member.path.clone(),
            of_other: other.environment.clone(),
        }
        .into());
    }
    // Of a set that only some have been evaluated on there is nothing to compare.
    let evaluated = candidates.iter().fold(EvaluationMeans::ALL, |all, run| all.where_known(&run.member.evaluation));

    let indices = groups::group(candidates.iter().map(|candidate| &candidate.settings));
    let settings: Vec<_> = indices.iter().map(|members| &candidates[members[0]].settings).collect();
    let mut groups: Vec<Group> = Vec::new();
    for (label, members) in groups::labels(&settings).into_iter().zip(&indices) {
        let example = &candidates[members[0]];
        let members = by_seed(members.iter().map(|index| candidates[*index].member.clone()).collect())?;
        let paired = groups.first().map(|first| Paired::new(&first.runs, &members));
        groups.push(Group::new(label, example, members, paired, &evaluated));
    }
    Ok(Comparison { environment: first.environment.clone(), groups })
}

/// The same directory twice would count twice.
fn given_once(runs: &[PathBuf]) -> Result<(), Incomparable> {
    let mut seen = Vec::new();
    for run in runs {
        let place = run.canonicalize().unwrap_or_else(|_| run.clone());
        if seen.contains(&place) {
            return Err(Incomparable::GivenTwice(run.clone()));
        }
        seen.push(place);
    }
    Ok(())
}

fn by_seed(mut members: Vec<Member>) -> Result<Vec<Member>, Incomparable> {
    members.sort_by_key(|member| member.seed);
    match members.windows(2).find(|pair| pair[0].seed == pair[1].seed) {
        Some([one, other]) => {
            Err(Incomparable::SameSeed { one: one.path.clone(), other: other.path.clone(), seed: one.seed })
        }
        _ => Ok(members),
    }
}

impl Comparison {
    /// The learning curves, as an SVG document: for each group the mean over its runs and, as a
    /// band, its 95 % bootstrap interval round by round. Of two or three runs that is the range
    /// from the worst to the best; a group of one run has no band. A curve ends with the last
    /// round that all runs of its group have finished, as a mean over fewer would jump.
    ///
    /// # Errors
    ///
    /// There are more groups than colours, or no finite return, or the drawing library failed.
    pub fn svg(&self) -> Result<String, ReportError> {
        figure::draw(&self.groups)
    }

    /// Writes [`Comparison::svg`] to the file `path`, whole or not at all, in place of what is
    /// there.
    ///
    /// # Errors
    ///
    /// It cannot be drawn or written.
    pub fn write_svg(&self, path: &Path) -> Result<(), ReportError> {
        save::atomically(path, &self.svg()?)
    }
}

impl Group {
    fn new(
        label: String,
        example: &Candidate,
        runs: Vec<Member>,
        paired: Option<Paired>,
        evaluated: &EvaluationMeans,
    ) -> Self {
        let over_runs = |measure: fn(&Member) -> f64, of| {
            let values: Vec<f64> = runs.iter().map(measure).collect();
            Estimate::new(&values, of)
        };
        let final_return = over_runs(|run| run.final_return, Of::Final);
        let area = over_runs(|run| run.area, Of::Area);
        let evaluation =
            evaluated.map(|set| mean(&runs.iter().filter_map(|run| set(&run.evaluation)).collect::<Vec<_>>()));
        let last_episodes = LastEpisodesOverRuns::new(&runs);
        let (algorithm, published) = (example.algorithm.clone(), example.published.clone());
        let fit = FitOverRuns::new(&runs);
        Group { label, algorithm, final_return, area, paired, evaluation, last_episodes, fit, published, runs }
    }
}

impl Paired {
    fn new(first: &[Member], this: &[Member]) -> Self {
        let partner = |run: &Member| first.iter().find(|other| other.seed == run.seed).cloned();
        let pairs: Vec<(Member, &Member)> = this.iter().filter_map(|run| Some((partner(run)?, run))).collect();
        let differences = |measure: fn(&Member) -> f64, of| {
            let values: Vec<f64> = pairs.iter().map(|(first, this)| measure(this) - measure(first)).collect();
            Estimate::new(&values, of)
        };
        Paired {
            final_return: differences(|run| run.final_return, Of::FinalDifference),
            area: differences(|run| run.area, Of::AreaDifference),
            seeds: pairs.iter().map(|(_, run)| run.seed).collect(),
        }
    }
}
