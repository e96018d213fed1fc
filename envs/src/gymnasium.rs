//! Environments of the crate `gymnasium-rs`, and ours as such: its [`Env`] trait both ways.
//!
//! - [`GymnasiumEnv`] is one of our environments for programs written against that trait.
//! - [`GymnasiumEpisode`] is an environment written against that trait as an [`Episode`] of ours.

mod ours;
mod theirs;

use fedrl_core::Space;
use gymnasium_rs::core;
use ndarray::Array1;

pub use ours::GymnasiumEnv;
pub use theirs::GymnasiumEpisode;

#[cfg(doc)]
use crate::Episode;
#[cfg(doc)]
use gymnasium_rs::core::Env;

/// A type of observations or actions: an element of a [`Space`], written as numbers. The trait
/// [`Env`] leaves these types open; others than the two here can be brought along.
pub trait Element: Sized {
    /// Whether the elements of `space` are of this type.
    fn belongs_to(space: &Space) -> bool;
    /// The element that these numbers write.
    fn from_numbers(numbers: &[f64]) -> Self;
    /// The numbers that write this element, as many as its space is wide.
    fn to_numbers(&self) -> Vec<f64>;
}

/// A choice.
impl Element for i32 {
    fn belongs_to(space: &Space) -> bool {
        matches!(space, Space::Discrete { .. })
    }

    fn from_numbers(numbers: &[f64]) -> Self {
        numbers[0] as i32
    }

    fn to_numbers(&self) -> Vec<f64> {
        vec![f64::from(*self)]
    }
}

/// A vector.
impl Element for Array1<f32> {
    fn belongs_to(space: &Space) -> bool {
        matches!(space, Space::Box { .. })
    }

    fn from_numbers(numbers: &[f64]) -> Self {
        numbers.iter().map(|&x| x as f32).collect()
    }

    fn to_numbers(&self) -> Vec<f64> {
        self.iter().map(|&x| f64::from(x)).collect()
    }
}

/// Why an environment cannot cross over.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GymnasiumError {
    /// The types of the trait are not those of the space.
    #[error("{what} are elements of {space}, which {type_name} does not hold")]
    Type {
        /// Observations, or actions.
        what: &'static str,
        /// Their space.
        space: Space,
        /// The type that was asked for.
        type_name: &'static str,
    },
    /// The space has no elements, or bounds that do not go together.
    #[error("{0:?} is no space to act in or to see")]
    Space(core::Space),
}

/// That `what` of `space` are of type `E`.
fn check<E: Element>(what: &'static str, space: &Space) -> Result<(), GymnasiumError> {
    if E::belongs_to(space) {
        return Ok(());
    }
    Err(GymnasiumError::Type { what, space: space.clone(), type_name: std::any::type_name::<E>() })
}

/// Our space as one of theirs.
fn exported(space: &Space) -> core::Space {
    let bounds = |bounds: &[f64]| bounds.iter().map(|&x| x as f32).collect();
    match space {
        Space::Discrete { n } => core::Space::Discrete(*n as i32),
        Space::Box { low, high } => core::Space::Box { low: bounds(low), high: bounds(high) },
    }
}

/// Their space as one of ours.
fn imported(space: &core::Space) -> Result<Space, GymnasiumError> {
    let bounds = |bounds: &Array1<f32>| bounds.iter().map(|&x| f64::from(x)).collect();
    match space {
        core::Space::Discrete(n) if *n > 0 => Ok(Space::Discrete { n: *n as usize }),
        core::Space::Box { low, high } if low.len() == high.len() => {
            Ok(Space::Box { low: bounds(low), high: bounds(high) })
        }
        _ => Err(GymnasiumError::Space(space.clone())),
    }
}
