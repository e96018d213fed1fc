//! What the loop leaves open: what an agent's columns mean, how it acts by them and how it learns.

use std::fmt::Debug;
use std::ops::Range;

use fedrl_core::random::Key;
use serde::{Deserialize, Serialize};

use super::messages::Moments;
use super::server::Server;
use super::state::Learner;
use crate::{Agent, World};

/// A way to learn values, for the loop of 004 Alg. 4.
pub(super) trait Method: Debug + Send + Sync {
    /// What happens when, and how often.
    fn schedule(&self) -> Schedule;

    /// How wide an agent's rows are.
    fn widths(&self) -> Widths;

    /// An agent's columns to begin with, from initial parameters `theta` of the policy. What `theta` does not
    /// say of the network comes from `network`, and what is an agent's own in any case from `own`.
    fn initial(&self, theta: &[f32], network: Key, own: Key) -> Vec<f32>;

    /// The parameters of the policy that an agent's columns stand for.
    fn policy(&self, columns: &[f32]) -> Vec<f32>;

    /// What an agent acts and learns with.
    fn worker<'a>(&'a self, agent: &Agent<f32>) -> Box<dyn Worker + 'a>;

    /// The server after so many iterations.
    fn server<'a>(&'a self, _world: &World<f32>, _iteration: u32) -> Server<'a> {
        Server::Mean
    }
}

/// An agent's method at work, with the memory that it needs for the time being.
pub(super) trait Worker: Send {
    /// Before iteration `t`.
    fn begin(&mut self, _t: u32, _learner: &mut Learner) {}

    /// Chooses an action for `observation`; `key` is that of the agent's exploration.
    fn act(&mut self, learner: &Learner, observation: &[f32], key: Key, action: &mut [f32]);

    /// One update of `part` from the transitions in `places` of the memory.
    fn learn(&mut self, learner: &mut Learner, part: Part, places: &[usize]) -> Done;

    /// Visits to every region since they were last forgotten, where they weigh.
    fn visits(&self) -> &[u32] {
        &[]
    }

    /// Forgets visits.
    fn forget(&mut self) {}
}

/// What happens when.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    /// Iterations (t of 004 Alg. 4) in a round.
    pub(super) iterations: u32,
    /// Iterations between two exchanges with the server.
    pub(super) period: u32,
    /// K: environment steps, each with an update, in an iteration.
    pub(super) local_steps: usize,
    /// Which columns move together.
    pub(super) updates: Updates,
    /// What becomes of Adam's moments of shared columns.
    pub(super) moments: Moments,
    /// Transitions from which on an agent learns.
    pub(super) learning_starts: u32,
    /// Transitions in a minibatch.
    pub(super) batch: usize,
    /// Transitions that an agent remembers.
    pub(super) replay: usize,
    /// How much agents explore, for the record.
    pub(super) exploration: f64,
}

/// How wide an agent's rows are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Widths {
    /// Parameters in all.
    pub(super) columns: usize,
    /// Of which shared, from the first on.
    pub(super) shared: usize,
    /// Numbers that the agent sees.
    pub(super) observation: usize,
    /// Numbers in an action: 1 for a choice.
    pub(super) action: usize,
}

impl Widths {
    /// Columns that never leave the agent.
    pub(super) fn personal(&self) -> Range<usize> {
        self.shared..self.columns
    }
}

/// Which columns are updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The last layers.
    Head,
    /// Everything else.
    Body,
    /// Both.
    All,
}

/// What an update came to.
pub(super) struct Done {
    /// Mean squared TD error before it.
    pub(super) loss: f64,
    /// Euclidean norm of its gradient.
    pub(super) gradient_norm: f64,
    /// Adam's step size.
    pub(super) step_size: f64,
}

/// What agents send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shares {
    /// Nothing.
    Nothing,
    /// Φ: every layer but the last.
    Representation,
    /// The whole network.
    Network,
}

/// Which parameters move together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Updates {
    /// The head at every local step, then once everything before it (004 Alg. 4).
    Alternating,
    /// All of them at every local step.
    Joint,
    /// The head alone, everything before it frozen: an adaptation's. No experiment can say it.
    #[serde(skip)]
    Head,
}
