//! Environments that remember where they are: one episode at a time.
//!
//! [`Simulator`]s are functions of a state that lives with the caller, which is what batches and
//! kernels need. Programs written by others are objects that keep their state to themselves. An
//! [`Episode`] is what both can be.

use fedrl_core::Space;

use crate::{Instance, Precision, Simulator, Spec};

/// An environment in which one episode is lived at a time. All randomness is that of the draws,
/// uniform in `[0, 1)`.
pub trait Episode<F> {
    /// What an agent sees.
    fn observation_space(&self) -> Space;
    /// What an agent does.
    fn action_space(&self) -> Space;
    /// Uniform numbers that a reset consumes.
    fn reset_draws(&self) -> usize;
    /// Uniform numbers that a step consumes.
    fn step_draws(&self) -> usize;
    /// Begins an episode and writes what the agent sees.
    fn reset(&mut self, draws: &[F], observation: &mut [F]);
    /// Moves on under `action` and writes what the agent sees then, after the last step too.
    fn step(&mut self, draws: &[F], action: &[F], observation: &mut [F]) -> Step<F>;
}

/// What a step of an [`Episode`] did. Whoever steps on after the last step does so at their own
/// risk, as in Gymnasium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<F> {
    /// The reward.
    pub reward: F,
    /// Whether the episode ended by itself: nothing follows.
    pub terminated: bool,
    /// Whether the episode was cut off: what would have followed is worth estimating.
    pub truncated: bool,
}

/// An [`Instance`] as an [`Episode`], with a time limit.
#[derive(Clone)]
pub struct SimulatedEpisode<F> {
    spec: &'static Spec,
    simulator: Simulator<F>,
    state: Vec<F>,
    time: usize,
    max_steps: usize,
}

impl<F: Precision> SimulatedEpisode<F> {
    /// An episode of `instance` that is truncated after `max_steps` steps. Before the first
    /// reset, its state is zero.
    pub fn new(instance: &Instance, max_steps: usize) -> Self {
        let spec = instance.spec();
        let state = vec![F::default(); spec.state_width];
        SimulatedEpisode { spec, simulator: instance.simulator(), state, time: 0, max_steps }
    }

    /// The state.
    pub fn state(&self) -> &[F] {
        &self.state
    }

    /// The state, to be set.
    pub fn state_mut(&mut self) -> &mut [F] {
        &mut self.state
    }

    /// Steps since the reset.
    pub fn time(&self) -> usize {
        self.time
    }
}

impl<F: Precision> Episode<F> for SimulatedEpisode<F> {
    fn observation_space(&self) -> Space {
        self.spec.observation.clone()
    }

    fn action_space(&self) -> Space {
        self.spec.action.clone()
    }

    fn reset_draws(&self) -> usize {
        self.spec.reset_draws
    }

    fn step_draws(&self) -> usize {
        self.spec.step_draws
    }

    fn reset(&mut self, draws: &[F], observation: &mut [F]) {
        self.time = 0;
        self.simulator.reset(draws, &mut self.state);
        self.simulator.observe(&self.state, observation);
    }

    fn step(&mut self, draws: &[F], action: &[F], observation: &mut [F]) -> Step<F> {
        let transition = self.simulator.step(draws, &mut self.state, action);
        self.simulator.observe(&self.state, observation);
        self.time += 1;
        let truncated = self.time >= self.max_steps;
        Step { reward: transition.reward, terminated: transition.terminated, truncated }
    }
}
