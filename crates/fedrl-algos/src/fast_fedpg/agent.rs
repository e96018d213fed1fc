//! The agents' halves of the two exchanges.

use fedrl_core::Scalar;
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{EngineError, Matrix};
use fedrl_federation::{AgentHalf, Answer, Answers, Vector};

use super::FastFedPgConfig;
use super::server::Common;
use crate::vector::{add_scaled, difference, norm};
use crate::{Agent, AgentMetrics, Estimate, Request, World};

/// The exchange that opens a round: ĝ_i(θ̄_r), which the agent also remembers.
pub(super) struct CommonGradient<'a, F> {
    pub(super) world: &'a World<F>,
    pub(super) config: &'a FastFedPgConfig,
    pub(super) round: u32,
}

impl<F: Scalar> AgentHalf<Agent<F>> for CommonGradient<'_, F> {
    /// θ̄_r.
    type Broadcast = Vector<F>;
    /// ĝ_i(θ̄_r).
    type State = Vec<F>;
    /// ĝ_i(θ̄_r).
    type Upload = Vector<F>;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(
        &self,
        Vector(theta): &Vector<F>,
        block: &[(&Agent<F>, &Vec<F>)],
    ) -> Result<Answers<Self, Agent<F>>, EngineError> {
        let agents: Vec<&Agent<F>> = block.iter().map(|&(agent, _)| agent).collect();
        let at = Matrix::repeat(theta, agents.len());
        let key = |agent: &Agent<F>| self.world.key(Purpose::CommonEstimate, agent.id, self.round);
        let estimates = estimate(self.world, self.config, &agents, &at, key)?;
        let answers = estimates.into_iter().map(|Estimate { gradient, lived, .. }| {
            let metrics = AgentMetrics { lived, ..AgentMetrics::default() };
            Answer { state: gradient.clone(), upload: Vector(gradient), metrics }
        });
        Ok(answers.collect())
    }
}

/// The exchange of the local steps.
pub(super) struct LocalSteps<'a, F> {
    pub(super) world: &'a World<F>,
    pub(super) config: &'a FastFedPgConfig,
    pub(super) round: u32,
}

impl<F: Scalar> AgentHalf<Agent<F>> for LocalSteps<'_, F> {
    type Broadcast = Common<F>;
    /// ĝ_i(θ̄_r).
    type State = Vec<F>;
    /// θ_{i,K} − θ̄_r.
    type Upload = Vector<F>;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(
        &self,
        common: &Common<F>,
        block: &[(&Agent<F>, &Vec<F>)],
    ) -> Result<Answers<Self, Agent<F>>, EngineError> {
        let agents: Vec<&Agent<F>> = block.iter().map(|&(agent, _)| agent).collect();
        let mut theta = Matrix::repeat(&common.theta, agents.len());
        let mut metrics = vec![AgentMetrics::default(); agents.len()];
        let eta = F::from_f64(self.config.local_step_size);

        for l in 0..self.config.local_steps {
            let key =
                |agent: &Agent<F>| self.world.key(Purpose::Training, agent.id, self.round).child([l as u32, 0, 0, 0]);
            let estimates = estimate(self.world, self.config, &agents, &theta, key)?;
            for (index, ((_, own), estimate)) in block.iter().zip(estimates).enumerate() {
                let row = theta.row_mut(index);
                // θ ← θ + η (ĝ_i(θ) − ĝ_i(θ̄) + ĝ(θ̄))
                add_scaled(row, eta, &estimate.gradient);
                add_scaled(row, -eta, own);
                add_scaled(row, eta, &common.gradient);
                metrics[index].observe(&estimate);
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

/// ĝ_i(θ_i) of every agent, from draws under its `key`.
fn estimate<F: Scalar>(
    world: &World<F>,
    config: &FastFedPgConfig,
    agents: &[&Agent<F>],
    theta: &Matrix<F>,
    key: impl Fn(&Agent<F>) -> Key,
) -> Result<Vec<Estimate<F>>, EngineError> {
    let keys: Vec<Key> = agents.iter().map(|agent| key(agent)).collect();
    let (batch, horizon) = (config.batch, config.horizon.min(world.max_episode_steps));
    let request = Request { agents, keys: &keys, batch, horizon, weighing: config.weighing(), is_clip: None };
    world.estimates.gradients(&request, theta)
}
