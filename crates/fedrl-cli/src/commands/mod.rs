//! One file per command.

pub mod doctor;
pub mod env;
pub mod eval;
pub mod report;
pub mod train;
