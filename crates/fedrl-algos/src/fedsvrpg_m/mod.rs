//! FedSVRPG-M: federated stochastic variance-reduced policy gradient with momentum (002 Alg. 1).
//!
//! ```text
//! τ ~ p_i(·|θ_{r,k})
//! u = β g(τ|θ_{r,k}) + (1−β) [u_r + g(τ|θ_{r,k}) − w(τ|θ_{r−1},θ_{r,k}) g(τ|θ_{r−1})]    (002 Eq. 4)
//! ```
//!
//! The rest is what the [momentum](crate::momentum) algorithms share.

use cubecl::prelude::*;
use fedrl_core::{Real, Scalar};
use fedrl_engine::{Combine, EngineError};

use crate::Corrected;
use crate::momentum::{LocalDirection, LocalStep, LocalUpdate, Momentum, MomentumConfig};

/// The algorithm.
pub type FedSvrpgM = Momentum<VarianceReduced>;

impl FedSvrpgM {
    /// The algorithm with these numbers, for a training of `rounds`.
    pub fn new(config: MomentumConfig, rounds: u32) -> Self {
        Momentum::with_direction(config, rounds, VarianceReduced)
    }
}

/// The direction of 002 Eq. 4. At β = 1 it is the plain policy gradient.
#[derive(Debug, Clone, Copy)]
pub struct VarianceReduced;

impl<F: Scalar> LocalDirection<F> for VarianceReduced {
    fn remembers(&self, config: &MomentumConfig) -> bool {
        config.beta < 1.0
    }

    fn update(&self, step: &LocalStep<F>) -> Result<LocalUpdate<F>, EngineError> {
        let estimates = &step.world.estimates;
        let Some(memory) = step.memory else {
            let fresh = estimates.gradients(&step.request(), step.theta)?;
            return Ok(LocalUpdate { directions: fresh.gradients.clone(), fresh });
        };
        let previous = step.rows(&memory.previous);
        let Corrected { fresh, corrections } =
            estimates.importance_corrected(&step.request(), step.theta, &previous)?;
        let beta = step.all(step.config.beta);
        let directions = fresh.gradients.combine::<Self>(&corrections, &memory.direction, &beta);
        Ok(LocalUpdate { directions, fresh })
    }
}

#[cube]
impl Combine for VarianceReduced {
    /// u = β g + (1−β) [u_r + g − w g′].
    fn combine<F: Real>(g: F, wg: F, u_r: F, beta: F) -> F {
        beta * g + (F::constant(1.0) - beta) * (u_r + g - wg)
    }
}
