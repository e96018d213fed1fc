//! What the two momentum algorithms of 002 share: everything but the local direction u.
//!
//! ```text
//! θ_{-1} = θ_0,  u_0 = (1/NB) Σ_i Σ_b g_i(τ_b|θ_0)
//! round r, agent i, from θ_{r,0} = θ_r, for k = 0..K:  θ_{r,k+1} = θ_{r,k} + η u(θ_{r,k}, θ_{r−1}, u_r)
//! server: u_{r+1} = (1/(ηNK)) Σ_i (θ_{r,K} − θ_r);  θ_{r+1} = θ_r + λ u_{r+1}
//! ```
//!
//! With `personal = "head"` all of this holds for the shared columns of θ; of its own columns every agent is the
//! server, with N = 1.

mod agent;
mod config;
mod personal;
mod server;
mod start;
mod state;

pub use agent::{LocalStep, LocalUpdate};
pub use config::{MomentumConfig, PavgConfig, Step};
pub use personal::PersonalPart;
pub use state::{Columns, MomentumState};

pub(crate) use config::{MOST, check_exact};
pub(crate) use state::Memory;

use std::marker::PhantomData;

use fedrl_core::Scalar;
use fedrl_engine::EngineError;
use fedrl_federation::{ServerHalf, Vector};
use fedrl_models::Policy;

use crate::{Algorithm, AlgorithmError, Exchange, Round, Upload, World};
use personal::Heads;

/// A momentum algorithm with its numbers set; `D` says what a local direction is.
#[derive(Debug, Clone)]
pub struct Momentum<D> {
    config: MomentumConfig,
    direction: D,
    /// Trajectories per agent of u_0.
    start_batch: usize,
    /// What stays with the agents, if anything.
    heads: Option<Heads>,
}

/// The local direction u of a momentum algorithm.
pub trait LocalDirection<F>: Sync {
    /// Whether θ_{r−1} and u_r are needed at all.
    fn remembers(&self, config: &MomentumConfig) -> bool;

    /// Samples and gives u for every agent of a block.
    ///
    /// # Errors
    /// The device failed.
    fn update(&self, step: &LocalStep<F>) -> Result<LocalUpdate<F>, EngineError>;
}

impl<D> Momentum<D> {
    /// The algorithm for a training of `rounds`, on which the size of u_0 depends: B =
    /// max(1, ⌈K/(Rβ²)⌉) (002 Theorem 6.4) unless `u0_batch` says otherwise.
    pub fn with_direction(config: MomentumConfig, rounds: u32, direction: D) -> Self {
        let start_batch = config.start_batch(rounds);
        Momentum { config, direction, start_batch, heads: None }
    }

    /// The same for policies of the form of `policy`, whose heads stay with the agents where the configuration says
    /// so. `drawn`: every agent begins with a head of its own, and not with one that is given.
    #[must_use]
    pub fn with_heads(self, policy: &Policy, drawn: bool) -> Self {
        let heads = self.config.personal.map(|PersonalPart::Head| Heads::new(policy, drawn));
        Momentum { heads, ..self }
    }

    /// Every agent's own columns before the first round; none where all are shared.
    fn own<F: Scalar>(&self, world: &World<F>, theta: &[F]) -> Vec<Columns<F>> {
        let Some(heads) = &self.heads else { return Vec::new() };
        world.agents.iter().map(|agent| Columns::new(heads.initial(world, agent, theta), None)).collect()
    }
}

impl<F: Scalar, D: LocalDirection<F>> Algorithm<F> for Momentum<D> {
    type State = MomentumState<F>;

    fn start(&self, world: &World<F>, mut theta: Vec<F>) -> Result<Round<MomentumState<F>>, AlgorithmError> {
        let own = self.own(world, &theta);
        theta.truncate(self.heads.as_ref().map_or(theta.len(), |heads| heads.start));
        if !self.direction.remembers(&self.config) {
            return Ok(Round { state: MomentumState::new(Columns::new(theta, None), &own), reports: Vec::new() });
        }
        let half = start::InitialGradient { world, config: &self.config, batch: self.start_batch };
        let everyone: Vec<usize> = (0..world.agents.len()).collect();
        let broadcast = Vector(theta);
        // Before anything is known of directions.
        let still = |theta: Vec<F>, own: &[Columns<F>]| {
            let still = |theta: &[F]| Columns::new(theta.to_vec(), Some(vec![F::default(); theta.len()]));
            MomentumState::new(still(&theta), &own.iter().map(|own| still(&own.theta)).collect::<Vec<_>>())
        };
        let state = still(broadcast.0.clone(), &own);
        let own: Vec<Columns<F>> = everyone.iter().map(|&agent| state.own(agent)).collect();
        let exchange = world.exchange(&half, &broadcast, &everyone, &own)?;
        let mut direction = Upload::mean(&exchange.uploads)?;
        direction.resize(broadcast.0.len(), F::default());
        let shared = Columns::new(broadcast.0, Some(direction));
        let state = state.next(shared, exchange.answered.into_iter().zip(exchange.states));
        Ok(Round { state, reports: exchange.reports })
    }

    fn round(
        &self,
        world: &World<F>,
        state: &MomentumState<F>,
        round: u32,
        participants: &[usize],
    ) -> Result<Round<MomentumState<F>>, AlgorithmError> {
        let server = server::Server { config: &self.config, scalar: PhantomData };
        let half = agent::LocalSteps { world, config: &self.config, direction: &self.direction, round };
        let broadcast = server.broadcast(&state.shared);
        let own: Vec<Columns<F>> = participants.iter().map(|&agent| state.own(agent)).collect();
        let Exchange { answered, states, uploads, reports } = world.exchange(&half, &broadcast, participants, &own)?;
        if uploads.is_empty() {
            return Ok(Round { state: state.clone(), reports });
        }
        let shared = server.aggregate(&state.shared, &uploads)?;
        Ok(Round { state: state.next(shared, answered.into_iter().zip(states)), reports })
    }
}
