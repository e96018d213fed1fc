//! What every other crate stands on and nothing more: the arithmetic shared by single numbers,
//! vectors and GPU kernels ([`Wide`], [`Real`]), their local memory ([`Local`]), counter-based randomness ([`random`]),
//! [`Space`]s, and the nearest name to a misspelt one ([`nearest`]).

mod local;
mod name;
pub mod random;
mod real;
mod space;
pub mod wide;

pub use local::Local;
pub use name::{nearest, unknown_name};
pub use real::{Real, Scalar};
pub use space::Space;
pub use wide::{LANES, Wide};
