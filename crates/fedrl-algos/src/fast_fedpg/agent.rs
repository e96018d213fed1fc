//! The agents' halves of the two exchanges.

use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{EngineError, Matrix, Mode, Replica, Trajectories};
use fedrl_federation::{AgentHalf, Answer, Answers, Vector};

use super::FastFedPgConfig;
use super::server::Common;
use crate::vector::{add_scaled, difference, norm};
use crate::{Agent, AgentMetrics, World};

/// The exchange that opens a round: ĝ_i(θ̄_r), which the agent also remembers.
pub(super) struct CommonGradient<'a> {
    pub(super) world: &'a World,
    pub(super) config: &'a FastFedPgConfig,
    pub(super) round: u32,
}

impl AgentHalf<Agent> for CommonGradient<'_> {
    /// θ̄_r.
    type Broadcast = Vector;
    /// ĝ_i(θ̄_r).
    type State = Vec<f32>;
    /// ĝ_i(θ̄_r).
    type Upload = Vector;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(
        &self,
        Vector(theta): &Vector,
        block: &[(&Agent, &Vec<f32>)],
    ) -> Result<Answers<Self, Agent>, EngineError> {
        let agents: Vec<&Agent> = block.iter().map(|&(agent, _)| agent).collect();
        let at = Matrix::repeat(theta, agents.len());
        let key = |agent: &Agent| self.world.key(Purpose::InitialEstimate, agent.id, self.round);
        let (gradients, tau) = estimate(self.world, self.config, &agents, &at, key)?;
        let answers = (0..agents.len()).map(|index| {
            let gradient = gradients.row(index).to_vec();
            let mut metrics = AgentMetrics::default();
            metrics.observe(&tau.replicas[index], tau.margins[index]);
            Answer { state: gradient.clone(), upload: Vector(gradient), metrics }
        });
        Ok(answers.collect())
    }
}

/// The exchange of the local steps.
pub(super) struct LocalSteps<'a> {
    pub(super) world: &'a World,
    pub(super) config: &'a FastFedPgConfig,
    pub(super) round: u32,
}

impl AgentHalf<Agent> for LocalSteps<'_> {
    type Broadcast = Common;
    /// ĝ_i(θ̄_r).
    type State = Vec<f32>;
    /// θ_{i,K} − θ̄_r.
    type Upload = Vector;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(&self, common: &Common, block: &[(&Agent, &Vec<f32>)]) -> Result<Answers<Self, Agent>, EngineError> {
        let agents: Vec<&Agent> = block.iter().map(|&(agent, _)| agent).collect();
        let mut theta = Matrix::repeat(&common.theta, agents.len());
        let mut metrics = vec![AgentMetrics::default(); agents.len()];
        let eta = self.config.local_step_size as f32;

        for l in 0..self.config.local_steps {
            let key =
                |agent: &Agent| self.world.key(Purpose::Training, agent.id, self.round).child([l as u32, 0, 0, 0]);
            let (gradients, tau) = estimate(self.world, self.config, &agents, &theta, key)?;
            for (index, (_, own)) in block.iter().enumerate() {
                let (g, row) = (gradients.row(index), theta.row_mut(index));
                // θ ← θ + η (ĝ_i(θ) − ĝ_i(θ̄) + ĝ(θ̄))
                add_scaled(row, eta, g);
                add_scaled(row, -eta, own);
                add_scaled(row, eta, &common.gradient);
                metrics[index].observe(&tau.replicas[index], tau.margins[index]);
                metrics[index].observe_step(norm(g), None);
            }
        }

        let answers = block.iter().zip(metrics).enumerate().map(|(index, ((_, own), mut metrics))| {
            let delta = difference(theta.row(index), &common.theta);
            metrics.drift = norm(&delta);
            Answer { state: own.to_vec(), upload: Vector(delta), metrics }
        });
        Ok(answers.collect())
    }
}

/// ĝ_i(θ_i) of every agent, the mean over its batch, from draws under its `key`.
fn estimate(
    world: &World,
    config: &FastFedPgConfig,
    agents: &[&Agent],
    theta: &Matrix,
    key: impl Fn(&Agent) -> Key,
) -> Result<(Matrix, Trajectories), EngineError> {
    let replicas: Vec<Replica> =
        agents.iter().enumerate().map(|(index, agent)| agent.replica(theta.row(index), key(agent))).collect();
    let horizon = config.horizon.min(world.max_episode_steps);
    let tau = world.engine.rollout(&world.policy, &replicas, config.batch, horizon, Mode::Sampled)?;
    let weights = config.weighing().per_step(&tau, |_, _| 1.0);
    Ok((world.engine.scores(&world.policy, theta, &tau).gradient(&weights)?, tau))
}
