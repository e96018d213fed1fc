//! Policy-gradient estimators: g(τ|θ) = Σ_t Ψ_t ∇ log π_θ(a_t|s_t). They differ in the weights Ψ.

use fedrl_core::{LANES, Scalar};
use serde::{Deserialize, Serialize};

use crate::Invalid;

/// Which weights Ψ the score of each step gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// Ψ_t = Σ_{h≥t} γ^h R_h: what an action can still change, discounted from the trajectory's
    /// start (002 §3).
    #[default]
    Gpomdp,
    /// Ψ_t = Σ_h γ^h R_h: the whole return for every step (003 Eq. 5).
    Reinforce,
    /// Ψ_t = Σ_{h≥t} γ^{h−t} R_h: discounted from the step itself, so that late steps count as much
    /// as early ones. What deep policy gradients use, the authors' program of 002 among them; not
    /// the gradient of any discounted objective, that of the mean reward as γ → 1.
    RewardToGo,
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
    /// Less the mean, at the same step, over the other trajectories of the agent's batch that get
    /// there: a baseline that depends on time alone. It is independent of the trajectory, so the
    /// estimate stays unbiased.
    Baseline,
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

    /// Ψ_t of every step of every trajectory of a batch, from their rewards.
    pub fn batch<R: Iterator<Item = f64>>(&self, rewards: impl Iterator<Item = R>) -> Vec<Vec<f64>> {
        let mut batch: Vec<Vec<f64>> = rewards.map(|rewards| self.psi(rewards)).collect();
        if self.advantage == Advantage::Baseline {
            subtract_others(&mut batch);
        }
        batch
    }

    /// Ψ_t of every step of one trajectory with these rewards, without regard to its batch.
    pub fn psi(&self, rewards: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut psi: Vec<f64> = self.columns(rewards.map(|reward| [reward])).into_iter().flatten().collect();
        if self.advantage == Advantage::Standardised {
            standardise(&mut psi);
        }
        psi
    }

    /// [`Weighing::psi`] of sixteen trajectories side by side, of these lengths. Inlined into what is
    /// compiled for the processor's vectors.
    #[inline(always)]
    pub(crate) fn lanes(
        &self,
        rewards: impl Iterator<Item = [f64; LANES]>,
        lengths: &[usize; LANES],
    ) -> Vec<[f64; LANES]> {
        let mut psi = self.columns(rewards);
        for lane in 0..LANES {
            if self.advantage == Advantage::Standardised {
                let mut own: Vec<f64> = psi[..lengths[lane]].iter().map(|psi| psi[lane]).collect();
                standardise(&mut own);
                psi.iter_mut().zip(own).for_each(|(psi, own)| psi[lane] = own);
            }
            psi[lengths[lane]..].iter_mut().for_each(|psi| psi[lane] = 0.0);
        }
        psi
    }

    /// Ψ_t before anything is done to it, of `N` trajectories side by side.
    #[inline(always)]
    fn columns<const N: usize>(&self, rewards: impl Iterator<Item = [f64; N]>) -> Vec<[f64; N]> {
        // Discounted from the start of the trajectory, but for those that are discounted on the way back.
        let (mut factor, step) = (1.0, if self.estimator == Estimator::RewardToGo { 1.0 } else { self.discount });
        let discounted = rewards.map(|rewards| {
            let weights = rewards.map(|reward| factor * reward);
            factor *= step;
            weights
        });
        let mut psi: Vec<[f64; N]> = discounted.collect();
        match self.estimator {
            Estimator::Gpomdp => sum_backwards(&mut psi, 1.0),
            Estimator::RewardToGo => sum_backwards(&mut psi, self.discount),
            Estimator::Reinforce => {
                sum_backwards(&mut psi, 1.0);
                let total = psi.first().copied().unwrap_or([0.0; N]);
                psi.fill(total);
            }
        }
        psi
    }

    /// The derivative of Ψ along v, from ⟨S_h, v⟩ of every step: the entropy's part of Ψ depends on θ, so
    /// that the term printed as ∇⟨g, v⟩ is taken as the derivative of g along v; in expectation the two
    /// are the same.
    pub(crate) fn slope<F: Scalar>(&self, along: &[F]) -> Vec<f64> {
        self.psi(along.iter().map(|along| -self.entropy * along.as_double()))
    }
}

/// x_t ← Σ_{h≥t} factor^{h−t} x_h.
#[inline(always)]
fn sum_backwards<const N: usize>(x: &mut [[f64; N]], factor: f64) {
    let mut ahead = [0.0; N];
    for x in x.iter_mut().rev() {
        for i in 0..N {
            ahead[i] = x[i] + factor * ahead[i];
        }
        *x = ahead;
    }
}

/// Takes from every Ψ_t the mean of the other trajectories' Ψ_t, as far as there are any.
fn subtract_others(batch: &mut [Vec<f64>]) {
    let longest = batch.iter().map(Vec::len).max().unwrap_or(0);
    for time in 0..longest {
        let there = batch.iter().filter(|psi| psi.len() > time).count() as f64;
        let sum: f64 = batch.iter().filter_map(|psi| psi.get(time)).sum();
        for weight in batch.iter_mut().filter_map(|psi| psi.get_mut(time)) {
            if there > 1.0 {
                *weight -= (sum - *weight) / (there - 1.0);
            }
        }
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
    fn weights_discounted_from_the_step_and_baselines_by_hand() {
        // 4, 2 + 4/2 = 4, 1 + 4/2 = 3.
        let to_go = weighing(Estimator::RewardToGo, Advantage::None);
        assert_eq!(to_go.psi([1.0, 2.0, 4.0].into_iter()), [3.0, 4.0, 4.0]);
        // To go: (3, 2), (5, 3, 1), (1): others at step 0 have means (5+1)/2, (3+1)/2, (3+5)/2.
        let baseline = Weighing { discount: 1.0, ..weighing(Estimator::Gpomdp, Advantage::Baseline) };
        let batch = [vec![1.0, 2.0], vec![2.0, 2.0, 1.0], vec![1.0]];
        let psi = baseline.batch(batch.iter().map(|rewards| rewards.iter().copied()));
        assert_eq!(psi, [vec![0.0, -1.0], vec![3.0, 1.0, 1.0], vec![-3.0]]);
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
