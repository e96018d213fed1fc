//! The exchange before the first round: u_0.

use fedrl_core::Scalar;
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::EngineError;
use fedrl_federation::{AgentHalf, Answer, Answers, Vector};

use super::MomentumConfig;
use crate::{Agent, AgentMetrics, Upload, World};

/// The agent's half: the mean gradient of `batch` trajectories at θ_0.
pub(super) struct InitialGradient<'a, F> {
    pub(super) world: &'a World<F>,
    pub(super) config: &'a MomentumConfig,
    pub(super) batch: usize,
}

impl<F: Scalar> AgentHalf<Agent<F>> for InitialGradient<'_, F> {
    /// θ_0.
    type Broadcast = Vector<F>;
    type State = ();
    /// (1/B) Σ_b g_i(τ_b|θ_0).
    type Upload = Upload<F>;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(
        &self,
        Vector(theta): &Vector<F>,
        block: &[(&Agent<F>, &())],
    ) -> Result<Answers<Self, Agent<F>>, EngineError> {
        let agents: Vec<&Agent<F>> = block.iter().map(|&(agent, ())| agent).collect();
        let keys: Vec<Key> = agents.iter().map(|agent| self.world.key(Purpose::CommonEstimate, agent.id, 0)).collect();
        let request = self.config.request(self.world, &agents, &keys, self.batch);
        let estimates = &self.world.estimates;
        let estimated = estimates.gradients(&request, &estimates.repeat(theta, agents.len()))?;
        let mut metrics = vec![AgentMetrics::default(); agents.len()];
        AgentMetrics::observe_all(&mut metrics, &estimated)?;
        let answers = Upload::of(estimated.gradients)?.into_iter().zip(metrics);
        let answers = answers.map(|(upload, metrics)| Answer { state: (), upload, metrics });
        Ok(answers.collect())
    }
}
