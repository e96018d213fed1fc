//! The three kinds of weights Ψ in kernels.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]
#![allow(clippy::needless_range_loop, reason = "kernels go element by element")]

use cubecl::prelude::*;
use fedrl_engine::kernels::{Credit, StepNumbers, Tape};

use crate::{Advantage, Estimator, Weighing};

/// Ψ_t = Σ_{h≥t} γ^h R_h.
struct Gpomdp;

#[cube]
impl Credit for Gpomdp {
    fn credit(rewards: &mut [f32], discounts: &[f32], length: usize) {
        let mut sum = 0.0f32;
        for i in 0..length {
            let t = length - 1usize - i;
            sum += discounts[t] * rewards[t];
            rewards[t] = sum;
        }
    }
}

/// Ψ_t = Σ_h γ^h R_h.
struct Reinforce;

#[cube]
impl Credit for Reinforce {
    fn credit(rewards: &mut [f32], discounts: &[f32], length: usize) {
        let mut sum = 0.0f32;
        for t in 0..length {
            sum += discounts[t] * rewards[t];
        }
        for t in 0..length {
            rewards[t] = sum;
        }
    }
}

/// Ψ_t = Σ_{h≥t} γ^{h−t} R_h.
struct RewardToGo;

#[cube]
impl Credit for RewardToGo {
    fn credit(rewards: &mut [f32], discounts: &[f32], length: usize) {
        let mut sum = 0.0f32;
        for i in 0..length {
            let t = length - 1usize - i;
            sum = rewards[t] + discounts[1] * sum;
            rewards[t] = sum;
        }
    }
}

/// Weights of scores, and γ^t for as many steps as there may be.
pub(super) struct Weights {
    weighing: Weighing,
    discounts: Vec<f64>,
}

impl Weights {
    pub(super) fn new(weighing: Weighing, horizon: usize) -> Self {
        let powers = std::iter::successors(Some(1.0), |power| Some(power * weighing.discount));
        Weights { weighing, discounts: powers.take(horizon.max(2)).collect() }
    }

    /// Whether Ψ depends on the parameters.
    pub(super) fn regularised(&self) -> bool {
        self.weighing.entropy > 0.0
    }

    /// Ψ_t of every step, of the rewards less the temperature times `logs`, which matter only with entropy.
    pub(super) fn psi(&self, tape: &Tape, logs: &StepNumbers) -> StepNumbers {
        let entropy = (self.weighing.entropy, logs);
        let standardised = self.weighing.advantage == Advantage::Standardised;
        let psi = match self.weighing.estimator {
            Estimator::Gpomdp => tape.credit::<Gpomdp>(&self.discounts, entropy, standardised),
            Estimator::Reinforce => tape.credit::<Reinforce>(&self.discounts, entropy, standardised),
            Estimator::RewardToGo => tape.credit::<RewardToGo>(&self.discounts, entropy, standardised),
        };
        if self.weighing.advantage == Advantage::Baseline { tape.less_others(&psi) } else { psi }
    }

    /// What Ψ changes along v, from ⟨∇ log π, v⟩ of every step.
    pub(super) fn slope(&self, tape: &Tape, along: &StepNumbers) -> StepNumbers {
        let factor = -self.weighing.entropy;
        match self.weighing.estimator {
            Estimator::Gpomdp => tape.credit_of::<Gpomdp>(along, factor, &self.discounts),
            Estimator::Reinforce => tape.credit_of::<Reinforce>(along, factor, &self.discounts),
            Estimator::RewardToGo => tape.credit_of::<RewardToGo>(along, factor, &self.discounts),
        }
    }
}
