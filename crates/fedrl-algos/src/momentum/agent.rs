//! The agents' half: K local steps.

use fedrl_core::Scalar;
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{EngineError, Rows};
use fedrl_federation::{AgentHalf, Answer, Answers};

use super::personal::{Divided, divided, joined, rows};
use super::state::{Columns, Memory};
use super::{LocalDirection, MomentumConfig, Step};
use crate::{Agent, AgentMetrics, Estimated, Request, Upload, World};

/// The agents' half of one round.
pub(super) struct LocalSteps<'a, F, D> {
    pub(super) world: &'a World<F>,
    pub(super) config: &'a MomentumConfig,
    pub(super) direction: &'a D,
    pub(super) round: u32,
}

impl<F: Scalar, D: LocalDirection<F>> AgentHalf<Agent<F>> for LocalSteps<'_, F, D> {
    /// What is shared.
    type Broadcast = Columns<F>;
    /// What is the agent's own.
    type State = Columns<F>;
    /// Δ_i = θ_{r,K} − θ_r of what is shared.
    type Upload = Upload<F>;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(
        &self,
        broadcast: &Columns<F>,
        block: &[(&Agent<F>, &Columns<F>)],
    ) -> Result<Answers<Self, Agent<F>>, EngineError> {
        let (agents, own): (Vec<&Agent<F>>, Vec<&Columns<F>>) = block.iter().copied().unzip();
        let columns = broadcast.theta.len() + own[0].theta.len();
        let start = joined(&broadcast.theta, own.iter().map(|own| own.theta.as_slice()));
        let mut theta = rows(&*self.world.estimates, &start, columns, agents.len());
        let memory = broadcast.memory.as_ref().map(|shared| remembered(shared, &own));
        let mut metrics = vec![AgentMetrics::default(); agents.len()];
        let mut sizes = vec![StepSize::new(self.config); agents.len()];

        for k in 0..self.config.local_steps {
            let LocalSteps { world, config, round, .. } = *self;
            let (k, memory) = (k as u32, memory.as_ref());
            let key = |agent: &&Agent<F>| world.key(Purpose::Training, agent.id, round).child([k, 0, 0, 0]);
            let keys: Vec<Key> = agents.iter().map(key).collect();
            let step =
                LocalStep { world, config, round, k, agents: &agents, keys: &keys, theta: &theta, memory, columns };
            let LocalUpdate { mut directions, fresh } = self.direction.update(&step)?;
            let norms = AgentMetrics::observe_all(&mut metrics, &fresh)?;
            if let Some(clip) = config.direction_clip {
                directions.clamp(&norms.iter().map(|norm| F::from_f64(norm.min(clip))).collect::<Vec<F>>());
            }
            let eta: Vec<F> = sizes.iter_mut().zip(&norms).map(|(size, &norm)| size.next(norm)).collect();
            theta.add_scaled(&eta, &directions);
        }

        let deltas = theta.less(&start);
        let drifts = deltas.norms()?;
        let answers = divided(deltas, &own)?.into_iter().zip(metrics).zip(drifts).zip(own);
        let answers = answers.map(|(((Divided { upload, own: delta }, metrics), drift), own)| {
            let metrics = AgentMetrics { drift, ..metrics };
            Answer { state: own.advanced(delta, self.config), upload, metrics }
        });
        Ok(answers.collect())
    }
}

/// θ_{r−1} and u_r: vectors that all agents share, or where some of it is personal a row for each.
fn remembered<F: Scalar>(shared: &Memory<F>, own: &[&Columns<F>]) -> Memory<F> {
    let all = |vector: fn(&Memory<F>) -> &Vec<F>| {
        let own = own.iter().map(|own| own.memory.as_ref().map_or(&[][..], |memory| vector(memory)));
        joined(vector(shared), own)
    };
    Memory { previous: all(|memory| &memory.previous), direction: all(|memory| &memory.direction) }
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
    pub(crate) theta: &'a Rows<F>,
    /// A vector of each kind for all, or a row for every agent.
    pub(crate) memory: Option<&'a Memory<F>>,
    /// Length of θ.
    pub(crate) columns: usize,
}

/// What a block's local step came to.
pub struct LocalUpdate<F> {
    /// u of every agent.
    pub(crate) directions: Rows<F>,
    /// The estimates with the fresh gradients in them.
    pub(crate) fresh: Estimated<F>,
}

impl<F: Scalar> LocalStep<'_, F> {
    /// The same number for every agent.
    pub(crate) fn all(&self, x: f64) -> Vec<F> {
        vec![F::from_f64(x); self.agents.len()]
    }

    /// A vector that all share as one row, or a row for every agent, where estimates are made.
    pub(crate) fn rows(&self, numbers: &[F]) -> Rows<F> {
        rows(&*self.world.estimates, numbers, self.columns, 1)
    }

    /// What is asked of the agents' environments.
    pub(crate) fn request(&self) -> Request<'_, F> {
        self.config.request(self.world, self.agents, self.keys, self.config.batch)
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
