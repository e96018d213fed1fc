//! FedSVRPG-M: federated stochastic variance-reduced policy gradient with momentum (002 Alg. 1).
//!
//! ```text
//! θ_{-1} = θ_0,  u_0 = (1/NB) Σ_i Σ_b g_i(τ_b|θ_0)
//! round r, agent i, from θ_{r,0} = θ_r, for k = 0..K:
//!   τ ~ p_i(·|θ_{r,k})
//!   u = β g(τ|θ_{r,k}) + (1−β) [u_r + g(τ|θ_{r,k}) − w(τ|θ_{r−1},θ_{r,k}) g(τ|θ_{r−1})]
//!   θ_{r,k+1} = θ_{r,k} + η u
//! server: u_{r+1} = (1/(ηNK)) Σ_i (θ_{r,K} − θ_r);  θ_{r+1} = θ_r + λ u_{r+1}
//! ```

mod agent;
mod config;
mod server;
mod start;

pub use config::{FedSvrpgMConfig, PavgConfig, Step};
pub use server::FedSvrpgMState;

use fedrl_federation::ServerHalf;

use crate::{Algorithm, AlgorithmError, Round, World};

/// The algorithm with its numbers set.
#[derive(Debug, Clone)]
pub struct FedSvrpgM {
    config: FedSvrpgMConfig,
    /// Trajectories per agent of u_0; none when momentum is off.
    start_batch: Option<usize>,
}

impl FedSvrpgM {
    /// The algorithm for a training of `rounds`, on which the size of u_0 depends: B =
    /// max(1, ⌈K/(Rβ²)⌉) (002 Theorem 6.4) unless `u0_batch` says otherwise.
    pub fn new(config: FedSvrpgMConfig, rounds: u32) -> Self {
        let theorem = (config.local_steps as f64 / (f64::from(rounds) * config.beta.powi(2))).ceil().max(1.0);
        let start_batch = config.momentum().then(|| config.u0_batch.unwrap_or(theorem as usize));
        FedSvrpgM { config, start_batch }
    }

    fn server(&self) -> server::Server<'_> {
        server::Server { config: &self.config }
    }
}

impl Algorithm for FedSvrpgM {
    type State = FedSvrpgMState;

    fn start(&self, world: &World, theta: Vec<f32>) -> Result<Round<FedSvrpgMState>, AlgorithmError> {
        let Some(batch) = self.start_batch else {
            return Ok(Round { state: FedSvrpgMState::new(theta, None), reports: Vec::new() });
        };
        let half = start::InitialGradient { world, config: &self.config, batch };
        let everyone: Vec<usize> = (0..world.agents.len()).collect();
        let broadcast = start::Initial { theta };
        let (uploads, reports) = world.exchange(&half, &broadcast, &everyone, start::Gradient::is_finite)?;
        let direction = fedrl_federation::mean(uploads.iter().map(|upload| upload.gradient.as_slice()));
        Ok(Round { state: FedSvrpgMState::new(broadcast.theta, Some(direction)), reports })
    }

    fn round(
        &self,
        world: &World,
        state: &FedSvrpgMState,
        round: u32,
        participants: &[usize],
    ) -> Result<Round<FedSvrpgMState>, AlgorithmError> {
        let server = self.server();
        let half = agent::LocalSteps { world, config: &self.config, round };
        let broadcast = server.broadcast(state);
        let (uploads, reports) = world.exchange(&half, &broadcast, participants, agent::Delta::is_finite)?;
        Ok(Round { state: server.aggregate(state, &uploads), reports })
    }
}
