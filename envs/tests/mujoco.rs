//! Random robots in random states, one step each, beside MuJoCo 3.17 itself.
#![cfg(feature = "mujoco")]

mod oracle;

use std::collections::BTreeMap;

use fedrl_core::random::{Key, KeyRng, Purpose};
use fedrl_envs::{Instance, Parameter, Parameters, find};
use oracle::{HALF_CHEETAH, HOPPER, Oracle, Robot, WALKER2D};
use rand::RngExt;

const VARIANTS: usize = 200;
const STATES: usize = 8;
/// Of coordinates and velocities after one step, relative to their size where it exceeds 1: as for
/// the robots as they are.
const TOLERANCE: f64 = 1e-10;
/// Of the robot as it is from a varied one, at least, in one of the parameter's states.
const EFFECT: f64 = 1e-3;

/// Parameters of the motion; the others are of rewards and initial states.
fn physical(id: &str) -> Vec<&'static Parameter> {
    let task = |name: &str| name.starts_with("reward") || name == "reset_noise_scale";
    Instance::parameters(find(id).expect("an environment").spec()).filter(|one| !task(one.name)).collect()
}

/// A value well away from the default: below it, or above.
fn value(parameter: &Parameter, above: bool, rng: &mut KeyRng) -> f64 {
    let share: f64 = rng.random();
    match (parameter.default, above) {
        (0.0, true) => 0.2 + 0.3 * share,
        (0.0, false) => -0.2 - 0.3 * share,
        (default, true) => default * (1.2 + 0.6 * share),
        (default, false) => default * (0.5 + 0.3 * share),
    }
}

/// Every parameter alone, below its default and above, then about half of them at once.
fn variant(parameters: &[&Parameter], index: usize, rng: &mut KeyRng) -> Parameters {
    if let Some(parameter) = parameters.get(index / 2) {
        return [(parameter.name.to_string(), value(parameter, index % 2 == 1, rng))].into();
    }
    let chosen: Vec<&&Parameter> = parameters.iter().filter(|_| rng.random()).collect();
    chosen.into_iter().map(|one| (one.name.to_string(), value(one, rng.random(), rng))).collect()
}

/// Near the floor, beyond some limits, slow or fast; and an action.
fn situation(reference: &[f64], actions: usize, rng: &mut KeyRng) -> (Vec<f64>, Vec<f64>) {
    let mut between = |low: f64, high: f64| low + (high - low) * rng.random::<f64>();
    let speed = if between(0.0, 1.0) < 0.5 { 0.5 } else { 5.0 };
    let mut state: Vec<f64> = reference.iter().map(|rest| rest + between(-0.7, 0.7)).collect();
    state[1] = reference[1] - between(0.0, 0.3);
    state.extend(reference.iter().map(|_| between(-speed, speed)));
    (state, (0..actions).map(|_| between(-1.0, 1.0)).collect())
}

fn error(ours: &[f64], theirs: &[f64]) -> f64 {
    let error = |(ours, theirs): (&f64, &f64)| (ours - theirs).abs() / theirs.abs().max(1.0);
    let errors: Vec<f64> = ours.iter().zip(theirs).map(error).collect();
    // Not the greatest that is a number.
    if errors.iter().any(|error| error.is_nan()) { f64::INFINITY } else { errors.into_iter().fold(0.0, f64::max) }
}

fn stepped(instance: &Instance, state: &[f64], action: &[f64]) -> Vec<f64> {
    let mut state = state.to_vec();
    instance.simulator::<f64>().step(&[], &mut state, action);
    state
}

/// Every variant steps as MuJoCo's does. With the parameter left at its default, it would not.
fn agrees(robot: &Robot) {
    let environment = find(robot.id).expect("an environment");
    let parameters = physical(robot.id);
    assert!(2 * parameters.len() < VARIANTS / 2, "half of all variants are mixed");
    let nominal = Instance::new(environment, Parameters::new()).expect("defaults");
    let mut effects: BTreeMap<&str, f64> = BTreeMap::new();
    for index in 0..VARIANTS {
        let mut rng = Key::new(1, Purpose::Variants).child([index as u32, 0, 0, 0]).rng();
        let given = variant(&parameters, index, &mut rng);
        let mut oracle = Oracle::new(robot, &given);
        let varied = Instance::new(environment, given.clone()).expect("in range");
        let mut steps = 0;
        while steps < STATES {
            let (state, action) = situation(oracle.reference(), varied.spec().action.width(), &mut rng);
            let Some(expected) = oracle.step(&state, &action) else { continue };
            let deviation = error(&stepped(&varied, &state, &action), &expected);
            assert!(deviation < TOLERANCE, "{} {given:?}: {deviation:e} from {state:?}", robot.id);
            if let Some(parameter) = parameters.get(index / 2) {
                let effect = effects.entry(parameter.name).or_default();
                *effect = effect.max(error(&stepped(&nominal, &state, &action), &expected));
            }
            steps += 1;
        }
    }
    assert_eq!(effects.len(), parameters.len());
    for (name, effect) in effects {
        assert!(effect > EFFECT, "{}: `{name}` changes no more than {effect:e}", robot.id);
    }
}

#[test]
fn random_half_cheetahs_step_as_mujoco_does() {
    agrees(&HALF_CHEETAH);
}

#[test]
fn random_hoppers_step_as_mujoco_does() {
    agrees(&HOPPER);
}

#[test]
fn random_walkers_step_as_mujoco_does() {
    agrees(&WALKER2D);
}
