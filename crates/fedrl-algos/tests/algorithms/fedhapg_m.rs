//! Two rounds of Algorithm 2 of 002, line by line in f64. The oracle takes the Hessian term by
//! differences of differences, which is what limits the agreement.

use fedrl_algos::ServerState;
use fedrl_algos::fedhapg_m::FedHapgM;
use fedrl_core::Real;
use fedrl_core::random::{Key, Purpose};

use crate::oracle::{gradient, hessian_vector, mean, score_along, trajectories, weight};
use crate::support::{SEED, config, exact_world, initial, relative, train};

#[test]
fn two_rounds_are_the_lines_of_algorithm_2() {
    let world = exact_world(&[0.3, 0.7], &[3]);
    let config = config(0.4);
    let (beta, eta, lambda, gamma) = (config.beta, config.local_step_size, config.global_step_size, config.discount);
    let agents = world.agents.len();

    // B = max(1, ⌈K / (R β²)⌉) = ⌈3 / (2 · 0.16)⌉ = 10.
    let mut theta = initial(&world);
    let mut previous = theta.clone();
    let at_start: Vec<Vec<f64>> = (0..agents)
        .map(|agent| {
            let lived = trajectories(&world, &theta, agent, world.key(Purpose::InitialEstimate, agent, 0), 10);
            mean(&lived.iter().map(|t| gradient(&world, &theta, t, gamma)).collect::<Vec<_>>())
        })
        .collect();
    let mut momentum = mean(&at_start);

    let rounds = train(&world, &FedHapgM::new(config.clone(), 2), 2);
    assert!(relative(rounds[0].state.vectors()["direction"], &momentum) < 1e-8);

    for round in 0..2 {
        let mut deltas = Vec::new();
        for agent in 0..agents {
            let mut local = theta.clone();
            for k in 0..config.local_steps {
                let key =
                    Key::new(SEED, Purpose::Training).child([agent as u32, round, 0, 0]).child([k as u32, 0, 0, 0]);
                let alpha_key = Key::new(SEED, Purpose::Midpoint).child([agent as u32, round, 0, 0]);
                let alpha = <f64 as Real>::unit(alpha_key.block([k as u32, 0, 0, 0]).a);
                let between: Vec<f64> = previous
                    .iter()
                    .zip(&local)
                    .map(|(previous, local)| alpha * previous + (1.0 - alpha) * local)
                    .collect();
                let v: Vec<f64> = local.iter().zip(&previous).map(|(local, previous)| local - previous).collect();
                let still = v.iter().all(|v| v.abs() < 1e-12);
                let u: Vec<Vec<f64>> = trajectories(&world, &between, agent, key, config.batch)
                    .iter()
                    .map(|tau| {
                        let w = weight(&world, &local, &between, tau);
                        let g = gradient(&world, &local, tau, gamma);
                        // Nothing has moved yet: Λ is 0, and v has no direction to difference along.
                        let (along, hessian) = match still {
                            true => (0.0, vec![0.0; g.len()]),
                            false => (
                                score_along(&world, &between, &v, tau),
                                hessian_vector(&world, &between, &v, tau, gamma),
                            ),
                        };
                        let g_between = gradient(&world, &between, tau, gamma);
                        (0..g.len())
                            .map(|i| {
                                let lambda = along * g_between[i] + hessian[i];
                                beta * w * g[i] + (1.0 - beta) * (momentum[i] + lambda)
                            })
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
        assert!(relative(vectors["theta"], &theta) < 1e-7, "theta, round {round}");
        assert!(relative(vectors["theta_previous"], &previous) < 1e-7, "theta_previous, round {round}");
        let error = relative(vectors["direction"], &momentum);
        assert!(error < 1e-6, "direction, round {round}: {error}");
    }
}
