//! Multilayer perceptrons over a flat parameter vector.

use std::ops::Range;

use fedrl_core::Real;
use serde::{Deserialize, Serialize};

use crate::dense::{self, Dense};

/// The nonlinearity after every layer but the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// Hyperbolic tangent.
    #[default]
    Tanh,
    /// max(0, x).
    Relu,
}

/// Where one layer's parameters lie in θ. The weight is row-major `[outputs, inputs]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Width of its input.
    pub inputs: usize,
    /// Width of its output.
    pub outputs: usize,
    /// The weight's place in θ.
    pub weight: Range<usize>,
    /// The bias's place in θ; empty where layers have none.
    pub bias: Range<usize>,
}

/// A multilayer perceptron: any list of layer widths, one nonlinearity, a linear last layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mlp {
    layers: Vec<Layer>,
    activation: Activation,
}

impl Mlp {
    /// A network of these `widths`, input first and output last.
    pub fn new(widths: &[usize], activation: Activation, biased: bool) -> Self {
        let mut offset = 0;
        let layers = widths
            .windows(2)
            .map(|pair| {
                let (inputs, outputs) = (pair[0], pair[1]);
                let weight = offset..offset + inputs * outputs;
                let bias = weight.end..weight.end + if biased { outputs } else { 0 };
                offset = bias.end;
                Layer { inputs, outputs, weight, bias }
            })
            .collect();
        Mlp { layers, activation }
    }

    /// The layers, first to last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The nonlinearity.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// How many parameters it has.
    pub fn parameter_count(&self) -> usize {
        self.layers.iter().map(|layer| layer.weight.len() + layer.bias.len()).sum()
    }

    /// Parameters of every layer but the last.
    pub fn body(&self) -> Range<usize> {
        let first = self.layers.first().map_or(0, |layer| layer.weight.start);
        let hidden = self.layers.len().saturating_sub(1);
        first..self.layers[..hidden].last().map_or(first, |layer| layer.bias.end)
    }

    /// Parameters of the last layer.
    pub fn head(&self) -> Range<usize> {
        self.layers.last().map_or(0..0, |layer| layer.weight.start..layer.bias.end)
    }

    /// The same network with its parameters in two pieces of a longer vector: from `body` on those of every layer
    /// but the last, from `head` on those of the last.
    pub fn placed(mut self, body: usize, head: usize) -> Self {
        let (old_body, old_head) = (self.body().start, self.head().start);
        let last = self.layers.len() - 1;
        for (index, layer) in self.layers.iter_mut().enumerate() {
            let (from, to) = if index < last { (old_body, body) } else { (old_head, head) };
            for range in [&mut layer.weight, &mut layer.bias] {
                *range = range.start - from + to..range.end - from + to;
            }
        }
        self
    }

    /// Its output for one input, natively. `theta` may go on after the network's parameters.
    pub fn forward<F: Real>(&self, theta: &[F], input: &[F]) -> Vec<F> {
        let mut x = input.to_vec();
        for layer in self.dense() {
            let mut y = vec![F::new(0.0); layer.outputs];
            dense::forward(theta, &x, &mut y, layer);
            x = y;
        }
        x
    }

    /// The layers as the shared functions take them.
    pub fn dense(&self) -> impl Iterator<Item = Dense> {
        let last = self.layers.len() - 1;
        self.layers.iter().enumerate().map(move |(index, layer)| Dense {
            at: layer.weight.start,
            inputs: layer.inputs,
            outputs: layer.outputs,
            biased: !layer.bias.is_empty(),
            activation: (index < last).then_some(self.activation),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forward_is_what_one_computes_by_hand() {
        // 2-2-1: hidden = relu([1 2; 3 -4] x + [0.5, 0]), out = [2 -1] hidden + 10.
        let network = Mlp::new(&[2, 2, 1], Activation::Relu, true);
        let theta = [1.0, 2.0, 3.0, -4.0, 0.5, 0.0, 2.0, -1.0, 10.0];
        assert_eq!(network.parameter_count(), theta.len());
        // x = (1, 1): hidden = (3.5, 0), out = 17. x = (2, 1): hidden = (4.5, 2), out = 17.
        assert_eq!(network.forward(&theta, &[1.0, 1.0]), [17.0]);
        assert_eq!(network.forward(&theta, &[2.0, 1.0]), [17.0]);
        let tanh = Mlp::new(&[1, 1, 1], Activation::Tanh, true);
        let out = tanh.forward(&[0.5, 0.0, 3.0, 1.0], &[1.0]);
        assert_eq!(out, [3.0 * 0.5f64.tanh() + 1.0]);
    }

    #[test]
    fn a_network_without_hidden_layers_is_linear() {
        let network = Mlp::new(&[2, 1], Activation::Tanh, true);
        assert_eq!(network.forward(&[3.0f32, 4.0, 100.0], &[1.0, 10.0]), [143.0]);
        let network = Mlp::new(&[2, 1], Activation::Tanh, false);
        assert_eq!(network.parameter_count(), 2);
        assert_eq!(network.forward(&[3.0f32, 4.0], &[1.0, 10.0]), [43.0]);
    }

    #[test]
    fn a_network_in_two_pieces_is_the_same_network() {
        let network = Mlp::new(&[3, 4, 5, 2], Activation::Tanh, true);
        let theta: Vec<f64> = (0..network.parameter_count()).map(|i| (i as f64).sin()).collect();
        assert_eq!((network.body(), network.head()), (0..41, 41..53));
        let apart = network.clone().placed(10, 60);
        assert_eq!((apart.body(), apart.head(), apart.parameter_count()), (10..51, 60..72, 53));
        let mut scattered = vec![f64::NAN; 80];
        scattered[apart.body()].copy_from_slice(&theta[network.body()]);
        scattered[apart.head()].copy_from_slice(&theta[network.head()]);
        let input = [0.3, -0.2, 0.9];
        assert_eq!(apart.forward(&scattered, &input), network.forward(&theta, &input));
        assert_eq!(apart.placed(0, 41), network);
        let linear = Mlp::new(&[3, 2], Activation::Tanh, true);
        assert_eq!((linear.body(), linear.head()), (0..0, 0..8));
    }

    #[test]
    fn layers_tile_theta_without_gaps() {
        let network = Mlp::new(&[4, 8, 8, 2], Activation::Tanh, true);
        let mut end = 0;
        for layer in network.layers() {
            assert_eq!(layer.weight.start, end);
            assert_eq!(layer.bias.start, layer.weight.end);
            end = layer.bias.end;
        }
        assert_eq!(end, 4 * 8 + 8 + 8 * 8 + 8 + 8 * 2 + 2);
    }
}
