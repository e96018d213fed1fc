//! A trained policy returns in our HalfCheetah what it returns in Gymnasium's. The motion is chaotic,
//! so distributions are compared: of 200 episodes here and 200 recorded by `golden/returns.py`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{DeviceChoice, Engine, Mode, Number, Replica, select};
use fedrl_envs::{Environment, HalfCheetah, Instance};
use fedrl_models::{Policy, PolicyConfig, files};

const EPISODES: usize = 200;

/// Returns of 200 episodes of 500 steps in a variant, actions being the policy's means.
fn returns<F: Number>(engine: &Engine<F>, given: &[(&str, f64)]) -> Vec<f64> {
    let given = given.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    let spec = HalfCheetah.spec();
    let config = PolicyConfig { hidden: vec![32, 32], ..PolicyConfig::default() };
    let policy = Policy::new(&config, &spec.observation, &spec.action).unwrap();
    let theta = files::from_bytes(&policy, include_bytes!("golden/half-cheetah.safetensors")).unwrap();
    let theta: Vec<F> = theta.iter().map(|&x| F::from_f64(f64::from(x))).collect();
    let simulator = Instance::new(&HalfCheetah, given).unwrap().simulator();
    let replica = Replica { theta: &theta, simulator: &simulator, spec, key: Key::new(0, Purpose::Evaluation) };
    let lived = engine.rollout(&policy, &[replica], EPISODES, 500, Mode::Greedy).unwrap();
    lived.replicas[0].iter().map(|trajectory| trajectory.total_reward()).collect()
}

#[test]
fn a_policy_returns_what_it_returns_in_gymnasium() {
    let recorded: Vec<f64> =
        include_str!("golden/HalfCheetah-v5.returns.txt").lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(recorded.len(), EPISODES);
    let single = returns(&Engine::<f32>::new(&select(DeviceChoice::Cpu, 0).unwrap()), &[]);
    let double = returns(&Engine::double(), &[]);
    for (precision, ours) in [("f32", single), ("f64", double)] {
        let p = fedrl_stats::kolmogorov_smirnov(&ours, &recorded);
        let (ours, theirs) = (fedrl_stats::mean(&ours), fedrl_stats::mean(&recorded));
        assert!(p > 0.01, "{precision}: mean {ours}, in Gymnasium {theirs}, p = {p}");
    }
    // That the test can tell: a tenth less mass is noticed.
    let lighter = returns(&Engine::double(), &[("mass_scale", 0.9)]);
    let p = fedrl_stats::kolmogorov_smirnov(&lighter, &recorded);
    assert!(p < 1e-3, "mean {}, p = {p}", fedrl_stats::mean(&lighter));
}
