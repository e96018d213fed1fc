//! An oracle in f64: nothing but sampled trajectories, the native log-probability, and central
//! differences.

use fedrl_core::random::Key;
use fedrl_engine::{Mode, Replica, Trajectory};

use crate::support::{Bench, config};

pub fn log_probability(world: &Bench<f64>, theta: &[f64], trajectory: &Trajectory<f64>) -> Vec<f64> {
    let steps = trajectory.observations.chunks_exact(4).zip(&trajectory.actions);
    steps.map(|(observation, &action)| world.policy.log_probability(theta, observation, &[action])).collect()
}

/// Ψ_t = Σ_{h≥t} γ^h R_h.
pub fn to_go(trajectory: &Trajectory<f64>, discount: f64) -> Vec<f64> {
    let n = trajectory.len();
    (0..n).map(|t| (t..n).map(|h| discount.powi(h as i32) * trajectory.rewards[h]).sum()).collect()
}

/// Ψ_t = Σ_h γ^h R_h for every t.
pub fn whole(trajectory: &Trajectory<f64>, discount: f64) -> Vec<f64> {
    vec![to_go(trajectory, discount)[0]; trajectory.len()]
}

/// g(τ|θ) = Σ_t Ψ_t ∇ log π_θ(a_t|s_t) with the weights of GPOMDP, by central differences.
pub fn gradient(world: &Bench<f64>, theta: &[f64], trajectory: &Trajectory<f64>, discount: f64) -> Vec<f64> {
    weighted(world, theta, trajectory, &to_go(trajectory, discount))
}

/// Σ_t Ψ_t ∇ log π_θ(a_t|s_t) by central differences.
pub fn weighted(world: &Bench<f64>, theta: &[f64], trajectory: &Trajectory<f64>, psi: &[f64]) -> Vec<f64> {
    let objective = |theta: &[f64]| -> f64 {
        log_probability(world, theta, trajectory).iter().zip(psi).map(|(log, psi)| psi * log).sum()
    };
    let shifted = |i: usize, h: f64| {
        let mut theta = theta.to_vec();
        theta[i] += h;
        objective(&theta)
    };
    let h = 1e-5;
    (0..theta.len()).map(|i| (shifted(i, h) - shifted(i, -h)) / (2.0 * h)).collect()
}

pub fn trajectories(world: &Bench<f64>, theta: &[f64], agent: usize, key: Key, batch: usize) -> Vec<Trajectory<f64>> {
    let agent = &world.agents[agent];
    let replica = Replica { theta, simulator: &agent.simulator, spec: agent.spec, key };
    let lived = world.engine.rollout(&world.policy, &[replica], batch, config(1.0).horizon, Mode::Sampled).unwrap();
    lived.replicas.into_iter().next().unwrap()
}

pub fn mean(vectors: &[Vec<f64>]) -> Vec<f64> {
    let n = vectors.len() as f64;
    (0..vectors[0].len()).map(|i| vectors.iter().map(|v| v[i]).sum::<f64>() / n).collect()
}

/// ∇ ⟨g(τ|θ), v⟩ by differences of fourth order of the gradient along v.
pub fn hessian_vector(
    world: &Bench<f64>,
    theta: &[f64],
    v: &[f64],
    trajectory: &Trajectory<f64>,
    discount: f64,
) -> Vec<f64> {
    let h = 1e-3 / v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let at = |step: f64| {
        let theta: Vec<f64> = theta.iter().zip(v).map(|(x, v)| x + step * v).collect();
        gradient(world, &theta, trajectory, discount)
    };
    let (near, far) = ((at(h), at(-h)), (at(2.0 * h), at(-2.0 * h)));
    let slope = |i: usize| (8.0 * (near.0[i] - near.1[i]) - (far.0[i] - far.1[i])) / (12.0 * h);
    (0..theta.len()).map(slope).collect()
}

/// Σ_t ⟨∇ log π_θ(a_t|s_t), v⟩ by central differences along v.
pub fn score_along(world: &Bench<f64>, theta: &[f64], v: &[f64], trajectory: &Trajectory<f64>) -> f64 {
    let h = 1e-4 / v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let at = |step: f64| -> f64 {
        let theta: Vec<f64> = theta.iter().zip(v).map(|(x, v)| x + step * v).collect();
        log_probability(world, &theta, trajectory).iter().sum()
    };
    (at(h) - at(-h)) / (2.0 * h)
}

/// w(τ|target, behaviour).
pub fn weight(world: &Bench<f64>, target: &[f64], behaviour: &[f64], trajectory: &Trajectory<f64>) -> f64 {
    let sum = |theta: &[f64]| -> f64 { log_probability(world, theta, trajectory).iter().sum() };
    (sum(target) - sum(behaviour)).exp()
}
