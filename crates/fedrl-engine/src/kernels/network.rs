//! A policy's network inside a kernel, step by step, from the layers that the CPU has, too.
//!
//! What a layer reads may lie beside what it writes, so that it is copied.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]
#![allow(clippy::manual_memcpy, clippy::needless_range_loop, reason = "kernels go element by element")]

use cubecl::prelude::*;
use fedrl_core::Wide;
use fedrl_models::dense::{self, Dense};
use fedrl_models::{Head, distribution};

use crate::fused::Shape;

/// Writes the hidden values and the outputs of one step.
#[cube]
pub(super) fn forward(
    theta: &[f32],
    observation: &[f32],
    hidden: &mut [f32],
    outputs: &mut [f32],
    #[comptime] shape: Shape,
) {
    #[unroll]
    for k in 0..comptime!(shape.layers.len()) {
        let layer = comptime!(shape.layers[k]);
        let x = input(observation, &*hidden, comptime!(shape.clone()), k);
        if comptime!(k + 1 == shape.layers.len()) {
            dense::forward::<f32>(theta, x.as_slice(), outputs, layer);
        } else {
            let own = &mut hidden[comptime!(shape.starts[k])..comptime!(shape.starts[k] + shape.layers[k].outputs)];
            dense::forward::<f32>(theta, x.as_slice(), own, layer);
        }
    }
}

/// A copy of what layer `k` reads.
#[cube]
fn input(observation: &[f32], hidden: &[f32], #[comptime] shape: Shape, #[comptime] k: usize) -> Array<f32> {
    let mut x = Array::<f32>::new(comptime!(shape.layers[k].inputs));
    for i in 0..comptime!(shape.layers[k].inputs) {
        x[i] = if comptime!(k == 0) { observation[i] } else { hidden[comptime!(before(&shape, k)) + i] };
    }
    x
}

/// Where the values that layer `k` reads begin among the hidden ones.
fn before(shape: &Shape, k: usize) -> usize {
    if k == 0 { 0 } else { shape.starts[k - 1] }
}

/// Turns logits into probabilities; means stay means. Returns log π of the `action`.
#[cube]
pub(super) fn log_probability(theta: &[f32], outputs: &mut [f32], action: &[f32], #[comptime] shape: Shape) -> f32 {
    let mut log = 0.0f32;
    match comptime!(shape.head) {
        Head::Categorical { actions } => {
            let mut probabilities = Array::<f32>::new(actions);
            distribution::softmax::<f32>(&*outputs, probabilities.as_mut_slice(), actions);
            for i in 0..actions {
                outputs[i] = probabilities[i];
            }
            log = f32::natural_log(distribution::of_choice::<f32>(&*outputs, action[0], actions));
        }
        Head::DiagonalGaussian { actions } => {
            for i in 0..actions {
                let log_std = theta[comptime!(shape.log_std) + i];
                let z = (action[i] - outputs[i]) * f32::exponential(-log_std);
                log += distribution::normal_log_density::<f32>(z, log_std);
            }
        }
    }
    log
}

/// Writes weight · d log π(action) / d outputs, from probabilities or means, and adds what falls to the log
/// standard deviations.
#[cube]
pub(super) fn head_gradient(
    theta: &[f32],
    outputs: &[f32],
    action: &[f32],
    weight: f32,
    dz: &mut [f32],
    gradient: &mut [f32],
    #[comptime] shape: Shape,
) {
    match comptime!(shape.head) {
        Head::Categorical { actions } => {
            distribution::choice_gradient::<f32>(outputs, action[0], weight, dz, actions);
        }
        Head::DiagonalGaussian { actions } => {
            for i in 0..actions {
                let scale = f32::exponential(-theta[comptime!(shape.log_std) + i]);
                let z = (action[i] - outputs[i]) * scale;
                dz[i] = weight * z * scale;
                gradient[comptime!(shape.log_std) + i] += weight * (z * z - 1.0f32);
            }
        }
    }
}

/// From dL/dz of the outputs, the last of `dz`, to dL/dz of every layer.
#[cube]
pub(super) fn backward(theta: &[f32], hidden: &[f32], dz: &mut [f32], #[comptime] shape: Shape) {
    #[unroll]
    for i in 0..comptime!(shape.layers.len()) {
        let k = comptime!(shape.layers.len() - 1 - i);
        let layer = comptime!(shape.layers[k]);
        let start = comptime!(shape.starts[k]);
        let mut own = Array::<f32>::new(comptime!(layer.outputs));
        for j in 0..layer.outputs {
            own[j] = dz[start + j];
        }
        // The outputs are what they are the sums of.
        let y = &hidden[comptime!(activations(&shape, k).0)..comptime!(activations(&shape, k).1)];
        let dx = &mut dz[comptime!(before(&shape, k))..comptime!(before(&shape, k) + inward(&shape, k))];
        dense::backward::<f32>(theta, y, own.as_mut_slice(), dx, layer, comptime!(k > 0));
        for j in 0..layer.outputs {
            dz[start + j] = own[j];
        }
    }
}

/// Where layer `k`'s values lie among the hidden ones; nowhere for the outputs.
fn activations(shape: &Shape, k: usize) -> (usize, usize) {
    if k + 1 == shape.layers.len() { (0, 0) } else { (shape.starts[k], shape.starts[k] + shape.layers[k].outputs) }
}

/// How many hidden values layer `k` reads.
fn inward(shape: &Shape, k: usize) -> usize {
    if k == 0 { 0 } else { shape.layers[k].inputs }
}

/// Adds the gradient of `steps` steps, which lie one after the other.
#[cube]
pub(super) fn add_gradient(
    dz: &[f32],
    observations: &[f32],
    hidden: &[f32],
    gradient: &mut [f32],
    steps: usize,
    #[comptime] shape: Shape,
) {
    #[unroll]
    for k in 0..comptime!(shape.layers.len()) {
        let layer = comptime!(shape.layers[k]);
        let units = comptime!(shape.units);
        let dz = &dz[comptime!(shape.starts[k])..dz.len()];
        if comptime!(k == 0) {
            dense::add_gradient::<f32>(dz, observations, gradient, layer, steps, units, comptime!(shape.inputs));
        } else {
            let x = &hidden[comptime!(before(&shape, k))..hidden.len()];
            dense::add_gradient::<f32>(dz, x, gradient, layer, steps, units, comptime!(shape.hidden));
        }
    }
}

/// Writes how sums, hidden values and outputs of one step change along v.
#[cube]
pub(super) fn forward_along(
    theta: &[f32],
    along: &[f32],
    observation: &[f32],
    hidden: &[f32],
    sum_rates: &mut [f32],
    hidden_rates: &mut [f32],
    output_rates: &mut [f32],
    #[comptime] shape: Shape,
) {
    #[unroll]
    for k in 0..comptime!(shape.layers.len()) {
        let layer = comptime!(shape.layers[k]);
        let x = input(observation, hidden, comptime!(shape.clone()), k);
        let x_rate = input(observation, &*hidden_rates, comptime!(shape.clone()), k);
        if comptime!(k + 1 == shape.layers.len()) {
            // Outputs are linear: neither they nor their sums' rates are looked at.
            let outputs = Array::<f32>::new(comptime!(layer.outputs));
            let mut sums = Array::<f32>::new(comptime!(layer.outputs));
            dense::forward_along::<f32>(
                theta,
                along,
                x.as_slice(),
                x_rate.as_slice(),
                outputs.as_slice(),
                sums.as_mut_slice(),
                output_rates,
                layer,
                comptime!(k > 0),
            );
        } else {
            let own = comptime!(shape.starts[k]);
            let end = comptime!(shape.starts[k] + layer.outputs);
            dense::forward_along::<f32>(
                theta,
                along,
                x.as_slice(),
                x_rate.as_slice(),
                &hidden[own..end],
                &mut sum_rates[own..end],
                &mut hidden_rates[own..end],
                layer,
                comptime!(k > 0),
            );
        }
    }
}

/// From dL/dz and dL/dż of the outputs, the last of `dz` and `dz_rate`, to those of every layer.
#[cube]
pub(super) fn backward_along(
    theta: &[f32],
    along: &[f32],
    hidden: &[f32],
    sum_rates: &[f32],
    dz: &mut [f32],
    dz_rate: &mut [f32],
    #[comptime] shape: Shape,
) {
    #[unroll]
    for i in 0..comptime!(shape.layers.len()) {
        let k = comptime!(shape.layers.len() - 1 - i);
        let layer = comptime!(shape.layers[k]);
        let start = comptime!(shape.starts[k]);
        let mut own = Array::<f32>::new(comptime!(layer.outputs));
        let mut own_rate = Array::<f32>::new(comptime!(layer.outputs));
        let mut y = Array::<f32>::new(comptime!(layer.outputs));
        let mut sums = Array::<f32>::new(comptime!(layer.outputs));
        for j in 0..layer.outputs {
            own[j] = dz[start + j];
            own_rate[j] = dz_rate[start + j];
            if comptime!(k + 1 < shape.layers.len()) {
                y[j] = hidden[start + j];
                sums[j] = sum_rates[start + j];
            } else {
                y[j] = 0.0f32;
                sums[j] = 0.0f32;
            }
        }
        let first = comptime!(before(&shape, k));
        let end = comptime!(before(&shape, k) + inward(&shape, k));
        dense::backward_along::<f32>(
            theta,
            along,
            y.as_slice(),
            sums.as_slice(),
            own.as_mut_slice(),
            own_rate.as_mut_slice(),
            &mut dz[first..end],
            &mut dz_rate[first..end],
            layer,
            comptime!(k > 0),
        );
        for j in 0..layer.outputs {
            dz[start + j] = own[j];
            dz_rate[start + j] = own_rate[j];
        }
    }
}

/// Adds what the inputs' rates contribute to the gradient of one step: nothing to biases, and nothing to the
/// first layer, since observations have no rates.
#[cube]
pub(super) fn add_rate_gradient(dz_rate: &[f32], hidden_rates: &[f32], gradient: &mut [f32], #[comptime] shape: Shape) {
    #[unroll]
    for k in 1..comptime!(shape.layers.len()) {
        let layer = comptime!(Dense { biased: false, ..shape.layers[k] });
        let dz = &dz_rate[comptime!(shape.starts[k])..dz_rate.len()];
        let x = &hidden_rates[comptime!(before(&shape, k))..hidden_rates.len()];
        dense::add_gradient::<f32>(dz, x, gradient, layer, 1usize, 0usize, 0usize);
    }
}
