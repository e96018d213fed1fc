//! How well runs fit their agents, and what that costs.

use fedrl_stats::quantile;
use serde::Serialize;

use super::Member;
use super::estimate::{Estimate, Of};
use crate::run::RunData;

/// What `fedrl personalisation` found of a run. NaN for what was not finite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fit {
    /// The greatest error of any agent's action values, 004 Eq. 56.
    pub worst_error: f64,
    /// Rank correlation between how alike heads and environments are.
    pub rank_correlation: f64,
}

/// The same over the runs of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FitOverRuns {
    /// Mean of the greatest error.
    pub worst_error: Estimate,
    /// Its median: one agent whose values ran away can have an error a hundred times that of other seeds.
    pub worst_error_median: f64,
    /// Mean of the rank correlation.
    pub rank_correlation: Estimate,
    /// Mean of the processor seconds of the training; unknown of trainings that went on side by side.
    pub process_seconds: Estimate,
}

impl Fit {
    pub(super) fn of(data: &RunData) -> Option<Self> {
        let found = data.personalisation.as_ref()?;
        let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let rank_correlation = number(found.similarity.rank_correlation);
        Some(Fit { worst_error: number(found.worst.error), rank_correlation })
    }
}

impl FitOverRuns {
    /// `None` unless all `runs` have been looked at.
    pub(super) fn new(runs: &[Member]) -> Option<Self> {
        let fits = runs.iter().map(|run| run.fit).collect::<Option<Vec<_>>>()?;
        let all = |value: fn(&Fit) -> f64| fits.iter().map(value).collect::<Vec<_>>();
        let seconds: Vec<f64> = runs.iter().map(|run| run.process_seconds).collect();
        Some(FitOverRuns {
            worst_error: Estimate::new(&all(|fit| fit.worst_error), Of::WorstError),
            worst_error_median: quantile(&all(|fit| fit.worst_error), 0.5),
            rank_correlation: Estimate::new(&all(|fit| fit.rank_correlation), Of::RankCorrelation),
            process_seconds: Estimate::new(&seconds, Of::ProcessSeconds),
        })
    }
}
