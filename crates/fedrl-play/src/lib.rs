//! Episodes as animated pictures.
//!
//! Data flows one way: an [`Episode`] (states, one after another) → the pictures that its
//! environment makes of them → a [`Film`]: several episodes side by side in real time, as a GIF.
//! The same episodes give the same bytes.

mod canvas;
mod digits;
mod episode;
mod film;
mod grid;
mod palette;

pub use episode::Episode;
pub use film::{Film, MAX_FRAMES, PlayError, check, film};
pub use grid::{MAX_SCENES, WIDTHS};
