//! DDPG (Lillicrap et al. 2016, Alg. 1) for the loop of 004 Alg. 4: PFedDDPG-Rep (004 App. G.1) and its rivals.
//!
//! ```text
//! y = r + γ Q⁻(s′, μ⁻(s′))                      nothing follows a terminated transition
//! critic: θ_Q ← θ_Q − Adam(∇ mean (Q(s, a) − y)²)
//! actor:  θ_μ ← θ_μ + Adam(∇ mean Q(s, μ(s)))
//! targets: θ⁻ ← θ⁻ + τ (θ − θ⁻)
//! ```
//!
//! each for the columns of one part: heads of actor and critic at every local step, their bodies once in an
//! iteration.

mod config;
mod network;
#[cfg(test)]
mod tests;
mod update;

pub use config::{DdpgConfig, DdpgExperiment, DdpgName};

use fedrl_core::random::Key;
use fedrl_models::Policy;

use super::messages::Moments;
use super::method::{Method, Schedule, Shares, Updates, Widths, Worker};
use crate::Agent;
use network::ActorCritic;
use update::DdpgWorker;

/// DDPG with its numbers set.
#[derive(Debug)]
pub(super) struct Ddpg {
    config: DdpgConfig,
    network: ActorCritic,
}

impl Ddpg {
    /// For actors of the form of `policy`.
    pub(super) fn new(config: DdpgConfig, shares: Shares, policy: &Policy) -> Self {
        Ddpg { config: config.completed(shares), network: ActorCritic::new(policy, shares) }
    }
}

impl Method for Ddpg {
    fn schedule(&self) -> Schedule {
        let config = &self.config;
        Schedule {
            iterations: config.iterations,
            period: if self.widths().shared > 0 { 1 } else { config.iterations },
            local_steps: config.local_steps,
            updates: config.updates.unwrap_or(Updates::Joint),
            moments: config.moments.unwrap_or(Moments::Averaged),
            learning_starts: config.learning_starts,
            batch: config.batch,
            replay: config.replay,
            exploration: config.exploration,
        }
    }

    fn widths(&self) -> Widths {
        self.network.widths()
    }

    /// A policy says nothing of critics: they come from `network`.
    fn initial(&self, theta: &[f32], network: Key, _own: Key) -> Vec<f32> {
        self.network.initial(theta, network)
    }

    fn policy(&self, columns: &[f32]) -> Vec<f32> {
        self.network.policy(columns, self.config.exploration)
    }

    fn worker<'a>(&'a self, agent: &Agent<f32>) -> Box<dyn Worker + 'a> {
        Box::new(DdpgWorker::new(&self.network, &self.config, &agent.spec.action))
    }
}
