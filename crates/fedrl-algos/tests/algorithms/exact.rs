//! The limit without noise: where the algorithms converge to, and how fast. Five agents in an
//! entropy-regularised decision process of 5 states and 5 actions; the agents' rewards conflict.

use fedrl_algos::fast_fedpg::{FastFedPg, FastFedPgConfig};
use fedrl_algos::fedhapg_m::FedHapgM;
use fedrl_algos::fedsvrpg_m::FedSvrpgM;
use fedrl_algos::momentum::MomentumConfig;
use fedrl_algos::{Algorithm, Divergence, Exact, ServerState, World};
use fedrl_engine::tabular::{Softmax, Tables};
use fedrl_envs::{Instance, Mdp};

use crate::support;
use crate::tabular::{agents, instances, tables};

const DISCOUNT: f64 = 0.9;
const ENTROPY: f64 = 0.1;

/// The same kernel and conflicting rewards: 003's setting.
fn conflicting() -> Vec<Instance> {
    instances(5, 0.0, 1.0, 1)
}

fn world() -> World<f64> {
    let instances = conflicting();
    World {
        estimates: Box::new(Exact { tables: tables(&instances) }),
        agents: agents(&instances),
        seed: support::SEED,
        max_episode_steps: 100,
        on_divergence: Divergence::Stop,
    }
}

/// J and ∇J of the average objective.
fn evaluate(theta: &[f64]) -> (f64, Vec<f64>) {
    let policy = Softmax::new(theta, 5, 5);
    let tables = tables(&conflicting());
    let n = tables.len() as f64;
    let (mut objective, mut gradient) = (0.0, vec![0.0; theta.len()]);
    for tables in tables {
        let evaluation = tables.evaluate(&policy, DISCOUNT, ENTROPY);
        objective += evaluation.objective / n;
        gradient.iter_mut().zip(evaluation.gradient).for_each(|(sum, x)| *sum += x / n);
    }
    (objective, gradient)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The greatest J: since the kernel is shared, that of the process with the mean rewards, by soft
/// value iteration V = τ log Σ_a exp Q(·, a)/τ.
fn optimum() -> f64 {
    let mdps: Vec<Mdp> = conflicting().iter().map(|instance| instance.mdp().unwrap()).collect();
    let reward = |pair: usize| mdps.iter().map(|mdp| mdp.reward[pair]).sum::<f64>() / mdps.len() as f64;
    let mdp = &mdps[0];
    let mut value = [0.0; 5];
    for _ in 0..1000 {
        let q =
            |pair: usize| reward(pair) + DISCOUNT * mdp.next(pair).iter().zip(&value).map(|(p, v)| p * v).sum::<f64>();
        value = std::array::from_fn(|state| {
            let q: Vec<f64> = (state * 5..state * 5 + 5).map(q).collect();
            let greatest = q.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            greatest + ENTROPY * q.iter().map(|q| ((q - greatest) / ENTROPY).exp()).sum::<f64>().ln()
        });
    }
    value.iter().zip(&mdp.initial).map(|(value, first)| first * value).sum()
}

fn momentum(beta: f64, local_steps: usize, local_step_size: f64) -> MomentumConfig {
    MomentumConfig {
        local_steps,
        local_step_size,
        global_step_size: 2.0,
        discount: DISCOUNT,
        entropy: ENTROPY,
        exact: true,
        ..support::config(beta)
    }
}

fn fast(local_steps: usize, local_step_size: f64) -> FastFedPg {
    let config = momentum(1.0, local_steps, local_step_size);
    FastFedPg::new(FastFedPgConfig {
        local_steps,
        local_step_size,
        // The same step of the server per round as the momentum algorithms'.
        global_step_size: config.global_step_size / (local_steps as f64 * local_step_size),
        discount: DISCOUNT,
        horizon: 1,
        batch: 1,
        estimator: config.estimator,
        advantage: config.advantage,
        entropy: ENTROPY,
        exact: true,
    })
}

/// θ after every so many rounds.
fn train(algorithm: &impl Algorithm<f64>, rounds: u32) -> Vec<Vec<f64>> {
    let world = world();
    let everyone: Vec<usize> = (0..world.agents.len()).collect();
    let mut state = algorithm.start(&world, vec![0.0; 25]).unwrap().state;
    let mut visited = Vec::new();
    for round in 0..rounds {
        state = algorithm.round(&world, &state, round, &everyone).unwrap().state;
        visited.push(state.theta().to_vec());
    }
    visited
}

/// ‖∇J‖ where an algorithm has come to rest.
fn bias(algorithm: &impl Algorithm<f64>) -> f64 {
    let visited = train(algorithm, 6000);
    let moved: Vec<f64> = visited[5999].iter().zip(&visited[5998]).map(|(a, b)| a - b).collect();
    assert!(norm(&moved) < 1e-12, "still moving by {:e}", norm(&moved));
    norm(&evaluate(&visited[5999]).1)
}

/// 003 Theorem 2: linear convergence to the optimum of the average objective with exact gradients
/// under gradient domination, in spite of conflicting rewards.
#[test]
fn fast_fedpg_converges_linearly_to_the_optimum_of_the_average_objective() {
    let best = optimum();
    let gaps: Vec<f64> = train(&fast(10, 0.01), 2000).iter().map(|theta| best - evaluate(theta).0).collect();
    assert!(gaps[1999] < 1e-8, "{:e}", gaps[1999]);
    // The gap's logarithm falls along a line from 1e-3 to 1e-10.
    let line: Vec<(f64, f64)> = gaps
        .iter()
        .enumerate()
        .filter(|(_, gap)| (1e-10..1e-3).contains(*gap))
        .map(|(round, gap)| (round as f64, gap.ln()))
        .collect();
    let (slope, correlation) = fit(&line);
    assert!(line.len() > 20 && slope < -0.005 && correlation < -0.99, "{} {slope} {correlation}", line.len());

    let averaged = train(&FedSvrpgM::new(momentum(1.0, 10, 0.01), 1), 2000);
    let gap = best - evaluate(&averaged[1999]).0;
    assert!(gap > 1e-7, "local steps without correction are biased: {gap:e}");
}

/// At a limit point the averaged direction is ∇J(θ) + (η(K−1)/2) mean_i H_i ∇J_i(θ) to first order,
/// whatever β; Fast-FedPG has none of it.
#[test]
fn the_bias_of_the_limit_point_is_proportional_to_the_local_step_and_does_not_depend_on_beta() {
    let steps = [0.02, 0.01, 0.005];
    let of = |beta: f64, hessian: bool, eta: f64| {
        let config = momentum(beta, 10, eta);
        if hessian { bias(&FedHapgM::new(config, 1)) } else { bias(&FedSvrpgM::new(config, 1)) }
    };
    let plain = steps.map(|eta| of(1.0, false, eta));
    let line: Vec<(f64, f64)> = steps.iter().zip(plain).map(|(eta, bias)| (eta.ln(), bias.ln())).collect();
    let (slope, _) = fit(&line);
    assert!((slope - 1.0).abs() < 0.05, "{slope} {plain:?}");
    for (beta, hessian) in [(0.5, false), (0.2, false), (0.5, true), (0.2, true)] {
        for (eta, plain) in steps.iter().zip(plain) {
            let bias = of(beta, hessian, *eta);
            assert!((bias / plain - 1.0).abs() < 0.05, "beta {beta}, hessian {hessian}, eta {eta}: {bias} {plain}");
        }
    }
    for eta in steps {
        assert!(bias(&fast(10, eta)) < 1e-8);
    }
}

#[test]
fn a_single_local_step_is_not_biased() {
    for beta in [1.0, 0.5] {
        assert!(bias(&FedSvrpgM::new(momentum(beta, 1, 0.02), 1)) < 1e-10);
        assert!(bias(&FedHapgM::new(momentum(beta, 1, 0.02), 1)) < 1e-10);
    }
    assert!(bias(&fast(1, 0.02)) < 1e-10);
}

/// Least squares: slope and correlation.
fn fit(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| f(p.0 - x, p.1 - y)).sum::<f64>();
    let (xx, yy, xy) = (sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y));
    (xy / xx, xy / (xx * yy).sqrt())
}

/// What can be solved at all.
#[test]
fn tables_of_every_kernel_are_distributions() {
    for kernel in [0.0, 1.0, 2.0] {
        for own in 0..10 {
            let given = [("kappa", 0.3), ("kernel", kernel), ("own", f64::from(own))];
            let instance =
                Instance::new(&fedrl_envs::RandomMdp, given.map(|(name, value)| (name.to_string(), value)).into());
            let tables = Tables::new(instance.unwrap().mdp().unwrap());
            for pair in 0..25 {
                assert!((tables.mdp.next(pair).iter().sum::<f64>() - 1.0).abs() < 1e-14);
            }
        }
    }
}
