//! Many runs at once: every point of a sweep under every seed, of problems so small that a run is
//! milliseconds — tabular policies on finite decision processes, in f64, natively.
//!
//! A run is one line of `results.jsonl`, in the order of points and seeds. A batch that was stopped
//! goes on after the last whole line and ends with the same bytes.

mod run;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use fs_err as fs;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::checkpoint::sha256;
use crate::config::{ConfigError, Point, Source};
use crate::run_directory::{RunDirectory, RunError};
use crate::setup::Setup;
use crate::trainer::TrainError;

/// A sweep, checked.
pub struct Batch {
    points: Vec<Point>,
    /// Of each point: where its runs begin, and what all of its lines say of it.
    names: Vec<(usize, Name)>,
    runs: usize,
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

/// Which run a line of `results.jsonl` is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Name {
    /// The swept keys and their values.
    settings: Map<String, Value>,
    /// The beginning of the SHA-256 of the resolved experiment, its seed aside.
    experiment: String,
    seed: u64,
}

/// A line of `results.jsonl`.
#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    name: Name,
    #[serde(flatten)]
    result: run::RunResult,
}

/// The most runs accepted: beyond it a typing error is likelier than an intention.
const MOST: usize = 10_000_000;

impl Batch {
    /// Reads and checks every point. Nothing is run.
    ///
    /// # Errors
    /// A point that is no experiment, or none of a tabular policy on a finite decision process.
    pub fn new(source: Source) -> Result<Self, ConfigError> {
        let file = source.name().to_string();
        let points = source.points()?;
        let (mut names, mut runs) = (Vec::new(), 0usize);
        for point in &points {
            let training = &point.experiment.training;
            // Variants may follow the seed.
            for seed in [training.seed, training.seed + u64::from(training.runs) - 1] {
                check(point, seed, &file).map_err(|error| within(point, seed, error))?;
            }
            names.push((runs, name(point)?));
            runs = runs.saturating_add(training.runs as usize);
        }
        if runs > MOST {
            let problem = format!("and `training.runs` make {runs} runs, expected at most {MOST}");
            return Err(ConfigError::at(&file, "sweep", problem));
        }
        Ok(Batch { points, names, runs, source: file })
    }

    /// Whether the runs that a file describes are so small that a line each is enough: tabular policies on
    /// finite decision processes.
    ///
    /// # Errors
    /// The first point is no experiment.
    pub fn fits(source: &Source) -> Result<bool, ConfigError> {
        let file = source.name().to_string();
        let Some(point) = source.clone().points()?.into_iter().next() else { return Ok(false) };
        Ok(Setup::new(point.experiment, &file)?.tables().is_some())
    }

    /// One sentence about what there is to do.
    pub fn describe(&self) -> String {
        let seed = self.points[0].experiment.training.seed;
        format!("{} runs: {} points, seeds from {seed}", self.runs, self.points.len())
    }

    /// Runs what has not been run yet, until `stop` is set. Returns whether everything is done.
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
        let path = directory.results_path();
        let (mut done, bytes) = self.written(&path)?;
        let mut file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
        file.set_len(bytes)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0))?;

        let first = done;
        let (sender, finished) = mpsc::channel();
        // A run that nobody can write down any more is not begun.
        let given_up = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let given_up = &given_up;
            scope.spawn(move || {
                // One after the other, so that what is finished is nearly a beginning of the file.
                (first..self.runs).par_bridge().for_each_with(sender, |sender, index| {
                    if stop.load(Ordering::Relaxed) || given_up.load(Ordering::Relaxed) {
                        return;
                    }
                    // Nobody listens any more once a line could not be written.
                    let _ = sender.send((index, self.line(index, stop)));
                });
            });
            let mut early = BTreeMap::new();
            let write = || -> Result<(), TrainError> {
                for (index, line) in finished {
                    early.insert(index, line);
                    while let Some(line) = early.remove(&done) {
                        let Some(line) = line? else { return Ok(()) };
                        file.write_all(line.as_bytes())?;
                        done += 1;
                        observe(BatchProgress { done, runs: self.runs });
                    }
                }
                Ok(file.sync_all()?)
            };
            let written = write();
            given_up.store(true, Ordering::Relaxed);
            written
        })?;
        Ok(done == self.runs)
    }

    /// The point of a run, and the run's name.
    fn name_of(&self, index: usize) -> (&Point, Name) {
        let point = self.names.partition_point(|(first, _)| *first <= index) - 1;
        let (first, name) = &self.names[point];
        let seed = self.points[point].experiment.training.seed + (index - first) as u64;
        (&self.points[point], Name { seed, ..name.clone() })
    }

    /// How many runs have their lines, and the bytes of these.
    fn written(&self, path: &Path) -> Result<(usize, u64), RunError> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((0, 0)),
            Err(error) => return Err(error.into()),
        };
        let lines = text.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
        let (mut done, mut bytes) = (0, 0);
        for line in lines {
            let expected = (done < self.runs).then(|| self.name_of(done).1);
            let found: Option<Name> = serde_json::from_slice(line).ok();
            if found.is_none() || found != expected {
                let expected = expected.map_or("nothing".into(), |name| serde_json::json!(name).to_string());
                let reason = format!("line {} is not of this batch, expected that of {expected}", done + 1);
                return Err(RunError::Damaged { path: path.into(), reason });
            }
            done += 1;
            bytes += line.len() as u64;
        }
        Ok((done, bytes))
    }

    /// Runs run `index`; `None` if `stop` was set on the way.
    fn line(&self, index: usize, stop: &AtomicBool) -> Result<Option<String>, TrainError> {
        let (point, name) = self.name_of(index);
        let setup = Setup::new(seeded(point, name.seed), &self.source).map_err(RunError::from)?;
        let Some(result) = run::run(&setup, stop)? else { return Ok(None) };
        let line = serde_json::to_string(&Line { name, result }).map_err(std::io::Error::from)?;
        Ok(Some(line + "\n"))
    }
}

fn seeded(point: &Point, seed: u64) -> crate::config::Experiment {
    let mut experiment = point.experiment.clone();
    experiment.training.seed = seed;
    experiment
}

/// What all lines of a point say, with the seed 0.
fn name(point: &Point) -> Result<Name, ConfigError> {
    let resolved = seeded(point, 0).to_toml().map_err(|error| ConfigError::at("experiment", "", error))?;
    let experiment = sha256(resolved.as_bytes())[..16].to_string();
    Ok(Name { settings: point.settings.iter().cloned().collect(), experiment, seed: 0 })
}

/// Refuses what cannot be run or evaluated exactly.
fn check(point: &Point, seed: u64, file: &str) -> Result<(), ConfigError> {
    let setup = Setup::new(seeded(point, seed), file)?;
    setup.initial()?;
    if setup.tables().is_none() {
        let problem = "the first point of the sweep is a tabular policy on a finite decision process, so that \
                       every point has to be a tabular policy on one: an environment like RandomMDP-v0, \
                       `policy.hidden = []` and `policy.bias = false`; sweep others in a file of their own";
        return Err(ConfigError::at(file, "", problem));
    }
    if setup.experiment.algorithm.objective().0 == 1.0 {
        let problem = "is 1, expected a number below 1, since J of every run is taken over infinitely many steps";
        return Err(ConfigError::at(file, "algorithm.discount", problem));
    }
    Ok(())
}

/// The error of a point, with its settings where there are any.
fn within(point: &Point, seed: u64, mut error: ConfigError) -> ConfigError {
    if !point.settings.is_empty() {
        let settings: Vec<String> = point.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        error.problem += &format!(" (at {}, seed {seed})", settings.join(", "));
    }
    error
}
