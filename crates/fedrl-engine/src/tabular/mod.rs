//! Tabular softmax policies on finite decision processes: what can be computed exactly, and rollouts
//! that are a hundred times faster than through tensors. Everything is in f64.
//!
//! A pair of state s and action a is number `s · actions + a` in every table here. θ is the weight of
//! a linear layer, `[actions, states]`.

mod exact;
mod softmax;
mod walk;

pub use exact::Evaluation;
pub use softmax::Softmax;
pub use walk::{Walk, Walked, walk};

use fedrl_envs::Mdp;

/// A decision process, ready to be solved and to be walked through.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// The decision process.
    pub mdp: Mdp,
    first: walk::Thresholds,
    next: walk::Thresholds,
}

impl Tables {
    /// The tables of `mdp`.
    ///
    /// # Panics
    /// More than 65,536 pairs, which trajectories could not name.
    pub fn new(mdp: Mdp) -> Self {
        assert!(mdp.reward.len() <= 1 << 16, "at most 65,536 pairs of state and action");
        let first = walk::Thresholds::new(&mdp.initial, mdp.states);
        let next = walk::Thresholds::new(&mdp.transition, mdp.states);
        Tables { mdp, first, next }
    }
}
