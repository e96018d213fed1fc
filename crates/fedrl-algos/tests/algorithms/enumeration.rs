//! The estimators are what they say: expectations over *every* trajectory of a small MDP, in f64,
//! for a tabular softmax policy (linear on one-hot states) and for a small network.

use fedrl_algos::{Advantage, Estimator};
use fedrl_core::Space;
use fedrl_core::random::Key;
use fedrl_engine::{Engine, Matrix, Pass, Trajectories, Trajectory};
use fedrl_models::{Policy, PolicyConfig};

const STATES: usize = 3;
const ACTIONS: usize = 2;
const HORIZON: usize = 3;
const DISCOUNT: f64 = 0.8;

/// Some numbers that are all different.
fn number(i: usize) -> f64 {
    0.1 + (1.0 + (i as f64 * 12.9898).sin()) / 2.0
}

fn initial(state: usize) -> f64 {
    number(state) / (0..STATES).map(number).sum::<f64>()
}

fn transition(state: usize, action: usize, next: usize) -> f64 {
    let weight = |next: usize| number(7 + (state * ACTIONS + action) * STATES + next);
    weight(next) / (0..STATES).map(weight).sum::<f64>()
}

fn reward(state: usize, action: usize) -> f64 {
    number(50 + state * ACTIONS + action) - 0.5
}

/// Every trajectory of states and actions, and what the environment has to do with its probability.
struct Enumerated {
    policy: Policy,
    lived: Trajectories<f64>,
    environment: Vec<f64>,
}

impl Enumerated {
    fn new(hidden: &[usize]) -> Self {
        let config = PolicyConfig { hidden: hidden.to_vec(), ..PolicyConfig::default() };
        let observation = Space::Box { low: vec![0.0; STATES], high: vec![1.0; STATES] };
        let policy = Policy::new(&config, &observation, &Space::Discrete { n: ACTIONS }).unwrap();
        let each = STATES * ACTIONS;
        let (mut lived, mut environment) = (Vec::new(), Vec::new());
        for code in 0..each.pow(HORIZON as u32) {
            let steps: Vec<(usize, usize)> = (0..HORIZON)
                .map(|t| code / each.pow(t as u32) % each)
                .map(|digit| (digit / ACTIONS, digit % ACTIONS))
                .collect();
            let moves = steps.windows(2).map(|pair| transition(pair[0].0, pair[0].1, pair[1].0));
            environment.push(initial(steps[0].0) * moves.product::<f64>());
            let one_hot = |state: usize| (0..STATES).map(move |s| f64::from(u8::from(s == state)));
            lived.push(Trajectory {
                observations: steps.iter().flat_map(|&(state, _)| one_hot(state)).collect(),
                actions: steps.iter().map(|&(_, action)| action as f64).collect(),
                rewards: steps.iter().map(|&(state, action)| reward(state, action)).collect(),
                terminated: false,
            });
        }
        let lived = Trajectories { replicas: vec![lived], margins: vec![f64::INFINITY] };
        Enumerated { policy, lived, environment }
    }

    /// Parameters number `which`, all of order one.
    fn theta(&self, which: u32) -> Vec<f64> {
        let drawn = self.policy.initial(Key { low: which, high: 5 });
        drawn.iter().enumerate().map(|(i, &x)| f64::from(x) + 0.3 * (i as f64 + f64::from(which)).sin()).collect()
    }

    fn scores(&self, theta: &[f64]) -> Pass<f64> {
        Engine::double().scores(&self.policy, &Matrix::from_rows([theta]), &self.lived)
    }

    /// log π_θ of the actions of each trajectory together.
    fn log_probability(&self, theta: &[f64]) -> Vec<f64> {
        let values = self.scores(theta).values().unwrap();
        values[0].chunks_exact(HORIZON).map(|steps| steps.iter().sum()).collect()
    }

    /// p(τ|θ).
    fn probability(&self, theta: &[f64]) -> Vec<f64> {
        let log = self.log_probability(theta);
        self.environment.iter().zip(log).map(|(environment, log)| environment * log.exp()).collect()
    }

    /// J(θ) = Σ_τ p(τ|θ) Σ_h γ^h R_h.
    fn objective(&self, theta: &[f64]) -> f64 {
        let total = |tau: &Trajectory<f64>| -> f64 {
            tau.rewards.iter().enumerate().map(|(h, reward)| DISCOUNT.powi(h as i32) * reward).sum()
        };
        self.probability(theta).iter().zip(&self.lived.replicas[0]).map(|(p, tau)| p * total(tau)).sum()
    }

    /// ∇J(θ) by differences of fourth order, good to about 1e-12.
    fn ascent(&self, theta: &[f64]) -> Vec<f64> {
        let at = |i: usize, h: f64| {
            let mut theta = theta.to_vec();
            theta[i] += h;
            self.objective(&theta)
        };
        let h = 1e-3;
        let slope = |i| (8.0 * (at(i, h) - at(i, -h)) - (at(i, 2.0 * h) - at(i, -2.0 * h))) / (12.0 * h);
        (0..theta.len()).map(slope).collect()
    }

    /// Ψ_t × `factor` of its trajectory, for every step.
    fn weights(&self, estimator: Estimator, factor: &[f64]) -> Vec<Vec<f64>> {
        let trajectories = self.lived.replicas[0].iter().zip(factor);
        let weighted = trajectories.flat_map(|(tau, &factor)| {
            let psi: Vec<f64> = estimator.weights(tau, DISCOUNT, Advantage::None);
            psi.into_iter().map(move |psi| factor * psi)
        });
        vec![weighted.collect()]
    }

    /// Σ_τ `factor`(τ) g(τ|θ).
    fn gradient(&self, theta: &[f64], estimator: Estimator, factor: &[f64]) -> Vec<f64> {
        self.scores(theta).gradient(&self.weights(estimator, factor)).unwrap().row(0).to_vec()
    }

    /// Σ_τ p(τ|θ) Λ(τ|θ, v), Λ = ⟨Σ_t S_t, v⟩ g + ∇⟨g, v⟩.
    fn curvature(&self, theta: &[f64], v: &[f64], estimator: Estimator) -> Vec<f64> {
        let p = self.probability(theta);
        let (at, along) = (Matrix::from_rows([theta]), Matrix::from_rows([v]));
        let tangents = Engine::double().tangents(&self.policy, &at, &along, &self.lived);
        let scores = tangents.values().unwrap();
        let scores = scores[0].chunks_exact(HORIZON).map(|steps| steps.iter().sum::<f64>());
        let outer: Vec<f64> = p.iter().zip(scores).map(|(p, score)| p * score).collect();
        let hessian = tangents.gradient(&self.weights(estimator, &p)).unwrap();
        let outer = self.gradient(theta, estimator, &outer);
        outer.iter().zip(hessian.row(0)).map(|(outer, hessian)| outer + hessian).collect()
    }
}

fn assert_equal(a: &[f64], b: &[f64], tolerance: f64) {
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() < tolerance, "component {i}: {a} {b}");
    }
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// The policies, and both estimators.
fn cases() -> impl Iterator<Item = (Enumerated, Estimator)> {
    [vec![], vec![4]].into_iter().flat_map(|hidden| {
        [Estimator::Gpomdp, Estimator::Reinforce].map(|estimator| (Enumerated::new(&hidden), estimator))
    })
}

#[test]
fn probabilities_of_all_trajectories_sum_to_one() {
    for (all, _) in cases() {
        assert!((all.probability(&all.theta(1)).iter().sum::<f64>() - 1.0).abs() < 1e-13);
    }
}

/// Σ_τ p(τ|θ) g(τ|θ) = ∇J(θ).
#[test]
fn the_expected_estimate_is_the_gradient() {
    for (all, estimator) in cases() {
        let theta = all.theta(1);
        let expected = all.gradient(&theta, estimator, &all.probability(&theta));
        assert_equal(&expected, &all.ascent(&theta), 1e-10);
    }
}

/// Σ_τ p(τ|θ) [g(τ|θ) − w(τ|θ′,θ) g(τ|θ′)] = ∇J(θ) − ∇J(θ′).
#[test]
fn the_expected_importance_weighted_difference_is_the_difference_of_gradients() {
    for (all, estimator) in cases() {
        let (theta, other) = (all.theta(1), all.theta(2));
        let p = all.probability(&theta);
        let (log, log_other) = (all.log_probability(&theta), all.log_probability(&other));
        let weighted: Vec<f64> =
            p.iter().zip(log_other.iter().zip(&log)).map(|(p, (other, own))| p * (other - own).exp()).collect();
        let difference = minus(&all.gradient(&theta, estimator, &p), &all.gradient(&other, estimator, &weighted));
        assert_equal(&difference, &minus(&all.ascent(&theta), &all.ascent(&other)), 1e-10);
    }
}

/// ∫₀¹ Σ_τ p(τ|θ(α)) Λ dα = ∇J(θ) − ∇J(θ′), θ(α) = α θ′ + (1−α) θ, v = θ − θ′.
#[test]
fn the_expected_curvature_along_the_way_is_the_difference_of_gradients() {
    for (all, estimator) in cases() {
        let (theta, previous) = (all.theta(1), all.theta(2));
        let v = minus(&theta, &previous);
        let mut integral = vec![0.0; theta.len()];
        for (node, weight) in gauss_legendre(16) {
            let between: Vec<f64> = previous.iter().zip(&theta).map(|(p, t)| node * p + (1.0 - node) * t).collect();
            let curvature = all.curvature(&between, &v, estimator);
            integral.iter_mut().zip(curvature).for_each(|(sum, x)| *sum += weight * x);
        }
        assert_equal(&integral, &minus(&all.ascent(&theta), &all.ascent(&previous)), 1e-9);
    }
}

/// Nodes and weights on [0, 1]: roots of the Legendre polynomial by Newton's method.
fn gauss_legendre(n: usize) -> Vec<(f64, f64)> {
    let legendre = |x: f64| {
        let (mut before, mut value) = (1.0, x);
        for k in 2..=n {
            let k = k as f64;
            (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
        }
        (value, n as f64 * (x * value - before) / (x * x - 1.0))
    };
    (0..n)
        .map(|i| {
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            for _ in 0..50 {
                let (value, slope) = legendre(x);
                x -= value / slope;
            }
            let slope = legendre(x).1;
            ((x + 1.0) / 2.0, 1.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

#[test]
fn quadrature_integrates_what_it_must() {
    let integral: f64 = gauss_legendre(16).iter().map(|(x, w)| w * x.powi(20)).sum();
    assert!((integral - 1.0 / 21.0).abs() < 1e-14);
}
