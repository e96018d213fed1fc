//! Policy-gradient estimators: g(τ|θ) = Σ_t Ψ_t ∇ log π_θ(a_t|s_t). They differ in the weights Ψ.

use fedrl_core::Scalar;
use fedrl_engine::{Trajectories, Trajectory};
use serde::{Deserialize, Serialize};

use crate::Invalid;

/// Which weights Ψ the score of each step gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Estimator {
    /// Ψ_t = Σ_{h≥t} γ^h R_h: what an action can still change, discounted from the trajectory's
    /// start (002 §3).
    #[default]
    Gpomdp,
    /// Ψ_t = Σ_h γ^h R_h: the whole return for every step (003 Eq. 5).
    Reinforce,
}

/// What is done to Ψ before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Advantage {
    /// Nothing, as in the papers.
    #[default]
    None,
    /// Shifted and scaled to mean 0 and deviation 1 within each trajectory, as the authors'
    /// program of 002 does. No longer an unbiased estimate.
    Standardised,
}

impl Estimator {
    /// Ψ_t of every step of a trajectory.
    pub fn weights<F: Scalar>(self, trajectory: &Trajectory<F>, discount: f64, advantage: Advantage) -> Vec<F> {
        let mut factor = 1.0;
        let mut psi: Vec<f64> = Vec::with_capacity(trajectory.len());
        for reward in &trajectory.rewards {
            psi.push(factor * reward.as_double());
            factor *= discount;
        }
        match self {
            Estimator::Gpomdp => {
                let mut ahead = 0.0;
                for weight in psi.iter_mut().rev() {
                    ahead += *weight;
                    *weight = ahead;
                }
            }
            Estimator::Reinforce => {
                let total: f64 = psi.iter().sum();
                psi.fill(total);
            }
        }
        if advantage == Advantage::Standardised {
            standardise(&mut psi);
        }
        psi.into_iter().map(F::from_f64).collect()
    }
}

/// The weights of scores that an algorithm uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighing {
    pub(crate) estimator: Estimator,
    pub(crate) discount: f64,
    pub(crate) advantage: Advantage,
}

impl Weighing {
    /// Refuses a combination that leaves nothing to learn from.
    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        if self.estimator == Estimator::Reinforce && self.advantage == Advantage::Standardised {
            // Every step of a trajectory has the same weight, so nothing would be left of it.
            let expected = "none, since `estimator = \"reinforce\"` weighs all steps of a trajectory alike";
            return Err(Invalid { key: "advantage", value: "standardised".into(), expected });
        }
        Ok(())
    }

    /// The weight of every step's score, per replica: Ψ_t × `factor(replica, trajectory)` / B.
    pub(crate) fn per_step<F: Scalar>(&self, tau: &Trajectories<F>, factor: impl Fn(usize, usize) -> F) -> Vec<Vec<F>> {
        let replica = |(index, lived): (usize, &Vec<Trajectory<F>>)| {
            let share = F::from_f64(1.0 / lived.len() as f64);
            let trajectory = |(b, trajectory)| {
                let scale = share * factor(index, b);
                let psi = self.estimator.weights(trajectory, self.discount, self.advantage);
                psi.into_iter().map(move |psi| scale * psi)
            };
            lived.iter().enumerate().flat_map(trajectory).collect()
        };
        tau.replicas.iter().enumerate().map(replica).collect()
    }
}

/// Mean 0, deviation 1. Weights that are all alike, which say nothing about any step, become 0.
fn standardise(psi: &mut [f64]) {
    let n = psi.len() as f64;
    let mean = psi.iter().sum::<f64>() / n;
    let deviation = (psi.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
    psi.iter_mut().for_each(|x| *x = (*x - mean) / (deviation + 1e-8));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewards(rewards: &[f32]) -> Trajectory<f32> {
        Trajectory { rewards: rewards.to_vec(), ..Trajectory::default() }
    }

    #[test]
    fn weights_by_hand() {
        // γ = 1/2, rewards 1, 2, 4: discounted 1, 1, 1; to go 3, 2, 1; whole return 3.
        let trajectory = rewards(&[1.0, 2.0, 4.0]);
        assert_eq!(Estimator::Gpomdp.weights(&trajectory, 0.5, Advantage::None), [3.0, 2.0, 1.0]);
        assert_eq!(Estimator::Reinforce.weights(&trajectory, 0.5, Advantage::None), [3.0, 3.0, 3.0]);
        // 3, 2, 1 has mean 2 and deviation √(2/3).
        let standardised = Estimator::Gpomdp.weights(&trajectory, 0.5, Advantage::Standardised);
        for (ours, theirs) in standardised.iter().zip([1.5f64.sqrt(), 0.0, -1.5f64.sqrt()]) {
            assert!((f64::from(*ours) - theirs).abs() < 1e-6);
        }
        assert_eq!(Estimator::Reinforce.weights(&trajectory, 0.5, Advantage::Standardised), [0.0; 3]);
    }

    #[test]
    fn a_trajectory_without_steps_has_no_weights() {
        assert!(Estimator::Gpomdp.weights(&rewards(&[]), 0.9, Advantage::Standardised).is_empty());
    }
}
