//! The agents' half: K local steps.

use fedrl_core::Scalar;
use fedrl_core::random::Purpose;
use fedrl_engine::{EngineError, Matrix, Mode, Number, Replica, Trajectories, Trajectory};
use fedrl_federation::{AgentHalf, Answer, Answers, Vector};

use super::server::{Broadcast, Memory};
use super::{LocalDirection, MomentumConfig, Step};
use crate::importance::importance_weights;
use crate::vector::{add_scaled, difference, norm};
use crate::{Agent, AgentMetrics, ImportanceMetrics, World};

/// The agents' half of one round.
pub(super) struct LocalSteps<'a, F, D> {
    pub(super) world: &'a World<F>,
    pub(super) config: &'a MomentumConfig,
    pub(super) direction: &'a D,
    pub(super) round: u32,
}

impl<F: Number, D: LocalDirection<F>> AgentHalf<Agent<F>> for LocalSteps<'_, F, D> {
    type Broadcast = Broadcast<F>;
    type State = ();
    /// Δ_i = θ_{r,K} − θ_r.
    type Upload = Vector<F>;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(
        &self,
        broadcast: &Broadcast<F>,
        block: &[(&Agent<F>, &())],
    ) -> Result<Answers<Self, Agent<F>>, EngineError> {
        let agents: Vec<&Agent<F>> = block.iter().map(|&(agent, ())| agent).collect();
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
                    let bound = F::from_f64(gradient_norm.min(clip));
                    update.direction.iter_mut().for_each(|u| *u = clamp(*u, bound));
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
pub struct LocalStep<'a, F> {
    pub(crate) world: &'a World<F>,
    pub(crate) config: &'a MomentumConfig,
    pub(crate) round: u32,
    pub(crate) k: u32,
    pub(crate) agents: &'a [&'a Agent<F>],
    /// θ_{r,k}, a row per agent.
    pub(crate) theta: &'a Matrix<F>,
    pub(crate) memory: Option<&'a Memory<F>>,
}

/// What one agent's local step came to.
pub struct LocalUpdate<F> {
    /// u.
    pub(crate) direction: Vec<F>,
    /// The fresh gradient in it.
    pub(crate) gradient: Vec<F>,
    /// What was sampled for it.
    pub(crate) lived: Vec<Trajectory<F>>,
    /// Closest that any draw came to choosing another action.
    pub(crate) margin: F,
    /// Importance weights used, if any.
    pub(crate) importance: Option<ImportanceMetrics>,
}

impl<F: Number> LocalStep<'_, F> {
    /// τ ~ p_i(·|θ), a batch per agent; `theta` has a row per agent.
    pub(crate) fn sample(&self, theta: &Matrix<F>) -> Result<Trajectories<F>, EngineError> {
        let agents = self.agents.iter().enumerate();
        let replicas: Vec<Replica<F>> = agents
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
        log_target: &[Vec<F>],
        log_behaviour: &[Vec<F>],
        trajectories: &Trajectories<F>,
    ) -> (Vec<Vec<F>>, Vec<ImportanceMetrics>) {
        let agents = log_target.iter().zip(log_behaviour).zip(&trajectories.replicas);
        agents
            .map(|((target, behaviour), lived)| importance_weights(target, behaviour, lived, self.config.is_clip))
            .unzip()
    }
}

/// `x` within ±`bound`; not a number if it is none.
fn clamp<F: Scalar>(x: F, bound: F) -> F {
    if x > bound {
        bound
    } else if x < -bound {
        -bound
    } else {
        x
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
    fn next<F: Scalar>(&mut self, gradient_norm: f64) -> F {
        self.squares += gradient_norm.powi(2);
        let eta = self.config.local_step_size;
        let eta = match self.config.step {
            Step::Constant => eta,
            Step::Adaptive { offset, scale } => eta / (offset + scale * self.squares).cbrt(),
        };
        F::from_f64(eta)
    }
}
