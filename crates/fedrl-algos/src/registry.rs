//! Algorithms by name.

use fedrl_models::Policy;
use serde::{Deserialize, Deserializer, Serialize};

use crate::fast_fedpg::{FastFedPg, FastFedPgConfig};
use crate::fedhapg_m::FedHapgM;
use crate::fedsvrpg_m::FedSvrpgM;
use crate::momentum::{MOST, MomentumConfig, PavgConfig, PersonalPart};
use crate::value::{DdpgConfig, DdpgExperiment, DdpgName, ValueConfig, ValueExperiment, ValueLearning, ValueName};

/// `[algorithm]` of an experiment: `name` chooses the rest of its keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum AlgorithmConfig {
    /// FedSVRPG-M (002 Alg. 1).
    #[serde(rename = "fedsvrpg-m")]
    FedSvrpgM(MomentumConfig),
    /// FedHAPG-M (002 Alg. 2).
    #[serde(rename = "fedhapg-m")]
    FedHapgM(MomentumConfig),
    /// Plain policy gradient with averaging: FedSVRPG-M at β = 1 (002 §7).
    Pavg(PavgConfig),
    /// Fast-FedPG (003 Alg. 1).
    #[serde(rename = "fast-fedpg")]
    FastFedPg(FastFedPgConfig),
    /// PFedDQN-Rep (004 Alg. 4), or one of its rivals.
    #[serde(untagged)]
    Value(ValueExperiment),
    /// PFedDDPG-Rep (004 App. G.1), or one of its rivals.
    #[serde(untagged)]
    Ddpg(DdpgExperiment),
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

impl Invalid {
    /// Refuses the first of these (key, value, whether it is allowed, what is) that is not allowed.
    pub(crate) fn first_real(numbers: &[(&'static str, f64, bool, &'static str)]) -> Result<(), Invalid> {
        match numbers.iter().find(|(_, _, valid, _)| !valid) {
            Some(&(key, value, _, expected)) => Err(Invalid { key, value: value.to_string(), expected }),
            None => Ok(()),
        }
    }

    /// Refuses the first of these numbers that is not from 1 to [`MOST`].
    pub(crate) fn first_whole(numbers: &[(&'static str, usize)]) -> Result<(), Invalid> {
        let expected = "a whole number from 1 to 1000000";
        match numbers.iter().find(|(_, value)| !(1..=MOST).contains(value)) {
            Some(&(key, value)) => Err(Invalid { key, value: value.to_string(), expected }),
            None => Ok(()),
        }
    }

    /// Refuses to wait for more transitions than are ever remembered.
    pub(crate) fn never_learns(learning_starts: u32, replay: usize) -> Result<(), Invalid> {
        if learning_starts as usize <= replay {
            return Ok(());
        }
        let expected = "at most `replay`: more is never remembered";
        Err(Invalid { key: "learning_starts", value: learning_starts.to_string(), expected })
    }
}

/// Any of the algorithms, with its numbers set.
#[derive(Debug, Clone)]
pub enum AnyAlgorithm {
    /// FedSVRPG-M, and plain averaging, which is FedSVRPG-M at β = 1.
    FedSvrpgM(FedSvrpgM),
    /// FedHAPG-M.
    FedHapgM(FedHapgM),
    /// Fast-FedPG.
    FastFedPg(FastFedPg),
    /// PFedDQN-Rep, PFedDDPG-Rep or one of their rivals.
    Value(ValueLearning),
}

impl AlgorithmConfig {
    /// The names of all algorithms.
    pub const NAMES: [&'static str; 14] = [
        "fedsvrpg-m",
        "fedhapg-m",
        "pavg",
        "fast-fedpg",
        "pfeddqn-rep",
        "dqn",
        "feddqn",
        "fedq-k",
        "lfrl",
        "per-dqn-avg",
        "fedasynq-imavg",
        "pfedddpg-rep",
        "ddpg",
        "fedddpg",
    ];

    /// Reads the configuration of the algorithm called `name`; `None` when there is none.
    ///
    /// # Errors
    /// Whatever the deserializer says of keys and values.
    pub fn read<'de, D: Deserializer<'de>>(name: &str, keys: D) -> Option<Result<Self, D::Error>> {
        match name {
            "fedsvrpg-m" => Some(MomentumConfig::deserialize(keys).map(Self::FedSvrpgM)),
            "fedhapg-m" => Some(MomentumConfig::deserialize(keys).map(Self::FedHapgM)),
            "pavg" => Some(PavgConfig::deserialize(keys).map(Self::Pavg)),
            "fast-fedpg" => Some(FastFedPgConfig::deserialize(keys).map(Self::FastFedPg)),
            _ => {
                if let Some(name) = DdpgName::ALL.into_iter().find(|known| known.as_str() == name) {
                    let read = |config: DdpgConfig| DdpgExperiment { name, config: config.completed(name.shares()) };
                    return Some(DdpgConfig::deserialize(keys).map(|config| Self::Ddpg(read(config))));
                }
                let name = ValueName::ALL.into_iter().find(|known| known.as_str() == name)?;
                let read = |config: ValueConfig| ValueExperiment { name, config: config.completed(name.strategy()) };
                Some(ValueConfig::deserialize(keys).map(|config| Self::Value(read(config))))
            }
        }
    }

    /// Checks every number.
    ///
    /// # Errors
    /// The first that is outside its range.
    pub fn validate(&self) -> Result<(), Invalid> {
        match self {
            AlgorithmConfig::FedSvrpgM(config) | AlgorithmConfig::FedHapgM(config) => config.validate(),
            AlgorithmConfig::Pavg(config) => MomentumConfig::from(config.clone()).validate(),
            AlgorithmConfig::FastFedPg(config) => config.validate(),
            AlgorithmConfig::Value(experiment) => experiment.validate(),
            AlgorithmConfig::Ddpg(experiment) => experiment.config.validate(),
        }
    }

    /// The name it is chosen by.
    pub fn name(&self) -> &'static str {
        match self {
            AlgorithmConfig::FedSvrpgM(_) => "fedsvrpg-m",
            AlgorithmConfig::FedHapgM(_) => "fedhapg-m",
            AlgorithmConfig::Pavg(_) => "pavg",
            AlgorithmConfig::FastFedPg(_) => "fast-fedpg",
            AlgorithmConfig::Value(experiment) => experiment.name.as_str(),
            AlgorithmConfig::Ddpg(experiment) => experiment.name.as_str(),
        }
    }

    /// The algorithm itself, for a training of `rounds` among so many `agents`, of policies of the form of
    /// `policy`. `drawn`: what is personal is drawn by every agent, and not given.
    pub fn build(&self, rounds: u32, policy: &Policy, agents: usize, drawn: bool) -> AnyAlgorithm {
        match self.clone() {
            AlgorithmConfig::FedSvrpgM(config) => {
                AnyAlgorithm::FedSvrpgM(FedSvrpgM::new(config, rounds).with_heads(policy, drawn))
            }
            AlgorithmConfig::FedHapgM(config) => {
                AnyAlgorithm::FedHapgM(FedHapgM::new(config, rounds).with_heads(policy, drawn))
            }
            AlgorithmConfig::Pavg(config) => {
                AnyAlgorithm::FedSvrpgM(FedSvrpgM::new(config.into(), rounds).with_heads(policy, drawn))
            }
            AlgorithmConfig::FastFedPg(config) => AnyAlgorithm::FastFedPg(FastFedPg::new(config)),
            AlgorithmConfig::Value(ValueExperiment { name, config }) => {
                let algorithm = ValueLearning::new(config, name.strategy(), policy, agents);
                AnyAlgorithm::Value(if drawn { algorithm.with_heads_drawn(policy) } else { algorithm })
            }
            AlgorithmConfig::Ddpg(DdpgExperiment { name, config }) => {
                let algorithm = ValueLearning::ddpg(config, name.shares(), policy);
                AnyAlgorithm::Value(if drawn { algorithm.with_heads_drawn(policy) } else { algorithm })
            }
        }
    }

    /// Whether gradients are exact.
    pub fn exact(&self) -> bool {
        match self {
            AlgorithmConfig::FedSvrpgM(config) | AlgorithmConfig::FedHapgM(config) => config.exact,
            AlgorithmConfig::Pavg(config) => config.exact,
            AlgorithmConfig::FastFedPg(config) => config.exact,
            AlgorithmConfig::Value(_) | AlgorithmConfig::Ddpg(_) => false,
        }
    }

    /// γ, and τ of the objective that the gradients are of.
    pub fn objective(&self) -> (f64, f64) {
        match self {
            AlgorithmConfig::FedSvrpgM(config) | AlgorithmConfig::FedHapgM(config) => (config.discount, config.entropy),
            AlgorithmConfig::Pavg(config) => (config.discount, config.entropy),
            AlgorithmConfig::FastFedPg(config) => (config.discount, config.entropy),
            AlgorithmConfig::Value(experiment) => (experiment.config.discount, 0.0),
            AlgorithmConfig::Ddpg(experiment) => (experiment.config.discount, 0.0),
        }
    }

    /// H: steps after which a trajectory is cut; none where episodes are lived to their end.
    pub fn horizon(&self) -> usize {
        match self {
            AlgorithmConfig::FedSvrpgM(config) | AlgorithmConfig::FedHapgM(config) => config.horizon,
            AlgorithmConfig::Pavg(config) => config.horizon,
            AlgorithmConfig::FastFedPg(config) => config.horizon,
            AlgorithmConfig::Value(_) | AlgorithmConfig::Ddpg(_) => usize::MAX,
        }
    }

    /// The most trajectories that an agent ever samples at once in a training of `rounds`, and how many
    /// copies of the network's values it keeps of them.
    pub fn most(&self, rounds: u32) -> (usize, usize) {
        match self {
            AlgorithmConfig::FedSvrpgM(config) => (config.batch.max(config.start_batch(rounds)), 2),
            AlgorithmConfig::FedHapgM(config) => (config.batch.max(config.start_batch(rounds)), 5),
            AlgorithmConfig::Pavg(_) | AlgorithmConfig::FastFedPg(_) => (self.batch(), 2),
            AlgorithmConfig::Value(_) | AlgorithmConfig::Ddpg(_) => (1, 1),
        }
    }

    /// Trajectories that an agent samples at once, or transitions that it learns from at once.
    pub fn batch(&self) -> usize {
        match self {
            AlgorithmConfig::FedSvrpgM(config) | AlgorithmConfig::FedHapgM(config) => config.batch,
            AlgorithmConfig::Pavg(config) => config.batch,
            AlgorithmConfig::FastFedPg(config) => config.batch,
            AlgorithmConfig::Value(experiment) => experiment.config.batch,
            AlgorithmConfig::Ddpg(experiment) => experiment.config.batch,
        }
    }

    /// What stays with the agents, where gradients of policies are followed.
    pub fn personal(&self) -> Option<PersonalPart> {
        match self {
            AlgorithmConfig::FedSvrpgM(config) | AlgorithmConfig::FedHapgM(config) => config.personal,
            AlgorithmConfig::Pavg(config) => config.personal,
            _ => None,
        }
    }

    /// Transitions that an agent remembers, where it learns from such.
    pub fn replay(&self) -> Option<usize> {
        match self {
            AlgorithmConfig::Value(experiment) => Some(experiment.config.replay),
            AlgorithmConfig::Ddpg(experiment) => Some(experiment.config.replay),
            _ => None,
        }
    }

    /// Whether values are learned from remembered transitions, and policies are greedy in them.
    pub fn learns_values(&self) -> bool {
        self.replay().is_some()
    }

    /// The numbers of an algorithm that learns the values of choices.
    pub fn value(&self) -> Option<&ValueExperiment> {
        if let AlgorithmConfig::Value(experiment) = self { Some(experiment) } else { None }
    }
}
