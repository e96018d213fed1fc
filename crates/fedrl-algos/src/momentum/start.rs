//! The exchange before the first round: u_0.

use fedrl_core::random::Purpose;
use fedrl_engine::{EngineError, Matrix, Mode, Number, Replica};
use fedrl_federation::{AgentHalf, Answer, Answers, Vector};

use super::MomentumConfig;
use crate::vector::norm;
use crate::{Agent, AgentMetrics, World};

/// The agent's half: the mean gradient of `batch` trajectories at θ_0.
pub(super) struct InitialGradient<'a, F> {
    pub(super) world: &'a World<F>,
    pub(super) config: &'a MomentumConfig,
    pub(super) batch: usize,
}

impl<F: Number> AgentHalf<Agent<F>> for InitialGradient<'_, F> {
    /// θ_0.
    type Broadcast = Vector<F>;
    type State = ();
    /// (1/B) Σ_b g_i(τ_b|θ_0).
    type Upload = Vector<F>;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(
        &self,
        Vector(theta): &Vector<F>,
        block: &[(&Agent<F>, &())],
    ) -> Result<Answers<Self, Agent<F>>, EngineError> {
        let World { engine, policy, .. } = self.world;
        let horizon = self.config.horizon.min(self.world.max_episode_steps);
        let replicas: Vec<Replica<F>> = block
            .iter()
            .map(|(agent, ())| agent.replica(theta, self.world.key(Purpose::CommonEstimate, agent.id, 0)))
            .collect();
        let trajectories = engine.rollout(policy, &replicas, self.batch, horizon, Mode::Sampled)?;
        let at = Matrix::repeat(theta, block.len());
        let gradients = engine
            .scores(policy, &at, &trajectories)
            .gradient(&self.config.weighing().per_step(&trajectories, |_, _| F::from_f64(1.0)))?;
        let sampled = trajectories.replicas.iter().zip(&trajectories.margins).enumerate();
        let answers = sampled.map(|(index, (lived, &margin))| {
            let gradient = gradients.row(index).to_vec();
            let mut metrics = AgentMetrics::default();
            metrics.observe(lived, margin);
            metrics.observe_step(norm(&gradient), None);
            Answer { state: (), upload: Vector(gradient), metrics }
        });
        Ok(answers.collect())
    }
}
