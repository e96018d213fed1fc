//! That it learns, with a floor.

use fedrl_algos::fedhapg_m::FedHapgM;
use fedrl_algos::fedsvrpg_m::FedSvrpgM;
use fedrl_algos::momentum::MomentumConfig;
use fedrl_algos::{Advantage, Algorithm};

use crate::support::{config, train, world};

/// Numbers that are stable on CartPole.
fn stable(beta: f64) -> MomentumConfig {
    let mut config = config(beta);
    config.local_steps = 10;
    config.local_step_size = 0.005;
    config.global_step_size = 0.05;
    config.discount = 0.99;
    config.horizon = 200;
    config.batch = 8;
    config.advantage = Advantage::Standardised;
    config.is_clip = Some(1.2);
    config.direction_clip = Some(0.3);
    config
}

/// Mean training return of the last ten of `rounds`.
fn learned(algorithm: &impl Algorithm<f32>, rounds: u32) -> f64 {
    let world = world(&[0.3, 0.5, 0.7], &[8, 8]);
    let done = train(&world, algorithm, rounds);
    let last: Vec<f64> = done[done.len() - 10..]
        .iter()
        .flat_map(|round| round.reports.iter().map(|report| report.metrics.return_mean()))
        .collect();
    fedrl_stats::mean(&last)
}

/// A random policy keeps the pole up for about 20 steps.
#[test]
fn momentum_learns_to_balance_three_different_poles() {
    let learned = learned(&FedSvrpgM::new(stable(0.5), 60), 60);
    assert!(learned > 150.0, "{learned}");
}

#[test]
fn plain_averaging_learns_too() {
    let learned = learned(&FedSvrpgM::new(stable(1.0), 80), 80);
    assert!(learned > 120.0, "{learned}");
}

#[test]
fn hessian_aided_momentum_learns_too() {
    let learned = learned(&FedHapgM::new(stable(0.5), 60), 60);
    assert!(learned > 150.0, "{learned}");
}
