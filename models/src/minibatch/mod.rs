//! A network's passes over many inputs at once, natively in f32.
//!
//! Values are kept `[units, samples]`, the samples side by side in vectors: with parameters in the
//! layout of [`Mlp`] none of the three products of a layer, W x, Wᵀ dz and dz xᵀ, needs its weights
//! rearranged. One thread, and the same numbers on every processor.

mod product;
mod single;
#[cfg(test)]
mod tests;

use std::ops::Range;

use fedrl_core::wide::{Lanes, Machine, Task, run_on_widest};
use fedrl_core::{LANES, Wide};

use crate::{Activation, Layer, Mlp};
use product::{Left, Pack, Right, Sink, product};
pub use single::Single;

/// A network and the memory for its passes over a batch of inputs.
#[derive(Debug, Clone)]
pub struct Minibatch {
    network: Mlp,
    samples: usize,
    /// Packs in a row of samples.
    width: usize,
    /// Inputs of every layer, then the outputs: `[units, samples]`.
    values: Vec<Vec<Pack>>,
    /// dL/dy of every layer, dL/dz on the way back.
    slopes: Vec<Vec<Pack>>,
    /// dL/dx of the inputs.
    input_slopes: Vec<Pack>,
    /// A layer's inputs turned round, `[samples, units]`.
    turned: Vec<Pack>,
}

impl Minibatch {
    /// For batches of so many `samples`.
    pub fn new(network: &Mlp, samples: usize) -> Self {
        let width = samples.div_ceil(LANES);
        let layers = network.layers();
        let rows = |units: usize| vec![[0.0; LANES]; units * width];
        let inputs = layers.iter().map(|layer| layer.inputs);
        let outputs = layers.iter().map(|layer| layer.outputs);
        let widest = inputs.clone().max().unwrap_or(0).div_ceil(LANES);
        Minibatch {
            samples,
            width,
            values: inputs.take(1).chain(outputs.clone()).map(rows).collect(),
            slopes: outputs.map(rows).collect(),
            input_slopes: rows(layers[0].inputs),
            turned: vec![[0.0; LANES]; width * LANES * widest],
            network: network.clone(),
        }
    }

    /// Sets the input of one sample.
    pub fn set_input(&mut self, sample: usize, input: impl IntoIterator<Item = f32>) {
        let (pack, lane) = (sample / LANES, sample % LANES);
        let rows = self.values[0].chunks_exact_mut(self.width);
        rows.zip(input).for_each(|(row, x)| row[pack][lane] = x);
    }

    /// One component of the input for every sample.
    pub fn input_mut(&mut self, unit: usize) -> &mut [f32] {
        &mut row_mut(&mut self.values[0], unit, self.width)[..self.samples]
    }

    /// One output for every sample, after [`Minibatch::forward`].
    pub fn output(&self, unit: usize) -> &[f32] {
        let outputs = &self.values[self.values.len() - 1];
        &outputs[unit * self.width..][..self.width].as_flattened()[..self.samples]
    }

    /// dL/dy of one output for every sample, to be set before [`Minibatch::backward`].
    pub fn slope_mut(&mut self, unit: usize) -> &mut [f32] {
        let last = self.slopes.len() - 1;
        &mut row_mut(&mut self.slopes[last], unit, self.width)[..self.samples]
    }

    /// The outputs under `theta`, which may go on after the network's parameters.
    pub fn forward(&mut self, theta: &[f32]) {
        run_on_widest(Forward { batch: self, theta });
    }

    /// dL/dθ of the `wanted` layers, from the values of the latest [`Minibatch::forward`] under the same
    /// `theta`, in their places of `gradient`, whose other places are left alone. L sums over samples.
    pub fn backward(&mut self, theta: &[f32], wanted: Range<usize>, gradient: &mut [f32]) {
        run_on_widest(Backward { batch: self, theta, wanted, gradient });
    }

    /// dL/dx of the inputs, from the values of the latest [`Minibatch::forward`] under the same `theta`: for
    /// [`Minibatch::input_slope`]. No gradient of parameters is taken.
    pub fn backward_to_inputs(&mut self, theta: &[f32]) {
        run_on_widest(ToInputs { batch: self, theta });
    }

    /// dL/dx of one component of the input for every sample, after [`Minibatch::backward_to_inputs`].
    pub fn input_slope(&self, unit: usize) -> &[f32] {
        &self.input_slopes[unit * self.width..][..self.width].as_flattened()[..self.samples]
    }
}

fn row_mut(packs: &mut [Pack], row: usize, width: usize) -> &mut [f32] {
    packs[row * width..][..width].as_flattened_mut()
}

struct Forward<'a> {
    batch: &'a mut Minibatch,
    theta: &'a [f32],
}

impl Task for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        let Minibatch { network, width, values, .. } = self.batch;
        let (width, last) = (*width, network.layers().len() - 1);
        for (l, layer) in network.layers().iter().enumerate() {
            let activation = (l < last).then_some(network.activation());
            let (before, after) = values.split_at_mut(l + 1);
            let inputs = Right { packs: &before[l], width };
            layer_forward::<M>(layer, self.theta, inputs, activation, &mut after[0]);
        }
    }
}

/// y = f(W x + b).
#[inline(always)]
fn layer_forward<M: Machine>(
    layer: &Layer,
    theta: &[f32],
    inputs: Right,
    activation: Option<Activation>,
    outputs: &mut [Pack],
) {
    let bias = &theta[layer.bias.clone()];
    product::<M>(weights(layer, theta), inputs, Values { bias, activation, width: inputs.width, outputs });
}

/// Sums becoming the values of a layer.
struct Values<'a> {
    bias: &'a [f32],
    activation: Option<Activation>,
    width: usize,
    outputs: &'a mut [Pack],
}

impl<M: Machine> Sink<M> for Values<'_> {
    #[inline(always)]
    fn start(&self, unit: usize) -> f32 {
        if self.bias.is_empty() { 0.0 } else { self.bias[unit] }
    }

    #[inline(always)]
    fn store(&mut self, unit: usize, pack: usize, sums: &[Lanes<M>]) {
        let outputs = &mut self.outputs[unit * self.width + pack..][..sums.len()];
        for (y, &z) in outputs.iter_mut().zip(sums) {
            let value = match self.activation {
                Some(Activation::Relu) => Lanes::greater(z, Lanes::constant(0.0)),
                Some(Activation::Tanh) => Lanes::hyperbolic_tangent(z),
                None => z,
            };
            *y = value.to_array();
        }
    }
}

/// W, `[outputs, inputs]`.
fn weights<'a>(layer: &Layer, theta: &'a [f32]) -> Left<'a> {
    let numbers = &theta[layer.weight.clone()];
    Left { numbers, rows: layer.outputs, columns: layer.inputs, row: layer.inputs, column: 1 }
}

struct Backward<'a> {
    batch: &'a mut Minibatch,
    theta: &'a [f32],
    wanted: Range<usize>,
    gradient: &'a mut [f32],
}

impl Task for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        let Minibatch { network, width, values, slopes, turned, .. } = self.batch;
        let (width, layers) = (*width, network.layers());
        for l in (self.wanted.start..layers.len()).rev() {
            let layer = &layers[l];
            if self.wanted.contains(&l) {
                turn(&values[l], layer.inputs, width, turned);
                weight_gradient::<M>(layer, &slopes[l], width, turned, self.gradient);
            }
            if l > self.wanted.start {
                let (before, after) = slopes.split_at_mut(l);
                let outward = Right { packs: &after[0], width };
                let bent = Some(network.activation());
                layer_backward::<M>(layer, self.theta, outward, &values[l], bent, &mut before[l - 1]);
            }
        }
    }
}

struct ToInputs<'a> {
    batch: &'a mut Minibatch,
    theta: &'a [f32],
}

impl Task for ToInputs<'_> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        let Minibatch { network, width, values, slopes, input_slopes, .. } = self.batch;
        let width = *width;
        for (l, layer) in network.layers().iter().enumerate().rev() {
            let (before, after) = slopes.split_at_mut(l);
            let outward = Right { packs: &after[0], width };
            let (bent, inward) = match before.last_mut() {
                Some(inward) => (Some(network.activation()), inward),
                None => (None, &mut *input_slopes),
            };
            layer_backward::<M>(layer, self.theta, outward, &values[l], bent, inward);
        }
    }
}

/// dz of the layer before: (Wᵀ dz) f′, f′ from the values that it gave; of the inputs, which nothing bent, Wᵀ dz.
#[inline(always)]
fn layer_backward<M: Machine>(
    layer: &Layer,
    theta: &[f32],
    slopes: Right,
    values: &[Pack],
    activation: Option<Activation>,
    inward: &mut [Pack],
) {
    let Left { numbers, rows, columns, .. } = weights(layer, theta);
    let transposed = Left { numbers, rows: columns, columns: rows, row: 1, column: columns };
    product::<M>(transposed, slopes, Slopes { activation, width: slopes.width, values, inward });
}

/// Sums becoming the slopes before a nonlinearity.
struct Slopes<'a> {
    activation: Option<Activation>,
    width: usize,
    values: &'a [Pack],
    inward: &'a mut [Pack],
}

impl<M: Machine> Sink<M> for Slopes<'_> {
    #[inline(always)]
    fn start(&self, _unit: usize) -> f32 {
        0.0
    }

    #[inline(always)]
    fn store(&mut self, unit: usize, pack: usize, sums: &[Lanes<M>]) {
        let places = unit * self.width + pack..unit * self.width + pack + sums.len();
        let values = &self.values[places.clone()];
        for ((dz, y), &dy) in self.inward[places].iter_mut().zip(values).zip(sums) {
            let (y, zero) = (Lanes::from_array(*y), Lanes::constant(0.0));
            let slope = match self.activation {
                Some(Activation::Relu) => Lanes::choose_less(zero, y, dy, zero),
                Some(Activation::Tanh) => dy * (Lanes::constant(1.0) - y * y),
                None => dy,
            };
            *dz = slope.to_array();
        }
    }
}

/// dL/dW = dz xᵀ and dL/db = the sum of dz over samples, into their places.
#[inline(always)]
fn weight_gradient<M: Machine>(layer: &Layer, slopes: &[Pack], width: usize, turned: &[Pack], gradient: &mut [f32]) {
    let samples = width * LANES;
    let left = Left { numbers: slopes.as_flattened(), rows: layer.outputs, columns: samples, row: samples, column: 1 };
    let inputs = Right { packs: turned, width: layer.inputs.div_ceil(LANES) };
    let weights = &mut gradient[layer.weight.clone()];
    product::<M>(left, inputs, Weights { inputs: layer.inputs, weights });

    for (unit, bias) in gradient[layer.bias.clone()].iter_mut().enumerate() {
        let mut sum = Lanes::<M>::default();
        for pack in &slopes[unit * width..][..width] {
            sum += Lanes::from_array(*pack);
        }
        *bias = total(sum.to_array());
    }
}

/// Sums becoming the gradient of a layer's weights.
struct Weights<'a> {
    inputs: usize,
    weights: &'a mut [f32],
}

impl<M: Machine> Sink<M> for Weights<'_> {
    #[inline(always)]
    fn start(&self, _unit: usize) -> f32 {
        0.0
    }

    #[inline(always)]
    fn store(&mut self, unit: usize, pack: usize, sums: &[Lanes<M>]) {
        let row = &mut self.weights[unit * self.inputs..][..self.inputs];
        for (numbers, sum) in row[pack * LANES..].chunks_mut(LANES).zip(sums) {
            let sum = sum.to_array();
            if numbers.len() == LANES { numbers.copy_from_slice(&sum) } else { copy_beginning(numbers, &sum) }
        }
    }
}

#[inline(always)]
fn copy_beginning(to: &mut [f32], from: &Pack) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

/// The sum of sixteen numbers, by halves.
#[inline(always)]
fn total(mut sums: Pack) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] += sums[i + half];
        }
        half /= 2;
    }
    sums[0]
}

/// `[units, samples]` as `[samples, units]`, rows of units filled up to whole packs with zeros.
#[inline(always)]
fn turn(values: &[Pack], units: usize, width: usize, turned: &mut [Pack]) {
    let row = units.div_ceil(LANES);
    for block in 0..row {
        let height = LANES.min(units - block * LANES);
        for pack in 0..width {
            let mut square = [[0.0; LANES]; LANES];
            for (unit, line) in square.iter_mut().enumerate().take(height) {
                *line = values[(block * LANES + unit) * width + pack];
            }
            for sample in 0..LANES {
                let out = &mut turned[(pack * LANES + sample) * row + block];
                for unit in 0..LANES {
                    out[unit] = square[unit][sample];
                }
            }
        }
    }
}
