//! What an observer of the simulation sees of the agents. None of it is ever sent.

use fedrl_core::Scalar;
use fedrl_engine::EngineError;

use crate::{Estimated, Experience};

/// Sums over an agent's local steps of one round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentMetrics {
    /// The trajectories.
    pub lived: Experience,
    /// Sum of ‖g‖ over local steps.
    pub gradient_norm_sum: f64,
    /// Local steps.
    pub local_steps: usize,
    /// ‖θ_i − θ_r‖ after the last local step.
    pub drift: f64,
    /// Importance weights, where the algorithm uses them.
    pub importance: Option<ImportanceMetrics>,
    /// What there is to say of value learning, where the algorithm does it.
    pub values: Option<ValueMetrics>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

impl AgentMetrics {
    /// Counts a local step whose gradient had this norm, and what its estimate came from.
    pub fn observe(&mut self, gradient_norm: f64, lived: &Experience, importance: Option<&ImportanceMetrics>) {
        self.lived.merge(lived);
        self.local_steps += 1;
        self.gradient_norm_sum += gradient_norm;
        if let Some(weights) = importance {
            self.importance.get_or_insert_default().merge(weights);
        }
    }

    /// Counts a local step of every agent of a block, and returns the gradients' norms.
    ///
    /// # Errors
    /// The device failed.
    pub(crate) fn observe_all<F: Scalar>(
        all: &mut [AgentMetrics],
        estimated: &Estimated<F>,
    ) -> Result<Vec<f64>, EngineError> {
        let norms = estimated.gradients.norms()?;
        for (index, metrics) in all.iter_mut().enumerate() {
            let importance = estimated.importance.as_ref().map(|importance| &importance[index]);
            metrics.observe(norms[index], &estimated.lived[index], importance);
        }
        Ok(norms)
    }

    /// Takes over what was seen of value learning.
    pub(crate) fn learned(&mut self, values: ValueMetrics) {
        self.lived.trajectories = values.returns.len();
        self.lived.terminated = values.terminated;
        self.lived.env_steps = values.env_steps;
        self.lived.return_sum = values.returns.iter().sum();
        self.gradient_norm_sum = values.gradient_norm_sum;
        self.local_steps = values.updates;
        self.values = Some(values);
    }

    /// Mean undiscounted return of a trajectory; not a number where none ended.
    pub fn return_mean(&self) -> f64 {
        self.lived.return_sum / self.lived.trajectories as f64
    }

    /// Mean steps of a trajectory.
    pub fn episode_length(&self) -> f64 {
        let finished = |values: &ValueMetrics| values.lengths.iter().map(|&steps| u64::from(steps)).sum();
        let steps: u64 = self.values.as_ref().map_or(self.lived.env_steps, finished);
        steps as f64 / self.lived.trajectories as f64
    }

    /// Mean ‖g‖ of a local step.
    pub fn gradient_norm(&self) -> f64 {
        self.gradient_norm_sum / self.local_steps as f64
    }
}

/// What an agent that learns action values did in a round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueMetrics {
    /// Undiscounted returns of the episodes that ended, in their order.
    pub returns: Vec<f64>,
    /// The lengths of those episodes, in environment steps.
    pub lengths: Vec<u32>,
    /// Of those episodes, how many ended by themselves.
    pub terminated: usize,
    /// Environment steps.
    pub env_steps: u64,
    /// Updates.
    pub updates: usize,
    /// Sum of the minibatches' mean squared TD errors.
    pub loss_sum: f64,
    /// Sum of the updates' ‖gradient‖.
    pub gradient_norm_sum: f64,
    /// Probability of an action at random.
    pub exploration: f64,
    /// Step size of the latest update.
    pub step_size: f64,
}

impl ValueMetrics {
    /// An episode ended.
    pub(crate) fn ended(&mut self, total_reward: f64, steps: u32, terminated: bool) {
        self.returns.push(total_reward);
        self.lengths.push(steps);
        self.terminated += usize::from(terminated);
    }

    /// An update was made.
    pub(crate) fn learned(&mut self, loss: f64, gradient_norm: f64, step_size: f64) {
        self.updates += 1;
        self.loss_sum += loss;
        self.gradient_norm_sum += gradient_norm;
        self.step_size = step_size;
    }

    /// Mean squared TD error; not a number where nothing was learned.
    pub fn loss(&self) -> f64 {
        self.loss_sum / self.updates as f64
    }
}

/// Sums over importance weights.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ImportanceMetrics {
    /// Weights seen.
    pub count: usize,
    /// Of which infinite or NaN before clipping.
    pub non_finite: usize,
    /// Of which clipped.
    pub clipped: usize,
    /// Of which collapsed: below 0.01 before clipping.
    pub collapsed: usize,
    /// Of which finite after clipping: those that the sums are over.
    finite: usize,
    sum: f64,
    squares: f64,
}

impl ImportanceMetrics {
    /// Counts a weight and what clipping left of it.
    pub fn observe(&mut self, weight: f64, clipped: f64) {
        self.count += 1;
        self.non_finite += usize::from(!weight.is_finite());
        self.clipped += usize::from(clipped != weight && !weight.is_nan());
        self.collapsed += usize::from(weight < 0.01);
        if clipped.is_finite() {
            self.finite += 1;
            self.sum += clipped;
            self.squares += clipped.powi(2);
        }
    }

    /// Mean of the finite weights.
    pub fn mean(&self) -> f64 {
        self.sum / self.finite as f64
    }

    /// (Σw)² / (n Σw²) of the finite weights: 1 when all weights are alike, 1/n when one of them is all.
    pub fn effective_sample_size(&self) -> f64 {
        if self.squares > 0.0 { self.sum.powi(2) / (self.finite as f64 * self.squares) } else { 0.0 }
    }

    /// These and those.
    pub fn merge(&mut self, other: &ImportanceMetrics) {
        self.count += other.count;
        self.non_finite += other.non_finite;
        self.clipped += other.clipped;
        self.collapsed += other.collapsed;
        self.finite += other.finite;
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

/// One agent in one round.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentReport {
    /// Which agent.
    pub agent: usize,
    /// What it did.
    pub metrics: AgentMetrics,
    /// Bytes it sent.
    pub bytes_up: u64,
    /// Bytes it received.
    pub bytes_down: u64,
    /// Whether its answer was not finite and was left out.
    pub diverged: bool,
}

impl AgentReport {
    /// Of an agent that has done nothing yet.
    pub(crate) fn new(agent: usize) -> Self {
        AgentReport { agent, metrics: AgentMetrics::default(), bytes_up: 0, bytes_down: 0, diverged: false }
    }

    /// Adds what the same agent did in a later exchange of the round.
    pub fn join(&mut self, later: AgentReport) {
        let (one, two) = (&mut self.metrics, later.metrics);
        one.lived.merge(&two.lived);
        one.gradient_norm_sum += two.gradient_norm_sum;
        one.local_steps += two.local_steps;
        one.drift = two.drift;
        one.seconds += two.seconds;
        if let Some(weights) = two.importance {
            one.importance.get_or_insert_default().merge(&weights);
        }
        self.bytes_up += later.bytes_up;
        self.bytes_down += later.bytes_down;
        self.diverged |= later.diverged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effective_sample_size_by_hand() {
        let mut metrics = ImportanceMetrics::default();
        for weight in [1.0, 1.0, 4.0] {
            metrics.observe(weight, weight);
        }
        // (1+1+4)² / (3 (1+1+16)) = 36/54.
        assert!((metrics.effective_sample_size() - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(metrics.mean(), 2.0);
    }
}
