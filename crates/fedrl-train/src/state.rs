//! Everything that changes during a training, in one struct.

use fedrl_algos::{AgentReport, ServerState};
use serde::{Deserialize, Serialize};

/// The state of a training between two rounds.
#[derive(Debug, Clone)]
pub struct TrainState<S> {
    /// The algorithm's own state.
    pub server: S,
    /// The rest.
    pub progress: Progress,
}

/// How far a training has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Rounds completed.
    pub round: u32,
    /// For each agent, whether it still takes part.
    pub active: Vec<bool>,
    /// Sums since the start.
    pub totals: Totals,
    /// The best checkpointed round so far.
    pub best: Option<Best>,
}

/// Sums since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Environment steps of all agents.
    pub env_steps: u64,
    /// Bytes from agents to the server.
    pub bytes_up: u64,
    /// Bytes from the server to agents.
    pub bytes_down: u64,
}

/// The checkpointed round with the highest mean training return.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// Which round.
    pub round: u32,
    /// Its mean return over agents.
    pub return_mean: f64,
}

impl Progress {
    /// Counts what agents did; those that diverged take no further part.
    pub fn observe(&mut self, reports: &[AgentReport]) {
        for report in reports {
            self.totals.env_steps += report.metrics.lived.env_steps;
            self.totals.bytes_up += report.bytes_up;
            self.totals.bytes_down += report.bytes_down;
            self.active[report.agent] &= !report.diverged;
        }
    }
}

impl<S: ServerState<f32>> TrainState<S> {
    /// The state before the first round.
    pub fn new(server: S, agents: usize) -> Self {
        let progress = Progress { round: 0, active: vec![true; agents], totals: Totals::default(), best: None };
        TrainState { server, progress }
    }

    /// The agents that still take part, ascending.
    pub fn available(&self) -> Vec<usize> {
        (0..self.progress.active.len()).filter(|&agent| self.progress.active[agent]).collect()
    }
}
