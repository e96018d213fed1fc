//! FedHAPG-M: federated Hessian-aided policy gradient with momentum (002 Alg. 2).
//!
//! ```text
//! α ~ U[0,1],  θ(α) = α θ_{r−1} + (1−α) θ_{r,k},  τ ~ p_i(·|θ(α)),  v = θ_{r,k} − θ_{r−1}
//! Λ = ⟨Σ_t S_t(θ(α)), v⟩ g(τ|θ(α)) + ∇_θ ⟨g(τ|θ), v⟩ at θ(α)
//! u = β w(τ|θ_{r,k}, θ(α)) g(τ|θ_{r,k}) + (1−β) [u_r + Λ]                               (002 Eq. 5)
//! ```
//!
//! ∇⟨g, v⟩ is exact: tangents along v are carried through the network, then one reverse pass. The
//! trajectories of a batch share α. The rest is what the [momentum](crate::momentum) algorithms share.

use cubecl::prelude::*;
use fedrl_core::random::Purpose;
use fedrl_core::{Real, Scalar};
use fedrl_engine::{Combine, EngineError};

use crate::momentum::{LocalDirection, LocalStep, LocalUpdate, Memory, Momentum, MomentumConfig};
use crate::{Agent, Corrected};

/// The algorithm.
pub type FedHapgM = Momentum<HessianAided>;

impl FedHapgM {
    /// The algorithm with these numbers, for a training of `rounds`.
    pub fn new(config: MomentumConfig, rounds: u32) -> Self {
        Momentum::with_direction(config, rounds, HessianAided)
    }
}

/// The direction of 002 Eq. 5. At β = 1 the importance weight towards θ(α) remains: it is not the
/// plain policy gradient.
#[derive(Debug, Clone, Copy)]
pub struct HessianAided;

impl<F: Scalar> LocalDirection<F> for HessianAided {
    fn remembers(&self, _config: &MomentumConfig) -> bool {
        true
    }

    fn update(&self, step: &LocalStep<F>) -> Result<LocalUpdate<F>, EngineError> {
        let Some(Memory { previous, direction: momentum }) = step.memory else {
            unreachable!("FedHAPG-M remembers whatever its numbers")
        };
        let alphas: Vec<F> = step.agents.iter().map(|agent| alpha(step, agent)).collect();
        let between = step.theta.combine::<Between>(step.theta, previous, &alphas);
        let estimates = &step.world.estimates;
        let previous = step.rows(previous);
        let Corrected { fresh, corrections } =
            estimates.hessian_corrected(&step.request(), step.theta, &between, &previous)?;
        let beta = step.all(step.config.beta);
        let directions = fresh.gradients.combine::<Self>(&corrections, momentum, &beta);
        Ok(LocalUpdate { directions, fresh })
    }
}

#[cube]
impl Combine for HessianAided {
    /// u = β w g + (1−β) [u_r + Λ].
    fn combine<F: Real>(wg: F, lambda: F, u_r: F, beta: F) -> F {
        beta * wg + (F::constant(1.0) - beta) * (u_r + lambda)
    }
}

/// θ(α) = α θ_{r−1} + (1−α) θ_{r,k}, each agent with its own α ~ U[0,1].
struct Between;

#[cube]
impl Combine for Between {
    fn combine<F: Real>(theta: F, _same: F, previous: F, alpha: F) -> F {
        alpha * previous + (F::constant(1.0) - alpha) * theta
    }
}

/// An agent's α of a local step.
fn alpha<F: Scalar>(step: &LocalStep<F>, agent: &Agent<F>) -> F {
    F::unit(step.world.key(Purpose::Midpoint, agent.id, step.round).block([step.k, 0, 0, 0]).a)
}
