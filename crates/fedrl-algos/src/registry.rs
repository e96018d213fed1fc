//! Algorithms by name.

use serde::{Deserialize, Deserializer, Serialize};

use crate::fedsvrpg_m::{FedSvrpgM, FedSvrpgMConfig, PavgConfig};

/// `[algorithm]` of an experiment: `name` chooses the rest of its keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum AlgorithmConfig {
    /// FedSVRPG-M (002 Alg. 1).
    #[serde(rename = "fedsvrpg-m")]
    FedSvrpgM(FedSvrpgMConfig),
    /// Plain policy gradient with averaging: FedSVRPG-M at β = 1 (002 §7).
    Pavg(PavgConfig),
}

/// A value that is no number for the algorithm.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{key}` is {value}, expected {expected}")]
pub struct Invalid {
    /// The key within its section.
    pub key: &'static str,
    /// The value given.
    pub value: String,
    /// The values allowed.
    pub expected: &'static str,
}

impl AlgorithmConfig {
    /// The names of all algorithms.
    pub const NAMES: [&'static str; 2] = ["fedsvrpg-m", "pavg"];

    /// Reads the configuration of the algorithm called `name`; `None` when there is none.
    ///
    /// # Errors
    /// Whatever the deserializer says of keys and values.
    pub fn read<'de, D: Deserializer<'de>>(name: &str, keys: D) -> Option<Result<Self, D::Error>> {
        match name {
            "fedsvrpg-m" => Some(FedSvrpgMConfig::deserialize(keys).map(Self::FedSvrpgM)),
            "pavg" => Some(PavgConfig::deserialize(keys).map(Self::Pavg)),
            _ => None,
        }
    }

    /// Checks every number.
    ///
    /// # Errors
    /// The first that is outside its range.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.policy_gradient().validate()
    }

    /// The name it is chosen by.
    pub fn name(&self) -> &'static str {
        match self {
            AlgorithmConfig::FedSvrpgM(_) => "fedsvrpg-m",
            AlgorithmConfig::Pavg(_) => "pavg",
        }
    }

    /// The algorithm itself, for a training of `rounds`.
    pub fn build(&self, rounds: u32) -> FedSvrpgM {
        FedSvrpgM::new(self.policy_gradient(), rounds)
    }

    /// Trajectories that an agent samples at once.
    pub fn batch(&self) -> usize {
        self.policy_gradient().batch
    }

    fn policy_gradient(&self) -> FedSvrpgMConfig {
        match self {
            AlgorithmConfig::FedSvrpgM(config) => config.clone(),
            AlgorithmConfig::Pavg(config) => config.clone().into(),
        }
    }
}
