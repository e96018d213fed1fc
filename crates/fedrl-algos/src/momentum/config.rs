//! `[algorithm]` for the momentum algorithms and for plain averaging.

use fedrl_core::random::Key;
use serde::{Deserialize, Serialize};

use super::personal::PersonalPart;
use crate::estimator::Weighing;
use crate::{Advantage, Agent, Estimator, Invalid, Request, World};

/// The greatest count accepted: beyond it a typing error is likelier than an intention.
pub(crate) const MOST: usize = 1_000_000;

/// Refuses what exact gradients have no use for: they are of J over infinitely many steps.
pub(crate) fn check_exact(exact: bool, weighing: &Weighing) -> Result<(), Invalid> {
    if exact && weighing.discount == 1.0 {
        // An infinite sum of rewards is finite only if they are discounted.
        let expected = "a number below 1 with `exact = true`";
        return Err(Invalid { key: "discount", value: "1".into(), expected });
    }
    if exact && weighing.advantage != Advantage::None {
        let expected = "\"none\" with `exact = true`, which has no noise to take away";
        return Err(Invalid { key: "advantage", value: format!("{:?}", weighing.advantage).to_lowercase(), expected });
    }
    Ok(())
}

/// How η is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Step {
    /// η is `local_step_size`.
    #[default]
    Constant,
    /// η_k = `local_step_size` / (offset + scale Σ ‖g‖²)^{1/3}, the sum over the round's local
    /// steps so far: what the authors' program does (STORM's rule). The server still divides by
    /// `local_step_size`, so that u_r is shorter than the mean direction by the mean of the factor.
    Adaptive {
        /// w, added to the sum; keeps the first steps finite.
        offset: f64,
        /// c, multiplies the sum.
        scale: f64,
    },
}

/// The numbers of FedSVRPG-M and FedHAPG-M. Stabilisers are off unless set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MomentumConfig {
    /// β in (0, 1]: weight of the fresh gradient; 1 turns momentum off.
    pub beta: f64,
    /// K: local steps of a round.
    pub local_steps: usize,
    /// η: local step size.
    pub local_step_size: f64,
    /// λ: server step size.
    pub global_step_size: f64,
    /// γ in (0, 1].
    pub discount: f64,
    /// H: steps after which a trajectory is cut.
    pub horizon: usize,
    /// B: trajectories per local step.
    #[serde(default = "one")]
    pub batch: usize,
    /// Trajectories per agent of u_0; by default the theorem's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub u0_batch: Option<usize>,
    /// The gradient estimator.
    #[serde(default)]
    pub estimator: Estimator,
    /// What is done to the estimator's weights.
    #[serde(default)]
    pub advantage: Advantage,
    /// τ: temperature of the entropy bonus in the objective.
    #[serde(default)]
    pub entropy: f64,
    /// Whether gradients are exact: the limit of infinitely many and infinitely long trajectories,
    /// for tabular policies on finite decision processes. `horizon`, `batch`, `u0_batch` and `estimator`
    /// then mean nothing.
    #[serde(default)]
    pub exact: bool,
    /// How η is chosen.
    #[serde(default)]
    pub step: Step,
    /// Greatest importance weight; greater ones become this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_clip: Option<f64>,
    /// c: every component of a local direction u is clamped to ±min(‖g‖, c).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction_clip: Option<f64>,
    /// What stays with the agents, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personal: Option<PersonalPart>,
}

/// Plain averaging's numbers: FedSVRPG-M's without the momentum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PavgConfig {
    /// K: local steps of a round.
    pub local_steps: usize,
    /// η: local step size.
    pub local_step_size: f64,
    /// λ: server step size.
    pub global_step_size: f64,
    /// γ in (0, 1].
    pub discount: f64,
    /// H: steps after which a trajectory is cut.
    pub horizon: usize,
    /// B: trajectories per local step.
    #[serde(default = "one")]
    pub batch: usize,
    /// The gradient estimator.
    #[serde(default)]
    pub estimator: Estimator,
    /// What is done to the estimator's weights.
    #[serde(default)]
    pub advantage: Advantage,
    /// τ: temperature of the entropy bonus in the objective.
    #[serde(default)]
    pub entropy: f64,
    /// Whether gradients are exact: the limit of infinitely many and infinitely long trajectories,
    /// for tabular policies on finite decision processes. `horizon`, `batch`, `u0_batch` and `estimator`
    /// then mean nothing.
    #[serde(default)]
    pub exact: bool,
    /// How η is chosen.
    #[serde(default)]
    pub step: Step,
    /// c: every component of a local direction u is clamped to ±min(‖g‖, c).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction_clip: Option<f64>,
    /// What stays with the agents, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personal: Option<PersonalPart>,
}

fn one() -> usize {
    1
}

impl From<PavgConfig> for MomentumConfig {
    fn from(config: PavgConfig) -> Self {
        MomentumConfig {
            beta: 1.0,
            local_steps: config.local_steps,
            local_step_size: config.local_step_size,
            global_step_size: config.global_step_size,
            discount: config.discount,
            horizon: config.horizon,
            batch: config.batch,
            u0_batch: None,
            estimator: config.estimator,
            advantage: config.advantage,
            entropy: config.entropy,
            exact: config.exact,
            step: config.step,
            is_clip: None,
            direction_clip: config.direction_clip,
            personal: config.personal,
        }
    }
}

impl MomentumConfig {
    /// The weights of scores.
    pub(crate) fn weighing(&self) -> Weighing {
        let MomentumConfig { estimator, discount, advantage, entropy, .. } = *self;
        Weighing { estimator, discount, advantage, entropy }
    }

    /// Trajectories per agent of u_0 in a training of `rounds`.
    pub(crate) fn start_batch(&self, rounds: u32) -> usize {
        let theorem = (self.local_steps as f64 / (f64::from(rounds) * self.beta.powi(2))).ceil().max(1.0);
        self.u0_batch.unwrap_or((theorem as usize).min(MOST))
    }

    /// What is asked of these agents' environments.
    pub(super) fn request<'a, F>(
        &self,
        world: &World<F>,
        agents: &'a [&'a Agent<F>],
        keys: &'a [Key],
        batch: usize,
    ) -> Request<'a, F> {
        let horizon = self.horizon.min(world.max_episode_steps);
        Request { agents, keys, batch, horizon, weighing: self.weighing(), is_clip: self.is_clip }
    }

    /// Checks every number.
    ///
    /// # Errors
    /// The first that is outside its range.
    pub fn validate(&self) -> Result<(), Invalid> {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let (offset, scale) = match self.step {
            Step::Constant => (1.0, 1.0),
            Step::Adaptive { offset, scale } => (offset, scale),
        };
        let real = [
            ("beta", self.beta, positive(self.beta) && self.beta <= 1.0, "a number in (0, 1]"),
            ("local_step_size", self.local_step_size, positive(self.local_step_size), "a finite number > 0"),
            ("global_step_size", self.global_step_size, positive(self.global_step_size), "a finite number > 0"),
            ("discount", self.discount, positive(self.discount) && self.discount <= 1.0, "a number in (0, 1]"),
            ("step.adaptive.offset", offset, positive(offset), "a finite number > 0"),
            ("step.adaptive.scale", scale, positive(scale), "a finite number > 0"),
            ("is_clip", self.is_clip.unwrap_or(1.0), self.is_clip.is_none_or(positive), "a finite number > 0"),
            (
                "direction_clip",
                self.direction_clip.unwrap_or(1.0),
                self.direction_clip.is_none_or(positive),
                "a finite number > 0",
            ),
        ];
        if let Some(&(key, value, _, expected)) = real.iter().find(|(_, _, valid, _)| !valid) {
            return Err(Invalid { key, value: value.to_string(), expected });
        }
        let whole = [
            ("local_steps", self.local_steps),
            ("horizon", self.horizon),
            ("batch", self.batch),
            ("u0_batch", self.u0_batch.unwrap_or(1)),
        ];
        if let Some(&(key, value)) = whole.iter().find(|(_, value)| !(1..=MOST).contains(value)) {
            return Err(Invalid { key, value: value.to_string(), expected: "a whole number from 1 to 1000000" });
        }
        check_exact(self.exact, &self.weighing())?;
        if let (true, Some(clip)) = (self.exact, self.is_clip) {
            let expected = "none with `exact = true`, which has no importance weights";
            return Err(Invalid { key: "is_clip", value: clip.to_string(), expected });
        }
        self.weighing().validate()
    }
}
