//! Federated reinforcement-learning algorithms, one folder each: configuration, agent half,
//! server half, in the lines of their papers. What two of them share is written once.
//!
//! A training is a fold over [`Algorithm::round`]; all that changes is the algorithm's state.

mod algorithm;
mod estimates;
mod estimator;
pub mod fast_fedpg;
pub mod fedhapg_m;
pub mod fedsvrpg_m;
mod importance;
mod metrics;
pub mod momentum;
mod registry;
mod upload;
pub mod value;
mod vector;
mod world;

pub use algorithm::{Algorithm, AlgorithmError, Round, ServerState};
pub use estimates::{
    Corrected, Estimate, Estimated, Estimates, Exact, Experience, Foreign, Fused, OnDevice, Request, Sampled, Tabular,
    Together,
};
pub use estimator::{Advantage, Estimator, Weighing};
pub use metrics::{AgentMetrics, AgentReport, ImportanceMetrics, ValueMetrics};
pub use registry::{AlgorithmConfig, AnyAlgorithm, Invalid};
pub use upload::Upload;
pub use world::{Agent, Divergence, Exchange, World};
