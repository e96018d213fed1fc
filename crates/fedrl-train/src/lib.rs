//! An experiment from its file to its run directory.
//!
//! Data flows one way: [`Experiment`] (what was asked for) → [`Setup`] (checked and built) →
//! [`TrainState`] (everything that changes) → a fold over rounds → [`RunDirectory`].

mod batch;
mod checkpoint;
mod config;
mod disk;
mod family;
mod journal;
mod memory;
mod metrics;
mod run_directory;
mod setup;
mod state;
mod tensorboard;
mod trainer;

pub use batch::{Batch, BatchProgress};
pub use checkpoint::{Checkpoint, CheckpointError, Written};
pub use config::{
    AgentsConfig, ConfigError, EnvironmentConfig, EvaluationConfig, Experiment, Point, PublishedConfig, Source,
    TrainingConfig, variant_set_from_file,
};
pub use disk::Disk;
pub use family::{Member, family};
pub use memory::Memory;
pub use metrics::RoundMetrics;
pub use run_directory::{Manifest, RunDirectory, RunError};
pub use setup::{HeldOut, Setup};
pub use state::{Best, Progress, Totals, TrainState};
pub use trainer::{Ending, Observer, TrainError, Trainer};
