//! FedSVRPG-M: federated stochastic variance-reduced policy gradient with momentum (002 Alg. 1).
//!
//! ```text
//! τ ~ p_i(·|θ_{r,k})
//! u = β g(τ|θ_{r,k}) + (1−β) [u_r + g(τ|θ_{r,k}) − w(τ|θ_{r−1},θ_{r,k}) g(τ|θ_{r−1})]    (002 Eq. 4)
//! ```
//!
//! The rest is what the [momentum](crate::momentum) algorithms share.

use fedrl_engine::{EngineError, Matrix, Number};

use crate::World;
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

impl<F: Number> LocalDirection<F> for VarianceReduced {
    fn remembers(&self, config: &MomentumConfig) -> bool {
        config.beta < 1.0
    }

    fn update(&self, step: &LocalStep<F>) -> Result<Vec<LocalUpdate<F>>, EngineError> {
        let World { engine, policy, .. } = step.world;
        let weighing = step.config.weighing();
        let tau = step.sample(step.theta)?;
        let scores = engine.scores(policy, step.theta, &tau);

        // w(τ|θ_{r−1}, θ) g(τ|θ_{r−1})
        let mut importance = None;
        let mut corrections = None;
        if let Some(memory) = step.memory {
            let log_behaviour = scores.values()?;
            let previous = Matrix::repeat(&memory.previous, step.theta.rows());
            let previous = engine.scores(policy, &previous, &tau);
            let (weights, seen) = step.weights(&previous.values()?, &log_behaviour, &tau);
            let weighted = previous.gradient(&weighing.per_step(&tau, |i, b| weights[i][b]))?;
            corrections = Some((&memory.direction, weighted));
            importance = Some(seen);
        }
        // g(τ|θ)
        let gradients = scores.gradient(&weighing.per_step(&tau, |_, _| F::from_f64(1.0)))?;

        let (beta, rest) = (F::from_f64(step.config.beta), F::from_f64(1.0 - step.config.beta));
        let direction = |index: usize| -> Vec<F> {
            let g = gradients.row(index);
            let Some((momentum, weighted)) = &corrections else { return g.to_vec() };
            let terms = g.iter().zip(*momentum).zip(weighted.row(index));
            terms.map(|((&g, &u_r), &wg)| beta * g + rest * (u_r + g - wg)).collect()
        };
        let updates = tau.replicas.iter().zip(&tau.margins).enumerate().map(|(index, (lived, &margin))| LocalUpdate {
            direction: direction(index),
            gradient: gradients.row(index).to_vec(),
            lived: lived.clone(),
            margin,
            importance: importance.as_ref().map(|seen| seen[index]),
        });
        Ok(updates.collect())
    }
}
