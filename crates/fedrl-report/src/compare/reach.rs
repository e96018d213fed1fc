//! How soon runs reach a return.

use serde::Serialize;

use super::estimate::{Estimate, Of};
use super::{Comparison, Member};

/// Rounds over which a training return is averaged before it is compared with a threshold.
pub const SMOOTHED: usize = 5;

/// How soon the runs of a group reach a return.
#[derive(Debug, Clone, Serialize)]
pub struct Reach {
    /// The group's label.
    pub label: String,
    /// Runs of the group.
    pub runs: usize,
    /// Of which reach it at all.
    pub reached: usize,
    /// Rounds until then, over those that do.
    pub rounds: Estimate,
    /// Environment steps of all agents until then, over those that do.
    pub env_steps: Estimate,
}

impl Comparison {
    /// How soon each group reaches `threshold`: the first round at which the training return,
    /// averaged over the last [`SMOOTHED`] rounds, is at least that.
    pub fn reach(&self, threshold: f64) -> Vec<Reach> {
        let group = |group: &super::Group| {
            let reached: Vec<(f64, f64)> = group.runs.iter().filter_map(|run| first(run, threshold)).collect();
            let over =
                |value: fn(&(f64, f64)) -> f64, of| Estimate::new(&reached.iter().map(value).collect::<Vec<_>>(), of);
            Reach {
                label: group.label.clone(),
                runs: group.runs.len(),
                reached: reached.len(),
                rounds: over(|(rounds, _)| *rounds, Of::Rounds),
                env_steps: over(|(_, steps)| *steps, Of::EnvSteps),
            }
        };
        self.groups.iter().map(group).collect()
    }
}

/// The round and the environment steps at which a run reaches the threshold.
fn first(run: &Member, threshold: f64) -> Option<(f64, f64)> {
    let last = run.curve.windows(SMOOTHED).position(|window| {
        let mean = window.iter().map(|(_, value)| value).sum::<f64>() / SMOOTHED as f64;
        mean >= threshold
    })? + SMOOTHED
        - 1;
    Some((run.curve[last].0 as f64, run.env_steps[last]))
}
