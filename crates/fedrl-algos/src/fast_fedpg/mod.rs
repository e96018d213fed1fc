//! Fast-FedPG: federated policy gradient whose local steps are corrected towards the common
//! direction (003 Alg. 1, Eq. 6–7), in ascent form.
//!
//! ```text
//! round r:  every agent sends ĝ_i(θ̄_r); the server answers with their mean ĝ(θ̄_r)
//!   θ_{i,0} = θ̄_r;  θ_{i,l+1} = θ_{i,l} + η (ĝ_i(θ_{i,l}) − ĝ_i(θ̄_r) + ĝ(θ̄_r)),  l = 0..K
//!   θ̄_{r+1} = θ̄_r + (α_g/N) Σ_i (θ_{i,K} − θ̄_r)
//! ```
//!
//! The paper has the exchange of gradients at the end of the round before; here it opens the
//! round, which is the same with every agent taking part, and lets an agent that sits rounds out
//! come back without a stale memory.

mod agent;
mod config;
mod server;

pub use config::FastFedPgConfig;
pub use server::FastFedPgState;

use std::marker::PhantomData;

use fedrl_core::Scalar;
use fedrl_federation::ServerHalf;

use crate::{Algorithm, AlgorithmError, Exchange, Round, Upload, World};

/// The algorithm with its numbers set.
#[derive(Debug, Clone)]
pub struct FastFedPg {
    config: FastFedPgConfig,
}

impl FastFedPg {
    /// The algorithm with these numbers.
    pub fn new(config: FastFedPgConfig) -> Self {
        FastFedPg { config }
    }
}

impl<F: Scalar> Algorithm<F> for FastFedPg {
    type State = FastFedPgState<F>;

    fn start(&self, _world: &World<F>, theta: Vec<F>) -> Result<Round<FastFedPgState<F>>, AlgorithmError> {
        Ok(Round { state: FastFedPgState { theta }, reports: Vec::new() })
    }

    fn round(
        &self,
        world: &World<F>,
        state: &FastFedPgState<F>,
        round: u32,
        participants: &[usize],
    ) -> Result<Round<FastFedPgState<F>>, AlgorithmError> {
        let config = &self.config;
        let gradient = agent::CommonGradient { world, config, round };
        let nothing = vec![None; participants.len()];
        let server = server::Server { config, scalar: PhantomData };
        let first = world.exchange(&gradient, &server.broadcast(state), participants, &nothing)?;
        if first.uploads.is_empty() {
            return Ok(Round { state: state.clone(), reports: first.reports });
        }

        let common = Upload::mean(&first.uploads)?;
        let local = agent::LocalSteps { world, config, round };
        let broadcast = server::Common { theta: state.theta.clone(), gradient: common };
        let Exchange { uploads, reports, .. } = world.exchange(&local, &broadcast, &first.answered, &first.states)?;
        let state = if uploads.is_empty() { state.clone() } else { server.aggregate(state, &uploads)? };
        Ok(Round { state, reports: joined(first.reports, reports) })
    }
}

/// The reports of the agents over both exchanges.
fn joined(mut first: Vec<crate::AgentReport>, second: Vec<crate::AgentReport>) -> Vec<crate::AgentReport> {
    for report in second {
        if let Some(one) = first.iter_mut().find(|one| one.agent == report.agent) {
            one.join(report);
        }
    }
    first
}
