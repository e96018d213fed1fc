//! One file per command.

pub mod adapt;
pub mod batch;
pub mod bench;
pub mod compare;
pub mod doctor;
pub mod env;
pub mod eval;
pub mod family;
pub mod personalisation;
pub mod play;
mod published;
pub mod report;
pub mod train;
