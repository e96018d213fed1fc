//! `[algorithm]` of DDPG and its federated forms.

use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::value::{Moments, Shares, Updates};

/// The algorithms by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DdpgName {
    /// PFedDDPG-Rep (004 App. G.1): representations shared, heads of actor and critic personal.
    #[serde(rename = "pfedddpg-rep")]
    PFedDdpgRep,
    /// DDPG by every agent alone (Lillicrap et al. 2016).
    #[serde(rename = "ddpg")]
    Ddpg,
    /// One actor and one critic for all, averaged.
    #[serde(rename = "fedddpg")]
    FedDdpg,
}

impl DdpgName {
    /// All of them.
    pub const ALL: [DdpgName; 3] = [DdpgName::PFedDdpgRep, DdpgName::Ddpg, DdpgName::FedDdpg];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            DdpgName::PFedDdpgRep => "pfedddpg-rep",
            DdpgName::Ddpg => "ddpg",
            DdpgName::FedDdpg => "fedddpg",
        }
    }

    /// What agents send.
    pub fn shares(self) -> Shares {
        match self {
            DdpgName::PFedDdpgRep => Shares::Representation,
            DdpgName::Ddpg => Shares::Nothing,
            DdpgName::FedDdpg => Shares::Network,
        }
    }
}

/// One of the algorithms and its numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DdpgExperiment {
    /// Which.
    pub name: DdpgName,
    /// Its numbers.
    #[serde(flatten)]
    pub config: DdpgConfig,
}

/// The numbers of DDPG.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DdpgConfig {
    /// γ in (0, 1].
    pub discount: f64,
    /// Adam's step size, of actor and critic.
    pub learning_rate: f64,
    /// K: environment steps, each with an update, between two averagings.
    #[serde(default = "one")]
    pub local_steps: usize,
    /// Transitions in a minibatch.
    #[serde(default = "sixty_four")]
    pub batch: usize,
    /// Transitions that an agent remembers.
    #[serde(default = "fifty_thousand")]
    pub replay: usize,
    /// Transitions from which on an agent learns, and until which it acts at random.
    #[serde(default = "thousand")]
    pub learning_starts: u32,
    /// σ: standard deviation of the noise on actions, in halves of their range.
    #[serde(default = "tenth")]
    pub exploration: f64,
    /// τ: how far targets go towards what they follow at each update.
    #[serde(default = "half_percent")]
    pub target_rate: f64,
    /// What becomes of Adam's moments of shared parameters; by default they are averaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moments: Option<Moments>,
    /// Which parameters move together; by default as the algorithm has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates: Option<Updates>,
    /// Iterations (t of 004 Alg. 4) in a round.
    #[serde(default = "thousand")]
    pub iterations: u32,
}

fn one() -> usize {
    1
}
fn sixty_four() -> usize {
    64
}
fn fifty_thousand() -> usize {
    50_000
}
fn thousand() -> u32 {
    1000
}
fn tenth() -> f64 {
    0.1
}
fn half_percent() -> f64 {
    0.005
}

impl DdpgConfig {
    /// The same with everything said that the algorithm has a default for.
    pub fn completed(mut self, shares: Shares) -> Self {
        let alternating = shares == Shares::Representation;
        self.updates.get_or_insert(if alternating { Updates::Alternating } else { Updates::Joint });
        self.moments.get_or_insert(Moments::Averaged);
        self
    }

    /// Checks every number.
    ///
    /// # Errors
    /// The first that is outside its range.
    pub fn validate(&self) -> Result<(), Invalid> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let share = |x: f64| positive(x) && x <= 1.0;
        let noise = self.exploration;
        Invalid::first_real(&[
            ("discount", self.discount, share(self.discount), "a number in (0, 1]"),
            ("learning_rate", self.learning_rate, positive(self.learning_rate), "a finite number > 0"),
            ("exploration", noise, noise.is_finite() && noise >= 0.0, "a finite number >= 0"),
            ("target_rate", self.target_rate, share(self.target_rate), "a number in (0, 1]"),
        ])?;
        Invalid::first_whole(&[
            ("local_steps", self.local_steps),
            ("batch", self.batch),
            ("replay", self.replay),
            ("learning_starts", self.learning_starts as usize),
            ("iterations", self.iterations as usize),
        ])?;
        Invalid::never_learns(self.learning_starts, self.replay)
    }
}
