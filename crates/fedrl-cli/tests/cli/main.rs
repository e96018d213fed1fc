//! The program as its users meet it: the real binary, in directories of its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod adapt;
mod batch;
mod compare;
mod compare_runs;
mod configs;
mod damage;
mod ddpg;
#[cfg(feature = "wgpu")]
mod devices;
mod divergence;
mod env;
mod errors;
mod eval;
mod family;
mod personal;
mod personalisation;
mod play;
mod python;
mod random_mdp;
mod resume;
mod support;
mod train;
mod value;
