//! Policies in environments without tensors: sixteen trajectories at a time in the lanes of the
//! processor's vectors, from the functions that kernels are made of, too.
//!
//! A block of lanes is let live ([`Fused::rollout`]); what it lived through and the network's values
//! on the way are kept. Log-probabilities, gradients and Hessian-vector products of the same steps
//! follow from them, at the same parameters or at others. A lane's numbers depend on nothing but its own
//! parameters, environment and draws, so that neither threads nor blocks change a result; and all
//! processors give the same bytes.

mod draws;
mod episodes;
mod gradient;
mod lived;
mod policies;
mod pool;
mod rates;
mod rollout;
mod shape;
mod values;

pub use episodes::Outcome;
pub use gradient::Pass;
pub(crate) use lived::states;
pub use lived::{Lane, Lived, pack, row};
pub use pool::Room;
pub use rates::Rates;
pub use values::Values;

use fedrl_models::Policy;
use pool::Pool;
pub(crate) use shape::Shape;

/// The widest layer that is worked on in lanes. Every lane has parameters of its own, so that wider
/// networks, whose parameters leave the caches, are better off as tensors.
const WIDEST: usize = 64;

/// A policy in lanes.
#[derive(Debug, Clone)]
pub struct Fused {
    shape: Shape,
    pools: Pools,
}

/// Memory for what blocks live through and for networks' values.
#[derive(Debug, Clone, Default)]
struct Pools {
    observations: Pool,
    actions: Pool,
    hidden: Pool,
    outputs: Pool,
    steps: Pool,
    parameters: Pool,
    tiles: Pool,
}

impl Fused {
    /// The policy in lanes, if its layers are narrow enough.
    pub fn new(policy: &Policy) -> Option<Self> {
        let hidden = &policy.widths()[1..];
        hidden
            .iter()
            .all(|&width| width <= WIDEST)
            .then(|| Fused { shape: Shape::new(policy), pools: Pools::default() })
    }

    /// Length P of θ.
    pub fn parameter_count(&self) -> usize {
        self.shape.parameters
    }
}
