//! The exchange before the first round: u_0.

use fedrl_core::random::Purpose;
use fedrl_engine::{EngineError, Matrix, Mode, Replica};
use fedrl_federation::{AgentHalf, Message, vector_bytes};

use super::MomentumConfig;
use super::agent::per_step;
use crate::vector::norm;
use crate::{Agent, AgentMetrics, World};

/// θ_0.
pub(super) struct Initial {
    pub(super) theta: Vec<f32>,
}

impl Message for Initial {
    fn bytes(&self) -> u64 {
        vector_bytes(&self.theta)
    }
}

/// (1/B) Σ_b g_i(τ_b|θ_0).
pub(super) struct Gradient {
    pub(super) gradient: Vec<f32>,
}

impl Gradient {
    pub(super) fn is_finite(&self) -> bool {
        self.gradient.iter().all(|x| x.is_finite())
    }
}

impl Message for Gradient {
    fn bytes(&self) -> u64 {
        vector_bytes(&self.gradient)
    }
}

/// The agent's half: the mean gradient of `batch` trajectories at θ_0.
pub(super) struct InitialGradient<'a> {
    pub(super) world: &'a World,
    pub(super) config: &'a MomentumConfig,
    pub(super) batch: usize,
}

impl AgentHalf<Agent> for InitialGradient<'_> {
    type Broadcast = Initial;
    type State = ();
    type Upload = Gradient;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(
        &self,
        broadcast: &Initial,
        block: &[(&Agent, &())],
    ) -> Result<Vec<((), Gradient, AgentMetrics)>, EngineError> {
        let World { engine, policy, .. } = self.world;
        let horizon = self.config.horizon.min(self.world.max_episode_steps);
        let replicas: Vec<Replica> = block
            .iter()
            .map(|(agent, ())| agent.replica(&broadcast.theta, self.world.key(Purpose::InitialEstimate, agent.id, 0)))
            .collect();
        let trajectories = engine.rollout(policy, &replicas, self.batch, horizon, Mode::Sampled)?;
        let theta = Matrix::repeat(&broadcast.theta, block.len());
        let gradients =
            engine.scores(policy, &theta, &trajectories).gradient(&per_step(self.config, &trajectories, |_, _| 1.0))?;
        let sampled = trajectories.replicas.iter().zip(&trajectories.margins).enumerate();
        let answers = sampled.map(|(index, (lived, &margin))| {
            let gradient = gradients.row(index).to_vec();
            let mut metrics = AgentMetrics::default();
            metrics.observe(lived, margin);
            metrics.observe_step(norm(&gradient), None);
            ((), Gradient { gradient }, metrics)
        });
        Ok(answers.collect())
    }
}
