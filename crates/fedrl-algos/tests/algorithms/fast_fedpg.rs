//! Two rounds of Algorithm 1 of 003, line by line in f64, and its identities.

use fedrl_algos::fast_fedpg::{FastFedPg, FastFedPgConfig};
use fedrl_algos::{Advantage, Estimator, ServerState};
use fedrl_core::random::{Key, Purpose};

use crate::oracle::{mean, trajectories, weighted, whole};
use crate::support::{SEED, exact_world, initial, relative, train, world};

pub fn config() -> FastFedPgConfig {
    FastFedPgConfig {
        local_steps: 3,
        local_step_size: 0.001,
        global_step_size: 0.8,
        discount: 0.97,
        horizon: 40,
        batch: 2,
        estimator: Estimator::Reinforce,
        advantage: Advantage::None,
        entropy: 0.0,
        exact: false,
    }
}

#[test]
fn two_rounds_are_the_lines_of_the_paper() {
    let world = exact_world(&[0.3, 0.5, 0.7], &[3]);
    let config = config();
    let agents = world.agents.len();
    let estimate = |theta: &[f64], agent: usize, key: Key| -> Vec<f64> {
        let lived = trajectories(&world, theta, agent, key, config.batch);
        let gradient = |tau| weighted(&world, theta, tau, &whole(tau, config.discount));
        mean(&lived.iter().map(gradient).collect::<Vec<_>>())
    };
    let rounds = train(&world, &FastFedPg::new(config.clone()), 2);
    let mut theta = initial(&world);
    for round in 0..2u32 {
        let own: Vec<Vec<f64>> = (0..agents)
            .map(|agent| estimate(&theta, agent, world.key(Purpose::CommonEstimate, agent, round)))
            .collect();
        let common = mean(&own);
        let mut deltas = Vec::new();
        for (agent, own) in own.iter().enumerate() {
            let mut local = theta.clone();
            for l in 0..config.local_steps as u32 {
                let key = Key::new(SEED, Purpose::Training).child([agent as u32, round, 0, 0]).child([l, 0, 0, 0]);
                let fresh = estimate(&local, agent, key);
                for i in 0..local.len() {
                    local[i] += config.local_step_size * (fresh[i] - own[i] + common[i]);
                }
            }
            deltas.push(local.iter().zip(&theta).map(|(local, start)| local - start).collect::<Vec<f64>>());
        }
        let step = mean(&deltas);
        theta.iter_mut().zip(&step).for_each(|(x, step)| *x += config.global_step_size * step);
        let error = relative(rounds[round as usize + 1].state.theta(), &theta);
        assert!(error < 1e-8, "round {round}: {error}");
    }
}

/// Two vectors down and two up: θ̄ and ĝ(θ̄); ĝ_i(θ̄) and Δ_i.
#[test]
fn both_exchanges_of_a_round_are_counted() {
    let world = world(&[0.3, 0.7], &[4]);
    let rounds = train(&world, &FastFedPg::new(config()), 1);
    let vector = 4 * world.policy.parameter_count() as u64;
    assert!(rounds[0].reports.is_empty());
    assert_eq!(rounds[1].reports.len(), 2);
    for report in &rounds[1].reports {
        assert_eq!((report.bytes_up, report.bytes_down), (2 * vector, 2 * vector));
        assert_eq!(report.metrics.lived.trajectories, config().batch * (config().local_steps + 1));
        assert_eq!(report.metrics.local_steps, config().local_steps);
    }
}

/// With one agent the correction −ĝ(θ̄) + ĝ(θ̄) is nothing: plain local ascent.
#[test]
fn one_agent_alone_is_not_corrected() {
    let world = world(&[0.5], &[4]);
    let mut config = config();
    (config.local_steps, config.global_step_size) = (1, 1.0);
    let rounds = train(&world, &FastFedPg::new(config.clone()), 1);
    let plain = &rounds[1].reports[0].metrics;
    assert!((plain.drift / (config.local_step_size * plain.gradient_norm()) - 1.0).abs() < 1e-4);
}
