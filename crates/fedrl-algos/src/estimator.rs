//! Policy-gradient estimators: g(τ|θ) = Σ_t Ψ_t ∇ log π_θ(a_t|s_t). They differ in the weights Ψ.

use fedrl_core::Scalar;
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

/// The weights Ψ of scores that an algorithm uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighing {
    /// The kind.
    pub estimator: Estimator,
    /// γ.
    pub discount: f64,
    /// What is done to Ψ before it is used.
    pub advantage: Advantage,
    /// τ: temperature of the entropy in J = E Σ_t γ^t (R_t + τ H(π(·|s_t))). The regularised
    /// gradient is the plain one with rewards R − τ log π(a|s), since H = −E log π and
    /// E ∇ log π = 0.
    pub entropy: f64,
}

impl Weighing {
    /// Refuses combinations that mean nothing.
    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        let standardised = self.advantage == Advantage::Standardised;
        if !(self.entropy.is_finite() && self.entropy >= 0.0) {
            return Err(Invalid { key: "entropy", value: self.entropy.to_string(), expected: "a finite number >= 0" });
        }
        let expected = if standardised && self.estimator == Estimator::Reinforce {
            // Every step of a trajectory has the same weight, so nothing would be left of it.
            "none, since `estimator = \"reinforce\"` weighs all steps of a trajectory alike"
        } else if standardised && self.entropy > 0.0 {
            "none, since standardising would rescale `entropy` from trajectory to trajectory"
        } else {
            return Ok(());
        };
        Err(Invalid { key: "advantage", value: "standardised".into(), expected })
    }

    /// Ψ_t of every step of a trajectory with these rewards.
    pub fn psi(&self, rewards: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut factor = 1.0;
        let discounted = rewards.map(|reward| {
            let weight = factor * reward;
            factor *= self.discount;
            weight
        });
        let mut psi: Vec<f64> = discounted.collect();
        match self.estimator {
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
        if self.advantage == Advantage::Standardised {
            standardise(&mut psi);
        }
        psi
    }

    /// The derivative of Ψ along v, from ⟨S_h, v⟩ of every step: the entropy's part of Ψ depends on θ.
    pub(crate) fn slope<F: Scalar>(&self, along: &[F]) -> Vec<f64> {
        self.psi(along.iter().map(|along| -self.entropy * along.as_double()))
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

    fn weighing(estimator: Estimator, advantage: Advantage) -> Weighing {
        Weighing { estimator, discount: 0.5, advantage, entropy: 0.0 }
    }

    #[test]
    fn weights_by_hand() {
        // γ = 1/2, rewards 1, 2, 4: discounted 1, 1, 1; to go 3, 2, 1; whole return 3.
        let psi = |estimator, advantage| weighing(estimator, advantage).psi([1.0, 2.0, 4.0].into_iter());
        assert_eq!(psi(Estimator::Gpomdp, Advantage::None), [3.0, 2.0, 1.0]);
        assert_eq!(psi(Estimator::Reinforce, Advantage::None), [3.0, 3.0, 3.0]);
        // 3, 2, 1 has mean 2 and deviation √(2/3).
        let standardised = psi(Estimator::Gpomdp, Advantage::Standardised);
        for (ours, theirs) in standardised.iter().zip([1.5f64.sqrt(), 0.0, -1.5f64.sqrt()]) {
            assert!((ours - theirs).abs() < 1e-6);
        }
        assert_eq!(psi(Estimator::Reinforce, Advantage::Standardised), [0.0; 3]);
    }

    #[test]
    fn a_trajectory_without_steps_has_no_weights() {
        assert!(weighing(Estimator::Gpomdp, Advantage::Standardised).psi(std::iter::empty()).is_empty());
    }

    #[test]
    fn combinations_that_mean_nothing_are_refused() {
        let standardised = weighing(Estimator::Gpomdp, Advantage::Standardised);
        assert!(standardised.validate().is_ok());
        assert!(Weighing { entropy: 0.1, ..standardised }.validate().is_err());
        assert!(Weighing { estimator: Estimator::Reinforce, ..standardised }.validate().is_err());
        assert!(Weighing { entropy: -0.1, ..weighing(Estimator::Gpomdp, Advantage::None) }.validate().is_err());
    }
}
