//! Training: a fold over rounds.

use std::io::{Seek, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use fedrl_algos::{Algorithm, AlgorithmError, ServerState, World};
use fedrl_federation::Participation;
use fs_err as fs;

use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::metrics::RoundMetrics;
use crate::run_directory::{RunDirectory, RunError};
use crate::setup::Setup;
use crate::state::{Best, Progress, TrainState};
use crate::tensorboard::EventFile;

/// Who watches a training.
pub trait Observer {
    /// A round is done.
    fn round(&mut self, metrics: &RoundMetrics);
}

/// How a training ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// Whether it was asked to stop before its last round.
    pub interrupted: bool,
    /// How far it came.
    pub progress: Progress,
    /// Mean training return of the last round.
    pub return_mean: Option<f64>,
    /// Parameters θ of the policy.
    pub theta: Vec<f32>,
}

/// Why a training could not go on.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// An agent's parameters are no longer finite.
    #[error(
        "agent {agent} diverged in round {round}: its parameters are no longer finite; its last finite metrics: {last}; \
         the last good checkpoint is {checkpoint} (smaller step sizes help, `training.on_divergence = \"drop-agent\"` \
         goes on without it)"
    )]
    Diverged {
        /// Which agent.
        agent: usize,
        /// In which round, from 1.
        round: u32,
        /// Its metrics of the round before.
        last: String,
        /// Where to go on from.
        checkpoint: String,
    },
    /// The device failed.
    #[error(transparent)]
    Engine(#[from] fedrl_engine::EngineError),
    /// The run directory failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A checkpoint could not be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The policy could not be written down.
    #[error(transparent)]
    Policy(#[from] fedrl_models::PolicyError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Trains one experiment into one run directory.
pub struct Trainer<'a> {
    setup: &'a Setup,
    world: &'a World,
    directory: &'a RunDirectory,
}

impl<'a> Trainer<'a> {
    /// A trainer of what `setup` says, in `world`.
    pub fn new(setup: &'a Setup, world: &'a World, directory: &'a RunDirectory) -> Self {
        Trainer { setup, world, directory }
    }

    /// Trains until the last round, or until `stop` is set and the round under way is done, going
    /// on from a checkpoint if there is one.
    ///
    /// # Errors
    /// See [`TrainError`]. What was checkpointed stays.
    pub fn run(
        &self,
        from: Option<Checkpoint>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Ending, TrainError> {
        let config = &self.setup.experiment;
        let algorithm = config.algorithm.build(config.training.rounds);
        self.fold(&algorithm, from, observer, stop)
    }

    fn fold<A: Algorithm>(
        &self,
        algorithm: &A,
        from: Option<Checkpoint>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Ending, TrainError> {
        self.directory.tidy(from.as_ref().map(|checkpoint| checkpoint.header.progress.round))?;
        let mut journal = Journal::open(self.directory, from.as_ref().map_or(0, |c| c.header.metrics_bytes))?;
        let mut state = match from {
            Some(checkpoint) => checkpoint.state(&self.directory.checkpoints())?,
            None => self.start(algorithm, &journal)?,
        };

        let rounds = self.setup.experiment.training.rounds;
        let mut interrupted = false;
        while state.progress.round < rounds && !interrupted {
            let metrics;
            (state, metrics) = self.round(algorithm, &state, &journal)?;
            journal.append(metrics)?;
            observer.round(&journal.rounds[journal.rounds.len() - 1]);
            interrupted = stop.load(Ordering::Relaxed) && state.progress.round < rounds;
            if interrupted || self.scheduled(state.progress.round) {
                self.save(&mut state, &journal)?;
            }
        }
        self.prune(&state.progress)?;
        Ok(Ending {
            interrupted,
            return_mean: journal.rounds.last().and_then(|metrics| metrics.number("train/return_mean")),
            theta: state.server.theta().to_vec(),
            progress: state.progress,
        })
    }

    fn start<A: Algorithm>(&self, algorithm: &A, journal: &Journal) -> Result<TrainState<A::State>, TrainError> {
        let started =
            algorithm.start(self.world, self.setup.theta.clone()).map_err(|error| self.failed(error, 0, journal))?;
        let mut state = TrainState::new(started.state, self.world.agents.len());
        state.progress.totals.add(&started.reports);
        self.save(&mut state, journal)?;
        Ok(state)
    }

    /// `state = round(state)`.
    fn round<A: Algorithm>(
        &self,
        algorithm: &A,
        state: &TrainState<A::State>,
        journal: &Journal,
    ) -> Result<(TrainState<A::State>, RoundMetrics), TrainError> {
        let started = Instant::now();
        let config = &self.setup.experiment;
        let round = state.progress.round;
        let participation = Participation::new(config.agents.participation, config.training.seed);
        let participants = participation.select(round, &state.available());
        let done = algorithm
            .round(self.world, &state.server, round, &participants)
            .map_err(|error| self.failed(error, round, journal))?;

        let mut progress = Progress { round: round + 1, ..state.progress.clone() };
        progress.totals.add(&done.reports);
        for report in done.reports.iter().filter(|report| report.diverged) {
            progress.active[report.agent] = false;
        }
        let metrics = RoundMetrics::new(&progress, &done.reports, started.elapsed().as_secs_f64());
        Ok((TrainState { server: done.state, progress }, metrics))
    }

    /// Whether a checkpoint of `round` belongs to every run of this experiment, interrupted or not.
    fn scheduled(&self, round: u32) -> bool {
        let training = &self.setup.experiment.training;
        round.is_multiple_of(training.checkpoint_every) || round == training.rounds
    }

    fn save<S: ServerState>(&self, state: &mut TrainState<S>, journal: &Journal) -> Result<(), TrainError> {
        let round = state.progress.round;
        let return_mean = journal.rounds.last().and_then(|metrics| metrics.number("train/return_mean"));
        if let (Some(return_mean), true) = (return_mean, self.scheduled(round))
            && state.progress.best.is_none_or(|best| return_mean > best.return_mean)
        {
            state.progress.best = Some(Best { round, return_mean });
        }
        let policy = fedrl_models::files::to_bytes(&self.world.policy, state.server.theta())?;
        let checkpoint = Checkpoint::new(state, self.directory.config_sha256()?, journal.sync()?, policy);
        checkpoint.write(&self.directory.checkpoints())?;
        self.directory.write("checkpoints/latest", format!("round-{round:06}\n").as_bytes())?;
        if let Some(best) = state.progress.best {
            self.directory.write("checkpoints/best", format!("round-{:06}\n", best.round).as_bytes())?;
        }
        self.prune(&state.progress)
    }

    /// Keeps the newest scheduled checkpoints, the best and the current one.
    fn prune(&self, progress: &Progress) -> Result<(), TrainError> {
        let checkpoints = self.directory.checkpoints();
        let rounds = Checkpoint::rounds(&checkpoints)?;
        let newest: Vec<u32> = rounds
            .iter()
            .copied()
            .rev()
            .filter(|&round| self.scheduled(round))
            .take(self.setup.experiment.training.keep_checkpoints)
            .collect();
        let kept = |round: &u32| {
            newest.contains(round) || *round == progress.round || progress.best.is_some_and(|best| best.round == *round)
        };
        for round in rounds.iter().filter(|round| !kept(round)) {
            fs::remove_dir_all(Checkpoint::path(&checkpoints, *round))?;
        }
        Ok(())
    }

    fn failed(&self, error: AlgorithmError, round: u32, journal: &Journal) -> TrainError {
        match error {
            AlgorithmError::Engine(error) => TrainError::Engine(error),
            AlgorithmError::Diverged { agent } => {
                let newest =
                    Checkpoint::rounds(&self.directory.checkpoints()).ok().and_then(|rounds| rounds.last().copied());
                let checkpoint = newest.map_or_else(
                    || "none".into(),
                    |round| Checkpoint::path(&self.directory.checkpoints(), round).display().to_string(),
                );
                TrainError::Diverged { agent, round: round + 1, last: journal.last_of(agent), checkpoint }
            }
        }
    }
}

/// The rounds so far, in memory, in `metrics.jsonl` and in TensorBoard's file.
struct Journal {
    rounds: Vec<RoundMetrics>,
    file: fs::File,
    events: EventFile,
}

impl Journal {
    /// Opens the journal and cuts it back to its first `bytes`, which a checkpoint vouches for.
    fn open(directory: &RunDirectory, bytes: u64) -> Result<Self, TrainError> {
        let path = directory.metrics_path();
        let mut file = fs::OpenOptions::new().create(true).truncate(false).write(true).read(true).open(&path)?;
        let not = |reason: String| RunError::NotARun { path: directory.path().into(), reason };
        let found = file.metadata()?.len();
        if found < bytes {
            let reason = format!("metrics.jsonl has {found} bytes, expected at least the {bytes} of its checkpoint");
            return Err(not(reason).into());
        }
        file.set_len(bytes)?;
        file.seek(std::io::SeekFrom::End(0))?;
        let text = fs::read_to_string(&path)?;
        let read = |(index, line): (usize, &str)| {
            RoundMetrics::from_line(line).ok_or_else(|| not(format!("metrics.jsonl line {} is not JSON", index + 1)))
        };
        let rounds = text.lines().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        let events = EventFile::create(&directory.events_path()?, &rounds)?;
        Ok(Journal { rounds, file, events })
    }

    fn append(&mut self, metrics: RoundMetrics) -> Result<(), TrainError> {
        self.file.write_all(format!("{}\n", metrics.to_line()).as_bytes())?;
        self.events.append(&metrics)?;
        self.rounds.push(metrics);
        Ok(())
    }

    /// Waits until everything is on the disk; how long the file is.
    fn sync(&self) -> std::io::Result<u64> {
        self.file.sync_all()?;
        Ok(self.file.metadata()?.len())
    }

    /// The last metrics of `agent` in words.
    fn last_of(&self, agent: usize) -> String {
        let keys = ["agents/return", "agents/gradient_norm", "agents/drift"];
        let known = |metrics: &&RoundMetrics| metrics.agent(keys[0], agent).is_some();
        let Some(last) = self.rounds.iter().rev().find(known) else { return "none".into() };
        let values = keys.iter().filter_map(|key| Some(format!("{} {:.4}", &key[7..], last.agent(key, agent)?)));
        format!("{} (round {})", values.collect::<Vec<_>>().join(", "), last.round())
    }
}
