//! The agents' half: K local steps.

use fedrl_core::random::Purpose;
use fedrl_engine::{EngineError, Matrix, Mode, Replica, Trajectories, Trajectory};
use fedrl_federation::{AgentHalf, Answer, Answers, Vector};

use super::server::{Broadcast, Memory};
use super::{LocalDirection, MomentumConfig, Step};
use crate::importance::importance_weights;
use crate::vector::{add_scaled, difference, norm};
use crate::{Agent, AgentMetrics, ImportanceMetrics, World};

/// The agents' half of one round.
pub(super) struct LocalSteps<'a, D> {
    pub(super) world: &'a World,
    pub(super) config: &'a MomentumConfig,
    pub(super) direction: &'a D,
    pub(super) round: u32,
}

impl<D: LocalDirection> AgentHalf<Agent> for LocalSteps<'_, D> {
    type Broadcast = Broadcast;
    type State = ();
    /// Δ_i = θ_{r,K} − θ_r.
    type Upload = Vector;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(&self, broadcast: &Broadcast, block: &[(&Agent, &())]) -> Result<Answers<Self, Agent>, EngineError> {
        let agents: Vec<&Agent> = block.iter().map(|&(agent, ())| agent).collect();
        let mut theta = Matrix::repeat(&broadcast.theta, agents.len());
        let mut metrics = vec![AgentMetrics::default(); agents.len()];
        let mut sizes = vec![StepSize::new(self.config); agents.len()];

        for k in 0..self.config.local_steps {
            let LocalSteps { world, config, round, .. } = *self;
            let memory = broadcast.memory.as_ref();
            let step = LocalStep { world, config, round, k: k as u32, agents: &agents, theta: &theta, memory };
            let updates = self.direction.update(&step)?;
            for (index, mut update) in updates.into_iter().enumerate() {
                let gradient_norm = norm(&update.gradient);
                if let Some(clip) = config.direction_clip {
                    let bound = gradient_norm.min(clip) as f32;
                    update.direction.iter_mut().for_each(|u| *u = u.clamp(-bound, bound));
                }
                add_scaled(theta.row_mut(index), sizes[index].next(gradient_norm), &update.direction);
                metrics[index].observe(&update.lived, update.margin);
                metrics[index].observe_step(gradient_norm, update.importance);
            }
        }

        let answers = metrics.into_iter().enumerate().map(|(index, mut metrics)| {
            let delta = difference(theta.row(index), &broadcast.theta);
            metrics.drift = norm(&delta);
            Answer { state: (), upload: Vector(delta), metrics }
        });
        Ok(answers.collect())
    }
}

/// Where a block of agents stands in its local step k: all that a direction depends on.
pub struct LocalStep<'a> {
    pub(crate) world: &'a World,
    pub(crate) config: &'a MomentumConfig,
    pub(crate) round: u32,
    pub(crate) k: u32,
    pub(crate) agents: &'a [&'a Agent],
    /// θ_{r,k}, a row per agent.
    pub(crate) theta: &'a Matrix,
    pub(crate) memory: Option<&'a Memory>,
}

/// What one agent's local step came to.
pub struct LocalUpdate {
    /// u.
    pub(crate) direction: Vec<f32>,
    /// The fresh gradient in it.
    pub(crate) gradient: Vec<f32>,
    /// What was sampled for it.
    pub(crate) lived: Vec<Trajectory>,
    /// Closest that any draw came to choosing another action.
    pub(crate) margin: f32,
    /// Importance weights used, if any.
    pub(crate) importance: Option<ImportanceMetrics>,
}

impl LocalStep<'_> {
    /// τ ~ p_i(·|θ), a batch per agent; `theta` has a row per agent.
    pub(crate) fn sample(&self, theta: &Matrix) -> Result<Trajectories, EngineError> {
        let agents = self.agents.iter().enumerate();
        let replicas: Vec<Replica> = agents
            .map(|(index, agent)| {
                let key = self.world.key(Purpose::Training, agent.id, self.round).child([self.k, 0, 0, 0]);
                agent.replica(theta.row(index), key)
            })
            .collect();
        let horizon = self.config.horizon.min(self.world.max_episode_steps);
        self.world.engine.rollout(&self.world.policy, &replicas, self.config.batch, horizon, Mode::Sampled)
    }

    /// w(τ|target, behaviour) of every trajectory of every agent, from log-probabilities per step.
    pub(crate) fn weights(
        &self,
        log_target: &[Vec<f32>],
        log_behaviour: &[Vec<f32>],
        trajectories: &Trajectories,
    ) -> (Vec<Vec<f32>>, Vec<ImportanceMetrics>) {
        let agents = log_target.iter().zip(log_behaviour).zip(&trajectories.replicas);
        agents
            .map(|((target, behaviour), lived)| importance_weights(target, behaviour, lived, self.config.is_clip))
            .unzip()
    }
}

/// η of each local step.
#[derive(Debug, Clone)]
struct StepSize<'a> {
    config: &'a MomentumConfig,
    squares: f64,
}

impl<'a> StepSize<'a> {
    fn new(config: &'a MomentumConfig) -> Self {
        StepSize { config, squares: 0.0 }
    }

    /// η for the step whose fresh gradient has this norm.
    fn next(&mut self, gradient_norm: f64) -> f32 {
        self.squares += gradient_norm.powi(2);
        let eta = self.config.local_step_size;
        let eta = match self.config.step {
            Step::Constant => eta,
            Step::Adaptive { offset, scale } => eta / (offset + scale * self.squares).cbrt(),
        };
        eta as f32
    }
}
