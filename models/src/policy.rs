//! A policy: a network, a head, and where their parameters lie in θ.

use std::ops::Range;

use fedrl_core::random::Key;
use fedrl_core::{Real, Space};
use serde::{Deserialize, Serialize};

use crate::{Activation, Head, Initialisation, Mlp};

/// The widest layer accepted: beyond it a typing error is likelier than an intention.
const WIDEST: usize = 65_536;

/// `[policy]` of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyConfig {
    /// Widths of the hidden layers; none makes a linear policy.
    pub hidden: Vec<usize>,
    /// Nonlinearity of the hidden layers.
    pub activation: Activation,
    /// Whether layers have biases. A policy without hidden layers and biases on one-hot states is
    /// the tabular softmax policy: θ is a logit for every action and state.
    pub bias: bool,
    /// How weights start.
    pub initialisation: Initialisation,
    /// A safetensors file to start from instead, with the names that checkpoints use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<String>,
}

impl Default for PolicyConfig {
    fn default() -> Self {
        PolicyConfig {
            hidden: vec![64, 64],
            activation: Activation::Tanh,
            bias: true,
            initialisation: Initialisation::XavierUniform,
            initial: None,
        }
    }
}

/// Why a configuration or a file is no policy for an environment.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PolicyError {
    /// A hidden layer of an impossible width.
    #[error("`hidden` is {hidden:?}: layer {layer} has width {width}, expected 1 to {WIDEST}")]
    Width {
        /// The list given.
        hidden: Vec<usize>,
        /// Which entry, from 0.
        layer: usize,
        /// Its value.
        width: usize,
    },
    /// Zeros pass no gradient through a hidden layer.
    #[error("`initialisation` is \"zeros\", expected another with hidden layers: nothing would be learned")]
    Zeros,
    /// The file is not safetensors.
    #[error("not a policy in a safetensors file: {0}")]
    Format(String),
    /// A tensor is missing.
    #[error("tensor `{name}` is missing; expected {shape:?}")]
    Missing {
        /// Its name.
        name: String,
        /// Shape wanted.
        shape: Vec<usize>,
    },
    /// A tensor does not fit this network and environment.
    #[error("tensor `{name}` is {found}, expected F32 {shape:?} for layers {layers:?}")]
    Shape {
        /// Its name.
        name: String,
        /// Type and shape found.
        found: String,
        /// Shape wanted.
        shape: Vec<usize>,
        /// The network's layer widths.
        layers: Vec<usize>,
    },
    /// A tensor that this policy does not have.
    #[error("tensor `{name}` does not belong to layers {layers:?}")]
    Unexpected {
        /// Its name.
        name: String,
        /// The network's layer widths.
        layers: Vec<usize>,
    },
}

/// One named tensor of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// `layers.0.weight`, `layers.0.bias`, …, `log_std`.
    pub name: String,
    /// Its shape; weights are `[outputs, inputs]`.
    pub shape: Vec<usize>,
    /// Its place in θ.
    pub range: Range<usize>,
}

/// A stochastic policy π(a|s): a network and a head over one flat parameter vector
/// `[network | log standard deviations]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The network from observation to distribution parameters.
    pub network: Mlp,
    /// The distribution.
    pub head: Head,
    initialisation: Initialisation,
}

impl Policy {
    /// The policy that `config` describes for these spaces: categorical for choices, diagonal
    /// Gaussian for vectors.
    ///
    /// # Errors
    /// A hidden layer of width 0, or absurdly wide.
    pub fn new(config: &PolicyConfig, observation: &Space, action: &Space) -> Result<Self, PolicyError> {
        if let Some((layer, &width)) =
            config.hidden.iter().enumerate().find(|(_, width)| !(1..=WIDEST).contains(*width))
        {
            return Err(PolicyError::Width { hidden: config.hidden.clone(), layer, width });
        }
        if config.initialisation == Initialisation::Zeros && !config.hidden.is_empty() {
            return Err(PolicyError::Zeros);
        }
        let head = match *action {
            Space::Discrete { n } => Head::Categorical { actions: n },
            Space::Box { .. } => Head::DiagonalGaussian { actions: action.width() },
        };
        let mut widths = vec![observation.width()];
        widths.extend(&config.hidden);
        widths.push(head.outputs());
        let network = Mlp::new(&widths, config.activation, config.bias);
        Ok(Policy { network, head, initialisation: config.initialisation })
    }

    /// Length P of θ.
    pub fn parameter_count(&self) -> usize {
        self.network.parameter_count() + self.head.parameter_count()
    }

    /// Where the log standard deviations lie in θ; empty for choices.
    pub fn log_std(&self) -> Range<usize> {
        self.network.parameter_count()..self.parameter_count()
    }

    /// Parameters of another `network` of the same kind, drawn as this policy's are.
    pub fn draw(&self, network: &Mlp, key: Key) -> Vec<f32> {
        self.initialisation.draw(network, key)
    }

    /// Initial parameters; log standard deviations start at 0.
    pub fn initial(&self, key: Key) -> Vec<f32> {
        let mut theta = self.draw(&self.network, key);
        theta.resize(self.parameter_count(), 0.0);
        theta
    }

    /// Width of an observation.
    pub fn inputs(&self) -> usize {
        self.network.layers()[0].inputs
    }

    /// Layer widths, input first and output last.
    pub fn widths(&self) -> Vec<usize> {
        let layers = self.network.layers();
        std::iter::once(self.inputs()).chain(layers.iter().map(|layer| layer.outputs)).collect()
    }

    /// Whether θ is a table of logits, `[actions, inputs]`: one linear layer without biases that
    /// chooses. With one-hot observations it is the tabular softmax policy.
    pub fn is_table(&self) -> bool {
        let layers = self.network.layers();
        layers.len() == 1 && layers[0].bias.is_empty() && matches!(self.head, Head::Categorical { .. })
    }

    /// log π(action | observation), natively.
    pub fn log_probability<F: Real>(&self, theta: &[F], observation: &[F], action: &[F]) -> F {
        let outputs = self.network.forward(theta, observation);
        self.head.log_probability(&outputs, &theta[self.log_std()], action)
    }

    /// The tensors of θ by name, in order.
    pub fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = Vec::new();
        for (i, layer) in self.network.layers().iter().enumerate() {
            let (name, shape) = (format!("layers.{i}.weight"), vec![layer.outputs, layer.inputs]);
            tensors.push(Tensor { name, shape, range: layer.weight.clone() });
            if !layer.bias.is_empty() {
                let (name, shape) = (format!("layers.{i}.bias"), vec![layer.outputs]);
                tensors.push(Tensor { name, shape, range: layer.bias.clone() });
            }
        }
        if self.head.parameter_count() > 0 {
            let (name, shape) = ("log_std".to_string(), vec![self.head.parameter_count()]);
            tensors.push(Tensor { name, shape, range: self.log_std() });
        }
        tensors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(n: usize) -> Space {
        Space::Box { low: vec![-1.0; n], high: vec![1.0; n] }
    }

    #[test]
    fn the_head_follows_the_action_space_and_the_tensors_tile_theta() {
        let config = PolicyConfig { hidden: vec![32, 32], ..PolicyConfig::default() };
        let policy = Policy::new(&config, &boxed(17), &boxed(6)).unwrap();
        assert_eq!(policy.head, Head::DiagonalGaussian { actions: 6 });
        assert_eq!(policy.widths(), [17, 32, 32, 6]);
        let mut end = 0;
        for tensor in policy.tensors() {
            assert_eq!(tensor.range.start, end);
            assert_eq!(tensor.shape.iter().product::<usize>(), tensor.range.len());
            end = tensor.range.end;
        }
        assert_eq!(end, policy.parameter_count());
        let theta = policy.initial(Key { low: 0, high: 0 });
        assert!(theta[policy.log_std()].iter().all(|&x| x == 0.0));

        let choice = Policy::new(&config, &boxed(4), &Space::Discrete { n: 2 }).unwrap();
        assert_eq!(choice.head, Head::Categorical { actions: 2 });
        assert_eq!(choice.log_std().len(), 0);
        assert!(!choice.is_table());

        let config = PolicyConfig { hidden: vec![], bias: false, ..config };
        let table = Policy::new(&config, &boxed(4), &Space::Discrete { n: 2 }).unwrap();
        assert!(table.is_table());
        assert_eq!(table.tensors().len(), 1);
        assert_eq!(table.parameter_count(), 8);
    }

    #[test]
    fn a_layer_without_neurons_is_refused() {
        let config = PolicyConfig { hidden: vec![8, 0], ..PolicyConfig::default() };
        let error = Policy::new(&config, &boxed(4), &Space::Discrete { n: 2 }).unwrap_err();
        assert_eq!(error.to_string(), "`hidden` is [8, 0]: layer 1 has width 0, expected 1 to 65536");
    }
}
