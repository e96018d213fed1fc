//! Two rounds of Algorithm 1 of 002, line by line in f64.

use fedrl_algos::ServerState;
use fedrl_algos::fedsvrpg_m::FedSvrpgM;
use fedrl_core::random::{Key, Purpose};

use crate::oracle::{gradient, mean, trajectories, weight};
use crate::support::{SEED, config, exact_world, initial, relative, train};

#[test]
fn two_rounds_are_the_lines_of_algorithm_1() {
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

    let rounds = train(&world, &FedSvrpgM::new(config.clone(), 2), 2);
    assert!(relative(rounds[0].state.vectors()["direction"], &momentum) < 1e-8);

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
                        let w = weight(&world, &previous, &local, tau);
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
        assert!(relative(vectors["theta"], &theta) < 1e-8, "theta, round {round}");
        assert!(relative(vectors["theta_previous"], &previous) < 1e-8, "theta_previous, round {round}");
        let error = relative(vectors["direction"], &momentum);
        assert!(error < 1e-8, "direction, round {round}: {error}");
    }
}
