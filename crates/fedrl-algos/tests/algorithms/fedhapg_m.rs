//! Two rounds of Algorithm 2 of 002, line by line in f64. The oracle takes the Hessian term by
//! differences of differences, which is what limits the agreement.

use fedrl_algos::fedhapg_m::FedHapgM;
use fedrl_core::Real;
use fedrl_core::random::{Key, Purpose};

use crate::momentum::{Local, assert_two_rounds};
use crate::oracle::{gradient, hessian_vector, mean, score_along, weight};
use crate::support::{SEED, config};

/// α ~ U[0,1].
fn alpha(local: &Local) -> f64 {
    let key = Key::new(SEED, Purpose::Midpoint).child([local.agent as u32, local.round, 0, 0]);
    <f64 as Real>::unit(key.block([local.k, 0, 0, 0]).a)
}

/// u = β w(τ|θ, θ(α)) g(τ|θ) + (1−β) [u_r + ⟨Σ_t S_t, v⟩ g + ∇⟨g, v⟩], the mean over a batch.
fn direction(local: &Local) -> Vec<f64> {
    let (world, beta, gamma) = (local.world, local.config.beta, local.config.discount);
    let alpha = alpha(local);
    let mix = local.previous.iter().zip(local.theta);
    let between: Vec<f64> = mix.map(|(previous, theta)| alpha * previous + (1.0 - alpha) * theta).collect();
    let v: Vec<f64> = local.theta.iter().zip(local.previous).map(|(theta, previous)| theta - previous).collect();
    // Before anything has moved Λ is 0, and v has no direction to difference along.
    let still = v.iter().all(|v| v.abs() < 1e-12);
    let u = |tau| -> Vec<f64> {
        let g = gradient(world, local.theta, tau, gamma);
        let w = weight(world, local.theta, &between, tau);
        let g_between = gradient(world, &between, tau, gamma);
        let (along, hessian) = match still {
            true => (0.0, vec![0.0; g.len()]),
            false => (score_along(world, &between, &v, tau), hessian_vector(world, &between, &v, tau, gamma)),
        };
        (0..g.len())
            .map(|i| beta * w * g[i] + (1.0 - beta) * (local.momentum[i] + along * g_between[i] + hessian[i]))
            .collect()
    };
    mean(&local.sample(&between).iter().map(u).collect::<Vec<_>>())
}

#[test]
fn two_rounds_are_the_lines_of_algorithm_2() {
    let config = config(0.4);
    assert_two_rounds(&config, &FedHapgM::new(config.clone(), 2), direction, 1e-7);
}
