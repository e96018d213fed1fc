//! The program as its users meet it: the real binary, in directories of its own.

mod compare;
mod compare_runs;
mod configs;
mod damage;
#[cfg(feature = "wgpu")]
mod devices;
mod divergence;
mod env;
mod errors;
mod eval;
mod python;
mod resume;
mod support;
mod train;
