//! How much memory a training needs.

use fedrl_algos::AnyAlgorithm;
use fedrl_engine::Engine;

use crate::setup::Setup;

/// Bytes that a training needs, about: the program itself aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Memory {
    /// Of every agent: its environment, its parameters, its answer and what is told of it.
    pub per_agent: u64,
    /// Of every thread: the trajectories that it works on, and the network's values on the way.
    pub per_thread: u64,
    /// Of all agents and threads.
    pub total: u64,
}

/// A number of a run's own, in f32.
const NUMBER: u64 = 4;
/// What is told of an agent in a round, and the records that hold it together.
const RECORDS: u64 = 600;

impl Setup {
    /// What training needs on the CPU with so many threads.
    pub fn memory(&self, engine: &Engine<f32>, threads: usize) -> Memory {
        let parameters = self.policy.parameter_count() as u64;
        let coefficients =
            self.agents.first().map_or(0, |instance| instance.simulator::<f32>().coefficients().len() as u64);
        // An upload, and its copy on the way to the server.
        let per_agent = 2 * parameters * NUMBER + coefficients * NUMBER + RECORDS;

        if let AnyAlgorithm::Value(algorithm) = self.algorithm() {
            // What an agent keeps, twice while a round is under way, and a policy of its own.
            let kept = 2 * algorithm.kept_by_agent() as u64 + parameters;
            // Networks over a minibatch: a learner and its target, values and slopes of each, and of a critic too.
            let values: usize = self.policy.widths().iter().sum();
            let batch = self.experiment.algorithm.batch().next_multiple_of(16);
            let per_agent = (kept + 8 * (batch * values) as u64) * NUMBER + RECORDS;
            return Memory { per_agent, per_thread: 0, total: per_agent * self.agents.len() as u64 };
        }

        let (batch, kept) = self.experiment.algorithm.most(self.experiment.training.rounds);
        let batch = batch as u64;
        let steps = self.max_episode_steps().min(self.experiment.algorithm.horizon()) as u64;
        let layers = self.policy.widths();
        let values: usize = layers.iter().sum();
        let of_step = (values + self.policy.head.action_width() + 4) as u64 * NUMBER;
        // Lanes keep what was lived through and the values of one more parameter vector; tensors keep
        // every step of automatic differentiation.
        let (lanes, copies) =
            if engine.fused(&self.policy).is_some() { (batch.next_multiple_of(16), kept as u64) } else { (batch, 12) };
        let per_thread = lanes * (copies * steps * of_step + 8 * parameters * NUMBER);
        let busy = (threads as u64).min(self.agents.len() as u64);
        Memory { per_agent, per_thread, total: per_agent * self.agents.len() as u64 + per_thread * busy }
    }
}
