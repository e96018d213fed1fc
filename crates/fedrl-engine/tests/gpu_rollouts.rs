//! A kernel lives through the same trajectories as the CPU. Runs on any wgpu adapter, a software one (Mesa's
//! llvmpipe) included.
#![cfg(feature = "wgpu")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{DeviceChoice, Engine, Mode, Replica, select};
use fedrl_envs::{Instance, Simulator, find};
use fedrl_models::{Activation, Policy, PolicyConfig};

fn assert_same(id: &str, hidden: &[usize], activation: Activation, mode: Mode, tolerance: f32) {
    let environment = find(id).unwrap();
    let spec = environment.spec();
    let config = PolicyConfig { hidden: hidden.to_vec(), activation, ..PolicyConfig::default() };
    let policy = Policy::new(&config, &spec.observation, &spec.action).unwrap();
    let first = &spec.parameters[0];
    let simulators: Vec<Simulator<f32>> = (0..5)
        .map(|i| {
            let given = [
                (first.name.to_string(), first.default * (0.9 + 0.05 * f64::from(i))),
                ("reward_scale".to_string(), 2.0),
                ("reward_shift".to_string(), 0.5),
            ];
            Instance::new(environment, given.into()).unwrap().simulator()
        })
        .collect();
    let thetas: Vec<Vec<f32>> = (0..5).map(|i| policy.initial(Key::new(i, Purpose::Initialisation))).collect();
    let replicas: Vec<Replica<f32>> = simulators
        .iter()
        .zip(&thetas)
        .enumerate()
        .map(|(i, (simulator, theta))| {
            let key = Key::new(3, Purpose::Training).child([i as u32, 0, 0, 0]);
            Replica { theta, simulator, spec, key }
        })
        .collect();
    let live = |choice| {
        let engine = Engine::new(&select(choice, 0).unwrap());
        engine.rollout(&policy, &replicas, 7, 40, mode).unwrap()
    };
    let (expected, found) = (live(DeviceChoice::Reference), live(DeviceChoice::Wgpu(0)));
    for (expected, found) in expected.margins.iter().zip(&found.margins) {
        assert!(expected == found || (expected - found).abs() < 1e-4, "{id}: margins {expected} and {found}");
        assert!(*expected > 1e-6, "{id}: a tie: {expected}");
    }
    for (expected, found) in expected.replicas.iter().flatten().zip(found.replicas.iter().flatten()) {
        assert_eq!((expected.len(), expected.terminated), (found.len(), found.terminated), "{id}");
        let pairs = [
            (&expected.observations, &found.observations),
            (&expected.actions, &found.actions),
            (&expected.rewards, &found.rewards),
            (&expected.final_observation, &found.final_observation),
        ];
        for (expected, found) in pairs {
            assert_eq!(expected.len(), found.len(), "{id}");
            for (expected, found) in expected.iter().zip(found) {
                assert!((expected - found).abs() <= tolerance * (1.0 + expected.abs()), "{id}: {expected} {found}");
            }
        }
    }
}

#[test]
fn cartpole_with_every_kind_of_network() {
    assert_same("CartPole-v1", &[8, 8], Activation::Tanh, Mode::Sampled, 1e-4);
    assert_same("CartPole-v1", &[5], Activation::Relu, Mode::Sampled, 1e-4);
    assert_same("CartPole-v1", &[], Activation::Tanh, Mode::Greedy, 1e-4);
}

#[test]
fn acrobot() {
    assert_same("Acrobot-v1", &[6], Activation::Tanh, Mode::Sampled, 1e-3);
}

/// What llvmpipe cannot run is lived through on the CPU; a GPU runs it.
#[test]
fn a_robot_and_a_policy_that_is_too_large_for_a_software_adapter() {
    assert_same("Hopper-v5", &[8], Activation::Tanh, Mode::Sampled, 5e-2);
    assert_same("CartPole-v1", &[64, 64], Activation::Tanh, Mode::Sampled, 1e-4);
}
