//! Policies over one flat parameter vector.
//!
//! A policy's parameters are a vector θ of length P, so that an experiment's are a matrix
//! `[replicas, P]` and every algorithm is vector arithmetic. [`Mlp`] says where in θ each layer
//! lies (PyTorch's layout: weights `[out, in]`, then biases), [`Head`] turns the network's outputs
//! into a distribution over actions, [`Policy`] is the two together, [`files`] its tensors by name;
//! [`minibatch`] is a network over many inputs at once.

pub mod dense;
pub mod distribution;
pub mod files;
mod head;
mod initialisation;
pub mod minibatch;
mod mlp;
mod policy;

pub use head::{Head, Sampled};
pub use initialisation::Initialisation;
pub use mlp::{Activation, Layer, Mlp};
pub use policy::{Policy, PolicyConfig, PolicyError};
