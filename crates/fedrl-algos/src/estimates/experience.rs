//! What an observer of the simulation sees of the trajectories behind an estimate.

use fedrl_core::Scalar;
use fedrl_engine::Trajectory;

/// Sums over trajectories.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Experience {
    /// Trajectories sampled.
    pub trajectories: usize,
    /// Of which ended by themselves, rather than by a limit. Where episodes never do (HalfCheetah), these
    /// are states that blew up.
    pub terminated: usize,
    /// Environment steps taken.
    pub env_steps: u64,
    /// Sum of the undiscounted returns; with exact gradients, of the objectives.
    pub return_sum: f64,
    /// Closest that any draw came to choosing another action; infinite where nobody looked.
    pub margin: f64,
}

impl Default for Experience {
    fn default() -> Self {
        Experience { trajectories: 0, terminated: 0, env_steps: 0, return_sum: 0.0, margin: f64::INFINITY }
    }
}

impl Experience {
    /// Of these trajectories, whose closest draw has this `margin`.
    pub fn of<F: Scalar>(lived: &[Trajectory<F>], margin: F) -> Self {
        Experience {
            trajectories: lived.len(),
            terminated: lived.iter().filter(|trajectory| trajectory.terminated).count(),
            env_steps: lived.iter().map(|trajectory| trajectory.len() as u64).sum(),
            return_sum: lived.iter().map(Trajectory::total_reward).sum(),
            margin: margin.as_double(),
        }
    }

    /// These and those.
    pub fn merge(&mut self, other: &Experience) {
        self.trajectories += other.trajectories;
        self.terminated += other.terminated;
        self.env_steps += other.env_steps;
        self.return_sum += other.return_sum;
        self.margin = self.margin.min(other.margin);
    }
}
