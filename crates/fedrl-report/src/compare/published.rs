//! Returns beside published ones.

use super::estimate::{Estimate, Of};
use super::{Comparison, Group, Member};
use crate::run::Round;
use fedrl_stats::{mean, quantile};
use serde::{Deserialize, Serialize};

/// Episodes of each agent, its last ones, whose returns are averaged: all of them where it has fewer.
pub const LAST_EPISODES: usize = 50;

/// What others report of an experiment: `[published]` in its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Where it stands.
    pub source: String,
    /// Mean return over environments.
    pub return_mean: f64,
    /// Variance of the return.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_variance: Option<f64>,
    /// Median return over environments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_median: Option<f64>,
}

/// How well the agents of a run do in its end: of each one's [`LAST_EPISODES`] the mean return, and of these over
/// the agents, hence over environments, what the fields say. NaN where an agent has no finite return.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LastEpisodes {
    /// The mean.
    pub mean: f64,
    /// The variance, of these agents and not of others like them.
    pub variance: f64,
    /// The median.
    pub median: f64,
}

/// The same over the runs of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LastEpisodesOverRuns {
    /// Mean over agents and runs.
    pub mean: Estimate,
    /// Variance over agents, averaged over runs.
    pub variance: f64,
    /// Median over agents, averaged over runs.
    pub median: f64,
}

/// Whether a published order is that of our runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval of the difference is above 0.
    Holds,
    /// It is below 0.
    Reversed,
    /// It has 0 in it.
    WithinTheNoise,
    /// There is no interval: fewer than two common seeds, or a return that is not finite.
    Unknown,
}

/// Two groups in the order in which their returns are published.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedOrder {
    /// Label of the group with the higher published return.
    pub higher: String,
    /// Label of the other.
    pub lower: String,
    /// The published difference, above 0.
    pub published: f64,
    /// Ours in [`LastEpisodes::mean`], over the seeds that both have.
    pub ours: Estimate,
    /// What follows for the order.
    pub verdict: Verdict,
}

impl LastEpisodes {
    /// `None` for an algorithm that does not record episodes by agent.
    pub(super) fn read(rounds: &[Round]) -> Option<Self> {
        let agents = rounds.first()?.episode_returns.len();
        let last = |agent: usize| {
            let newest = rounds.iter().rev().filter_map(|round| round.episode_returns.get(agent)?.as_ref());
            let returns = newest.flat_map(|episodes| episodes.iter().rev()).take(LAST_EPISODES);
            mean(&returns.map(|value| value.unwrap_or(f64::NAN)).collect::<Vec<_>>())
        };
        let agents: Vec<f64> = (0..agents).map(last).collect();
        let center = mean(&agents);
        let squares: Vec<f64> = agents.iter().map(|value| (value - center).powi(2)).collect();
        (!agents.is_empty()).then(|| Self { mean: center, variance: mean(&squares), median: quantile(&agents, 0.5) })
    }
}

impl LastEpisodesOverRuns {
    /// `None` unless all `runs` have the measure.
    pub(super) fn new(runs: &[Member]) -> Option<Self> {
        let last = runs.iter().map(|run| run.last_episodes).collect::<Option<Vec<_>>>()?;
        let all = |part: fn(&LastEpisodes) -> f64| last.iter().map(part).collect::<Vec<_>>();
        Some(Self {
            mean: Estimate::new(&all(|last| last.mean), Of::LastEpisodes),
            variance: mean(&all(|last| last.variance)),
            median: mean(&all(|last| last.median)),
        })
    }
}

impl Comparison {
    /// Every pair of groups whose published returns differ, the best ones first.
    pub fn published_orders(&self) -> Vec<PublishedOrder> {
        let mut groups: Vec<(&Group, f64)> =
            self.groups.iter().filter_map(|group| Some((group, group.published.as_ref()?.return_mean))).collect();
        groups.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let pairs =
            groups.iter().enumerate().flat_map(|(index, one)| groups[index + 1..].iter().map(move |b| (one, b)));
        pairs.filter(|(one, other)| one.1 > other.1).map(|(one, other)| PublishedOrder::new(*one, *other)).collect()
    }
}

impl PublishedOrder {
    fn new((higher, more): (&Group, f64), (lower, less): (&Group, f64)) -> Self {
        let difference = |run: &Member| {
            let other = lower.runs.iter().find(|other| other.seed == run.seed)?;
            Some(run.last_episodes?.mean - other.last_episodes?.mean)
        };
        let differences: Vec<f64> = higher.runs.iter().filter_map(difference).collect();
        let ours = Estimate::new(&differences, Of::LastEpisodesDifference);
        let labels = (higher.label.clone(), lower.label.clone());
        PublishedOrder { higher: labels.0, lower: labels.1, published: more - less, verdict: Verdict::of(&ours), ours }
    }
}

impl Verdict {
    fn of(difference: &Estimate) -> Self {
        match (difference.low, difference.high) {
            (low, high) if low.is_nan() || high.is_nan() => Verdict::Unknown,
            (low, _) if low > 0.0 => Verdict::Holds,
            (_, high) if high < 0.0 => Verdict::Reversed,
            _ => Verdict::WithinTheNoise,
        }
    }
}
