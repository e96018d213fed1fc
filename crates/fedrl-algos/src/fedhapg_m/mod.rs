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

use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{EngineError, Matrix, Number, Trajectories, Trajectory};

use crate::World;
use crate::momentum::{LocalDirection, LocalStep, LocalUpdate, Memory, Momentum, MomentumConfig};
use crate::vector::difference;

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

impl<F: Number> LocalDirection<F> for HessianAided {
    fn remembers(&self, _config: &MomentumConfig) -> bool {
        true
    }

    fn update(&self, step: &LocalStep<F>) -> Result<Vec<LocalUpdate<F>>, EngineError> {
        let World { engine, policy, .. } = step.world;
        let weighing = step.config.weighing();
        let Some(Memory { previous, direction: momentum }) = step.memory else { return Ok(Vec::new()) };
        let between = between(step, previous);
        let v = Matrix::from_rows((0..step.theta.rows()).map(|index| difference(step.theta.row(index), previous)));
        let tau = step.sample(&between)?;

        // Λ = ⟨Σ_t S_t, v⟩ g + ∇⟨g, v⟩, both at θ(α).
        let tangents = engine.tangents(policy, &between, &v, &tau);
        let along = trajectory_sums(&tangents.values()?, &tau);
        let hessian = tangents.gradient(&weighing.per_step(&tau, |_, _| F::from_f64(1.0)))?;
        let scores = engine.scores(policy, &between, &tau);
        let log_behaviour = scores.values()?;
        let outer = scores.gradient(&weighing.per_step(&tau, |i, b| along[i][b]))?;

        // w(τ|θ, θ(α)) g(τ|θ)
        let current = engine.scores(policy, step.theta, &tau);
        let (weights, seen) = step.weights(&current.values()?, &log_behaviour, &tau);
        let weighted = current.gradient(&weighing.per_step(&tau, |i, b| weights[i][b]))?;

        let (beta, rest) = (F::from_f64(step.config.beta), F::from_f64(1.0 - step.config.beta));
        let updates = tau.replicas.iter().zip(&tau.margins).zip(seen).enumerate();
        let update = updates.map(|(index, ((lived, &margin), importance))| {
            let terms = weighted.row(index).iter().zip(momentum).zip(outer.row(index).iter().zip(hessian.row(index)));
            LocalUpdate {
                direction: terms.map(|((&wg, &u_r), (&sg, &hv))| beta * wg + rest * (u_r + sg + hv)).collect(),
                gradient: weighted.row(index).to_vec(),
                lived: lived.clone(),
                margin,
                importance: Some(importance),
            }
        });
        Ok(update.collect())
    }
}

/// θ(α) = α θ_{r−1} + (1−α) θ_{r,k}, each agent with its own α ~ U[0,1].
fn between<F: Number>(step: &LocalStep<F>, previous: &[F]) -> Matrix<F> {
    let rows = step.agents.iter().enumerate().map(|(index, agent)| {
        let alpha: F = alpha(step.world.key(Purpose::Midpoint, agent.id, step.round), step.k);
        let mix = previous.iter().zip(step.theta.row(index));
        mix.map(|(&previous, &current)| alpha * previous + (F::from_f64(1.0) - alpha) * current).collect::<Vec<F>>()
    });
    Matrix::from_rows(rows)
}

/// α of local step `k` under an agent's key of a round.
fn alpha<F: Number>(key: Key, k: u32) -> F {
    F::unit(key.block([k, 0, 0, 0]).a)
}

/// Sums of per-step numbers over each trajectory of each agent.
fn trajectory_sums<F: Number>(values: &[Vec<F>], tau: &Trajectories<F>) -> Vec<Vec<F>> {
    let agents = values.iter().zip(&tau.replicas);
    agents
        .map(|(values, lived)| {
            let mut rest = values.as_slice();
            let sum = |trajectory: &Trajectory<F>| {
                let (own, after) = rest.split_at(trajectory.len());
                rest = after;
                F::from_f64(own.iter().map(|x| x.as_double()).sum())
            };
            lived.iter().map(sum).collect()
        })
        .collect()
}
