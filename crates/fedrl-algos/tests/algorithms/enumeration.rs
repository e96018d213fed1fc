//! The estimators are what they say: expectations over *every* trajectory of a small MDP, in f64,
//! for the tabular softmax policy and for a small network, with and without entropy in the objective.

use fedrl_algos::{Advantage, Estimator, Request, Sampled, Weighing};
use fedrl_core::Space;
use fedrl_core::random::Key;
use fedrl_engine::{Engine, Matrix, Rows, Trajectories, Trajectory};
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

/// Every trajectory of states and actions, each a replica of its own, and what the environment has
/// to do with its probability.
struct Enumerated {
    policy: Policy,
    weighing: Weighing,
    lived: Trajectories<f64>,
    environment: Vec<f64>,
}

impl Enumerated {
    fn new(hidden: &[usize], weighing: Weighing) -> Self {
        let config = PolicyConfig { hidden: hidden.to_vec(), bias: !hidden.is_empty(), ..PolicyConfig::default() };
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
                final_observation: Vec::new(),
                terminated: false,
            });
        }
        let margins = vec![f64::INFINITY; lived.len()];
        let lived = Trajectories { replicas: lived.into_iter().map(|tau| vec![tau]).collect(), margins };
        Enumerated { policy, weighing, lived, environment }
    }

    /// Parameters number `which`, all of order one.
    fn theta(&self, which: u32) -> Vec<f64> {
        let drawn = self.policy.initial(Key { low: which, high: 5 });
        drawn.iter().enumerate().map(|(i, &x)| f64::from(x) + 0.3 * (i as f64 + f64::from(which)).sin()).collect()
    }

    fn sampled(&self) -> Sampled<f64> {
        Sampled { engine: Engine::double(), policy: self.policy.clone(), foreign: None }
    }

    fn request(&self) -> Request<'_, f64> {
        Request { agents: &[], keys: &[], batch: 1, horizon: HORIZON, weighing: self.weighing, is_clip: None }
    }

    /// The same parameters for every trajectory.
    fn matrix(&self, theta: &[f64]) -> Matrix<f64> {
        Matrix::repeat(theta, self.environment.len())
    }

    /// p(τ|θ).
    fn probability(&self, theta: &[f64]) -> Vec<f64> {
        let scores = self.sampled().engine.scores(&self.policy, &self.matrix(theta), &self.lived);
        let log = scores.values().unwrap();
        self.environment.iter().zip(log).map(|(environment, log)| environment * log.iter().sum::<f64>().exp()).collect()
    }

    /// J(θ) = Σ_τ p(τ|θ) Σ_h γ^h (R_h + entropy H(π(·|s_h))).
    fn objective(&self, theta: &[f64]) -> f64 {
        let total = |tau: &Trajectory<f64>| -> f64 {
            let steps = tau.rewards.iter().zip(tau.observations.chunks_exact(STATES)).enumerate();
            let step = |(h, (reward, observation)): (usize, (&f64, &[f64]))| {
                let outputs = self.policy.network.forward(theta, observation);
                DISCOUNT.powi(h as i32) * (reward + self.weighing.entropy * self.policy.head.entropy(&outputs, &[]))
            };
            steps.map(step).sum()
        };
        self.probability(theta).iter().zip(&self.lived.replicas).map(|(p, tau)| p * total(&tau[0])).sum()
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

    /// Σ_τ p(τ|θ) of these vectors, one per trajectory.
    fn expectation(&self, theta: &[f64], vectors: &Rows<f64>) -> Vec<f64> {
        let (mut sum, vectors) = (vec![0.0; theta.len()], vectors.host().unwrap());
        for (index, p) in self.probability(theta).iter().enumerate() {
            sum.iter_mut().zip(vectors.row(index)).for_each(|(sum, x)| *sum += p * x);
        }
        sum
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

/// The policies, both estimators, without and with entropy.
fn cases() -> impl Iterator<Item = Enumerated> {
    [vec![], vec![4]].into_iter().flat_map(|hidden| {
        [Estimator::Gpomdp, Estimator::Reinforce].into_iter().flat_map(move |estimator| {
            let hidden = hidden.clone();
            [0.0, 0.3].map(|entropy| {
                let weighing = Weighing { estimator, discount: DISCOUNT, advantage: Advantage::None, entropy };
                Enumerated::new(&hidden, weighing)
            })
        })
    })
}

#[test]
fn probabilities_of_all_trajectories_sum_to_one() {
    for all in cases() {
        assert!((all.probability(&all.theta(1)).iter().sum::<f64>() - 1.0).abs() < 1e-13);
    }
}

/// Σ_τ p(τ|θ) g(τ|θ) = ∇J(θ).
#[test]
fn the_expected_estimate_is_the_gradient() {
    for all in cases() {
        let theta = all.theta(1);
        let estimates = all.sampled().gradients_of(&all.request(), &all.lived, &all.matrix(&theta)).unwrap();
        let expected = all.expectation(&theta, &estimates.gradients);
        assert_equal(&expected, &all.ascent(&theta), 1e-10);
    }
}

/// Σ_τ p(τ|θ) [g(τ|θ) − w(τ|θ′,θ) g(τ|θ′)] = ∇J(θ) − ∇J(θ′).
#[test]
fn the_expected_importance_weighted_difference_is_the_difference_of_gradients() {
    for all in cases() {
        let (theta, other) = (all.theta(1), all.theta(2));
        let corrected = all
            .sampled()
            .importance_corrected_of(&all.request(), &all.lived, &all.matrix(&theta), &all.matrix(&other))
            .unwrap();
        let own = all.expectation(&theta, &corrected.fresh.gradients);
        let weighted = all.expectation(&theta, &corrected.corrections);
        assert_equal(&own, &all.ascent(&theta), 1e-10);
        assert_equal(&minus(&own, &weighted), &minus(&all.ascent(&theta), &all.ascent(&other)), 1e-10);
    }
}

/// ∫₀¹ Σ_τ p(τ|θ(α)) Λ dα = ∇J(θ) − ∇J(θ′), θ(α) = α θ′ + (1−α) θ, v = θ − θ′; and at every α
/// Σ_τ p(τ|θ(α)) w(τ|θ,θ(α)) g(τ|θ) = ∇J(θ).
#[test]
fn the_expected_curvature_along_the_way_is_the_difference_of_gradients() {
    for all in cases() {
        let (theta, previous) = (all.theta(1), all.theta(2));
        let ascent = all.ascent(&theta);
        let mut integral = vec![0.0; theta.len()];
        for (node, weight) in gauss_legendre(16) {
            let between: Vec<f64> = previous.iter().zip(&theta).map(|(p, t)| node * p + (1.0 - node) * t).collect();
            let (at, midway) = (all.matrix(&theta), all.matrix(&between));
            let corrected = all
                .sampled()
                .hessian_corrected_of(&all.request(), &all.lived, &at, &midway, &all.matrix(&previous))
                .unwrap();
            let fresh = all.expectation(&between, &corrected.fresh.gradients);
            assert_equal(&fresh, &ascent, 1e-10);
            let curvature = all.expectation(&between, &corrected.corrections);
            integral.iter_mut().zip(curvature).for_each(|(sum, x)| *sum += weight * x);
        }
        assert_equal(&integral, &minus(&ascent, &all.ascent(&previous)), 1e-9);
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
