//! What an experiment's file says.

mod error;
mod published;
mod source;
mod sweep;

use fedrl_algos::{AlgorithmConfig, Divergence};
use fedrl_envs::VariantSet;
use fedrl_models::PolicyConfig;
use serde::{Deserialize, Serialize};

pub use error::ConfigError;
pub use published::PublishedConfig;
pub use source::{Source, variant_set_from_file};
pub use sweep::Point;

/// An experiment, complete: what was not said has its default.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Experiment {
    /// The environments.
    pub environment: EnvironmentConfig,
    /// The agents.
    pub agents: AgentsConfig,
    /// The policy.
    pub policy: PolicyConfig,
    /// The algorithm and its numbers.
    pub algorithm: AlgorithmConfig,
    /// The training loop.
    pub training: TrainingConfig,
    /// The evaluation.
    pub evaluation: EvaluationConfig,
    /// What others report of this experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedConfig>,
}

/// `[environment]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentConfig {
    /// Gymnasium's id.
    pub id: String,
    /// Steps after which an episode is truncated; the environment's own limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_episode_steps: Option<usize>,
    /// The variants that agents live in, one each.
    #[serde(default)]
    pub agents: VariantSet,
    /// Held-out variants inside the trained range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpolation: Option<VariantSet>,
    /// Held-out variants outside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extrapolation: Option<VariantSet>,
}

/// `[agents]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentsConfig {
    /// N.
    pub count: usize,
    /// Share of the agents that take part in a round.
    #[serde(default = "everyone")]
    pub participation: f64,
}

fn everyone() -> f64 {
    1.0
}

/// `[training]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingConfig {
    /// R.
    pub rounds: u32,
    /// Seed of every draw.
    #[serde(default)]
    pub seed: u64,
    /// How many runs, with seeds from `seed` on.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub runs: u32,
    /// Rounds between checkpoints.
    #[serde(default = "ten")]
    pub checkpoint_every: u32,
    /// How many of the newest checkpoints are kept, besides the best.
    #[serde(default = "three")]
    pub keep_checkpoints: usize,
    /// What a diverged agent does to the run.
    #[serde(default)]
    pub on_divergence: Divergence,
}

fn once() -> u32 {
    1
}

fn is_once(runs: &u32) -> bool {
    *runs == 1
}

fn ten() -> u32 {
    10
}

fn three() -> usize {
    3
}

/// `[evaluation]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluationConfig {
    /// Episodes per variant.
    pub episodes: usize,
}

impl Default for EvaluationConfig {
    fn default() -> Self {
        EvaluationConfig { episodes: 20 }
    }
}

impl Experiment {
    /// The file that says all of this and nothing by default.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}
