//! What the two momentum algorithms of 002 share: everything but the local direction u.
//!
//! ```text
//! θ_{-1} = θ_0,  u_0 = (1/NB) Σ_i Σ_b g_i(τ_b|θ_0)
//! round r, agent i, from θ_{r,0} = θ_r, for k = 0..K:  θ_{r,k+1} = θ_{r,k} + η u(θ_{r,k}, θ_{r−1}, u_r)
//! server: u_{r+1} = (1/(ηNK)) Σ_i (θ_{r,K} − θ_r);  θ_{r+1} = θ_r + λ u_{r+1}
//! ```

mod agent;
mod config;
mod server;
mod start;

pub use agent::{LocalStep, LocalUpdate};
pub use config::{MomentumConfig, PavgConfig, Step};
pub use server::MomentumState;

pub(crate) use config::{MOST, check_exact};
pub(crate) use server::Memory;

use fedrl_core::Scalar;
use fedrl_engine::EngineError;
use fedrl_federation::{ServerHalf, Vector};

use crate::{Algorithm, AlgorithmError, Exchange, Round, Upload, World};

/// A momentum algorithm with its numbers set; `D` says what a local direction is.
#[derive(Debug, Clone)]
pub struct Momentum<D> {
    config: MomentumConfig,
    direction: D,
    /// Trajectories per agent of u_0.
    start_batch: usize,
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
        Momentum { config, direction, start_batch }
    }

    fn server<F>(&self) -> server::Server<'_, F>
    where
        D: LocalDirection<F>,
    {
        let remembers = self.direction.remembers(&self.config);
        server::Server { config: &self.config, remembers, scalar: std::marker::PhantomData }
    }
}

impl<F: Scalar, D: LocalDirection<F>> Algorithm<F> for Momentum<D> {
    type State = MomentumState<F>;

    fn start(&self, world: &World<F>, theta: Vec<F>) -> Result<Round<MomentumState<F>>, AlgorithmError> {
        if !self.direction.remembers(&self.config) {
            return Ok(Round { state: MomentumState::new(theta, None), reports: Vec::new() });
        }
        let half = start::InitialGradient { world, config: &self.config, batch: self.start_batch };
        let everyone: Vec<usize> = (0..world.agents.len()).collect();
        let broadcast = Vector(theta);
        let exchange = world.exchange(&half, &broadcast, &everyone, &vec![(); everyone.len()])?;
        let mut direction = Upload::mean(&exchange.uploads)?;
        direction.resize(broadcast.0.len(), F::default());
        Ok(Round { state: MomentumState::new(broadcast.0, Some(direction)), reports: exchange.reports })
    }

    fn round(
        &self,
        world: &World<F>,
        state: &MomentumState<F>,
        round: u32,
        participants: &[usize],
    ) -> Result<Round<MomentumState<F>>, AlgorithmError> {
        let server = self.server();
        let half = agent::LocalSteps { world, config: &self.config, direction: &self.direction, round };
        let broadcast = server.broadcast(state);
        let Exchange { uploads, reports, .. } =
            world.exchange(&half, &broadcast, participants, &vec![(); participants.len()])?;
        let state = if uploads.is_empty() { state.clone() } else { server.aggregate(state, &uploads)? };
        Ok(Round { state, reports })
    }
}
