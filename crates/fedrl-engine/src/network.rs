//! A policy's network as burn tensors, over a matrix of flat parameter vectors.

use burn::tensor::{Tensor, TensorData, activation};
use fedrl_models::{Activation, Head, Policy};

use crate::Placement;

/// The policies of a block of replicas, sliced out of θ: `[replicas, P]`.
pub(crate) struct Network {
    layers: Vec<(Tensor<3>, Tensor<3>)>,
    activation: Activation,
    head: Head,
    /// `[replicas, 1, actions]` for Gaussian heads.
    log_std: Option<Tensor<3>>,
}

impl Network {
    /// Slices the layers out of `theta`; gradients flow back into it.
    pub(crate) fn new(policy: &Policy, theta: Tensor<2>) -> Self {
        let [replicas, _] = theta.dims();
        let layers = policy.network.layers().iter().map(|layer| {
            let weight: Tensor<3> =
                theta.clone().slice([0..replicas, layer.weight.clone()]).reshape([replicas, layer.outputs, layer.inputs]);
            let bias = theta.clone().slice([0..replicas, layer.bias.clone()]).reshape([replicas, 1, layer.outputs]);
            (weight.swap_dims(1, 2), bias)
        });
        let log_std = policy.log_std();
        Network {
            layers: layers.collect(),
            activation: policy.network.activation(),
            head: policy.head,
            log_std: (!log_std.is_empty()).then(|| {
                let actions = log_std.len();
                theta.clone().slice([0..replicas, log_std]).reshape([replicas, 1, actions])
            }),
        }
    }

    /// Network outputs for `x`: `[replicas, steps, inputs]` → `[replicas, steps, outputs]`.
    pub(crate) fn forward(&self, mut x: Tensor<3>) -> Tensor<3> {
        let last = self.layers.len() - 1;
        for (index, (weight, bias)) in self.layers.iter().enumerate() {
            x = x.matmul(weight.clone()) + bias.clone();
            if index < last {
                x = match self.activation {
                    Activation::Tanh => x.tanh(),
                    Activation::Relu => activation::relu(x),
                };
            }
        }
        x
    }

    /// log π(action | observation) of every step: `[replicas, steps]`. `actions` are one-hot for
    /// choices, `[replicas, steps, actions]` either way.
    pub(crate) fn log_probability(&self, observations: Tensor<3>, actions: Tensor<3>) -> Tensor<2> {
        let outputs = self.forward(observations);
        let per_action = match (self.head, &self.log_std) {
            (Head::DiagonalGaussian { .. }, Some(log_std)) => {
                let z = (actions - outputs) * log_std.clone().neg().exp();
                z.square().mul_scalar(-0.5) - log_std.clone() - 0.5 * std::f64::consts::TAU.ln()
            }
            _ => activation::log_softmax(outputs, 2) * actions,
        };
        per_action.sum_dim(2).squeeze_dim::<2>(2)
    }
}

impl Placement {
    /// A tensor of these numbers and this shape.
    pub(crate) fn tensor<const D: usize>(&self, data: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
        Tensor::from_data(TensorData::new(data, shape), (&self.device, self.dtype))
    }
}
