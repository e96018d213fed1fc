//! What Algorithms 1 and 2 of 002 share, line by line in f64: the start, the local loop, the
//! server. The local direction is the caller's.

use fedrl_algos::momentum::{MomentumConfig, MomentumState};
use fedrl_algos::{Algorithm, ServerState};
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::Trajectory;

use crate::oracle::{gradient, mean, trajectories};
use crate::support::{Bench, SEED, exact_world, initial, relative, train};

/// One agent at one local step.
pub struct Local<'a> {
    pub world: &'a Bench<f64>,
    pub config: &'a MomentumConfig,
    pub agent: usize,
    pub round: u32,
    pub k: u32,
    /// θ_{r,k}
    pub theta: &'a [f64],
    /// θ_{r−1}
    pub previous: &'a [f64],
    /// u_r
    pub momentum: &'a [f64],
}

impl Local<'_> {
    /// τ ~ p_i(·|θ), a batch.
    pub fn sample(&self, theta: &[f64]) -> Vec<Trajectory<f64>> {
        let key = Key::new(SEED, Purpose::Training).child([self.agent as u32, self.round, 0, 0]);
        trajectories(self.world, theta, self.agent, key.child([self.k, 0, 0, 0]), self.config.batch)
    }
}

/// Asserts that two rounds of `algorithm` are the printed lines with the local direction `u`, to
/// the relative `tolerance`.
pub fn assert_two_rounds(
    config: &MomentumConfig,
    algorithm: &impl Algorithm<f64, State = MomentumState<f64>>,
    u: impl Fn(&Local) -> Vec<f64>,
    tolerance: f64,
) {
    let world = &exact_world(&[0.3, 0.7], &[3]);
    let agents = world.agents.len();

    // B = max(1, ⌈K / (R β²)⌉) = ⌈3 / (2 · 0.16)⌉ = 10.
    let mut theta = initial(world);
    let mut previous = theta.clone();
    let at_start = (0..agents).map(|agent| {
        let lived = trajectories(world, &theta, agent, world.key(Purpose::CommonEstimate, agent, 0), 10);
        mean(&lived.iter().map(|tau| gradient(world, &theta, tau, config.discount)).collect::<Vec<_>>())
    });
    let mut momentum = mean(&at_start.collect::<Vec<_>>());

    let rounds = train(world, algorithm, 2);
    assert!(relative(rounds[0].state.vectors()["direction"], &momentum) < tolerance);

    for round in 0..2 {
        let mut deltas = Vec::new();
        for agent in 0..agents {
            let mut local = theta.clone();
            for k in 0..config.local_steps as u32 {
                let (previous, momentum) = (&previous, &momentum);
                let direction = u(&Local { world, config, agent, round, k, theta: &local, previous, momentum });
                local.iter_mut().zip(direction).for_each(|(x, u)| *x += config.local_step_size * u);
            }
            deltas.push(local.iter().zip(&theta).map(|(x, start)| x - start).collect::<Vec<f64>>());
        }
        let scale = 1.0 / (config.local_step_size * config.local_steps as f64);
        momentum = mean(&deltas).into_iter().map(|delta| scale * delta).collect();
        previous = theta.clone();
        theta.iter_mut().zip(&momentum).for_each(|(x, u)| *x += config.global_step_size * u);

        let vectors = &rounds[round as usize + 1].state.vectors();
        for (name, expected) in [("theta", &theta), ("theta_previous", &previous), ("direction", &momentum)] {
            let error = relative(vectors[name], expected);
            assert!(error < tolerance, "{name}, round {round}: {error:e}");
        }
    }
}
