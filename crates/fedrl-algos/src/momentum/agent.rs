//! The agents' half: K local steps.

use fedrl_core::Scalar;
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{EngineError, Matrix};
use fedrl_federation::{AgentHalf, Answer, Answers, Vector};

use super::server::{Broadcast, Memory};
use super::{LocalDirection, MomentumConfig, Step};
use crate::vector::{add_scaled, difference, norm};
use crate::{Agent, AgentMetrics, Estimate, Request, World};

/// The agents' half of one round.
pub(super) struct LocalSteps<'a, F, D> {
    pub(super) world: &'a World<F>,
    pub(super) config: &'a MomentumConfig,
    pub(super) direction: &'a D,
    pub(super) round: u32,
}

impl<F: Scalar, D: LocalDirection<F>> AgentHalf<Agent<F>> for LocalSteps<'_, F, D> {
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
            let (k, memory) = (k as u32, broadcast.memory.as_ref());
            let key = |agent: &&Agent<F>| world.key(Purpose::Training, agent.id, round).child([k, 0, 0, 0]);
            let keys: Vec<Key> = agents.iter().map(key).collect();
            let step = LocalStep { world, config, round, k, agents: &agents, keys: &keys, theta: &theta, memory };
            let updates = self.direction.update(&step)?;
            for (index, mut update) in updates.into_iter().enumerate() {
                let gradient_norm = metrics[index].observe(&update.fresh);
                if let Some(clip) = config.direction_clip {
                    let bound = F::from_f64(gradient_norm.min(clip));
                    update.direction.iter_mut().for_each(|u| *u = clamp(*u, bound));
                }
                add_scaled(theta.row_mut(index), sizes[index].next(gradient_norm), &update.direction);
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
    /// Keys of the agents' draws.
    pub(crate) keys: &'a [Key],
    /// θ_{r,k}, a row per agent.
    pub(crate) theta: &'a Matrix<F>,
    pub(crate) memory: Option<&'a Memory<F>>,
}

/// What one agent's local step came to.
pub struct LocalUpdate<F> {
    /// u.
    pub(crate) direction: Vec<F>,
    /// The estimate with the fresh gradient in it.
    pub(crate) fresh: Estimate<F>,
}

impl<F: Scalar> LocalStep<'_, F> {
    /// What is asked of the agents' environments.
    pub(crate) fn request(&self) -> Request<'_, F> {
        self.config.request(self.world, self.agents, self.keys, self.config.batch)
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
