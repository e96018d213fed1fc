//! What an environment is.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]

use cubecl::prelude::*;
use fedrl_core::{Real, Scalar, Space, Wide};

use crate::lanes::LaneDynamics;
use crate::{Mdp, Parameter, ParameterError, Parameters, Picture};

/// An environment's description for people and for the programs that size buffers.
#[derive(Debug)]
pub struct Spec {
    /// Gymnasium's id.
    pub id: &'static str,
    /// One line: what the agent has to do.
    pub summary: &'static str,
    /// What an agent sees.
    pub observation: Space,
    /// Names of the observation's components.
    pub observation_names: &'static [&'static str],
    /// What an agent does.
    pub action: Space,
    /// Numbers in a state.
    pub state_width: usize,
    /// Uniform numbers that a reset consumes.
    pub reset_draws: usize,
    /// Uniform numbers that a step consumes: none where the dynamics are deterministic, at most
    /// [`STEP_DRAWS`].
    pub step_draws: usize,
    /// Steps after which Gymnasium truncates an episode.
    pub max_episode_steps: usize,
    /// Parameters in which variants may differ, besides those every environment has.
    pub parameters: &'static [Parameter],
    /// The reward, in words.
    pub reward: &'static str,
    /// When an episode ends by itself, in words.
    pub termination: &'static str,
    /// Where the dynamics come from.
    pub source: &'static str,
}

/// The most uniform numbers that a step may consume.
pub const STEP_DRAWS: usize = 2;

/// The dynamics of an environment, generic over the scalar: native f32 and f64, and a kernel.
///
/// `coefficients` is the table that [`Environment::coefficients`] derives from the parameters.
#[cube]
pub trait Dynamics: Send + Sync + 'static {
    /// Writes an initial state made of `draws`, uniform in `[0, 1)`.
    fn reset<F: Real>(coefficients: &[F], draws: &[F], state: &mut [F]);
    /// Writes what the agent sees of `state`.
    fn observe<F: Real>(coefficients: &[F], state: &[F], observation: &mut [F]);
    /// Moves `state` one step on under `action` and returns the reward. `draws` are uniform in
    /// `[0, 1)`.
    fn step<F: Real>(coefficients: &[F], draws: &[F], state: &mut [F], action: &[F]) -> F;
    /// Whether the episode has ended by itself in `state`.
    fn terminated<F: Real>(coefficients: &[F], state: &[F]) -> bool;
}

/// [`Dynamics`] that do the same whatever the state: no branch, no loop whose length depends on it. They
/// are computed in the lanes of vectors, too.
#[cube]
pub trait Smooth: Send + Sync + 'static {
    /// See [`Dynamics::reset`].
    fn reset<F: Wide>(coefficients: &[F], draws: &[F], state: &mut [F]);
    /// See [`Dynamics::observe`].
    fn observe<F: Wide>(coefficients: &[F], state: &[F], observation: &mut [F]);
    /// See [`Dynamics::step`].
    fn step<F: Wide>(coefficients: &[F], draws: &[F], state: &mut [F], action: &[F]) -> F;
    /// 1 where the episode goes on in `state`, 0 where it has ended by itself.
    fn alive<F: Wide>(coefficients: &[F], state: &[F]) -> F;
}

/// [`Dynamics`] of something [`Smooth`].
macro_rules! smooth_dynamics {
    ($environment:ident) => {
        #[cube]
        impl Dynamics for $environment {
            fn reset<F: Real>(coefficients: &[F], draws: &[F], state: &mut [F]) {
                <$environment as Smooth>::reset::<F>(coefficients, draws, state);
            }
            fn observe<F: Real>(coefficients: &[F], state: &[F], observation: &mut [F]) {
                <$environment as Smooth>::observe::<F>(coefficients, state, observation);
            }
            fn step<F: Real>(coefficients: &[F], draws: &[F], state: &mut [F], action: &[F]) -> F {
                <$environment as Smooth>::step::<F>(coefficients, draws, state, action)
            }
            fn terminated<F: Real>(coefficients: &[F], state: &[F]) -> bool {
                <$environment as Smooth>::alive::<F>(coefficients, state) < F::new(0.5)
            }
        }
    };
}
pub(crate) use smooth_dynamics;

/// [`Dynamics`] at one precision, as an object.
pub trait Simulate<F>: Send + Sync {
    /// See [`Dynamics::reset`].
    fn reset(&self, coefficients: &[F], draws: &[F], state: &mut [F]);
    /// See [`Dynamics::observe`].
    fn observe(&self, coefficients: &[F], state: &[F], observation: &mut [F]);
    /// See [`Dynamics::step`].
    fn step(&self, coefficients: &[F], draws: &[F], state: &mut [F], action: &[F]) -> F;
    /// See [`Dynamics::terminated`].
    fn terminated(&self, coefficients: &[F], state: &[F]) -> bool;
}

impl<D: Dynamics, F: Real> Simulate<F> for D {
    fn reset(&self, coefficients: &[F], draws: &[F], state: &mut [F]) {
        <D as Dynamics>::reset::<F>(coefficients, draws, state);
    }
    fn observe(&self, coefficients: &[F], state: &[F], observation: &mut [F]) {
        <D as Dynamics>::observe::<F>(coefficients, state, observation);
    }
    fn step(&self, coefficients: &[F], draws: &[F], state: &mut [F], action: &[F]) -> F {
        <D as Dynamics>::step::<F>(coefficients, draws, state, action)
    }
    fn terminated(&self, coefficients: &[F], state: &[F]) -> bool {
        <D as Dynamics>::terminated::<F>(coefficients, state)
    }
}

/// An environment: its description, and what its parameters amount to.
pub trait Environment: Simulate<f32> + Simulate<f64> {
    /// The description.
    fn spec(&self) -> &'static Spec;

    /// The dynamics in sixteen lanes.
    fn lanes(&self) -> &'static dyn LaneDynamics;

    /// The table of numbers that the dynamics use, with every derived quantity computed anew
    /// from the values that were `given`; the rest take their defaults. Values are in range.
    ///
    /// # Errors
    /// Values that contradict each other.
    fn coefficients(&self, given: &Parameters) -> Result<Vec<f64>, ParameterError>;

    /// The whole decision process with these parameters, where it has finitely many states; rewards
    /// neither scaled nor shifted.
    fn mdp(&self, _given: &Parameters) -> Option<Mdp> {
        None
    }

    /// What `state` looks like with these parameters, where there is something to see.
    fn picture(&self, _given: &Parameters, _state: &[f64]) -> Option<Picture> {
        None
    }
}

/// A scalar at which environments can be simulated.
pub trait Precision: Scalar {
    /// The dynamics of an environment at this precision.
    fn dynamics(environment: &'static dyn Environment) -> &'static dyn Simulate<Self>;
}

impl Precision for f32 {
    fn dynamics(environment: &'static dyn Environment) -> &'static dyn Simulate<f32> {
        environment
    }
}

impl Precision for f64 {
    fn dynamics(environment: &'static dyn Environment) -> &'static dyn Simulate<f64> {
        environment
    }
}
