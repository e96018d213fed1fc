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

use fedrl_core::Scalar;
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{EngineError, Matrix};

use crate::Corrected;
use crate::momentum::{LocalDirection, LocalStep, LocalUpdate, Memory, Momentum, MomentumConfig};

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

    fn update(&self, step: &LocalStep<F>) -> Result<Vec<LocalUpdate<F>>, EngineError> {
        let (beta, rest) = (F::from_f64(step.config.beta), F::from_f64(1.0 - step.config.beta));
        let Some(Memory { previous, direction: momentum }) = step.memory else { return Ok(Vec::new()) };
        let between = between(step, previous);
        let corrected = step.world.estimates.hessian_corrected(&step.request(), step.theta, &between, previous)?;
        let update = corrected.into_iter().map(|Corrected { fresh, correction }| {
            let terms = fresh.gradient.iter().zip(momentum).zip(&correction);
            let direction = terms.map(|((&wg, &u_r), &lambda)| beta * wg + rest * (u_r + lambda)).collect();
            LocalUpdate { direction, fresh }
        });
        Ok(update.collect())
    }
}

/// θ(α) = α θ_{r−1} + (1−α) θ_{r,k}, each agent with its own α ~ U[0,1].
fn between<F: Scalar>(step: &LocalStep<F>, previous: &[F]) -> Matrix<F> {
    let rows = step.agents.iter().enumerate().map(|(index, agent)| {
        let alpha: F = alpha(step.world.key(Purpose::Midpoint, agent.id, step.round), step.k);
        let mix = previous.iter().zip(step.theta.row(index));
        mix.map(|(&previous, &current)| alpha * previous + (F::from_f64(1.0) - alpha) * current).collect::<Vec<F>>()
    });
    Matrix::from_rows(rows)
}

/// α of local step `k` under an agent's key of a round.
fn alpha<F: Scalar>(key: Key, k: u32) -> F {
    F::unit(key.block([k, 0, 0, 0]).a)
}
