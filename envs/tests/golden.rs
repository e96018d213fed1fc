//! One step of every environment against the real one: transitions recorded from Gymnasium 1.4.
//! A line is `state | action | next state | observation | reward terminated`.

use fedrl_envs::{Instance, Precision, Simulator, find};

struct Recorded {
    state: Vec<f64>,
    action: Vec<f64>,
    next: Vec<f64>,
    observation: Vec<f64>,
    reward: f64,
    terminated: bool,
}

fn recorded(text: &str) -> Vec<Recorded> {
    let numbers = |field: &str| field.split_whitespace().map(|x| x.parse().expect("a number")).collect::<Vec<f64>>();
    let line = |line: &str| {
        let fields: Vec<Vec<f64>> = line.split('|').map(numbers).collect();
        let [state, action, next, observation, outcome] = fields.try_into().expect("five fields");
        Recorded { state, action, next, observation, reward: outcome[0], terminated: outcome[1] != 0.0 }
    };
    text.lines().map(line).collect()
}

/// The greatest error of next states, relative to their size where it exceeds 1.
fn worst<F: Precision>(simulator: &Simulator<F>, recorded: &[Recorded]) -> f64 {
    let mut worst: f64 = 0.0;
    for transition in recorded {
        let mut state: Vec<F> = transition.state.iter().map(|&x| F::from_f64(x)).collect();
        let action: Vec<F> = transition.action.iter().map(|&x| F::from_f64(x)).collect();
        let mut observation = vec![F::from_f64(0.0); transition.observation.len()];
        let step = simulator.step(&[], &mut state, &action);
        simulator.observe(&state, &mut observation);
        assert_eq!(step.reward.as_double(), transition.reward);
        assert_eq!(step.terminated, transition.terminated, "{:?}", transition.state);
        for (&ours, &theirs) in state.iter().zip(&transition.next) {
            worst = worst.max((ours.as_double() - theirs).abs() / theirs.abs().max(1.0));
        }
        for (&ours, &theirs) in observation.iter().zip(&transition.observation) {
            // Gymnasium's observations are f32.
            assert!((ours.as_double() - theirs).abs() <= 2e-7 * theirs.abs().max(1.0) + worst);
        }
    }
    worst
}

#[test]
fn cartpole_steps_as_gymnasium_does() {
    let recorded = recorded(include_str!("golden/CartPole-v1.txt"));
    assert!(recorded.len() >= 100);
    let instance = Instance::new(find("CartPole-v1").expect("an environment"), Default::default()).expect("defaults");
    let double = worst(&instance.simulator::<f64>(), &recorded);
    assert!(double < 1e-12, "f64: {double}");
    let single = worst(&instance.simulator::<f32>(), &recorded);
    assert!(single < 1e-5, "f32: {single}");
}
