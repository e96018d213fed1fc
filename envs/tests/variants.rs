//! Every parameter changes what it should, and nothing that contradicts physics is accepted.

mod recorded;

use fedrl_envs::{ENVIRONMENTS, Instance, Parameters, Range, find};
use recorded::{Recorded, recorded};

fn cartpole(given: &[(&str, f64)]) -> Result<Instance, String> {
    let given: Parameters = given.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    Instance::new(find("CartPole-v1")?, given).map_err(|error| error.to_string())
}

/// States and actions: the recorded ones (hard ones among them: contacts, limits, goals), or all that
/// there are.
fn states_and_actions(instance: &Instance) -> Vec<(Vec<f64>, Vec<f64>)> {
    match instance.mdp() {
        Some(mdp) => (0..mdp.states)
            .flat_map(|state| (0..mdp.actions).map(move |action| (vec![state as f64], vec![action as f64])))
            .collect(),
        None => recorded(instance.spec().id).into_iter().map(|one: Recorded| (one.state, one.action)).collect(),
    }
}

/// What the environment does: an initial state from fixed draws, and one step `from` every state with
/// its reward and termination.
fn behaviour(instance: &Instance, from: &[(Vec<f64>, Vec<f64>)]) -> Vec<f64> {
    let spec = instance.spec();
    let simulator = instance.simulator::<f64>();
    let draws: Vec<f64> = (0..spec.reset_draws).map(|i| 0.15 + 0.7 * i as f64 / spec.reset_draws as f64).collect();
    let mut initial = vec![0.0; spec.state_width];
    simulator.reset(&draws, &mut initial);
    let steps = from.iter().flat_map(|(state, action)| {
        let mut state = state.clone();
        let draws: Vec<f64> = (0..spec.step_draws).map(|i| (0.37 * (action[0] + i as f64)).fract()).collect();
        let step = simulator.step(&draws, &mut state, action);
        state.extend([step.reward, f64::from(step.terminated)]);
        state
    });
    initial.into_iter().chain(steps).collect()
}

/// Values that other parameters need to matter: a goal scaled by links of 1 m is not scaled, an own
/// kernel counts only in a mixture.
fn setting(id: &str) -> Parameters {
    let values: &[(&str, f64)] = match id {
        "Acrobot-v1" => &[("link_length_1", 1.3)],
        "RandomMDP-v0" => &[("kappa", 0.5), ("reward_kappa", 0.5)],
        _ => &[],
    };
    values.iter().map(|&(name, value)| (name.to_string(), value)).collect()
}

#[test]
fn changing_any_parameter_of_any_environment_changes_what_it_does() {
    for environment in ENVIRONMENTS {
        let id = environment.spec().id;
        let from = states_and_actions(&Instance::new(environment, setting(id)).expect("defaults"));
        let behaviour_with = |name: &str, value: f64| {
            let mut given = setting(id);
            given.insert(name.to_string(), value);
            behaviour(&Instance::new(environment, given).expect("in range"), &from)
        };
        let nominal = behaviour(&Instance::new(environment, setting(id)).expect("defaults"), &from);
        for parameter in Instance::parameters(environment.spec()) {
            let value = match (parameter.range, parameter.default) {
                (Range::Choice(_) | Range::Whole, default) => default + 1.0,
                (_, 0.0) => 0.1,
                (_, default) => default * 0.9,
            };
            let name = parameter.name;
            assert_ne!(behaviour_with(name, value), nominal, "{id}: {name}");
            if !setting(id).contains_key(name) && !derived(name) {
                assert_eq!(behaviour_with(name, parameter.default), nominal, "{id}: {name}");
            }
        }
    }
}

/// Whether a parameter that is not set follows another one.
fn derived(name: &str) -> bool {
    name.starts_with("link_com_pos")
}

/// θ̈ = (g sinθ − cosθ·temp) / (l (4/3 − m cos²θ / M)) with temp = (F + m l θ̇² sinθ) / M, and
/// ẍ = temp − m l θ̈ cosθ / M, evaluated with every quantity derived from the varied parameters.
#[test]
fn cartpole_parameters_act_as_the_equations_say() {
    let (g, cart, pole, l, force, dt) = (3.7, 2.0, 0.3, 0.8, 7.0, 0.01);
    let varied = cartpole(&[
        ("gravity", g),
        ("masscart", cart),
        ("masspole", pole),
        ("length", l),
        ("force_mag", force),
        ("tau", dt),
    ])
    .expect("in range");
    let (x, v, angle, spin) = (0.1, -0.4, 0.15, 0.9f64);
    let mut state = [x, v, angle, spin];
    varied.simulator::<f64>().step(&[], &mut state, &[0.0]);
    let total = cart + pole;
    let temp = (-force + pole * l * spin * spin * angle.sin()) / total;
    let spin_rate = (g * angle.sin() - angle.cos() * temp) / (l * (4.0 / 3.0 - pole * angle.cos().powi(2) / total));
    let acceleration = temp - pole * l * spin_rate * angle.cos() / total;
    let expected = [x + dt * v, v + dt * acceleration, angle + dt * spin, spin + dt * spin_rate];
    for (ours, theirs) in state.iter().zip(expected) {
        assert!((ours - theirs).abs() < 1e-14, "{state:?} {expected:?}");
    }
}

#[test]
fn half_and_full_length_name_the_same_pole_but_not_at_once() {
    let half = cartpole(&[("length", 0.4)]).expect("in range");
    let full = cartpole(&[("pole_length", 0.8)]).expect("in range");
    let from = states_and_actions(&half);
    assert_eq!(behaviour(&half, &from), behaviour(&full, &from));
    let error = cartpole(&[("length", 0.4), ("pole_length", 0.8)]).expect_err("both at once");
    assert!(error.contains("`length`") && error.contains("`pole_length`"), "{error}");
}

#[test]
fn initial_states_fill_the_range_that_was_asked_for() {
    let wide = cartpole(&[("init_low", -0.2), ("init_high", 0.4)]).expect("in range").simulator::<f64>();
    let mut state = [0.0; 4];
    wide.reset(&[0.0, 0.5, 0.75, 1.0], &mut state);
    for (ours, theirs) in state.iter().zip([-0.2, 0.1, 0.25, 0.4]) {
        assert!((ours - theirs).abs() < 1e-12);
    }
}

#[test]
fn rewards_are_scaled_then_shifted() {
    let varied = cartpole(&[("reward_scale", 3.0), ("reward_shift", -0.5)]).expect("in range");
    assert_eq!(varied.simulator::<f64>().step(&[], &mut [0.0; 4], &[1.0]).reward, 2.5);
}

#[test]
fn what_is_not_physical_is_refused_by_name_value_and_range() {
    let error = |given: &[(&str, f64)]| cartpole(given).expect_err("not physical");
    assert_eq!(error(&[("masspole", 0.0)]), "CartPole-v1: parameter `masspole` is 0, expected a finite number > 0");
    assert_eq!(error(&[("gravity", f64::NAN)]), "CartPole-v1: parameter `gravity` is NaN, expected a finite number");
    assert!(error(&[("lenght", 0.5)]).contains("unknown parameter `lenght`; did you mean `length`?"));
    assert!(error(&[("init_low", 0.2), ("init_high", 0.1)]).contains("`init_low` (0.2) is greater"));
    assert!(error(&[("length", 10.0), ("masspole", 1e38)]).contains("outside the range of 32-bit numbers"));
    assert!(find("Cartpole").err().expect("no such environment").contains("did you mean `CartPole-v1`?"));
}
