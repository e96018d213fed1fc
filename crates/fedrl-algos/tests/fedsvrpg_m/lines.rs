//! Two rounds of Algorithm 1, line by line in f64, from nothing but sampled trajectories and
//! log-probabilities: gradients by central differences, weights and updates by their formulas.

use fedrl_algos::{ServerState, World};
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{Mode, Trajectory};

use crate::support::{SEED, config, initial, relative, train, world};

fn log_probability(world: &World, theta: &[f64], trajectory: &Trajectory) -> Vec<f64> {
    let steps = trajectory.observations.chunks_exact(4).zip(&trajectory.actions);
    steps
        .map(|(observation, &action)| {
            let observation: Vec<f64> = observation.iter().map(|&x| f64::from(x)).collect();
            world.policy.log_probability(theta, &observation, &[f64::from(action)])
        })
        .collect()
}

/// g(τ|θ) = Σ_t (Σ_{h≥t} γ^h R_h) ∇ log π_θ(a_t|s_t), the gradient by central differences.
fn gradient(world: &World, theta: &[f64], trajectory: &Trajectory, discount: f64) -> Vec<f64> {
    let n = trajectory.len();
    let psi: Vec<f64> =
        (0..n).map(|t| (t..n).map(|h| discount.powi(h as i32) * f64::from(trajectory.rewards[h])).sum()).collect();
    let objective = |theta: &[f64]| -> f64 {
        log_probability(world, theta, trajectory).iter().zip(&psi).map(|(log, psi)| psi * log).sum()
    };
    let shifted = |i: usize, h: f64| {
        let mut theta = theta.to_vec();
        theta[i] += h;
        objective(&theta)
    };
    let h = 1e-5;
    (0..theta.len()).map(|i| (shifted(i, h) - shifted(i, -h)) / (2.0 * h)).collect()
}

fn trajectories(world: &World, theta: &[f64], agent: usize, key: Key, batch: usize) -> Vec<Trajectory> {
    let theta: Vec<f32> = theta.iter().map(|&x| x as f32).collect();
    let replica = world.agents[agent].replica(&theta, key);
    let lived = world.engine.rollout(&world.policy, &[replica], batch, config(1.0).horizon, Mode::Sampled).unwrap();
    lived.replicas.into_iter().next().unwrap()
}

fn mean(vectors: &[Vec<f64>]) -> Vec<f64> {
    let n = vectors.len() as f64;
    (0..vectors[0].len()).map(|i| vectors.iter().map(|v| v[i]).sum::<f64>() / n).collect()
}

#[test]
fn two_rounds_are_the_lines_of_algorithm_1() {
    let world = world(&[0.3, 0.7], &[3]);
    let config = config(0.4);
    let (beta, eta, lambda, gamma) = (config.beta, config.local_step_size, config.global_step_size, config.discount);
    let agents = world.agents.len();

    // B = max(1, ⌈K / (R β²)⌉) = ⌈3 / (2 · 0.16)⌉ = 10.
    let mut theta: Vec<f64> = initial(&world).into_iter().map(f64::from).collect();
    let mut previous = theta.clone();
    let at_start: Vec<Vec<f64>> = (0..agents)
        .map(|agent| {
            let lived = trajectories(&world, &theta, agent, world.key(Purpose::InitialEstimate, agent, 0), 10);
            mean(&lived.iter().map(|t| gradient(&world, &theta, t, gamma)).collect::<Vec<_>>())
        })
        .collect();
    let mut momentum = mean(&at_start);

    let rounds = train(&world, config.clone(), 2);
    assert!(relative(rounds[0].state.vectors()["direction"], &momentum) < 1e-4);

    for round in 0..2 {
        let mut deltas = Vec::new();
        for agent in 0..agents {
            let mut local = theta.clone();
            for k in 0..config.local_steps {
                let key =
                    Key::new(SEED, Purpose::Training).child([agent as u32, round, 0, 0]).child([k as u32, 0, 0, 0]);
                let lived = trajectories(&world, &local, agent, key, config.batch);
                let u: Vec<Vec<f64>> = lived
                    .iter()
                    .map(|tau| {
                        let g = gradient(&world, &local, tau, gamma);
                        let g_previous = gradient(&world, &previous, tau, gamma);
                        let log_ratio: f64 = log_probability(&world, &previous, tau)
                            .iter()
                            .zip(log_probability(&world, &local, tau))
                            .map(|(previous, local)| previous - local)
                            .sum();
                        let w = log_ratio.exp();
                        (0..g.len())
                            .map(|i| beta * g[i] + (1.0 - beta) * (momentum[i] + g[i] - w * g_previous[i]))
                            .collect()
                    })
                    .collect();
                local.iter_mut().zip(mean(&u)).for_each(|(x, u)| *x += eta * u);
            }
            deltas.push(local.iter().zip(&theta).map(|(x, start)| x - start).collect::<Vec<f64>>());
        }
        let scale = 1.0 / (eta * config.local_steps as f64);
        momentum = mean(&deltas).into_iter().map(|delta| scale * delta).collect();
        previous = theta.clone();
        theta.iter_mut().zip(&momentum).for_each(|(x, u)| *x += lambda * u);

        let vectors = &rounds[round as usize + 1].state.vectors();
        assert!(relative(vectors["theta"], &theta) < 1e-5, "theta, round {round}");
        assert!(relative(vectors["theta_previous"], &previous) < 1e-5, "theta_previous, round {round}");
        let error = relative(vectors["direction"], &momentum);
        assert!(error < 1e-3, "direction, round {round}: {error}");
    }
}
