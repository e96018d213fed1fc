//! A network's outputs for one input.

use fedrl_core::wide::{Lanes, Machine, Task, run_on_widest};
use fedrl_core::{LANES, Wide};

use super::total;
use crate::{Activation, Layer, Mlp};

/// A network and the memory for its outputs.
#[derive(Debug, Clone)]
pub struct Single {
    network: Mlp,
    inputs: Vec<f32>,
    outputs: Vec<f32>,
}

impl Single {
    /// For this network.
    pub fn new(network: &Mlp) -> Self {
        let widest = network.layers().iter().map(|layer| layer.inputs.max(layer.outputs)).max().unwrap_or(0);
        Single { network: network.clone(), inputs: vec![0.0; widest], outputs: vec![0.0; widest] }
    }

    /// The outputs for the input made of these components, under `theta`. Sums are added in another
    /// order than a [`Minibatch`](super::Minibatch)'s.
    pub fn forward(&mut self, theta: &[f32], input: impl IntoIterator<Item = f32>) -> &[f32] {
        self.inputs.iter_mut().zip(input).for_each(|(to, from)| *to = from);
        run_on_widest(Forward { single: self, theta });
        let outputs = self.network.layers().last().map_or(0, |layer| layer.outputs);
        &self.inputs[..outputs]
    }
}

struct Forward<'a> {
    single: &'a mut Single,
    theta: &'a [f32],
}

impl Task for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        let Single { network, inputs, outputs } = self.single;
        let last = network.layers().len() - 1;
        for (l, layer) in network.layers().iter().enumerate() {
            layer_forward::<M>(layer, self.theta, inputs, outputs);
            if l < last {
                bend::<M>(&mut outputs[..layer.outputs], network.activation());
            }
            std::mem::swap(inputs, outputs);
        }
    }
}

/// W x + b.
#[inline(always)]
fn layer_forward<M: Machine>(layer: &Layer, theta: &[f32], inputs: &[f32], outputs: &mut [f32]) {
    let (weights, bias) = (&theta[layer.weight.clone()], &theta[layer.bias.clone()]);
    let (packs, rest) = inputs[..layer.inputs].as_chunks::<LANES>();
    for (unit, y) in outputs[..layer.outputs].iter_mut().enumerate() {
        let (row, row_rest) = weights[unit * layer.inputs..][..layer.inputs].as_chunks::<LANES>();
        let mut sums = Lanes::<M>::default();
        for (w, x) in row.iter().zip(packs) {
            sums = Lanes::multiply_add(Lanes::from_array(*w), Lanes::from_array(*x), sums);
        }
        let tail: f32 = row_rest.iter().zip(rest).map(|(w, x)| w * x).sum();
        *y = total(sums.to_array()) + tail + bias.get(unit).copied().unwrap_or(0.0);
    }
}

#[inline(always)]
fn bend<M: Machine>(values: &mut [f32], activation: Activation) {
    match activation {
        Activation::Relu => values.iter_mut().for_each(|x| *x = x.max(0.0)),
        Activation::Tanh => {
            for pack in values.chunks_mut(LANES) {
                let mut x = [0.0; LANES];
                x[..pack.len()].copy_from_slice(pack);
                let y = Lanes::<M>::hyperbolic_tangent(Lanes::from_array(x)).to_array();
                pack.copy_from_slice(&y[..pack.len()]);
            }
        }
    }
}
