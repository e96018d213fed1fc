//! One dense layer: values, gradients, and both along a direction in parameter space. One source for
//! numbers, vectors and kernels.
//!
//! A layer's parameters are `outputs` rows of `inputs` weights from place `at` of θ on, then as many
//! biases if it has any. Outputs are worked on four at a time: what an input is multiplied with is
//! then loaded once for four sums.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]
#![allow(clippy::manual_memcpy, clippy::needless_range_loop, reason = "kernels go element by element")]

use cubecl::prelude::*;
use fedrl_core::Wide;

use crate::Activation;

/// Shape of a layer and place of its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dense {
    /// Place of the first weight in θ.
    pub at: usize,
    /// Width of the input.
    pub inputs: usize,
    /// Width of the output.
    pub outputs: usize,
    /// Whether biases follow the weights.
    pub biased: bool,
    /// What is applied to the sums; nothing in the last layer.
    pub activation: Option<Activation>,
}

impl Dense {
    /// Place of the first bias.
    #[inline(always)]
    pub fn bias(&self) -> usize {
        self.at + self.inputs * self.outputs
    }
}

/// Outputs that are worked on at a time.
const TOGETHER: usize = 4;

/// y = f(W x + b).
#[cube]
#[inline(always)]
pub fn forward<F: Wide>(theta: &[F], x: &[F], y: &mut [F], #[comptime] layer: Dense) {
    sums::<F>(theta, x, y, layer);
    let y = &mut y[0..layer.outputs];
    match comptime!(layer.activation) {
        Some(Activation::Tanh) => F::hyperbolic_tangents(y),
        Some(Activation::Relu) => {
            for j in 0..layer.outputs {
                y[j] = F::greater(y[j], F::constant(0.0));
            }
        }
        None => {}
    }
}

/// y = W x + b.
#[cube]
#[inline(always)]
fn sums<F: Wide>(theta: &[F], x: &[F], y: &mut [F], #[comptime] layer: Dense) {
    let y = &mut y[0..layer.outputs];
    if comptime!(layer.biased) {
        let bias = &theta[comptime!(layer.bias())..comptime!(layer.bias() + layer.outputs)];
        for j in 0..layer.outputs {
            y[j] = bias[j];
        }
    } else {
        for j in 0..layer.outputs {
            y[j] = F::constant(0.0);
        }
    }
    add_product::<F>(theta, x, y, layer);
}

/// y += W x.
#[cube]
#[inline(always)]
fn add_product<F: Wide>(theta: &[F], x: &[F], y: &mut [F], #[comptime] layer: Dense) {
    let width = comptime!(layer.inputs);
    let x = &x[0..width];
    let y = &mut y[0..layer.outputs];
    let weights = &theta[layer.at..comptime!(layer.at + layer.inputs * layer.outputs)];
    for block in 0..comptime!(layer.outputs / TOGETHER) {
        let j = block * TOGETHER;
        let row_0 = &weights[j * width..(j + 1) * width];
        let row_1 = &weights[(j + 1) * width..(j + 2) * width];
        let row_2 = &weights[(j + 2) * width..(j + 3) * width];
        let row_3 = &weights[(j + 3) * width..(j + 4) * width];
        let mut sum_0 = y[j];
        let mut sum_1 = y[j + 1];
        let mut sum_2 = y[j + 2];
        let mut sum_3 = y[j + 3];
        for i in 0..width {
            let input = x[i];
            sum_0 = F::multiply_add(row_0[i], input, sum_0);
            sum_1 = F::multiply_add(row_1[i], input, sum_1);
            sum_2 = F::multiply_add(row_2[i], input, sum_2);
            sum_3 = F::multiply_add(row_3[i], input, sum_3);
        }
        y[j] = sum_0;
        y[j + 1] = sum_1;
        y[j + 2] = sum_2;
        y[j + 3] = sum_3;
    }
    for j in comptime!(layer.outputs / TOGETHER * TOGETHER)..layer.outputs {
        let row = &weights[j * width..(j + 1) * width];
        let mut sum = y[j];
        for i in 0..width {
            sum = F::multiply_add(row[i], x[i], sum);
        }
        y[j] = sum;
    }
}

/// f′ where f is `y`.
#[cube]
#[inline(always)]
fn slope<F: Wide>(y: F, #[comptime] activation: Option<Activation>) -> F {
    match comptime!(activation) {
        Some(Activation::Tanh) => tanh_slope::<F>(y),
        Some(Activation::Relu) => relu_slope::<F>(y),
        None => F::constant(1.0),
    }
}

#[cube]
#[inline(always)]
fn tanh_slope<F: Wide>(y: F) -> F {
    F::constant(1.0) - y * y
}

#[cube]
#[inline(always)]
fn relu_slope<F: Wide>(y: F) -> F {
    F::choose_less(F::constant(0.0), y, F::constant(1.0), F::constant(0.0))
}

/// From dL/dy, which becomes dL/dz of the sums z on the way, dL/dx where the input is no observation.
#[cube]
#[inline(always)]
pub fn backward<F: Wide>(
    theta: &[F],
    y: &[F],
    dy: &mut [F],
    dx: &mut [F],
    #[comptime] layer: Dense,
    #[comptime] inward: bool,
) {
    let dz = &mut dy[0..layer.outputs];
    match comptime!(layer.activation) {
        Some(Activation::Tanh) => {
            let y = &y[0..layer.outputs];
            for j in 0..layer.outputs {
                dz[j] = dz[j] * tanh_slope::<F>(y[j]);
            }
        }
        Some(Activation::Relu) => {
            let y = &y[0..layer.outputs];
            for j in 0..layer.outputs {
                dz[j] = dz[j] * relu_slope::<F>(y[j]);
            }
        }
        None => {}
    }
    if comptime!(inward) {
        for i in 0..layer.inputs {
            dx[i] = F::constant(0.0);
        }
        add_transposed::<F>(theta, &*dz, dx, layer);
    }
}

/// Adds the gradient of some steps, Σ_t dz_t (x_tᵀ, 1), to `gradient`, which lies like θ. dz and x of
/// successive steps are so far apart as their strides say. Products of eight pairs are summed in
/// registers before they are written down.
#[cube]
#[inline(always)]
pub fn add_gradient<F: Wide>(
    dz: &[F],
    x: &[F],
    gradient: &mut [F],
    #[comptime] layer: Dense,
    steps: usize,
    dz_stride: usize,
    x_stride: usize,
) {
    let width = comptime!(layer.inputs);
    if comptime!(layer.biased) {
        let bias = &mut gradient[comptime!(layer.bias())..comptime!(layer.bias() + layer.outputs)];
        for block in 0..comptime!(layer.outputs / TOGETHER) {
            let j = block * TOGETHER;
            let mut sum_0 = bias[j];
            let mut sum_1 = bias[j + 1];
            let mut sum_2 = bias[j + 2];
            let mut sum_3 = bias[j + 3];
            for t in 0..steps {
                let dz = &dz[t * dz_stride + j..t * dz_stride + j + TOGETHER];
                sum_0 += dz[0];
                sum_1 += dz[1];
                sum_2 += dz[2];
                sum_3 += dz[3];
            }
            bias[j] = sum_0;
            bias[j + 1] = sum_1;
            bias[j + 2] = sum_2;
            bias[j + 3] = sum_3;
        }
        for j in comptime!(layer.outputs / TOGETHER * TOGETHER)..layer.outputs {
            for t in 0..steps {
                bias[j] += dz[t * dz_stride + j];
            }
        }
    }
    let rows = &mut gradient[layer.at..comptime!(layer.at + layer.inputs * layer.outputs)];
    for block in 0..comptime!(layer.outputs / TOGETHER) {
        let j = block * TOGETHER;
        let rows = &mut rows[j * width..(j + TOGETHER) * width];
        for pair in 0..comptime!(layer.inputs / 2) {
            let i = pair * 2;
            let mut sum_00 = rows[i];
            let mut sum_01 = rows[i + 1];
            let mut sum_10 = rows[width + i];
            let mut sum_11 = rows[width + i + 1];
            let mut sum_20 = rows[2 * width + i];
            let mut sum_21 = rows[2 * width + i + 1];
            let mut sum_30 = rows[3 * width + i];
            let mut sum_31 = rows[3 * width + i + 1];
            for t in 0..steps {
                let dz = &dz[t * dz_stride + j..t * dz_stride + j + TOGETHER];
                let x = &x[t * x_stride + i..t * x_stride + i + 2];
                sum_00 = F::multiply_add(dz[0], x[0], sum_00);
                sum_01 = F::multiply_add(dz[0], x[1], sum_01);
                sum_10 = F::multiply_add(dz[1], x[0], sum_10);
                sum_11 = F::multiply_add(dz[1], x[1], sum_11);
                sum_20 = F::multiply_add(dz[2], x[0], sum_20);
                sum_21 = F::multiply_add(dz[2], x[1], sum_21);
                sum_30 = F::multiply_add(dz[3], x[0], sum_30);
                sum_31 = F::multiply_add(dz[3], x[1], sum_31);
            }
            rows[i] = sum_00;
            rows[i + 1] = sum_01;
            rows[width + i] = sum_10;
            rows[width + i + 1] = sum_11;
            rows[2 * width + i] = sum_20;
            rows[2 * width + i + 1] = sum_21;
            rows[3 * width + i] = sum_30;
            rows[3 * width + i + 1] = sum_31;
        }
        for row in 0..TOGETHER {
            for i in comptime!(layer.inputs / 2 * 2)..layer.inputs {
                rows[row * width + i] =
                    product::<F>(dz, x, rows[row * width + i], j + row, i, steps, dz_stride, x_stride);
            }
        }
    }
    for j in comptime!(layer.outputs / TOGETHER * TOGETHER)..layer.outputs {
        let row = &mut rows[j * width..(j + 1) * width];
        for block in 0..comptime!(layer.inputs / TOGETHER) {
            let i = block * TOGETHER;
            let mut sum_0 = row[i];
            let mut sum_1 = row[i + 1];
            let mut sum_2 = row[i + 2];
            let mut sum_3 = row[i + 3];
            for t in 0..steps {
                let factor = dz[t * dz_stride + j];
                let x = &x[t * x_stride + i..t * x_stride + i + TOGETHER];
                sum_0 = F::multiply_add(factor, x[0], sum_0);
                sum_1 = F::multiply_add(factor, x[1], sum_1);
                sum_2 = F::multiply_add(factor, x[2], sum_2);
                sum_3 = F::multiply_add(factor, x[3], sum_3);
            }
            row[i] = sum_0;
            row[i + 1] = sum_1;
            row[i + 2] = sum_2;
            row[i + 3] = sum_3;
        }
        for i in comptime!(layer.inputs / TOGETHER * TOGETHER)..layer.inputs {
            row[i] = product::<F>(dz, x, row[i], j, i, steps, dz_stride, x_stride);
        }
    }
}

/// `start` + Σ_t dz_t\[j\] x_t\[i\].
#[cube]
#[inline(always)]
fn product<F: Wide>(
    dz: &[F],
    x: &[F],
    start: F,
    j: usize,
    i: usize,
    steps: usize,
    dz_stride: usize,
    x_stride: usize,
) -> F {
    let mut sum = start;
    for t in 0..steps {
        sum = F::multiply_add(dz[t * dz_stride + j], x[t * x_stride + i], sum);
    }
    sum
}

/// dx += Wᵀ dz.
#[cube]
#[inline(always)]
fn add_transposed<F: Wide>(theta: &[F], dz: &[F], dx: &mut [F], #[comptime] layer: Dense) {
    let width = comptime!(layer.inputs);
    let dx = &mut dx[0..width];
    let weights = &theta[layer.at..comptime!(layer.at + layer.inputs * layer.outputs)];
    for block in 0..comptime!(layer.outputs / TOGETHER) {
        let j = block * TOGETHER;
        let row_0 = &weights[j * width..(j + 1) * width];
        let row_1 = &weights[(j + 1) * width..(j + 2) * width];
        let row_2 = &weights[(j + 2) * width..(j + 3) * width];
        let row_3 = &weights[(j + 3) * width..(j + 4) * width];
        let dz_0 = dz[j];
        let dz_1 = dz[j + 1];
        let dz_2 = dz[j + 2];
        let dz_3 = dz[j + 3];
        for i in 0..width {
            let mut sum = F::multiply_add(row_0[i], dz_0, dx[i]);
            sum = F::multiply_add(row_1[i], dz_1, sum);
            sum = F::multiply_add(row_2[i], dz_2, sum);
            dx[i] = F::multiply_add(row_3[i], dz_3, sum);
        }
    }
    for j in comptime!(layer.outputs / TOGETHER * TOGETHER)..layer.outputs {
        let row = &weights[j * width..(j + 1) * width];
        let factor = dz[j];
        for i in 0..width {
            dx[i] = F::multiply_add(row[i], factor, dx[i]);
        }
    }
}

/// dẏ of the values' rates of change along v: with z = W x + b and ż = V x + c + W ẋ, where θ + εv
/// holds W + εV and b + εc, ẏ = f′ ż. `y` are the values that [`forward()`] gave. An observation does
/// not change: `moving` says whether x does. ż is kept for [`backward_along()`].
#[cube]
#[inline(always)]
pub fn forward_along<F: Wide>(
    theta: &[F],
    along: &[F],
    x: &[F],
    x_rate: &[F],
    y: &[F],
    sum_rate: &mut [F],
    y_rate: &mut [F],
    #[comptime] layer: Dense,
    #[comptime] moving: bool,
) {
    sums::<F>(along, x, sum_rate, layer);
    if comptime!(moving) {
        add_product::<F>(theta, x_rate, sum_rate, layer);
    }
    for j in 0..layer.outputs {
        y_rate[j] = sum_rate[j] * slope::<F>(y[j], layer.activation);
    }
}

/// From dL/dy and dL/dẏ, which become dL/dz and dL/dż on the way, dL/dx and dL/dẋ where the input is no
/// observation. The gradient with respect to θ, v being constant, is that of [`add_gradient()`] with dz and
/// x, and with dż and ẋ, which has no biases.
#[cube]
#[inline(always)]
pub fn backward_along<F: Wide>(
    theta: &[F],
    along: &[F],
    y: &[F],
    sum_rate: &[F],
    dy: &mut [F],
    dy_rate: &mut [F],
    dx: &mut [F],
    dx_rate: &mut [F],
    #[comptime] layer: Dense,
    #[comptime] inward: bool,
) {
    for j in 0..layer.outputs {
        let slope = slope::<F>(y[j], layer.activation);
        dy[j] = (dy[j] + dy_rate[j] * bend::<F>(y[j], layer.activation) * sum_rate[j]) * slope;
        dy_rate[j] = dy_rate[j] * slope;
    }
    if comptime!(inward) {
        for i in 0..layer.inputs {
            dx[i] = F::constant(0.0);
            dx_rate[i] = F::constant(0.0);
        }
        add_transposed::<F>(theta, &*dy, dx, layer);
        add_transposed::<F>(along, &*dy_rate, dx, layer);
        add_transposed::<F>(theta, &*dy_rate, dx_rate, layer);
    }
}

/// d f′ / d f where f is `y`.
#[cube]
#[inline(always)]
fn bend<F: Wide>(y: F, #[comptime] activation: Option<Activation>) -> F {
    match comptime!(activation) {
        Some(Activation::Tanh) => F::constant(-2.0) * y,
        _ => F::constant(0.0),
    }
}
