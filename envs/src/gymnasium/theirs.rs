//! An environment written against `gymnasium-rs` as an episode of ours.

use std::marker::PhantomData;

use fedrl_core::{Scalar, Space};
use gymnasium_rs::core::Env;

use super::{Element, GymnasiumError, check, imported};
use crate::{Episode, Step};

/// Two draws are a seed of 31 bits.
const SEED_DRAWS: usize = 2;

/// An [`Env`] with observations `O` and actions `A` as an [`Episode`].
///
/// Every reset seeds it from draws. What it does after that is a function of the draws as far as
/// it keeps to its seed.
pub struct GymnasiumEpisode<E, O, A> {
    env: E,
    observation_space: Space,
    action_space: Space,
    elements: PhantomData<fn(A) -> O>,
}

impl<E: Env<O, A>, O: Element, A: Element> GymnasiumEpisode<E, O, A> {
    /// Episodes of `env`.
    ///
    /// # Errors
    /// Its spaces are none, or `O` and `A` are not the types of their elements.
    pub fn new(env: E) -> Result<Self, GymnasiumError> {
        let observation_space = imported(&env.observation_space())?;
        let action_space = imported(&env.action_space())?;
        check::<O>("observations", &observation_space)?;
        check::<A>("actions", &action_space)?;
        Ok(GymnasiumEpisode { env, observation_space, action_space, elements: PhantomData })
    }
}

impl<E: Env<O, A>, O: Element, A: Element, F: Scalar> Episode<F> for GymnasiumEpisode<E, O, A> {
    fn observation_space(&self) -> Space {
        self.observation_space.clone()
    }

    fn action_space(&self) -> Space {
        self.action_space.clone()
    }

    fn reset_draws(&self) -> usize {
        SEED_DRAWS
    }

    /// Steps draw from the generator that the reset seeded.
    fn step_draws(&self) -> usize {
        0
    }

    fn reset(&mut self, draws: &[F], observation: &mut [F]) {
        let (seen, _) = self.env.reset_seed(seed(draws));
        write(&seen, observation);
    }

    fn step(&mut self, _draws: &[F], action: &[F], observation: &mut [F]) -> Step<F> {
        let action: Vec<f64> = action.iter().map(|&x| x.as_double()).collect();
        let (seen, reward, terminated, truncated, _) = self.env.step(A::from_numbers(&action));
        write(&seen, observation);
        Step { reward: F::from_f64(f64::from(reward)), terminated, truncated }
    }
}

/// The upper 16 bits of one draw and the upper 15 of another: seeds below 0 are not everyone's.
fn seed<F: Scalar>(draws: &[F]) -> i32 {
    let bits = |draw: F, count: i32| (draw.as_double() * 2f64.powi(count)) as i32;
    bits(draws[0], 16) << 15 | bits(draws[1], 15)
}

/// # Panics
/// The environment shows more or less than its space says.
fn write<O: Element, F: Scalar>(seen: &O, observation: &mut [F]) {
    let numbers = seen.to_numbers();
    assert_eq!(numbers.len(), observation.len(), "an observation is not as wide as its space");
    for (to, from) in observation.iter_mut().zip(numbers) {
        *to = F::from_f64(from);
    }
}
