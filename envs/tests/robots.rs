//! Robots obey physics that needs no simulator to know, and nothing breaks them.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod recorded;

use fedrl_core::Real;
use fedrl_core::random::{Key, Purpose};
use fedrl_envs::{Instance, Parameters, Precision, find};
use recorded::recorded;

const ROBOTS: [&str; 3] = ["HalfCheetah-v5", "Hopper-v5", "Walker2d-v5"];

fn robot(id: &str, given: &[(&str, f64)]) -> Instance {
    let given: Parameters = given.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    Instance::new(find(id).unwrap(), given).unwrap()
}

/// The next state and the reward.
fn step(instance: &Instance, state: &[f64], action: &[f64]) -> (Vec<f64>, f64) {
    let mut state = state.to_vec();
    let reward = instance.simulator::<f64>().step(&[], &mut state, action).reward;
    (state, reward)
}

fn assert_close(ours: &[f64], theirs: &[f64], tolerance: f64, what: &str) {
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((ours - theirs).abs() < tolerance * theirs.abs().max(1.0), "{what}: {ours} {theirs}");
    }
}

/// Whether a robot has springs.
fn with_springs<'a>(id: &str, mut given: Vec<(&'a str, f64)>, scale: f64) -> Vec<(&'a str, f64)> {
    if id == "HalfCheetah-v5" {
        given.push(("stiffness_scale", scale));
    }
    given
}

#[test]
fn nothing_but_gravity_acts_on_a_robot_in_the_air() {
    for id in ROBOTS {
        let falling = robot(id, &[("gravity", 3.0)]);
        let spec = falling.spec();
        let mut state = vec![0.0; spec.state_width];
        state[1] = 10.0;
        let (after, _) = step(&falling, &state, &vec![0.0; spec.action.width()]);
        let duration = if id == "HalfCheetah-v5" { 0.05 } else { 0.008 };
        let speed = spec.state_width / 2 + 1;
        assert!((after[speed] + 3.0 * duration).abs() < 1e-12, "{id}: {after:?}");
        assert!(after.iter().enumerate().all(|(i, x)| i == 1 || i == speed || x.abs() < 1e-12), "{id}: {after:?}");
    }
}

/// Contacts and limits included: they yield by the masses that they meet.
#[test]
fn masses_and_torques_scaled_alike_move_alike() {
    for id in ROBOTS {
        let given = ["mass_scale", "armature_scale", "gear_scale", "damping_scale"].map(|name| (name, 2.5));
        let heavy = robot(id, &with_springs(id, given.into(), 2.5));
        for transition in recorded(id) {
            let (state, _) = step(&heavy, &transition.state, &transition.action);
            assert_close(&state, &transition.next, 1e-9, id);
        }
    }
}

/// All lengths times s: masses grow by s³, inertias by s⁵. With gravity times s and torques times
/// s⁵, angles move the same way and positions s times as far. In the air: the floor's softness
/// has a length of its own.
#[test]
fn large_robots_move_as_small_ones_do_when_all_else_grows_too() {
    let s: f64 = 1.3;
    for id in ROBOTS {
        let lengths = [("link_length_scale", s), ("geom_radius_scale", s), ("gravity", 9.81 * s)];
        let torques = ["armature_scale", "gear_scale", "damping_scale"].map(|name| (name, s.powi(5)));
        let large = robot(id, &with_springs(id, [lengths, torques].concat(), s.powi(5)));
        let small = robot(id, &[]);
        for transition in recorded(id).iter().step_by(10) {
            let half = transition.state.len() / 2;
            let positions = [0, 1, half, half + 1];
            let mut state = transition.state.clone();
            state[1] += 5.0;
            let (mut expected, _) = step(&small, &state, &transition.action);
            for i in positions {
                state[i] *= s;
                expected[i] *= s;
            }
            let (after, _) = step(&large, &state, &transition.action);
            assert_close(&after, &expected, 1e-9, id);
        }
    }
}

#[test]
fn actions_are_biased_then_clipped_and_cost_what_was_chosen() {
    for (id, weight) in ROBOTS.into_iter().zip([0.1, 0.001, 0.001]) {
        let plain = robot(id, &[]);
        let start = &recorded(id)[0].state;
        let width = plain.spec().action.width();
        let (biased, reward) = step(&robot(id, &[("action_bias", 0.3)]), start, &vec![0.2; width]);
        let (same, other) = step(&plain, start, &vec![0.5; width]);
        assert_close(&biased, &same, 1e-12, id);
        let squares = width as f64;
        assert!((reward - other - weight * squares * (0.25 - 0.04)).abs() < 1e-12);
        let (beyond, costly) = step(&plain, start, &vec![-3.0; width]);
        let (clipped, cheap) = step(&plain, start, &vec![-1.0; width]);
        assert_eq!(beyond, clipped);
        assert!((cheap - costly - weight * squares * 8.0).abs() < 1e-12);
    }
}

#[test]
fn rewards_weigh_way_and_effort() {
    let start = &recorded("HalfCheetah-v5")[1].state;
    let action = [0.5, -0.5, 1.0, 0.0, 0.1, -0.9];
    let weighed = robot("HalfCheetah-v5", &[("reward.forward_weight", 2.0), ("reward.ctrl_cost_weight", 0.3)]);
    let (after, reward) = step(&weighed, start, &action);
    let effort: f64 = action.iter().map(|a| a * a).sum();
    assert!((reward - (2.0 * (after[0] - start[0]) / 0.05 - 0.3 * effort)).abs() < 1e-10);
}

/// In f32 a way of a millimetre is lost at 100 km, unless it is summed apart.
#[test]
fn rewards_do_not_depend_on_how_far_a_robot_has_come() {
    for id in ROBOTS {
        let simulator = robot(id, &[]).simulator::<f32>();
        let mut near: Vec<f32> = recorded(id)[0].state.iter().map(|&x| x as f32).collect();
        let mut far = near.clone();
        (near[0], far[0]) = (0.0, 1e5);
        let action = vec![0.5; simulator_width(id)];
        assert_eq!(simulator.step(&[], &mut near, &action).reward, simulator.step(&[], &mut far, &action).reward);
    }
}

fn simulator_width(id: &str) -> usize {
    find(id).unwrap().spec().action.width()
}

/// Draws as a rollout makes them.
fn initial(instance: &Instance, episode: u32) -> Vec<f64> {
    let key = Key::new(11, Purpose::Evaluation);
    let draws: Vec<f64> =
        (0..instance.spec().reset_draws).map(|i| f64::unit(key.block([episode, i as u32, 0, 0]).a)).collect();
    let mut state = vec![0.0; instance.spec().state_width];
    instance.simulator::<f64>().reset(&draws, &mut state);
    state
}

#[test]
fn initial_states_lie_around_rest_as_gymnasium_draws_them() {
    for (id, height, noise) in [("Hopper-v5", 1.25, 0.005 + 0.02), ("Walker2d-v5", 1.25, 0.3)] {
        let instance = robot(id, &[("reset_noise_scale", noise)]);
        let mut reached: f64 = 0.0;
        for episode in 0..200 {
            for (i, x) in initial(&instance, episode).into_iter().enumerate() {
                let deviation = (x - if i == 1 { height } else { 0.0 }).abs();
                assert!(deviation <= noise);
                reached = reached.max(deviation);
            }
        }
        assert!(reached > 0.99 * noise);
    }
    let cheetah = robot("HalfCheetah-v5", &[]);
    let episodes = 2000;
    let states: Vec<Vec<f64>> = (0..episodes).map(|episode| initial(&cheetah, episode)).collect();
    for i in 0..18 {
        let mean = states.iter().map(|state| state[i]).sum::<f64>() / f64::from(episodes);
        let variance = states.iter().map(|state| state[i] * state[i]).sum::<f64>() / f64::from(episodes);
        // Positions: 0.1²/3 (uniform); velocities: 0.1² (normal). Five standard errors of each.
        let expected = if i < 9 { 0.01 / 3.0 } else { 0.01 };
        assert!(mean.abs() < 5.0 * (expected / f64::from(episodes)).sqrt(), "{i}: {mean}");
        let spread = if i < 9 { (0.8f64).sqrt() } else { (2.0f64).sqrt() };
        assert!((variance / expected - 1.0).abs() < 5.0 * spread / f64::from(episodes).sqrt(), "{i}: {variance}");
    }
    // Normal draws of one pair are independent.
    let mixed = states.iter().map(|state| state[9] * state[10]).sum::<f64>() / f64::from(episodes);
    assert!(mixed.abs() < 5.0 * 0.01 / f64::from(episodes).sqrt(), "{mixed}");
}

#[test]
fn no_draw_gives_a_state_that_is_not_finite() {
    for id in ROBOTS {
        let instance = robot(id, &[]);
        for draw in [0.0f32, f32::unit(u32::MAX)] {
            let mut state = vec![0.0; instance.spec().state_width];
            instance.simulator::<f32>().reset(&vec![draw; instance.spec().reset_draws], &mut state);
            assert!(state.iter().all(|x| x.is_finite()), "{id}: {state:?}");
        }
    }
}

/// From states that no robot should be in, every state is finite until an episode ends.
fn survive<F: Precision>(id: &str, height: f64, speed: f64, angle: f64) {
    let instance = robot(id, &[]);
    let (spec, simulator) = (instance.spec(), instance.simulator::<F>());
    let half = spec.state_width / 2;
    let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    let value = |i: usize| match i {
        0 => 0.0,
        1 => height,
        i if i < half => angle * sign(i),
        i => speed * sign(i / 2),
    };
    let mut state: Vec<F> = (0..spec.state_width).map(|i| F::from_f64(value(i))).collect();
    let action: Vec<F> = (0..spec.action.width()).map(|i| F::from_f64(sign(i))).collect();
    for time in 0..300 {
        let step = simulator.step(&[], &mut state, &action);
        if step.terminated {
            return;
        }
        let finite = step.reward.as_double().is_finite() && state.iter().all(|x| x.as_double().is_finite());
        assert!(finite, "{id} from {height} {speed} {angle}: step {time}");
    }
}

#[test]
fn impossible_states_stay_finite_or_end_the_episode() {
    for id in ROBOTS {
        for height in [-20.0, -1.0, 0.3, 1.2] {
            for speed in [0.0, 50.0, 1e3, 1e6] {
                for angle in [0.0, 0.5, 3.0, 100.0] {
                    survive::<f32>(id, height, speed, angle);
                    survive::<f64>(id, height, speed, angle);
                }
            }
        }
    }
}

#[test]
fn a_state_that_is_no_number_ends_the_episode() {
    for id in ROBOTS {
        let simulator = robot(id, &[]).simulator::<f32>();
        let mut state: Vec<f32> = recorded(id)[0].state.iter().map(|&x| x as f32).collect();
        state[4] = f32::NAN;
        assert!(simulator.step(&[], &mut state, &vec![0.0; simulator_width(id)]).terminated, "{id}");
    }
}
