//! Estimates through tables are those through tensors on the same draws, and their mean is the
//! exact gradient.

use fedrl_algos::{
    Advantage, Agent, Corrected, Estimated, Estimates, Estimator, Exact, Request, Sampled, Tabular, Weighing,
};
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::tabular::Tables;
use fedrl_engine::{Engine, Matrix, Rows};
use fedrl_envs::{Environment, Instance, RandomMdp};
use fedrl_models::{Policy, PolicyConfig};

use crate::support::relative;

/// Agents in random decision processes that differ in kernel and rewards.
pub fn instances(agents: usize, kappa: f64, reward_kappa: f64, mdp: u64) -> Vec<Instance> {
    let instance = |own: usize| {
        let given = [("kappa", kappa), ("reward_kappa", reward_kappa), ("mdp", mdp as f64), ("own", own as f64)];
        Instance::new(&RandomMdp, given.map(|(name, value)| (name.to_string(), value)).into()).unwrap()
    };
    (0..agents).map(instance).collect()
}

pub fn agents(instances: &[Instance]) -> Vec<Agent<f64>> {
    let agents = instances.iter().enumerate();
    agents.map(|(id, instance)| Agent { id, simulator: instance.simulator(), spec: instance.spec() }).collect()
}

pub fn tables(instances: &[Instance]) -> Vec<Tables> {
    instances.iter().map(|instance| Tables::new(instance.mdp().unwrap())).collect()
}

fn sampled() -> Sampled<f64> {
    let config = PolicyConfig { hidden: vec![], bias: false, ..PolicyConfig::default() };
    let spec = RandomMdp.spec();
    let policy = Policy::new(&config, &spec.observation, &spec.action).unwrap();
    Sampled { engine: Engine::double(), policy, foreign: None }
}

/// Parameters number `which`.
fn theta(which: usize) -> Vec<f64> {
    (0..25).map(|i| 0.8 * (1.3 * i as f64 + which as f64).sin()).collect()
}

fn assert_same_rows(a: &Rows<f64>, b: &Rows<f64>) {
    let (a, b) = (a.host().unwrap(), b.host().unwrap());
    (0..a.rows()).for_each(|row| assert!(relative(a.row(row), b.row(row)) < 1e-12));
}

fn assert_same(a: &Estimated<f64>, b: &Estimated<f64>) {
    assert_same_rows(&a.gradients, &b.gradients);
    for (a, b) in a.lived.iter().zip(&b.lived) {
        assert_eq!((a.trajectories, a.env_steps), (b.trajectories, b.env_steps));
        assert!((a.return_sum - b.return_sum).abs() < 1e-10);
    }
    assert_eq!(a.importance.is_some(), b.importance.is_some());
    for (a, b) in a.importance.iter().flatten().zip(b.importance.iter().flatten()) {
        assert!((a.mean() - b.mean()).abs() < 1e-12);
        assert_eq!((a.count, a.clipped, a.collapsed), (b.count, b.clipped, b.collapsed));
    }
}

fn assert_same_corrections(a: &Corrected<f64>, b: &Corrected<f64>) {
    assert_same(&a.fresh, &b.fresh);
    assert_same_rows(&a.corrections, &b.corrections);
}

#[test]
fn tables_and_tensors_agree_on_the_same_draws() {
    let instances = instances(3, 0.5, 0.5, 4);
    let (agents, tabular, sampled) = (agents(&instances), Tabular { tables: tables(&instances) }, sampled());
    let agents: Vec<&Agent<f64>> = agents.iter().collect();
    let keys: Vec<Key> = (0..3).map(|agent| Key::new(9, Purpose::Training).child([agent, 0, 0, 0])).collect();
    let at = Matrix::from_rows((0..3).map(theta)).into();
    let between = Matrix::from_rows((3..6).map(theta)).into();
    let previous = Matrix::from_rows([theta(6)]).into();
    for (estimator, advantage, entropy, is_clip) in [
        (Estimator::Gpomdp, Advantage::None, 0.0, None),
        (Estimator::Gpomdp, Advantage::None, 0.2, Some(0.9)),
        (Estimator::Gpomdp, Advantage::Standardised, 0.0, None),
        (Estimator::Gpomdp, Advantage::Baseline, 0.2, None),
        (Estimator::RewardToGo, Advantage::Baseline, 0.0, None),
        (Estimator::Reinforce, Advantage::None, 0.2, None),
    ] {
        let weighing = Weighing { estimator, discount: 0.9, advantage, entropy };
        // 19 is no multiple of anything that walks side by side.
        let request = Request { agents: &agents, keys: &keys, batch: 5, horizon: 19, weighing, is_clip };
        assert_same(&tabular.gradients(&request, &at).unwrap(), &sampled.gradients(&request, &at).unwrap());
        assert_same_corrections(
            &tabular.importance_corrected(&request, &at, &previous).unwrap(),
            &sampled.importance_corrected(&request, &at, &previous).unwrap(),
        );
        assert_same_corrections(
            &tabular.hessian_corrected(&request, &at, &between, &previous).unwrap(),
            &sampled.hessian_corrected(&request, &at, &between, &previous).unwrap(),
        );
    }
}

/// 20,000 trajectories of 200 steps, after which γ^t is 7e-10: every component of their mean lies
/// within five standard errors of the exact gradient.
#[test]
fn the_mean_of_many_estimates_is_the_exact_gradient() {
    let instances = instances(1, 1.0, 1.0, 2);
    let (agents, tabular, exact) =
        (agents(&instances), Tabular { tables: tables(&instances) }, Exact { tables: tables(&instances) });
    let agents: Vec<&Agent<f64>> = agents.iter().collect();
    let at = Matrix::from_rows([theta(1)]).into();
    for (advantage, entropy) in [(Advantage::None, 0.0), (Advantage::None, 0.1), (Advantage::Baseline, 0.1)] {
        let weighing = Weighing { estimator: Estimator::Gpomdp, discount: 0.9, advantage, entropy };
        let groups: Vec<Vec<f64>> = (0..20)
            .map(|group| {
                let keys = [Key::new(group, Purpose::Training)];
                let request =
                    Request { agents: &agents, keys: &keys, batch: 1000, horizon: 200, weighing, is_clip: None };
                tabular.gradients(&request, &at).unwrap().gradients.host().unwrap().row(0).to_vec()
            })
            .collect();
        let request = Request { agents: &agents, keys: &[], batch: 1, horizon: 1, weighing, is_clip: None };
        let expected = exact.gradients(&request, &at).unwrap().gradients.host().unwrap().row(0).to_vec();
        for (i, expected) in expected.iter().enumerate() {
            let column: Vec<f64> = groups.iter().map(|group| group[i]).collect();
            let (mean, error) = (fedrl_stats::mean(&column), fedrl_stats::standard_error(&column));
            assert!((mean - expected).abs() < 5.0 * error, "{i}: {mean} ± {error}, exactly {expected}");
        }
    }
}
