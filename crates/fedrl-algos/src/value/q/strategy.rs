//! In what the algorithms differ: what is shared, how it is put together, and what a network sees.

use serde::{Deserialize, Serialize};

use crate::value::method::{Shares, Updates};

/// One of the algorithms, as differences within the same loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// What agents send.
    pub shares: Shares,
    /// What the server makes of it.
    pub aggregation: Aggregation,
    /// Which parameters move together, unless the experiment says otherwise.
    pub updates: Updates,
    /// Whether a few learned numbers of each agent's own join what it observes.
    pub embeds: bool,
}

/// The algorithms by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ValueName {
    /// PFedDQN-Rep (004 Alg. 4).
    #[serde(rename = "pfeddqn-rep")]
    PFedDqnRep,
    /// DQN by every agent alone.
    #[serde(rename = "dqn")]
    Dqn,
    /// One network, averaged at every iteration.
    #[serde(rename = "feddqn")]
    FedDqn,
    /// One network, averaged after several local steps.
    #[serde(rename = "fedq-k")]
    FedQK,
    /// Knowledge fusion.
    #[serde(rename = "lfrl")]
    Lfrl,
    /// One network with an embedding for each environment.
    #[serde(rename = "per-dqn-avg")]
    PerDqnAvg,
    /// Importance averaging.
    #[serde(rename = "fedasynq-imavg")]
    FedAsynQImAvg,
}

impl ValueName {
    /// All of them.
    pub const ALL: [ValueName; 7] = [
        ValueName::PFedDqnRep,
        ValueName::Dqn,
        ValueName::FedDqn,
        ValueName::FedQK,
        ValueName::Lfrl,
        ValueName::PerDqnAvg,
        ValueName::FedAsynQImAvg,
    ];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            ValueName::PFedDqnRep => "pfeddqn-rep",
            ValueName::Dqn => "dqn",
            ValueName::FedDqn => "feddqn",
            ValueName::FedQK => "fedq-k",
            ValueName::Lfrl => "lfrl",
            ValueName::PerDqnAvg => "per-dqn-avg",
            ValueName::FedAsynQImAvg => "fedasynq-imavg",
        }
    }

    /// What the algorithm does differently from the others.
    pub fn strategy(self) -> Strategy {
        match self {
            ValueName::PFedDqnRep => Strategy::PFEDDQN_REP,
            ValueName::Dqn => Strategy::DQN,
            ValueName::FedDqn | ValueName::FedQK => Strategy::FEDDQN,
            ValueName::Lfrl => Strategy::LFRL,
            ValueName::PerDqnAvg => Strategy::PER_DQN_AVG,
            ValueName::FedAsynQImAvg => Strategy::FEDASYNQ_IMAVG,
        }
    }
}

/// What the server makes of what agents send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregation {
    /// The mean.
    Mean,
    /// A mean weighted by how often agents visited which regions of observations.
    ByVisits,
    /// A network taught by all of theirs.
    Fusion,
}

impl Strategy {
    /// PFedDQN-Rep (004 Alg. 4).
    pub const PFEDDQN_REP: Strategy =
        Strategy { shares: Shares::Representation, updates: Updates::Alternating, ..Strategy::FEDDQN };
    /// DQN by every agent alone (Mnih et al. 2015).
    pub const DQN: Strategy = Strategy { shares: Shares::Nothing, ..Strategy::FEDDQN };
    /// One network for all agents, averaged at every iteration; FedQ-K with several local steps
    /// (Khodadadian et al. 2022).
    pub const FEDDQN: Strategy =
        Strategy { shares: Shares::Network, aggregation: Aggregation::Mean, updates: Updates::Joint, embeds: false };
    /// LFRL: knowledge fusion by confidence (Liu et al. 2019).
    pub const LFRL: Strategy = Strategy { aggregation: Aggregation::Fusion, ..Strategy::FEDDQN };
    /// PerDQNAvg: an embedding for each environment (Jin et al. 2022).
    pub const PER_DQN_AVG: Strategy = Strategy { embeds: true, ..Strategy::FEDDQN };
    /// FedAsynQ-ImAvg: importance averaging (Woo et al. 2023).
    pub const FEDASYNQ_IMAVG: Strategy = Strategy { aggregation: Aggregation::ByVisits, ..Strategy::FEDDQN };
}
