//! Environments cross over to the crate `gymnasium-rs` and back.
#![cfg(feature = "gymnasium-rs")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod recorded;

use std::collections::HashMap;

use fedrl_core::Space;
use fedrl_envs::gymnasium::{Element, GymnasiumEnv, GymnasiumEpisode};
use fedrl_envs::{CartPole, Episode, HalfCheetah, Hopper, Instance, RandomMdp, SimulatedEpisode, Step};
use gymnasium_rs::core::{self, Env, Info, Options, Reward};
use gymnasium_rs::envs::cartpole::CartPole as TheirCartPole;
use gymnasium_rs::wrappers::timelimit::TimeLimitWrapper;
use ndarray::{Array1, Array3};
use recorded::recorded;

type Vector = Array1<f32>;

fn cartpole(seed: u64) -> GymnasiumEnv<Vector, i32> {
    GymnasiumEnv::new(&Instance::new(&CartPole, Default::default()).unwrap(), seed).unwrap()
}

/// Every recorded transition of Gymnasium, through the trait.
fn steps_as_recorded<A: Element>(mut env: GymnasiumEnv<Vector, A>, id: &str, tolerance: f64) {
    for transition in recorded(id) {
        env.episode().state_mut().copy_from_slice(&transition.state);
        let (seen, reward, terminated, _, _) = env.step(A::from_numbers(&transition.action));
        assert_eq!(terminated, transition.terminated, "{:?}", transition.state);
        assert!((f64::from(reward) - transition.reward).abs() <= tolerance * transition.reward.abs().max(1.0));
        for (&ours, &theirs) in seen.iter().zip(&transition.observation) {
            assert!((f64::from(ours) - theirs).abs() <= tolerance * theirs.abs().max(1.0), "{seen}");
        }
    }
}

#[test]
fn our_environments_step_as_gymnasium_does_through_the_trait() {
    steps_as_recorded(cartpole(0), "CartPole-v1", 2e-7);
    let hopper = Instance::new(&Hopper, Default::default()).unwrap();
    steps_as_recorded(GymnasiumEnv::<_, Vector>::new(&hopper, 0).unwrap(), "Hopper-v5", 1e-6);
}

#[test]
fn spaces_are_those_of_the_environment() {
    let env = cartpole(0);
    assert_eq!(env.action_space(), core::Space::Discrete(2));
    let core::Space::Box { low, high } = env.observation_space() else { panic!("a box") };
    assert_eq!((low[0], high[0], high[1]), (-4.8, 4.8, f32::INFINITY));
}

#[test]
fn a_seed_names_the_same_episodes_again() {
    let episode = |env: &mut GymnasiumEnv<Vector, i32>, seed| {
        let (first, _) = env.reset(seed, HashMap::new());
        (first, env.step(1).0)
    };
    let (mut one, mut other) = (cartpole(1), cartpole(2));
    let (seeded, next) = (episode(&mut one, Some(5)), episode(&mut one, None));
    assert_ne!(seeded, next);
    assert_eq!(seeded, episode(&mut other, Some(5)));
    assert_eq!(next, episode(&mut other, None));
    assert_eq!(seeded, episode(&mut cartpole(3), Some(5)));
    assert_ne!(seeded, episode(&mut one, Some(-5)));
    assert!(seeded.0.iter().all(|x| x.abs() < 0.05));
}

/// Draws of a step count too: the same policy in the same process lives through other states.
#[test]
fn random_transitions_follow_the_seed() {
    let instance = Instance::new(&RandomMdp, Default::default()).unwrap();
    let lived = |seed| {
        let mut env = GymnasiumEnv::<Vector, i32>::new(&instance, seed).unwrap();
        (0..30).map(|_| env.step(0).0).collect::<Vec<Vector>>()
    };
    assert_eq!(lived(1), lived(1));
    assert_ne!(lived(1), lived(2));
}

#[test]
fn a_time_limit_truncates_and_does_not_terminate() {
    let cheetah = Instance::new(&HalfCheetah, Default::default()).unwrap();
    let mut env = GymnasiumEnv::<Vector, Vector>::with_max_steps(&cheetah, 0, 3).unwrap();
    let mut outcome = || {
        let (_, _, terminated, truncated, _) = env.step(Vector::zeros(6));
        (terminated, truncated)
    };
    assert_eq!([outcome(), outcome(), outcome()], [(false, false), (false, false), (false, true)]);
    env.reset_default();
    assert!(!env.step(Vector::zeros(6)).3, "a reset begins anew");
}

#[test]
#[should_panic(expected = "[2.0] is no action of Discrete(2)")]
fn an_action_that_is_none_is_not_taken() {
    cartpole(0).step(2);
}

#[test]
fn types_that_a_space_does_not_have_are_refused() {
    let instance = Instance::new(&CartPole, Default::default()).unwrap();
    let error = GymnasiumEnv::<Vector, Vector>::new(&instance, 0).err().unwrap().to_string();
    assert!(error.starts_with("actions are elements of Discrete(2), which "), "{error}");
    let error = GymnasiumEpisode::<_, i32, i32>::new(Corridor { length: 0, at: 0 }).err().unwrap().to_string();
    assert_eq!(error, "Discrete(0) is no space to act in or to see");
}

/// Somebody else's environment: from the left end to the right. Action 1 goes right, 0 left.
struct Corridor {
    length: i32,
    at: i32,
}

impl Env<i32, i32> for Corridor {
    fn observation_space(&self) -> core::Space {
        core::Space::Discrete(self.length)
    }

    fn action_space(&self) -> core::Space {
        core::Space::Discrete(2)
    }

    fn reset(&mut self, seed: Option<i32>, _options: Options) -> (i32, Info) {
        self.at = seed.unwrap_or(0) % 2;
        (self.at, HashMap::new())
    }

    fn step(&mut self, action: i32) -> (i32, Reward, bool, bool, Info) {
        self.at = (self.at + 2 * action - 1).max(0);
        let there = self.at == self.length - 1;
        (self.at, if there { 1.0 } else { -0.25 }, there, false, HashMap::new())
    }

    fn render(&self) -> Option<Array3<u8>> {
        None
    }

    fn close(&mut self) {}
}

/// Always the same action: what is seen, and what the steps did.
fn live<F: Default + Copy>(episode: &mut dyn Episode<F>, draws: &[F], action: &[F]) -> (Vec<Vec<F>>, Vec<Step<F>>) {
    let mut observation = vec![F::default(); episode.observation_space().width()];
    episode.reset(draws, &mut observation);
    let (mut seen, mut steps) = (vec![observation.clone()], Vec::new());
    while steps.last().is_none_or(|step: &Step<F>| !step.terminated && !step.truncated) {
        steps.push(episode.step(&[], action, &mut observation));
        seen.push(observation.clone());
    }
    (seen, steps)
}

#[test]
fn a_foreign_environment_is_stepped_to_its_end() {
    let mut episode = GymnasiumEpisode::new(Corridor { length: 4, at: 0 }).unwrap();
    let ways: &mut dyn Episode<f32> = &mut episode;
    assert_eq!(ways.action_space(), Space::Discrete { n: 2 });
    assert_eq!((ways.reset_draws(), ways.step_draws()), (2, 0));
    let (seen, steps) = live(ways, &[0.0, 0.0], &[1.0]);
    assert_eq!(seen, [[0.0], [1.0], [2.0], [3.0]]);
    let step = |reward, terminated| Step { reward, terminated, truncated: false };
    assert_eq!(steps, [step(-0.25, false), step(-0.25, false), step(1.0, true)]);
    // The seed's lowest bit comes from the second draw's fifteenth.
    assert_eq!(live(ways, &[0.0, 0.5f32.powi(15)], &[1.0]).0.len(), 3);
}

#[test]
fn a_foreign_time_limit_truncates_and_does_not_terminate() {
    let mut corridor = Corridor { length: 4, at: 0 };
    let mut episode = GymnasiumEpisode::new(TimeLimitWrapper::new(&mut corridor, 5)).unwrap();
    for _ in 0..2 {
        let (seen, steps) = live::<f64>(&mut episode, &[0.0, 0.0], &[0.0]);
        assert_eq!(seen.len(), 6);
        assert_eq!(steps[4], Step { reward: -0.25, terminated: false, truncated: true });
    }
}

#[test]
fn ours_there_and_back_is_ours() {
    let instance = Instance::new(&CartPole, Default::default()).unwrap();
    let mut back = GymnasiumEpisode::new(cartpole(0)).unwrap();
    let (seen, steps) = live::<f64>(&mut back, &[0.3, 0.7], &[1.0]);
    let mut plain = SimulatedEpisode::<f64>::new(&instance, 500);
    let mut observation = [0.0; 4];
    plain.reset(&[0.0; 4], &mut observation);
    // The trait shows f32.
    plain.state_mut().copy_from_slice(&seen[0]);
    for (step, seen) in steps.iter().zip(&seen[1..]) {
        assert_eq!(*step, plain.step(&[], &[1.0], &mut observation));
        assert!(observation.iter().zip(seen).all(|(x, y)| (x - y).abs() < 1e-6));
    }
    assert!(steps.last().unwrap().terminated);
}

/// The crate's own CartPole is another system than Gymnasium's: with m·l replaced by l in the cart's
/// acceleration, a total mass of 1, and no reward for the last step.
#[test]
fn their_own_cartpole_is_not_gymnasiums() {
    let mut theirs = GymnasiumEpisode::new(TheirCartPole::new()).unwrap();
    let (seen, steps) = live::<f64>(&mut theirs, &[0.3, 0.7], &[1.0]);
    let ours = Instance::new(&CartPole, Default::default()).unwrap().simulator::<f64>();
    let mut state = seen[0].clone();
    ours.step(&[], &mut state, &[1.0]);
    assert!((state[0] - seen[1][0]).abs() < 1e-7, "positions move with the same velocities");
    assert!((state[1] - seen[1][1]).abs() > 0.05 && (state[3] - seen[1][3]).abs() > 0.02, "{state:?} {seen:?}");
    assert_eq!((steps[0].reward, steps.last().unwrap().reward), (1.0, 0.0));
}
