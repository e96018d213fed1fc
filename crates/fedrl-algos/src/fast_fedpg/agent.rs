//! The agents' halves of the two exchanges.

use cubecl::prelude::*;
use fedrl_core::random::{Key, Purpose};
use fedrl_core::{Real, Scalar};
use fedrl_engine::{Combine, EngineError, Rows};
use fedrl_federation::{AgentHalf, Answer, Answers, Vector};

use super::FastFedPgConfig;
use super::server::Common;
use crate::{Agent, AgentMetrics, Estimated, Request, Upload, World};

/// The exchange that opens a round: ĝ_i(θ̄_r), which the agent also remembers.
pub(super) struct CommonGradient<'a, F> {
    pub(super) world: &'a World<F>,
    pub(super) config: &'a FastFedPgConfig,
    pub(super) round: u32,
}

impl<F: Scalar> AgentHalf<Agent<F>> for CommonGradient<'_, F> {
    /// θ̄_r.
    type Broadcast = Vector<F>;
    /// ĝ_i(θ̄_r); nothing before it.
    type State = Option<Upload<F>>;
    /// ĝ_i(θ̄_r).
    type Upload = Upload<F>;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(
        &self,
        Vector(theta): &Vector<F>,
        block: &[(&Agent<F>, &Self::State)],
    ) -> Result<Answers<Self, Agent<F>>, EngineError> {
        let agents: Vec<&Agent<F>> = block.iter().map(|&(agent, _)| agent).collect();
        let at = self.world.estimates.repeat(theta, agents.len());
        let key = |agent: &Agent<F>| self.world.key(Purpose::CommonEstimate, agent.id, self.round);
        let Estimated { gradients, lived, .. } = estimate(self.world, self.config, &agents, &at, key)?;
        let answers = Upload::of(gradients)?.into_iter().zip(lived).map(|(upload, lived)| {
            let metrics = AgentMetrics { lived, ..AgentMetrics::default() };
            Answer { state: Some(upload.clone()), upload, metrics }
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
    type State = Option<Upload<F>>;
    /// θ_{i,K} − θ̄_r.
    type Upload = Upload<F>;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(
        &self,
        common: &Common<F>,
        block: &[(&Agent<F>, &Self::State)],
    ) -> Result<Answers<Self, Agent<F>>, EngineError> {
        let agents: Vec<&Agent<F>> = block.iter().map(|&(agent, _)| agent).collect();
        let own: Vec<&Upload<F>> = block.iter().filter_map(|(_, own)| own.as_ref()).collect();
        let own = Rows::join(&own.iter().map(|Upload(row)| row).collect::<Vec<_>>());
        let mut theta = self.world.estimates.repeat(&common.theta, agents.len());
        let mut metrics = vec![AgentMetrics::default(); agents.len()];
        let eta = vec![F::from_f64(self.config.local_step_size); agents.len()];

        for l in 0..self.config.local_steps {
            let key =
                |agent: &Agent<F>| self.world.key(Purpose::Training, agent.id, self.round).child([l as u32, 0, 0, 0]);
            let estimated = estimate(self.world, self.config, &agents, &theta, key)?;
            AgentMetrics::observe_all(&mut metrics, &estimated)?;
            theta.add_scaled(&eta, &estimated.gradients.combine::<TowardsCommon>(&own, &common.gradient, &eta));
        }

        let deltas = theta.less(&common.theta);
        let drifts = deltas.norms()?;
        let states = block.iter().map(|(_, own)| (*own).clone());
        let answers = Upload::of(deltas)?.into_iter().zip(metrics).zip(drifts).zip(states);
        let answers = answers.map(|(((upload, metrics), drift), state)| {
            let metrics = AgentMetrics { drift, ..metrics };
            Answer { state, upload, metrics }
        });
        Ok(answers.collect())
    }
}

/// The direction of a local step.
struct TowardsCommon;

#[cube]
impl Combine for TowardsCommon {
    /// ĝ_i(θ) − ĝ_i(θ̄) + ĝ(θ̄).
    fn combine<F: Real>(gradient: F, own: F, common: F, _number: F) -> F {
        gradient - own + common
    }
}

/// ĝ_i(θ_i) of every agent, from draws under its `key`.
fn estimate<F: Scalar>(
    world: &World<F>,
    config: &FastFedPgConfig,
    agents: &[&Agent<F>],
    theta: &Rows<F>,
    key: impl Fn(&Agent<F>) -> Key,
) -> Result<Estimated<F>, EngineError> {
    let keys: Vec<Key> = agents.iter().map(|agent| key(agent)).collect();
    let (batch, horizon) = (config.batch, config.horizon.min(world.max_episode_steps));
    let request = Request { agents, keys: &keys, batch, horizon, weighing: config.weighing(), is_clip: None };
    world.estimates.gradients(&request, theta)
}
