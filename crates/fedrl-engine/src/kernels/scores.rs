//! Log-probabilities of what was done, their gradients, and Hessian-vector products: a lane per piece of a
//! trajectory.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]
#![allow(clippy::manual_memcpy, clippy::needless_range_loop, reason = "kernels go element by element")]

use cubecl::prelude::*;
use fedrl_core::Wide;
use fedrl_models::{Head, distribution};

use super::live::{OUTCOME, STEPS};
use super::network::{
    add_gradient, add_rate_gradient, backward, backward_along, forward, forward_along, head_gradient, log_probability,
};
use crate::fused::Shape;

/// Trajectories, and the pieces that they are worked on in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Pieces {
    pub(super) shape: Shape,
    pub(super) batch: usize,
    pub(super) horizon: usize,
    /// Pieces of a trajectory.
    pub(super) count: usize,
    /// Steps of a piece.
    pub(super) steps: usize,
    /// Steps whose gradients are added at a time.
    pub(super) tile: usize,
}

/// Writes log π_θ(a_t|s_t) of every step, and ∇_θ Σ_t weights_t log π_θ(a_t|s_t) of every piece. θ is an
/// agent's own or shared by all.
#[cube(launch)]
pub(super) fn scores(
    theta: &[f32],
    observations: &[f32],
    actions: &[f32],
    outcomes: &[f32],
    weights: &[f32],
    logs: &mut [f32],
    gradients: &mut [f32],
    #[comptime] pieces: Pieces,
    #[comptime] shared: bool,
) {
    let place = ABSOLUTE_POS;
    let parameters = comptime!(pieces.shape.parameters);
    if place * parameters < gradients.len() {
        let lane = place / pieces.count;
        let theta = own_theta(theta, lane / pieces.batch, parameters, shared);
        let gradient = &mut gradients[place * parameters..(place + 1) * parameters];
        for i in 0..parameters {
            gradient[i] = 0.0f32;
        }
        let inputs = comptime!(pieces.shape.inputs);
        let width = comptime!(pieces.shape.action);
        let (units, hidden_width) = (comptime!(pieces.shape.units), comptime!(pieces.shape.hidden));
        let output_width = comptime!(pieces.shape.outputs);
        let length = usize::cast_from(outcomes[lane * comptime!(OUTCOME + pieces.shape.inputs) + STEPS]);
        let first = (place % pieces.count) * pieces.steps;
        let mut dz = Array::<f32>::new(comptime!(pieces.tile * pieces.shape.units));
        let mut hidden = Array::<f32>::new(comptime!((pieces.tile * pieces.shape.hidden).max(1)));
        let mut outputs = Array::<f32>::new(comptime!(pieces.shape.outputs));
        for tile in 0..comptime!(pieces.steps.div_ceil(pieces.tile)) {
            let start = first + tile * pieces.tile;
            let mut steps = 0usize;
            for k in 0..pieces.tile {
                let t = start + k;
                if t < length && tile * pieces.tile + k < pieces.steps {
                    let at = lane * pieces.horizon + t;
                    let action = &actions[at * width..(at + 1) * width];
                    let hidden = &mut hidden.as_mut_slice()[k * hidden_width..(k + 1) * hidden_width];
                    let dz = &mut dz.as_mut_slice()[k * units..(k + 1) * units];
                    forward(
                        theta,
                        &observations[at * inputs..(at + 1) * inputs],
                        hidden,
                        outputs.as_mut_slice(),
                        comptime!(pieces.shape.clone()),
                    );
                    logs[at] = log_probability(theta, outputs.as_mut_slice(), action, comptime!(pieces.shape.clone()));
                    head_gradient(
                        theta,
                        outputs.as_slice(),
                        action,
                        weights[at],
                        &mut dz[units - output_width..units],
                        gradient,
                        comptime!(pieces.shape.clone()),
                    );
                    backward(theta, &*hidden, dz, comptime!(pieces.shape.clone()));
                    steps += 1usize;
                }
            }
            if steps > 0 {
                let from = (lane * pieces.horizon + start) * inputs;
                add_gradient(
                    dz.as_slice(),
                    &observations[from..from + steps * inputs],
                    hidden.as_slice(),
                    gradient,
                    steps,
                    comptime!(pieces.shape.clone()),
                );
            }
        }
    }
}

/// The parameters of an agent.
#[cube]
fn own_theta(theta: &[f32], agent: usize, #[comptime] parameters: usize, #[comptime] shared: bool) -> &[f32] {
    let start = agent * comptime!(if shared { 0 } else { parameters });
    &theta[start..start + parameters]
}

/// Writes ⟨∇ log π_θ(a_t|s_t), v⟩ of every step, and (Σ_t weights_t ∇² log π_θ(a_t|s_t)) v of every piece.
#[cube(launch)]
pub(super) fn curvature(
    theta: &[f32],
    along: &[f32],
    observations: &[f32],
    actions: &[f32],
    outcomes: &[f32],
    weights: &[f32],
    slopes: &mut [f32],
    products: &mut [f32],
    #[comptime] pieces: Pieces,
) {
    let place = ABSOLUTE_POS;
    let parameters = comptime!(pieces.shape.parameters);
    if place * parameters < products.len() {
        let lane = place / pieces.count;
        let agent = lane / pieces.batch;
        let theta = own_theta(theta, agent, parameters, false);
        let along = own_theta(along, agent, parameters, false);
        let product = &mut products[place * parameters..(place + 1) * parameters];
        for i in 0..parameters {
            product[i] = 0.0f32;
        }
        let inputs = comptime!(pieces.shape.inputs);
        let width = comptime!(pieces.shape.action);
        let hidden_width = comptime!(pieces.shape.hidden);
        let units = comptime!(pieces.shape.units);
        let length = usize::cast_from(outcomes[lane * comptime!(OUTCOME + pieces.shape.inputs) + STEPS]);
        let first = (place % pieces.count) * pieces.steps;
        let mut hidden = Array::<f32>::new(comptime!(pieces.shape.hidden.max(1)));
        let mut hidden_rates = Array::<f32>::new(comptime!(pieces.shape.hidden.max(1)));
        let mut sum_rates = Array::<f32>::new(comptime!(pieces.shape.hidden.max(1)));
        let mut outputs = Array::<f32>::new(comptime!(pieces.shape.outputs));
        let mut output_rates = Array::<f32>::new(comptime!(pieces.shape.outputs));
        let mut dz = Array::<f32>::new(comptime!(pieces.shape.units));
        let mut dz_rate = Array::<f32>::new(comptime!(pieces.shape.units));
        for k in 0..pieces.steps {
            let t = first + k;
            if t < length {
                let at = lane * pieces.horizon + t;
                let observation = &observations[at * inputs..(at + 1) * inputs];
                let action = &actions[at * width..(at + 1) * width];
                forward(
                    theta,
                    observation,
                    hidden.as_mut_slice(),
                    outputs.as_mut_slice(),
                    comptime!(pieces.shape.clone()),
                );
                let _log = log_probability(theta, outputs.as_mut_slice(), action, comptime!(pieces.shape.clone()));
                forward_along(
                    theta,
                    along,
                    observation,
                    hidden.as_slice(),
                    sum_rates.as_mut_slice(),
                    hidden_rates.as_mut_slice(),
                    output_rates.as_mut_slice(),
                    comptime!(pieces.shape.clone()),
                );
                slopes[at] = head_rate_gradient(
                    theta,
                    along,
                    outputs.as_slice(),
                    output_rates.as_slice(),
                    action,
                    weights[at],
                    &mut dz.as_mut_slice()[hidden_width..units],
                    &mut dz_rate.as_mut_slice()[hidden_width..units],
                    product,
                    comptime!(pieces.shape.clone()),
                );
                backward_along(
                    theta,
                    along,
                    hidden.as_slice(),
                    sum_rates.as_slice(),
                    dz.as_mut_slice(),
                    dz_rate.as_mut_slice(),
                    comptime!(pieces.shape.clone()),
                );
                add_gradient(
                    dz.as_slice(),
                    observation,
                    hidden.as_slice(),
                    product,
                    1usize,
                    comptime!(pieces.shape.clone()),
                );
                add_rate_gradient(
                    dz_rate.as_slice(),
                    hidden_rates.as_slice(),
                    product,
                    comptime!(pieces.shape.clone()),
                );
            }
        }
    }
}

/// d log π(action) / dε along v, and weight times its gradient with respect to outputs and their rates; what
/// falls to the log standard deviations is added.
#[cube]
fn head_rate_gradient(
    theta: &[f32],
    along: &[f32],
    outputs: &[f32],
    output_rates: &[f32],
    action: &[f32],
    weight: f32,
    dz: &mut [f32],
    dz_rate: &mut [f32],
    gradient: &mut [f32],
    #[comptime] shape: Shape,
) -> f32 {
    let mut rate = 0.0f32;
    match comptime!(shape.head) {
        Head::Categorical { actions } => {
            let choice = action[0];
            rate = distribution::choice_rate::<f32>(outputs, choice, output_rates, actions);
            distribution::choice_rate_gradient::<f32>(outputs, choice, output_rates, weight, dz, dz_rate, actions);
        }
        Head::DiagonalGaussian { actions } => {
            // Of Σ -z ż - ṡ, where z = (a - μ) e^{-s}: dz/dμ = -e^{-s}, dz/ds = -z and dż/ds = -ż.
            for i in 0..actions {
                let log_std = comptime!(shape.log_std) + i;
                let scale = f32::exponential(-theta[log_std]);
                let log_std_rate = along[log_std];
                let z = (action[i] - outputs[i]) * scale;
                let z_rate = -(output_rates[i] * scale + z * log_std_rate);
                rate -= z * z_rate + log_std_rate;
                dz[i] = weight * scale * (z_rate - z * log_std_rate);
                dz_rate[i] = weight * scale * z;
                gradient[log_std] += weight * 2.0f32 * z * z_rate;
            }
        }
    }
    rate
}

/// Σ_b factor_b / B times the sum of the pieces of trajectory b, of every agent.
#[cube(launch)]
pub(super) fn batch_means(
    gradients: &[f32],
    factors: &[f32],
    means: &mut [f32],
    share: f32,
    #[comptime] pieces: Pieces,
) {
    let i = ABSOLUTE_POS;
    let parameters = comptime!(pieces.shape.parameters);
    if i < means.len() {
        let (agent, column) = (i / parameters, i % parameters);
        let mut sum = 0.0f32;
        for b in 0..pieces.batch {
            let lane = agent * pieces.batch + b;
            let mut own = 0.0f32;
            for piece in 0..pieces.count {
                own += gradients[(lane * pieces.count + piece) * parameters + column];
            }
            sum += share * factors[lane] * own;
        }
        means[i] = sum;
    }
}

/// Σ_t x_t of every trajectory, or Σ_t (x_t − y_t).
#[cube(launch)]
pub(super) fn step_sums(
    x: &[f32],
    y: &[f32],
    outcomes: &[f32],
    sums: &mut [f32],
    #[comptime] pieces: Pieces,
    #[comptime] less: bool,
) {
    let lane = ABSOLUTE_POS;
    if lane < sums.len() {
        let length = usize::cast_from(outcomes[lane * comptime!(OUTCOME + pieces.shape.inputs) + STEPS]);
        let mut sum = 0.0f32;
        for t in 0..length {
            let at = lane * pieces.horizon + t;
            if comptime!(less) {
                sum += x[at] - y[at];
            } else {
                sum += x[at];
            }
        }
        sums[lane] = sum;
    }
}
