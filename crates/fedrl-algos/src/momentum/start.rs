//! The exchange before the first round: u_0.

use fedrl_core::Scalar;
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::EngineError;
use fedrl_federation::{AgentHalf, Answer, Answers, Vector};

use super::MomentumConfig;
use super::personal::{Divided, divided, joined, rows};
use super::state::Columns;
use crate::{Agent, AgentMetrics, Upload, World};

/// The agent's half: the mean gradient of `batch` trajectories at θ_0.
pub(super) struct InitialGradient<'a, F> {
    pub(super) world: &'a World<F>,
    pub(super) config: &'a MomentumConfig,
    pub(super) batch: usize,
}

impl<F: Scalar> AgentHalf<Agent<F>> for InitialGradient<'_, F> {
    /// θ_0 of what is shared.
    type Broadcast = Vector<F>;
    /// What is the agent's own.
    type State = Columns<F>;
    /// (1/B) Σ_b g_i(τ_b|θ_0) of what is shared.
    type Upload = Upload<F>;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(
        &self,
        Vector(shared): &Vector<F>,
        block: &[(&Agent<F>, &Columns<F>)],
    ) -> Result<Answers<Self, Agent<F>>, EngineError> {
        let (agents, own): (Vec<&Agent<F>>, Vec<&Columns<F>>) = block.iter().copied().unzip();
        let keys: Vec<Key> = agents.iter().map(|agent| self.world.key(Purpose::CommonEstimate, agent.id, 0)).collect();
        let request = self.config.request(self.world, &agents, &keys, self.batch);
        let estimates = &*self.world.estimates;
        let start = joined(shared, own.iter().map(|own| own.theta.as_slice()));
        let theta = rows(estimates, &start, shared.len() + own[0].theta.len(), agents.len());
        let estimated = estimates.gradients(&request, &theta)?;
        let mut metrics = vec![AgentMetrics::default(); agents.len()];
        AgentMetrics::observe_all(&mut metrics, &estimated)?;
        let answers = divided(estimated.gradients, &own)?.into_iter().zip(metrics).zip(own);
        let answers = answers.map(|((Divided { upload, own: direction }, metrics), own)| Answer {
            state: Columns::new(own.theta.clone(), Some(direction)),
            upload,
            metrics,
        });
        Ok(answers.collect())
    }
}
