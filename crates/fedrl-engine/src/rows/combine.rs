//! What may be made of rows, component by component.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]

use cubecl::prelude::*;
use fedrl_core::Real;

/// One line of an algorithm: a component of the result, of those of an agent's two rows, of a vector that
/// all agents share, and of the agent's number.
#[cube]
pub trait Combine: Send + Sync + 'static {
    /// The component.
    fn combine<F: Real>(own: F, other: F, shared: F, number: F) -> F;
}

/// own − shared.
pub struct Difference;

#[cube]
impl Combine for Difference {
    fn combine<F: Real>(own: F, _other: F, shared: F, _number: F) -> F {
        own - shared
    }
}
