//! One of our environments for programs written against `gymnasium-rs`.

use std::collections::HashMap;
use std::marker::PhantomData;

use fedrl_core::random::{Block, Key, Purpose};
use fedrl_core::{Real, Space};
use gymnasium_rs::core::{self, Env, Info, Options, Reward};
use ndarray::Array3;

use super::{Element, GymnasiumError, check, exported};
use crate::{Episode, Instance, STEP_DRAWS, SimulatedEpisode};

/// An [`Instance`] with a seed as an [`Env`] with observations `O` and actions `A`:
/// `Array1<f32>` where the space is a box, `i32` where it is discrete. It is simulated in f64, as
/// Gymnasium simulates, and seen in f32.
pub struct GymnasiumEnv<O, A> {
    episode: SimulatedEpisode<f64>,
    action_space: Space,
    observation: Vec<f64>,
    key: Key,
    /// How many episodes under this key came before.
    index: u32,
    elements: PhantomData<fn(A) -> O>,
}

impl<O: Element, A: Element> GymnasiumEnv<O, A> {
    /// The environment `instance` in the first episode of `seed`, with Gymnasium's time limit.
    ///
    /// # Errors
    /// `O` and `A` are not the types of its spaces.
    pub fn new(instance: &Instance, seed: u64) -> Result<Self, GymnasiumError> {
        Self::with_max_steps(instance, seed, instance.spec().max_episode_steps)
    }

    /// The same with episodes that are truncated after `max_steps` steps.
    ///
    /// # Errors
    /// `O` and `A` are not the types of its spaces.
    pub fn with_max_steps(instance: &Instance, seed: u64, max_steps: usize) -> Result<Self, GymnasiumError> {
        let spec = instance.spec();
        check::<O>("observations", &spec.observation)?;
        check::<A>("actions", &spec.action)?;
        let mut env = GymnasiumEnv {
            episode: SimulatedEpisode::new(instance, max_steps),
            action_space: spec.action.clone(),
            observation: vec![0.0; spec.observation.width()],
            key: key(seed),
            index: 0,
            elements: PhantomData,
        };
        env.begin(0);
        Ok(env)
    }

    /// What is behind the trait: state, and time since the reset.
    pub fn episode(&mut self) -> &mut SimulatedEpisode<f64> {
        &mut self.episode
    }

    fn begin(&mut self, index: u32) {
        self.index = index;
        let root = self.key.child([index, 0, 0, RESET]);
        let draws: Vec<f64> = (0..self.episode.reset_draws()).map(|i| draw(root, i)).collect();
        self.episode.reset(&draws, &mut self.observation);
    }

    /// The numbers of an action.
    fn checked(&self, action: &A) -> Vec<f64> {
        let numbers = action.to_numbers();
        let valid = match &self.action_space {
            Space::Discrete { n } => (0..*n).any(|choice| numbers == [choice as f64]),
            Space::Box { low, .. } => numbers.len() == low.len(),
        };
        assert!(valid, "{numbers:?} is no action of {}", self.action_space);
        numbers
    }
}

const RESET: u32 = 0;
const STEP: u32 = 1;

fn key(seed: u64) -> Key {
    Key::new(seed, Purpose::Evaluation)
}

/// The `i`-th draw under `key`.
fn draw(key: Key, i: usize) -> f64 {
    let Block { a, b, c, d } = key.block([(i / 4) as u32, 0, 0, 0]);
    f64::unit([a, b, c, d][i % 4])
}

impl<O: Element, A: Element> Env<O, A> for GymnasiumEnv<O, A> {
    fn observation_space(&self) -> core::Space {
        exported(&self.episode.observation_space())
    }

    fn action_space(&self) -> core::Space {
        exported(&self.action_space)
    }

    /// Begins the next episode, or the first one of another `seed`. There are no options: where
    /// episodes begin is a parameter of the instance.
    fn reset(&mut self, seed: Option<i32>, _options: Options) -> (O, Info) {
        match seed {
            Some(seed) => {
                self.key = key(u64::from(seed as u32));
                self.begin(0);
            }
            None => self.begin(self.index.wrapping_add(1)),
        }
        (O::from_numbers(&self.observation), HashMap::new())
    }

    /// Moves on.
    ///
    /// # Panics
    /// There is no such action: the trait has no place for an error.
    fn step(&mut self, action: A) -> (O, Reward, bool, bool, Info) {
        let action = self.checked(&action);
        let root = self.key.child([self.index, self.episode.time() as u32, 0, STEP]);
        let draws: [f64; STEP_DRAWS] = std::array::from_fn(|i| draw(root, i));
        let draws = &draws[..self.episode.step_draws()];
        let step = self.episode.step(draws, &action, &mut self.observation);
        (O::from_numbers(&self.observation), step.reward as f32, step.terminated, step.truncated, HashMap::new())
    }

    /// Nothing is drawn.
    fn render(&self) -> Option<Array3<u8>> {
        None
    }

    fn close(&mut self) {}
}
