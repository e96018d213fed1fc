//! One environment with its parameters set.

use crate::{Environment, Mdp, Parameter, ParameterError, Parameters, Picture, Precision, Range, Spec};

/// Parameters that every environment has: reward heterogeneity.
const COMMON: [Parameter; 2] = [
    Parameter {
        name: "reward_scale",
        unit: "1",
        default: 1.0,
        range: Range::Finite,
        description: "the reward is multiplied by this",
    },
    Parameter {
        name: "reward_shift",
        unit: "1",
        default: 0.0,
        range: Range::Finite,
        description: "this is added to the scaled reward",
    },
];

/// An environment whose parameters are set and checked.
#[derive(Clone)]
pub struct Instance {
    environment: &'static dyn Environment,
    given: Parameters,
    coefficients: Vec<f64>,
    reward: (f64, f64),
}

impl Instance {
    /// The variant of `environment` in which the `given` parameters have these values.
    ///
    /// # Errors
    /// An unknown name, a value outside its range, or values that contradict each other or lead
    /// out of the range of numbers.
    pub fn new(environment: &'static dyn Environment, given: Parameters) -> Result<Self, ParameterError> {
        let spec = environment.spec();
        for (name, &value) in &given {
            let parameter = Self::parameters(spec).find(|parameter| parameter.name == name).ok_or_else(|| {
                ParameterError::Unknown {
                    environment: spec.id,
                    name: name.clone(),
                    known: Self::parameters(spec).map(|parameter| parameter.name).collect(),
                }
            })?;
            if !parameter.range.contains(value) {
                return Err(ParameterError::OutOfRange {
                    environment: spec.id,
                    name: name.clone(),
                    value,
                    range: parameter.range,
                });
            }
        }
        let coefficients = environment.coefficients(&given)?;
        if !coefficients.iter().all(|&x| (x as f32).is_finite()) {
            let reason = format!("what follows from {given:?} lies outside the range of 32-bit numbers");
            return Err(ParameterError::Contradiction { environment: spec.id, reason });
        }
        let common = |parameter: &Parameter| given.get(parameter.name).copied().unwrap_or(parameter.default);
        let reward = (common(&COMMON[0]), common(&COMMON[1]));
        Ok(Instance { environment, given, coefficients, reward })
    }

    /// Every parameter of an environment, its own and the common ones.
    pub fn parameters(spec: &'static Spec) -> impl Iterator<Item = &'static Parameter> {
        spec.parameters.iter().chain(&COMMON)
    }

    /// The description of the environment.
    pub fn spec(&self) -> &'static Spec {
        self.environment.spec()
    }

    /// The parameters that were set; the others have their defaults.
    pub fn given(&self) -> &Parameters {
        &self.given
    }

    /// The whole decision process, where it has finitely many states.
    pub fn mdp(&self) -> Option<Mdp> {
        let (scale, shift) = self.reward;
        let mut mdp = self.environment.mdp(&self.given)?;
        mdp.reward.iter_mut().for_each(|reward| *reward = *reward * scale + shift);
        Some(mdp)
    }

    /// What `state` looks like, where there is something to see.
    pub fn picture(&self, state: &[f64]) -> Option<Picture> {
        self.environment.picture(&self.given, state)
    }

    /// The environment at the precision `F`, ready to run.
    pub fn simulator<F: Precision>(&self) -> Simulator<F> {
        Simulator {
            environment: self.environment,
            coefficients: self.coefficients.iter().map(|&x| F::from_f64(x)).collect(),
            reward_scale: F::from_f64(self.reward.0),
            reward_shift: F::from_f64(self.reward.1),
        }
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("id", &self.spec().id).field("given", &self.given).finish()
    }
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transition<F> {
    /// The reward, scaled and shifted as the variant says.
    pub reward: F,
    /// Whether the episode ended by itself. Time limits are the caller's.
    pub terminated: bool,
}

/// An [`Instance`] at one precision. States live with the caller, so one simulator serves any
/// number of episodes at once.
#[derive(Clone)]
pub struct Simulator<F> {
    environment: &'static dyn Environment,
    coefficients: Vec<F>,
    reward_scale: F,
    reward_shift: F,
}

impl<F: Precision> Simulator<F> {
    /// Whether sixteen of it, side by side, cost about as much as one.
    pub fn lanes_at_once(&self) -> bool {
        self.environment.lanes().at_once()
    }

    /// The environment that it is a variant of.
    pub(crate) fn environment(&self) -> &'static dyn Environment {
        self.environment
    }

    /// The table of numbers that the dynamics use.
    pub fn coefficients(&self) -> &[F] {
        &self.coefficients
    }

    /// What rewards are multiplied with, and what is then added.
    pub fn reward(&self) -> (F, F) {
        (self.reward_scale, self.reward_shift)
    }

    /// Writes an initial state made of uniform `draws`.
    pub fn reset(&self, draws: &[F], state: &mut [F]) {
        F::dynamics(self.environment).reset(&self.coefficients, draws, state);
    }

    /// Writes what the agent sees.
    pub fn observe(&self, state: &[F], observation: &mut [F]) {
        F::dynamics(self.environment).observe(&self.coefficients, state, observation);
    }

    /// Moves `state` one step on; `draws` are uniform, as many as the environment's steps consume.
    pub fn step(&self, draws: &[F], state: &mut [F], action: &[F]) -> Transition<F> {
        let reward = F::dynamics(self.environment).step(&self.coefficients, draws, state, action);
        Transition {
            reward: reward * self.reward_scale + self.reward_shift,
            terminated: F::dynamics(self.environment).terminated(&self.coefficients, state),
        }
    }
}
