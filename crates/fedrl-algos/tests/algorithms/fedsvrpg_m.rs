//! Two rounds of Algorithm 1 of 002, line by line in f64.

use fedrl_algos::fedsvrpg_m::FedSvrpgM;

use crate::momentum::{Local, assert_two_rounds};
use crate::oracle::{gradient, mean, weight};
use crate::support::config;

/// u = β g(τ|θ) + (1−β) [u_r + g(τ|θ) − w(τ|θ_{r−1},θ) g(τ|θ_{r−1})], the mean over a batch.
fn direction(local: &Local) -> Vec<f64> {
    let (world, beta, gamma) = (local.world, local.config.beta, local.config.discount);
    let u = |tau| -> Vec<f64> {
        let g = gradient(world, local.theta, tau, gamma);
        let g_previous = gradient(world, local.previous, tau, gamma);
        let w = weight(world, local.previous, local.theta, tau);
        (0..g.len()).map(|i| beta * g[i] + (1.0 - beta) * (local.momentum[i] + g[i] - w * g_previous[i])).collect()
    };
    mean(&local.sample(local.theta).iter().map(u).collect::<Vec<_>>())
}

#[test]
fn two_rounds_are_the_lines_of_algorithm_1() {
    let config = config(0.4);
    assert_two_rounds(&config, &FedSvrpgM::new(config.clone(), 2), direction, 1e-8);
}
