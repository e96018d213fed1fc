//! A Q-network as columns of an agent's parameters.
//!
//! An agent's columns are `[body | head | embedding]`: every layer but the last, the last layer, and
//! for PerDQNAvg a few numbers that join what the agent observes. Shared columns come first.

use std::ops::Range;

use fedrl_core::random::Key;
use fedrl_models::{Initialisation, Mlp, Policy};
use rand::RngExt;

use super::strategy::Strategy;
use crate::value::method::Shares;

/// A Q-network: Q(s, a) is output a for the input (s, e_i).
#[derive(Debug, Clone)]
pub struct QNetwork {
    /// From what an agent sees, its embedding included, to action values.
    pub network: Mlp,
    /// Numbers in an embedding; none but for PerDQNAvg.
    pub embedding: usize,
    /// The policy that it stands for: greedy in the same action values.
    policy: Mlp,
    shared: usize,
}

impl QNetwork {
    /// The network that `strategy` trains for policies of the form of `policy`, among so many `agents`.
    pub fn new(policy: &Policy, strategy: Strategy, agents: usize) -> Self {
        // ⌈log₂ N⌉ numbers can tell N agents apart (Jin et al. 2022, §5).
        let embedding = if strategy.embeds { agents.next_power_of_two().ilog2() as usize } else { 0 };
        let mut widths = policy.widths();
        widths[0] += embedding;
        let biased = policy.network.layers().iter().any(|layer| !layer.bias.is_empty());
        let network = Mlp::new(&widths, policy.network.activation(), biased);
        let mut this = QNetwork { network, embedding, policy: policy.network.clone(), shared: 0 };
        this.shared = match strategy.shares {
            Shares::Nothing => 0,
            Shares::Representation => this.body().end,
            Shares::Network => this.network.parameter_count(),
        };
        this
    }

    /// Columns in all.
    pub fn columns(&self) -> usize {
        self.network.parameter_count() + self.embedding
    }

    /// How many columns, from the first, are shared.
    pub fn shared(&self) -> usize {
        self.shared
    }

    /// Columns of the representation.
    pub fn body(&self) -> Range<usize> {
        self.network.body()
    }

    /// Columns of the last layer.
    pub fn head(&self) -> Range<usize> {
        self.network.head()
    }

    /// Columns of the embedding.
    pub fn embedded(&self) -> Range<usize> {
        self.network.parameter_count()..self.columns()
    }

    /// How many numbers the agent sees.
    pub fn observation(&self) -> usize {
        self.policy.layers()[0].inputs
    }

    /// How many actions there are.
    pub fn actions(&self) -> usize {
        self.policy.layers().last().map_or(0, |layer| layer.outputs)
    }

    /// An agent's columns to begin with, from initial parameters `theta` of the policy. What an
    /// embedding is multiplied with comes from `network`, the embedding itself from `own`.
    pub(super) fn initial(&self, theta: &[f32], network: Key, own: Key) -> Vec<f32> {
        if self.embedding == 0 {
            return theta.to_vec();
        }
        let mut columns = Initialisation::UniformFanIn.draw(&self.network, network);
        let mut rng = own.rng();
        columns.extend((0..self.embedding).map(|_| 2.0 * rng.random::<f32>() - 1.0));
        for (wide, narrow) in self.network.layers().iter().zip(self.policy.layers()) {
            for unit in 0..wide.outputs {
                let (to, from) = (wide.weight.start + unit * wide.inputs, narrow.weight.start + unit * narrow.inputs);
                columns[to..to + narrow.inputs].copy_from_slice(&theta[from..from + narrow.inputs]);
            }
            columns[wide.bias.clone()].copy_from_slice(&theta[narrow.bias.clone()]);
        }
        columns
    }

    /// The parameters of the policy that is greedy in an agent's action values: an embedding is a
    /// constant input, so what it adds to the first layer is bias.
    pub(super) fn policy(&self, columns: &[f32]) -> Vec<f32> {
        if self.embedding == 0 {
            return columns.to_vec();
        }
        let mut theta = vec![0.0; self.policy.parameter_count()];
        for (wide, narrow) in self.network.layers().iter().zip(self.policy.layers()) {
            for unit in 0..wide.outputs {
                let row = &columns[wide.weight.start + unit * wide.inputs..][..wide.inputs];
                let (seen, added) = row.split_at(narrow.inputs);
                theta[narrow.weight.start + unit * narrow.inputs..][..narrow.inputs].copy_from_slice(seen);
                let embedding = &columns[self.embedded()];
                let constant: f32 = added.iter().zip(embedding).map(|(w, e)| w * e).sum();
                theta[narrow.bias.start + unit] = columns[wide.bias.start + unit] + constant;
            }
        }
        theta
    }

    /// dL/de = W_eᵀ dL/db of the first layer, where W_e is what the embedding e is multiplied with: to the
    /// sums that follow, W_e e is what a bias is.
    pub(super) fn embed_gradient(&self, columns: &[f32], gradient: &mut [f32]) {
        let first = &self.network.layers()[0];
        for number in 0..self.embedding {
            let weight = |unit: usize| columns[first.weight.start + unit * first.inputs + self.observation() + number];
            let of = |unit: usize| weight(unit) * gradient[first.bias.start + unit];
            gradient[self.embedded().start + number] = (0..first.outputs).map(of).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedrl_core::Space;
    use fedrl_models::{Activation, PolicyConfig};

    const KEY: Key = Key { low: 1, high: 2 };

    fn policy() -> Policy {
        let config = PolicyConfig { hidden: vec![6, 5], activation: Activation::Relu, ..PolicyConfig::default() };
        let observation = Space::Box { low: vec![-1.0; 3], high: vec![1.0; 3] };
        Policy::new(&config, &observation, &Space::Discrete { n: 2 }).unwrap()
    }

    #[test]
    fn columns_are_shared_from_the_first_on() {
        let policy = policy();
        let shared = |strategy| QNetwork::new(&policy, strategy, 10).shared();
        let head = 5 * 2 + 2;
        assert_eq!(shared(Strategy::DQN), 0);
        assert_eq!(shared(Strategy::FEDDQN), policy.parameter_count());
        assert_eq!(shared(Strategy::PFEDDQN_REP), policy.parameter_count() - head);
        // Four numbers tell ten agents apart: four more inputs for six units.
        let embedding = QNetwork::new(&policy, Strategy::PER_DQN_AVG, 10);
        assert_eq!(embedding.embedding, 4);
        assert_eq!(embedding.shared(), policy.parameter_count() + 4 * 6);
        assert_eq!(embedding.columns(), embedding.shared() + 4);
    }

    /// A policy without embeddings says what the network says of the same observation with them.
    #[test]
    fn an_embedding_is_a_bias_to_the_policy() {
        let (policy, theta) = (policy(), policy().initial(KEY));
        let network = QNetwork::new(&policy, Strategy::PER_DQN_AVG, 5);
        let columns = network.initial(&theta, KEY, KEY.child([1, 0, 0, 0]));
        assert_eq!(columns.len(), network.columns());
        let seen = [0.3, -0.7, 0.9];
        let input = [seen.as_slice(), &columns[network.embedded()]].concat();
        let folded = network.policy(&columns);
        assert_eq!(folded.len(), policy.parameter_count());
        let (one, other) = (network.network.forward(&columns, &input), policy.network.forward(&folded, &seen));
        assert!(one.iter().zip(&other).all(|(x, y)| (x - y).abs() < 1e-6), "{one:?} {other:?}");
        // Agents begin with embeddings of their own in a network that they share.
        let another = network.initial(&theta, KEY, KEY.child([2, 0, 0, 0]));
        assert_eq!(another[..network.shared()], columns[..network.shared()]);
        assert_ne!(another[network.embedded()], columns[network.embedded()]);
    }
}
