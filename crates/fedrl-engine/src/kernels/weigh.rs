//! Weights Ψ of the scores of every step, made where the rewards are.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]
#![allow(clippy::needless_range_loop, reason = "kernels go element by element")]

use cubecl::prelude::*;
use fedrl_core::Wide;

use super::live::{OUTCOME, STEPS};
use super::scores::Pieces;

/// How a trajectory's rewards become the weights of its steps.
#[cube]
pub trait Credit: Send + Sync + 'static {
    /// Puts Ψ_t in the place of R_t, for every step of one trajectory of `length` steps; `discounts` has γ^t,
    /// at least two of them.
    fn credit(rewards: &mut [f32], discounts: &[f32], length: usize);
}

/// Puts scale R_t − temperature log π(a_t|s_t) through `C`.
#[cube(launch)]
pub(super) fn weights<C: Credit>(
    rewards: &[f32],
    logs: &[f32],
    outcomes: &[f32],
    discounts: &[f32],
    psi: &mut [f32],
    scale: f32,
    temperature: f32,
    #[comptime] pieces: Pieces,
    #[comptime] standardised: bool,
) {
    let lane = ABSOLUTE_POS;
    let told = comptime!(OUTCOME + pieces.shape.inputs);
    if lane * told < outcomes.len() {
        let length = usize::cast_from(outcomes[lane * told + STEPS]);
        let psi = &mut psi[lane * pieces.horizon..(lane + 1) * pieces.horizon];
        for t in 0..length {
            let at = lane * pieces.horizon + t;
            psi[t] = scale * rewards[at] - temperature * logs[at];
        }
        C::credit(psi, discounts, length);
        if comptime!(standardised) {
            standardise(psi, length);
        }
    }
}

/// Mean 0, deviation 1. Weights that are all alike become 0.
#[cube]
fn standardise(psi: &mut [f32], length: usize) {
    let share = 1.0f32 / length as f32;
    let mut sum = 0.0f32;
    for t in 0..length {
        sum += psi[t];
    }
    let mean = sum * share;
    let mut squares = 0.0f32;
    for t in 0..length {
        squares += (psi[t] - mean) * (psi[t] - mean);
    }
    let scale = 1.0f32 / (f32::square_root(squares * share) + 1e-8f32);
    for t in 0..length {
        psi[t] = (psi[t] - mean) * scale;
    }
}

/// Ψ_t less the mean, at the same step, over the other trajectories of the agent's batch that get there.
#[cube(launch)]
pub(super) fn less_others(psi: &[f32], outcomes: &[f32], out: &mut [f32], #[comptime] pieces: Pieces) {
    let at = ABSOLUTE_POS;
    if at < out.len() {
        let told = comptime!(OUTCOME + pieces.shape.inputs);
        let (lane, t) = (at / pieces.horizon, at % pieces.horizon);
        let first = lane / pieces.batch * pieces.batch;
        let mut others = 0.0f32;
        let mut sum = 0.0f32;
        for b in 0..pieces.batch {
            let other = first + b;
            if other != lane && t < usize::cast_from(outcomes[other * told + STEPS]) {
                others += 1.0f32;
                // Differences first: nothing is left of weights that are all alike.
                sum += psi[at] - psi[other * pieces.horizon + t];
            }
        }
        out[at] = if others > 0.0f32 { sum / others } else { psi[at] };
    }
}
