//! Every parameter changes what it should, and nothing that contradicts physics is accepted.

use fedrl_envs::{ENVIRONMENTS, Environment, Instance, Parameters, Range, find};

fn cartpole(given: &[(&str, f64)]) -> Result<Instance, String> {
    let given: Parameters = given.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    Instance::new(find("CartPole-v1")?, given).map_err(|error| error.to_string())
}

/// Twenty steps from fixed draws under a fixed sequence of actions, with rewards.
fn trajectory(instance: &Instance) -> Vec<f64> {
    let spec = instance.spec();
    let simulator = instance.simulator::<f64>();
    let draws: Vec<f64> = (0..spec.reset_draws).map(|i| 0.15 + 0.7 * i as f64 / spec.reset_draws as f64).collect();
    let mut state = vec![0.0; spec.state_width];
    simulator.reset(&draws, &mut state);
    let mut history = state.clone();
    for t in 0..20 {
        let draws: Vec<f64> = (0..spec.step_draws).map(|i| (0.37 * (t + i) as f64).fract()).collect();
        let step = simulator.step(&draws, &mut state, &[f64::from(t % 3 == 0)]);
        history.extend(&state);
        history.push(step.reward);
    }
    history
}

/// Parameters without which others have no effect.
fn mixture(environment: &dyn Environment) -> Parameters {
    match environment.spec().id {
        "RandomMDP-v0" => [("kappa".to_string(), 0.5), ("reward_kappa".to_string(), 0.5)].into(),
        _ => Parameters::new(),
    }
}

#[test]
fn changing_any_parameter_of_any_environment_changes_the_trajectory() {
    for environment in ENVIRONMENTS {
        for parameter in Instance::parameters(environment.spec()) {
            let value = match parameter.range {
                Range::Whole | Range::Choice(_) => parameter.default + 1.0,
                _ if parameter.default == 0.0 => 0.1,
                _ => parameter.default * 0.9,
            };
            let of = |value: Option<f64>| {
                let mut given = mixture(environment);
                given.remove(parameter.name);
                given.extend(value.map(|value| (parameter.name.to_string(), value)));
                trajectory(&Instance::new(environment, given).expect("in range"))
            };
            let place = format!("{}: {}", environment.spec().id, parameter.name);
            assert_ne!(of(Some(value)), of(None), "{place}");
            assert_eq!(of(Some(parameter.default)), of(None), "{place}");
        }
    }
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
    assert_eq!(trajectory(&half), trajectory(&full));
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
    assert!(find("Cartpole").err().expect("no such environment").contains("did you mean `CartPole-v1`?"));
}
