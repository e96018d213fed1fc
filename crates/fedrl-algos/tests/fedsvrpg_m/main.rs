//! FedSVRPG-M is what its paper says: every number of a round recomputed from the printed lines,
//! the identities that must hold, and that it learns.

mod identities;
mod learning;
mod lines;
mod support;
