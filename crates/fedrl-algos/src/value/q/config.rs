//! `[algorithm]` of the value-learning algorithms.

use serde::{Deserialize, Serialize};

use super::strategy::{Aggregation, Strategy, ValueName};
use crate::Invalid;
use crate::value::{Moments, Shares, Updates};

/// How the server of LFRL fuses networks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fusion {
    /// Iterations between fusions.
    pub every: u32,
    /// Observations that the server labels for one.
    pub samples: usize,
    /// Gradient steps that it takes on them.
    pub updates: u32,
}

impl Default for Fusion {
    fn default() -> Self {
        Fusion { every: 1000, samples: 2000, updates: 2000 }
    }
}

/// One of the algorithms and its numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValueExperiment {
    /// Which.
    pub name: ValueName,
    /// Its numbers.
    #[serde(flatten)]
    pub config: ValueConfig,
}

impl ValueExperiment {
    /// Checks every number.
    ///
    /// # Errors
    /// The first that is outside its range.
    pub fn validate(&self) -> Result<(), Invalid> {
        if self.name == ValueName::FedQK && self.config.local_steps == 1 {
            let expected = "at least 2: with 1 it is feddqn";
            return Err(Invalid { key: "local_steps", value: "1".into(), expected });
        }
        self.config.validate(self.name.strategy())
    }
}

/// The numbers of PFedDQN-Rep and its rivals (004 Table 2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueConfig {
    /// γ in (0, 1].
    pub discount: f64,
    /// Adam's step size at the start.
    pub learning_rate: f64,
    /// K: environment steps, each with an update, between two averagings.
    #[serde(default = "one")]
    pub local_steps: usize,
    /// Transitions in a minibatch.
    #[serde(default = "sixty_four")]
    pub batch: usize,
    /// Transitions that an agent remembers.
    #[serde(default = "ten_thousand")]
    pub replay: usize,
    /// Transitions from which on an agent learns.
    #[serde(default = "five_hundred")]
    pub learning_starts: u32,
    /// ε: probability of an action at random.
    #[serde(default = "one_percent")]
    pub exploration: f64,
    /// T_target: iterations between copies to the target network.
    #[serde(default = "thirty")]
    pub target_period: u32,
    /// What the step size is multiplied with after every `decay_episodes` episodes; 1 keeps it.
    #[serde(default = "half")]
    pub decay: f64,
    /// Episodes of the agent's own between two decays.
    #[serde(default = "hundred")]
    pub decay_episodes: u32,
    /// What becomes of Adam's moments of shared parameters; by default they are averaged where parameters are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moments: Option<Moments>,
    /// Which parameters move together; by default as the algorithm has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updates: Option<Updates>,
    /// Iterations (t of 004 Alg. 4) in a round.
    #[serde(default = "hundred")]
    pub iterations: u32,
    /// LFRL's fusion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fusion: Option<Fusion>,
}

fn one() -> usize {
    1
}
fn sixty_four() -> usize {
    64
}
fn ten_thousand() -> usize {
    10_000
}
fn five_hundred() -> u32 {
    500
}
fn one_percent() -> f64 {
    0.01
}
fn thirty() -> u32 {
    30
}
fn half() -> f64 {
    0.5
}
fn hundred() -> u32 {
    100
}

impl ValueConfig {
    /// The same with everything said that `strategy` has a default for.
    pub fn completed(mut self, strategy: Strategy) -> Self {
        self.updates.get_or_insert(strategy.updates);
        let fused = strategy.aggregation == Aggregation::Fusion;
        self.moments.get_or_insert(if fused { Moments::Local } else { Moments::Averaged });
        if fused {
            self.fusion.get_or_insert_default();
        }
        self
    }

    /// Iterations between two exchanges with the server.
    pub(super) fn period(&self, strategy: Strategy) -> u32 {
        match (strategy.shares, self.fusion) {
            (Shares::Nothing, _) => self.iterations,
            (_, Some(fusion)) => fusion.every,
            _ => 1,
        }
    }

    /// α: the step size after so many episodes.
    pub(super) fn step_size(&self, episodes: u32) -> f64 {
        self.learning_rate * self.decay.powi((episodes / self.decay_episodes) as i32)
    }

    /// Checks every number.
    ///
    /// # Errors
    /// The first that is outside its range.
    fn validate(&self, strategy: Strategy) -> Result<(), Invalid> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let share = |x: f64| positive(x) && x <= 1.0;
        Invalid::first_real(&[
            ("discount", self.discount, share(self.discount), "a number in (0, 1]"),
            ("learning_rate", self.learning_rate, positive(self.learning_rate), "a finite number > 0"),
            ("exploration", self.exploration, (0.0..=1.0).contains(&self.exploration), "a number in [0, 1]"),
            ("decay", self.decay, share(self.decay), "a number in (0, 1]"),
        ])?;
        let fusion = self.fusion.unwrap_or_default();
        Invalid::first_whole(&[
            ("local_steps", self.local_steps),
            ("batch", self.batch),
            ("replay", self.replay),
            ("learning_starts", self.learning_starts as usize),
            ("target_period", self.target_period as usize),
            ("decay_episodes", self.decay_episodes as usize),
            ("iterations", self.iterations as usize),
            ("fusion.every", fusion.every as usize),
            ("fusion.samples", fusion.samples),
            ("fusion.updates", fusion.updates as usize),
        ])?;
        Invalid::never_learns(self.learning_starts, self.replay)?;
        if self.moments == Some(Moments::Averaged) && strategy.aggregation == Aggregation::Fusion {
            let expected = "\"local\": what is fused has no moments";
            return Err(Invalid { key: "moments", value: "\"averaged\"".into(), expected });
        }
        if self.fusion.is_some() && strategy.aggregation != Aggregation::Fusion {
            return Err(Invalid { key: "fusion", value: "given".into(), expected: "nothing: it is lfrl's" });
        }
        Ok(())
    }
}
