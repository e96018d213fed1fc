//! `[algorithm]` for Fast-FedPG.

use serde::{Deserialize, Serialize};

use crate::estimator::Weighing;
use crate::momentum::{MOST, check_exact};
use crate::{Advantage, Estimator, Invalid};

/// Fast-FedPG's numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FastFedPgConfig {
    /// K: local steps of a round (the paper's H).
    pub local_steps: usize,
    /// η: local step size.
    pub local_step_size: f64,
    /// α_g: server step size; 1 takes the mean of the agents' results.
    #[serde(default = "one")]
    pub global_step_size: f64,
    /// γ in (0, 1].
    pub discount: f64,
    /// H: steps after which a trajectory is cut.
    pub horizon: usize,
    /// B: trajectories per estimate ĝ.
    #[serde(default = "single")]
    pub batch: usize,
    /// The gradient estimator; the paper's is `reinforce`.
    #[serde(default = "reinforce")]
    pub estimator: Estimator,
    /// What is done to the estimator's weights.
    #[serde(default)]
    pub advantage: Advantage,
    /// τ: temperature of the entropy bonus in the objective.
    #[serde(default)]
    pub entropy: f64,
    /// Whether gradients are exact: the limit of infinitely many and infinitely long trajectories,
    /// for tabular policies on finite decision processes. `horizon`, `batch` and `estimator` then mean
    /// nothing.
    #[serde(default)]
    pub exact: bool,
}

fn one() -> f64 {
    1.0
}

fn single() -> usize {
    1
}

fn reinforce() -> Estimator {
    Estimator::Reinforce
}

impl FastFedPgConfig {
    /// The weights of scores.
    pub(super) fn weighing(&self) -> Weighing {
        let FastFedPgConfig { estimator, discount, advantage, entropy, .. } = *self;
        Weighing { estimator, discount, advantage, entropy }
    }

    /// Checks every number.
    ///
    /// # Errors
    /// The first that is outside its range.
    pub fn validate(&self) -> Result<(), Invalid> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let real = [
            ("local_step_size", self.local_step_size, positive(self.local_step_size), "a finite number > 0"),
            ("global_step_size", self.global_step_size, positive(self.global_step_size), "a finite number > 0"),
            ("discount", self.discount, positive(self.discount) && self.discount <= 1.0, "a number in (0, 1]"),
        ];
        if let Some(&(key, value, _, expected)) = real.iter().find(|(_, _, valid, _)| !valid) {
            return Err(Invalid { key, value: value.to_string(), expected });
        }
        let whole = [("local_steps", self.local_steps), ("horizon", self.horizon), ("batch", self.batch)];
        if let Some(&(key, value)) = whole.iter().find(|(_, value)| !(1..=MOST).contains(value)) {
            return Err(Invalid { key, value: value.to_string(), expected: "a whole number from 1 to 1000000" });
        }
        check_exact(self.exact, &self.weighing())?;
        self.weighing().validate()
    }
}
