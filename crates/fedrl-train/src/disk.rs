//! How much room checkpoints take.

use fedrl_algos::AnyAlgorithm;

use crate::setup::Setup;

/// Bytes on disk that the checkpoints of a training take at most: what they take if nothing of them can be
/// compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Disk {
    /// One checkpoint.
    pub checkpoint: u64,
    /// Checkpoints that are there at once.
    pub checkpoints: u64,
    /// All of them.
    pub total: u64,
}

/// Bytes of a number.
const NUMBER: u64 = 4;
/// Besides the newest: the best one, one of an interrupt, and one that is being written.
const OTHERS: u64 = 3;
/// Names, shapes and checksums, apart from what every layer and every agent adds.
const RECORDS: u64 = 8192;
const OF_LAYER: u64 = 256;
const OF_AGENT: u64 = 16;

impl Setup {
    /// What the checkpoints of a training take.
    pub fn disk(&self) -> Disk {
        let agents = self.agents.len() as u64;
        let layers = self.policy.widths().len() as u64;
        let policy = self.policy.parameter_count() as u64;
        // Server's θ, θ_{r−1} and u_r, and of agents with columns of their own these and a policy each.
        let of_gradients =
            if self.experiment.algorithm.personal().is_some() { (4 + 4 * agents) * policy } else { 3 * policy };
        let numbers = self.values_kept().unwrap_or(of_gradients) + policy;
        let checkpoint = numbers * NUMBER + RECORDS + layers * OF_LAYER + agents * OF_AGENT;
        let checkpoints = self.experiment.training.keep_checkpoints as u64 + OTHERS;
        Disk { checkpoint, checkpoints, total: checkpoint.saturating_mul(checkpoints) }
    }

    /// Numbers in the state of an algorithm that learns values: the policy that stands for all, what is shared with
    /// its moments, and what every agent keeps, its policy and its environment's state among it.
    fn values_kept(&self) -> Option<u64> {
        let AnyAlgorithm::Value(algorithm) = self.algorithm() else { return None };
        let policy = self.policy.parameter_count();
        let state = self.agents.iter().map(|instance| instance.spec().state_width).max().unwrap_or(0);
        let of_agent = policy + algorithm.kept_by_agent() + state;
        Some((policy + 3 * algorithm.shared() + self.agents.len() * of_agent) as u64)
    }
}
