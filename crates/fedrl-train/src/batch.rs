//! Many runs at once: every point of a sweep under every seed, of problems so small that a run is
//! milliseconds — tabular policies on finite decision processes, in f64, natively.
//!
//! A run is one line of `results.jsonl`, in the order of points and seeds. A batch that was stopped
//! goes on after the last whole line and ends with the same bytes.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use fedrl_algos::{Algorithm, AlgorithmError, AnyAlgorithm, ImportanceMetrics, ServerState, World};
use fedrl_core::Scalar;
use fedrl_engine::Engine;
use fedrl_engine::tabular::{Softmax, Tables};
use fedrl_federation::Participation;
use fs_err as fs;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::config::{ConfigError, Point, Source};
use crate::run_directory::{RunDirectory, RunError};
use crate::setup::Setup;
use crate::trainer::TrainError;

/// A sweep, checked.
pub struct Batch {
    points: Vec<Point>,
    source: String,
}

/// How far a batch has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchProgress {
    /// Runs done.
    pub done: usize,
    /// All runs.
    pub runs: usize,
}

/// One run: a line of `results.jsonl`.
#[derive(Debug, Serialize)]
struct RunResult<'a> {
    /// The swept keys and their values.
    settings: &'a Map<String, Value>,
    seed: u64,
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
    /// The round in which the run left the finite numbers, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    diverged: Option<u32>,
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

/// Runs that are worked on before their lines are written.
const CHUNK: usize = 64;

/// The most rounds that a run's curves are kept at.
const CURVE: u32 = 100;

impl Batch {
    /// Reads and checks every point. Nothing is run.
    ///
    /// # Errors
    /// A point that is no experiment, or none of a tabular policy on a finite decision process.
    pub fn new(source: Source) -> Result<Self, ConfigError> {
        let name = source.name().to_string();
        let points = source.points()?;
        for point in &points {
            let setup = Setup::new(point.experiment.clone(), &name)?;
            setup.initial()?;
            if setup.tables().is_none() {
                let problem = "many runs at once are for tabular policies on finite decision processes: an environment \
                               like RandomMDP-v0, `policy.hidden = []` and `policy.bias = false`; train others one by one";
                return Err(ConfigError::at(&name, "sweep", problem));
            }
        }
        Ok(Batch { points, source: name })
    }

    /// One sentence about what there is to do.
    pub fn describe(&self) -> String {
        let training = &self.points[0].experiment.training;
        let runs = self.points.iter().map(|point| point.experiment.training.runs as usize).sum::<usize>();
        format!("{runs} runs of {} rounds: {} points, seeds from {}", training.rounds, self.points.len(), training.seed)
    }

    /// Runs what has not been run yet, until `stop` is set and the runs under way are done. Returns
    /// whether everything is done.
    ///
    /// # Errors
    /// The disk failed, or the results so far are not of this batch.
    pub fn run(
        &self,
        directory: &RunDirectory,
        observe: &mut dyn FnMut(BatchProgress),
        stop: &AtomicBool,
    ) -> Result<bool, TrainError> {
        let _lock = directory.lock()?;
        let runs: Vec<(usize, u64)> = self.runs().collect();
        let path = directory.results_path();
        let (done, bytes) = self.written(&path, &runs)?;
        let mut file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
        file.set_len(bytes)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0))?;
        let mut progress = BatchProgress { done, runs: runs.len() };
        for chunk in runs[done..].chunks(CHUNK) {
            if stop.load(Ordering::Relaxed) {
                file.sync_all()?;
                return Ok(false);
            }
            let lines: Vec<Result<String, TrainError>> =
                chunk.par_iter().map(|&(point, seed)| self.line(point, seed)).collect();
            for line in lines {
                file.write_all(line?.as_bytes())?;
            }
            progress.done += chunk.len();
            observe(progress);
        }
        file.sync_all()?;
        Ok(true)
    }

    /// Every run: its point and its seed.
    fn runs(&self) -> impl Iterator<Item = (usize, u64)> {
        self.points.iter().enumerate().flat_map(|(index, point)| {
            let training = &point.experiment.training;
            (0..u64::from(training.runs)).map(move |run| (index, training.seed + run))
        })
    }

    /// How many runs have their lines, and the bytes of these.
    fn written(&self, path: &PathBuf, runs: &[(usize, u64)]) -> Result<(usize, u64), RunError> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((0, 0)),
            Err(error) => return Err(error.into()),
        };
        let lines = text.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let (mut done, mut bytes) = (0, 0);
        for line in lines {
            let read: Option<Value> = serde_json::from_slice(line).ok();
            let expected =
                runs.get(done).map(|&(point, seed)| (Value::Object(self.settings(point)), Value::from(seed)));
            let found = read.as_ref().and_then(|line| Some((line.get("settings")?.clone(), line.get("seed")?.clone())));
            if found.is_none() || found != expected {
                let reason = format!("line {} is not the run that belongs there", done + 1);
                return Err(RunError::Damaged { path: path.clone(), reason });
            }
            done += 1;
            bytes += line.len() as u64;
        }
        Ok((done, bytes))
    }

    fn settings(&self, point: usize) -> Map<String, Value> {
        self.points[point].settings.iter().cloned().collect()
    }

    fn line(&self, point: usize, seed: u64) -> Result<String, TrainError> {
        let mut experiment = self.points[point].experiment.clone();
        experiment.training.seed = seed;
        let setup = Setup::new(experiment, &self.source).map_err(RunError::from)?;
        let settings = self.settings(point);
        let result = match setup.experiment.algorithm.build(setup.experiment.training.rounds) {
            AnyAlgorithm::FedSvrpgM(algorithm) => run(&setup, &algorithm, &settings),
            AnyAlgorithm::FedHapgM(algorithm) => run(&setup, &algorithm, &settings),
            AnyAlgorithm::FastFedPg(algorithm) => run(&setup, &algorithm, &settings),
        }?;
        Ok(serde_json::to_string(&result).map_err(std::io::Error::from)? + "\n")
    }
}

/// Trains one run from beginning to end.
fn run<'a, A: Algorithm<f64>>(
    setup: &Setup,
    algorithm: &A,
    settings: &'a Map<String, Value>,
) -> Result<RunResult<'a>, TrainError> {
    let config = &setup.experiment;
    let world: World<f64> = setup.world(Engine::double());
    let tables = setup.tables().unwrap_or_default();
    let rounds = config.training.rounds;
    let every = rounds.div_ceil(CURVE);
    let (seed, participation) = (config.training.seed, config.agents.participation);
    let participation = Participation::new(participation, seed);
    let mut active: Vec<usize> = (0..world.agents.len()).collect();
    let mut importance: Option<ImportanceMetrics> = None;
    let mut result = RunResult {
        settings,
        seed,
        rounds: Vec::new(),
        objective: Vec::new(),
        gradient_norm: Vec::new(),
        importance: None,
        env_steps: 0,
        diverged: None,
    };

    let theta: Vec<f64> = setup.initial().map_err(RunError::from)?.into_iter().map(f64::from).collect();
    let mut next = algorithm.start(&world, theta);
    for round in 0..=rounds {
        let done = match next {
            Ok(done) if done.state.theta().iter().all(|x| x.is_finite()) => done,
            Ok(_) | Err(AlgorithmError::Diverged { .. }) => {
                result.diverged = Some(round);
                break;
            }
            Err(AlgorithmError::Engine(error)) => return Err(error.into()),
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
            result.rounds.push(round);
            result.objective.push(objective);
            result.gradient_norm.push(gradient_norm);
        }
        if round == rounds || active.is_empty() {
            break;
        }
        next = algorithm.round(&world, &done.state, round, &participation.select(round, &active));
    }
    result.importance = importance.map(|weights| Importance {
        mean: weights.mean(),
        effective_sample_size: weights.effective_sample_size(),
        collapsed: weights.collapsed as f64 / weights.count as f64,
        clipped: weights.clipped as f64 / weights.count as f64,
    });
    Ok(result)
}

/// J and ‖∇J‖ of the mean of the agents' objectives.
fn evaluate<F: Scalar>(tables: &[Tables], theta: &[F], (discount, entropy): (f64, f64)) -> (f64, f64) {
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
