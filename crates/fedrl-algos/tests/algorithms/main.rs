//! The algorithms are what their papers say: every number of a round recomputed from the
//! printed lines, the identities that must hold, and that they learn.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod ddpg;
mod enumeration;
mod exact;
mod fast_fedpg;
mod fedhapg_m;
mod fedsvrpg_m;
mod fused;
mod identities;
mod learning;
mod momentum;
mod oracle;
mod personal;
mod support;
mod tabular;
mod together;
mod value;
