//! FedSVRPG-M: federated stochastic variance-reduced policy gradient with momentum (002 Alg. 1).
//!
//! ```text
//! τ ~ p_i(·|θ_{r,k})
//! u = β g(τ|θ_{r,k}) + (1−β) [u_r + g(τ|θ_{r,k}) − w(τ|θ_{r−1},θ_{r,k}) g(τ|θ_{r−1})]    (002 Eq. 4)
//! ```
//!
//! The rest is what the [momentum](crate::momentum) algorithms share.

use fedrl_core::Scalar;
use fedrl_engine::EngineError;

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

    fn update(&self, step: &LocalStep<F>) -> Result<Vec<LocalUpdate<F>>, EngineError> {
        let (beta, rest) = (F::from_f64(step.config.beta), F::from_f64(1.0 - step.config.beta));
        let estimates = &step.world.estimates;
        let Some(memory) = step.memory else {
            let plain = estimates.gradients(&step.request(), step.theta)?;
            return Ok(plain.into_iter().map(|g| LocalUpdate { direction: g.gradient.clone(), fresh: g }).collect());
        };
        let corrected = estimates.importance_corrected(&step.request(), step.theta, &memory.previous)?;
        let update = corrected.into_iter().map(|Corrected { fresh, correction }| {
            let terms = fresh.gradient.iter().zip(&memory.direction).zip(&correction);
            let direction = terms.map(|((&g, &u_r), &wg)| beta * g + rest * (u_r + g - wg)).collect();
            LocalUpdate { direction, fresh }
        });
        Ok(update.collect())
    }
}
