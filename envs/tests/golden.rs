//! One step of every environment against the real one.

mod recorded;

use fedrl_envs::{Instance, Precision, Simulator, find};
use recorded::{recorded, recorded_variants};

/// How far one step lies from the recorded ones.
struct Errors {
    /// Of each transition's next state: the greatest over its components, relative to their size
    /// where it exceeds 1. In ascending order.
    states: Vec<f64>,
    /// The greatest of the rewards.
    reward: f64,
}

impl Errors {
    fn quantile(&self, share: f64) -> f64 {
        self.states[((self.states.len() - 1) as f64 * share).round() as usize]
    }
}

impl std::fmt::Debug for Errors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [median, most, all] = [0.5, 0.99, 1.0].map(|share| self.quantile(share));
        write!(f, "median {median:.1e}, 99 % {most:.1e}, max {all:.1e}, reward {:.1e}", self.reward)
    }
}

/// Steps the environment `id` from every recorded state. Every termination has to be right.
/// Gymnasium computes the cost of an action, `effort` times its square, in f32; the recorded
/// rewards are corrected for that.
fn errors<F: Precision>(id: &str, effort: f32) -> Errors {
    let instance = Instance::new(find(id).expect("an environment"), Default::default()).expect("defaults");
    let simulator: Simulator<F> = instance.simulator();
    let recorded = recorded(id);
    assert!(recorded.len() >= 100);
    let mut errors = Errors { states: Vec::new(), reward: 0.0 };
    for transition in &recorded {
        let mut state: Vec<F> = transition.state.iter().map(|&x| F::from_f64(x)).collect();
        let action: Vec<F> = transition.action.iter().map(|&x| F::from_f64(x)).collect();
        let mut observation = vec![F::from_f64(0.0); transition.observation.len()];
        let step = simulator.step(&[], &mut state, &action);
        simulator.observe(&state, &mut observation);
        assert_eq!(step.terminated, transition.terminated, "{:?}", transition.state);
        errors.reward = errors.reward.max(error(step.reward, transition.reward + rounding(effort, &transition.action)));
        let state = worst(&state, &transition.next);
        // Gymnasium's observations of classic control are f32.
        assert!(worst(&observation, &transition.observation) <= 2e-7 + 2.0 * state, "{:?}", transition.state);
        errors.states.push(state);
    }
    errors.states.sort_by(f64::total_cmp);
    errors
}

/// What f32 adds to the cost of an action.
fn rounding(effort: f32, action: &[f64]) -> f64 {
    let single = effort * action.iter().map(|&x| x as f32 * x as f32).sum::<f32>();
    let weight: f64 = effort.to_string().parse().expect("a number");
    f64::from(single) - weight * action.iter().map(|x| x * x).sum::<f64>()
}

fn error<F: Precision>(ours: F, theirs: f64) -> f64 {
    (ours.as_double() - theirs).abs() / theirs.abs().max(1.0)
}

fn worst<F: Precision>(ours: &[F], theirs: &[f64]) -> f64 {
    ours.iter().zip(theirs).map(|(&ours, &theirs)| error(ours, theirs)).fold(0.0, f64::max)
}

#[test]
fn cartpole_steps_as_gymnasium_does() {
    let (double, single) = (errors::<f64>("CartPole-v1", 0.0), errors::<f32>("CartPole-v1", 0.0));
    assert!(double.quantile(1.0) < 1e-12, "{double:?}");
    assert!(single.quantile(1.0) < 1e-5, "{single:?}");
    assert_eq!((double.reward, single.reward), (0.0, 0.0));
}

#[test]
fn acrobot_steps_as_gymnasium_does() {
    let (double, single) = (errors::<f64>("Acrobot-v1", 0.0), errors::<f32>("Acrobot-v1", 0.0));
    assert!(double.quantile(1.0) < 1e-12, "{double:?}");
    assert!(single.quantile(1.0) < 1e-5, "{single:?}");
    assert_eq!((double.reward, single.reward), (0.0, 0.0));
}

/// One step of a robot: exact in f64; in f32 as good as can be expected of stiff contacts.
fn planar(id: &str, effort: f32) {
    let (double, single) = (errors::<f64>(id, effort), errors::<f32>(id, effort));
    assert!(double.quantile(1.0) < 1e-10 && double.reward < 1e-9, "{double:?}");
    assert!(single.quantile(0.5) < 2e-6, "{single:?}");
    assert!(single.quantile(0.99) < 2e-4, "{single:?}");
    assert!(single.quantile(1.0) < 1e-3, "{single:?}");
}

#[test]
fn half_cheetah_steps_as_mujoco_does() {
    planar("HalfCheetah-v5", 0.1);
}

#[test]
fn hopper_steps_as_mujoco_does() {
    planar("Hopper-v5", 0.001);
}

#[test]
fn walker2d_steps_as_mujoco_does() {
    planar("Walker2d-v5", 0.001);
}

/// One step of every varied robot against MuJoCo, varied alike: geometry compiled anew, the rest
/// set in the compiled model.
fn varied(id: &str) {
    let mut names = std::collections::BTreeSet::new();
    for (setting, transition) in recorded_variants(id) {
        names.extend(setting.keys().cloned());
        let instance = Instance::new(find(id).expect("an environment"), setting.clone()).expect("in range");
        let mut state = transition.state.clone();
        instance.simulator::<f64>().step(&[], &mut state, &transition.action);
        let error = worst(&state, &transition.next);
        assert!(error < 1e-10, "{setting:?}: {error} from {:?}", transition.state);
    }
    // Only what the task makes of the motion, not the physics, is left out.
    let physical = |name: &str| !name.starts_with("reward") && name != "reset_noise_scale";
    for parameter in Instance::parameters(find(id).expect("an environment").spec()) {
        assert!(names.contains(parameter.name) || !physical(parameter.name), "{id}: {}", parameter.name);
    }
}

#[test]
fn varied_robots_step_as_mujoco_does() {
    for id in ["HalfCheetah-v5", "Hopper-v5", "Walker2d-v5"] {
        varied(id);
    }
}
