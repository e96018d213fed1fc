//! One run of a batch, from beginning to end.

use std::sync::atomic::{AtomicBool, Ordering};

use fedrl_algos::{Algorithm, AlgorithmError, AnyAlgorithm, ImportanceMetrics, ServerState};
use fedrl_engine::EngineError;
use fedrl_engine::tabular::{Softmax, Tables};
use fedrl_federation::Participation;
use serde::Serialize;

use crate::run_directory::RunError;
use crate::setup::Setup;
use crate::trainer::TrainError;

/// What a run came to.
#[derive(Debug, Default, Serialize)]
pub(super) struct RunResult {
    /// The rounds that the curves are at, from 0.
    rounds: Vec<u32>,
    /// J(θ_r): the mean of the agents' objectives, with the entropy bonus, over infinitely many steps.
    objective: Vec<f64>,
    /// ‖∇J(θ_r)‖.
    gradient_norm: Vec<f64>,
    /// What the importance weights were like, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    importance: Option<Importance>,
    env_steps: u64,
    /// Agents that were left out because they diverged.
    #[serde(skip_serializing_if = "is_zero")]
    dropped: usize,
    /// The round in which the run left the finite numbers, or lost its last agent, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    diverged: Option<u32>,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

#[derive(Debug, Serialize)]
struct Importance {
    mean: f64,
    effective_sample_size: f64,
    /// Share of weights below 0.01.
    collapsed: f64,
    /// Share of weights that were clipped.
    clipped: f64,
}

/// The most rounds that a run's curves are kept at.
const CURVE: u32 = 100;

/// Trains what `setup` says; `None` if `stop` was set on the way.
pub(super) fn run(setup: &Setup, stop: &AtomicBool) -> Result<Option<RunResult>, TrainError> {
    match setup.algorithm() {
        AnyAlgorithm::FedSvrpgM(algorithm) => fold(setup, &algorithm, stop),
        AnyAlgorithm::FedHapgM(algorithm) => fold(setup, &algorithm, stop),
        AnyAlgorithm::FastFedPg(algorithm) => fold(setup, &algorithm, stop),
        AnyAlgorithm::Value(_) => unreachable!("a batch is of tabular policies, which learn no action values"),
    }
}

fn fold<A: Algorithm<f64>>(setup: &Setup, algorithm: &A, stop: &AtomicBool) -> Result<Option<RunResult>, TrainError> {
    let config = &setup.experiment;
    let world = setup.double_world();
    let tables = setup.tables().unwrap_or_default();
    let rounds = config.training.rounds;
    let every = rounds.div_ceil(CURVE);
    let participation = Participation::new(config.agents.participation, config.training.seed);
    let mut active: Vec<usize> = (0..world.agents.len()).collect();
    let mut importance: Option<ImportanceMetrics> = None;
    let mut result = RunResult::default();

    let theta: Vec<f64> = setup.initial().map_err(RunError::from)?.into_iter().map(f64::from).collect();
    let mut next = algorithm.start(&world, theta);
    for round in 0..=rounds {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let Some(done) = finite(next)? else {
            result.diverged = Some(round);
            break;
        };
        for report in &done.reports {
            result.env_steps += report.metrics.lived.env_steps;
            if let Some(weights) = &report.metrics.importance {
                importance.get_or_insert_default().merge(weights);
            }
            active.retain(|&agent| agent != report.agent || !report.diverged);
        }
        if round.is_multiple_of(every) || round == rounds {
            let (objective, gradient_norm) = evaluate(&tables, done.state.theta(), config.algorithm.objective());
            if !(objective.is_finite() && gradient_norm.is_finite()) || active.is_empty() {
                result.diverged = Some(round);
                break;
            }
            result.rounds.push(round);
            result.objective.push(objective);
            result.gradient_norm.push(gradient_norm);
        }
        if round == rounds {
            break;
        }
        next = algorithm.round(&world, &done.state, round, &participation.select(round, &active));
    }
    result.dropped = world.agents.len() - active.len();
    result.importance = importance.map(|weights| Importance {
        mean: weights.mean(),
        effective_sample_size: weights.effective_sample_size(),
        collapsed: weights.collapsed as f64 / weights.count as f64,
        clipped: weights.clipped as f64 / weights.count as f64,
    });
    Ok(Some(result))
}

/// The round, unless it left the finite numbers.
fn finite<S: ServerState<f64>>(
    done: Result<fedrl_algos::Round<S>, AlgorithmError>,
) -> Result<Option<fedrl_algos::Round<S>>, EngineError> {
    match done {
        Ok(done) if done.state.theta().iter().all(|x| x.is_finite()) => Ok(Some(done)),
        Ok(_) | Err(AlgorithmError::Diverged { .. }) => Ok(None),
        Err(AlgorithmError::Engine(error)) => Err(error),
    }
}

/// J and ‖∇J‖ of the mean of the agents' objectives.
fn evaluate(tables: &[Tables], theta: &[f64], (discount, entropy): (f64, f64)) -> (f64, f64) {
    let share = 1.0 / tables.len() as f64;
    let (mut objective, mut gradient) = (0.0, vec![0.0; theta.len()]);
    for tables in tables {
        let policy = Softmax::new(theta, tables.mdp.states, tables.mdp.actions);
        let evaluation = tables.evaluate(&policy, discount, entropy);
        objective += share * evaluation.objective;
        gradient.iter_mut().zip(&evaluation.gradient).for_each(|(sum, x)| *sum += share * x);
    }
    (objective, gradient.iter().map(|x| x * x).sum::<f64>().sqrt())
}
