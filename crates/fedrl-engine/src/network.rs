//! A policy's network as burn tensors, over a matrix of flat parameter vectors.

use burn::tensor::{Tensor, TensorData, activation};
use fedrl_models::{Activation, Head, Policy};

use crate::{Matrix, Number, Placement};

/// The policies of a block of replicas, sliced out of θ: `[replicas, P]`.
pub(crate) struct Network {
    /// Weights, `[replicas, inputs, outputs]`, and biases, `[replicas, 1, outputs]`, where there are any.
    layers: Vec<(Tensor<3>, Option<Tensor<3>>)>,
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
            let weight: Tensor<3> = theta.clone().slice([0..replicas, layer.weight.clone()]).reshape([
                replicas,
                layer.outputs,
                layer.inputs,
            ]);
            let bias = (!layer.bias.is_empty())
                .then(|| theta.clone().slice([0..replicas, layer.bias.clone()]).reshape([replicas, 1, layer.outputs]));
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
            x = shifted(x.matmul(weight.clone()), bias);
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

    /// d/dε log π_{θ+εv}(action | observation) at ε = 0, of every step: `[replicas, steps]`. `along`
    /// is v. Tangents are carried through the network beside its values, so that one reverse pass
    /// over the result gives Hessian-vector products.
    pub(crate) fn tangent(&self, along: &Network, observations: Tensor<3>, actions: Tensor<3>) -> Tensor<2> {
        let (outputs, tangents) = self.forward_along(along, observations);
        let per_action = match (self.head, &self.log_std, &along.log_std) {
            (Head::DiagonalGaussian { .. }, Some(log_std), Some(log_std_tangent)) => {
                let scale = log_std.clone().neg().exp();
                let z = (actions - outputs) * scale.clone();
                let z_tangent = (tangents * scale + z.clone() * log_std_tangent.clone()).neg();
                (z * z_tangent).neg() - log_std_tangent.clone()
            }
            _ => (actions - activation::softmax(outputs, 2)) * tangents,
        };
        per_action.sum_dim(2).squeeze_dim::<2>(2)
    }

    /// Network outputs and their tangents along v. The input has none.
    fn forward_along(&self, along: &Network, mut x: Tensor<3>) -> (Tensor<3>, Tensor<3>) {
        let mut tangent: Option<Tensor<3>> = None;
        let last = self.layers.len() - 1;
        for (index, ((weight, bias), (weight_v, bias_v))) in self.layers.iter().zip(&along.layers).enumerate() {
            let own = shifted(x.clone().matmul(weight_v.clone()), bias_v);
            let mut dx = match tangent {
                Some(carried) => own + carried.matmul(weight.clone()),
                None => own,
            };
            x = shifted(x.matmul(weight.clone()), bias);
            if index < last {
                match self.activation {
                    Activation::Tanh => {
                        x = x.tanh();
                        dx = dx * (x.clone().square().neg() + 1.0);
                    }
                    Activation::Relu => {
                        x = activation::relu(x);
                        dx = dx * x.clone().sign();
                    }
                }
            }
            tangent = Some(dx);
        }
        let tangent = tangent.unwrap_or_else(|| x.zeros_like());
        (x, tangent)
    }
}

/// `x` plus the bias, if there is one.
fn shifted(x: Tensor<3>, bias: &Option<Tensor<3>>) -> Tensor<3> {
    match bias {
        Some(bias) => x + bias.clone(),
        None => x,
    }
}

impl<F: Number> Placement<F> {
    /// A matrix as a tensor.
    pub(crate) fn matrix(&self, matrix: &Matrix<F>) -> Tensor<2> {
        self.tensor(matrix.as_slice().to_vec(), [matrix.rows(), matrix.columns()])
    }

    /// A tensor of these numbers and this shape.
    pub(crate) fn tensor<const D: usize>(&self, data: Vec<F>, shape: [usize; D]) -> Tensor<D> {
        Tensor::from_data(TensorData::new(data, shape), (&self.device, F::dtype()))
    }
}
