//! Training: a fold over rounds.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use cpu_time::ProcessTime;
use fedrl_algos::{Algorithm, AlgorithmError, AnyAlgorithm, ServerState, World};
use fedrl_engine::Matrix;
use fedrl_federation::Participation;
use fs_err as fs;

use crate::checkpoint::{Checkpoint, CheckpointError, Draft, Unfinished, Written};
use crate::journal::{Journal, Verified};
use crate::metrics::{RoundMetrics, Took};
use crate::run_directory::{Manifest, RunDirectory, RunError};
use crate::setup::Setup;
use crate::state::{Best, Progress, TrainState};

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
    /// θ of every agent's own policy, where they have their own.
    pub policies: Option<Matrix<f32>>,
    /// The newest checkpoint that this training wrote; none if it found the run finished.
    pub checkpoint: Option<Written>,
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
    /// The server's own step left the finite numbers.
    #[error(
        "the server diverged in round {round}: its vector `{name}` is no longer finite; the last good checkpoint is \
         {checkpoint} (a smaller `algorithm.global_step_size` helps)"
    )]
    ServerDiverged {
        /// The vector.
        name: &'static str,
        /// In which round, from 1; 0 is before the first.
        round: u32,
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
    world: &'a World<f32>,
    directory: &'a RunDirectory,
    manifest: &'a Manifest,
}

impl<'a> Trainer<'a> {
    /// A trainer of what `setup` says, in `world`. `manifest` replaces the run's once nothing can
    /// be refused any more.
    pub fn new(setup: &'a Setup, world: &'a World<f32>, directory: &'a RunDirectory, manifest: &'a Manifest) -> Self {
        Trainer { setup, world, directory, manifest }
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
        match self.setup.algorithm() {
            AnyAlgorithm::FedSvrpgM(algorithm) => self.fold(&algorithm, from, observer, stop),
            AnyAlgorithm::FedHapgM(algorithm) => self.fold(&algorithm, from, observer, stop),
            AnyAlgorithm::FastFedPg(algorithm) => self.fold(&algorithm, from, observer, stop),
            AnyAlgorithm::Value(algorithm) => self.fold(&algorithm, from, observer, stop),
        }
    }

    fn fold<A: Algorithm<f32>>(
        &self,
        algorithm: &A,
        from: Option<Checkpoint>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Ending, TrainError> {
        let _lock = self.directory.lock()?;
        let _training = UnderWay::begin();
        // Everything is read and verified before anything is cut back.
        let round = from.as_ref().map(|checkpoint| checkpoint.header.progress.round);
        let journal = Verified::read(self.directory, round.unwrap_or(0))?;
        let resumed = from.map(|checkpoint| checkpoint.state(&self.directory.checkpoints())).transpose()?;
        self.directory.write_manifest(self.manifest)?;
        self.directory.tidy(round)?;
        let mut journal = journal.open(self.directory, self.world.agents.len())?;
        let (mut state, mut checkpoint) = match resumed {
            Some(state) => (self.without_lost_best(state)?, None),
            None => self.start(algorithm, &journal)?,
        };

        let rounds = self.setup.experiment.training.rounds;
        let mut interrupted = false;
        while state.progress.round < rounds && !interrupted {
            let metrics;
            (state, metrics) = self.round(algorithm, &state, &journal)?;
            observer.round(&metrics);
            interrupted = stop.load(Ordering::Relaxed) && state.progress.round < rounds;
            checkpoint = self.record(&mut state, metrics, &mut journal, interrupted)?.or(checkpoint);
        }
        // Once more for a run that was killed between its last checkpoint and these.
        self.point(&state.progress)?;
        self.prune(&state.progress)?;
        Ok(Ending {
            interrupted,
            return_mean: journal.last().and_then(|metrics| metrics.number("train/return_mean")),
            theta: state.server.theta().to_vec(),
            policies: state.server.policies().cloned(),
            progress: state.progress,
            checkpoint,
        })
    }

    /// Forgets a best checkpoint that is no longer there, as after resuming from an older one.
    fn without_lost_best<S>(&self, mut state: TrainState<S>) -> Result<TrainState<S>, TrainError> {
        let rounds = Checkpoint::rounds(&self.directory.checkpoints())?;
        state.progress.best = state.progress.best.filter(|best| rounds.contains(&best.round));
        Ok(state)
    }

    /// The state before the first round, and its checkpoint.
    fn start<A: Algorithm<f32>>(
        &self,
        algorithm: &A,
        journal: &Journal,
    ) -> Result<(TrainState<A::State>, Option<Written>), TrainError> {
        let theta = self.setup.initial().map_err(RunError::from)?;
        let started = algorithm.start(self.world, theta).map_err(|error| self.failed(error, 0, journal))?;
        let mut state = TrainState::new(started.state, self.world.agents.len());
        state.progress.observe(&started.reports);
        self.check(&state.server, &state.progress, journal)?;
        let checkpoint = self.write(&mut state, None)?;
        let written = self.keep(checkpoint, &state.progress)?;
        Ok((state, Some(written)))
    }

    /// `state = round(state)`.
    fn round<A: Algorithm<f32>>(
        &self,
        algorithm: &A,
        state: &TrainState<A::State>,
        journal: &Journal,
    ) -> Result<(TrainState<A::State>, RoundMetrics), TrainError> {
        let started = Started::now();
        let config = &self.setup.experiment;
        let round = state.progress.round;
        let participation = Participation::new(config.agents.participation, config.training.seed);
        let participants = participation.select(round, &state.available());
        let done = algorithm
            .round(self.world, &state.server, round, &participants)
            .map_err(|error| self.failed(error, round, journal))?;

        let mut progress = Progress { round: round + 1, ..state.progress.clone() };
        progress.observe(&done.reports);
        self.check(&done.state, &progress, journal)?;
        let metrics = RoundMetrics::new(&progress, &done.reports, started.took());
        Ok((TrainState { server: done.state, progress }, metrics))
    }

    /// Refuses a state that no training can go on from.
    fn check<S: ServerState<f32>>(&self, server: &S, progress: &Progress, journal: &Journal) -> Result<(), TrainError> {
        if !progress.active.contains(&true) {
            return Err(self.failed(AlgorithmError::Diverged { agent: 0 }, progress.round.saturating_sub(1), journal));
        }
        let vectors = server.vectors();
        match vectors.into_iter().find(|(_, vector)| vector.iter().any(|x| !x.is_finite())) {
            Some((name, _)) => {
                Err(TrainError::ServerDiverged { name, round: progress.round, checkpoint: self.newest() })
            }
            None => Ok(()),
        }
    }

    /// Whether a checkpoint of `round` belongs to every run of this experiment, interrupted or not.
    fn scheduled(&self, round: u32) -> bool {
        let training = &self.setup.experiment.training;
        round.is_multiple_of(training.checkpoint_every) || round == training.rounds
    }

    /// Adds a round to the journal and makes the checkpoint after it, where one is due or `asked` for.
    fn record<S: ServerState<f32>>(
        &self,
        state: &mut TrainState<S>,
        mut metrics: RoundMetrics,
        journal: &mut Journal,
        asked: bool,
    ) -> Result<Option<Written>, TrainError> {
        let scheduled = self.scheduled(state.progress.round);
        if !scheduled && !asked {
            journal.append(metrics)?;
            return Ok(None);
        }
        let checkpoint = self.write(state, metrics.number("train/return_mean"))?;
        metrics.add_checkpoint(checkpoint.written(), scheduled);
        // The rounds that a checkpoint vouches for are on the disk before it is in its place.
        journal.append(metrics)?;
        journal.sync()?;
        self.keep(checkpoint, &state.progress).map(Some)
    }

    /// Writes the checkpoint of `state`, the last round having had this mean return, and leaves it unfinished.
    fn write<S: ServerState<f32>>(
        &self,
        state: &mut TrainState<S>,
        return_mean: Option<f64>,
    ) -> Result<Unfinished, TrainError> {
        let round = state.progress.round;
        if let (Some(return_mean), true) = (return_mean, self.scheduled(round))
            && state.progress.best.is_none_or(|best| return_mean > best.return_mean)
        {
            state.progress.best = Some(Best { round, return_mean });
        }
        let policy = fedrl_models::files::to_bytes(&self.setup.policy, state.server.theta())?;
        let draft = Draft::new(state, self.directory.config_sha256()?, policy);
        Ok(draft.write(&self.directory.checkpoints())?)
    }

    /// Puts a checkpoint in its place, and removes those that are not to be kept.
    fn keep(&self, checkpoint: Unfinished, progress: &Progress) -> Result<Written, TrainError> {
        let written = checkpoint.finish()?;
        self.point(progress)?;
        self.prune(progress)?;
        Ok(written)
    }

    /// Writes the names of the newest and of the best checkpoint.
    fn point(&self, progress: &Progress) -> Result<(), TrainError> {
        let round = progress.round;
        self.directory.write("checkpoints/latest", format!("round-{round:06}\n").as_bytes())?;
        if let Some(best) = progress.best {
            self.directory.write("checkpoints/best", format!("round-{:06}\n", best.round).as_bytes())?;
        }
        Ok(())
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
                let (last, checkpoint) = (journal.last_of(agent), self.newest());
                TrainError::Diverged { agent, round: round + 1, last, checkpoint }
            }
        }
    }

    /// The newest checkpoint, for messages.
    fn newest(&self) -> String {
        let checkpoints = self.directory.checkpoints();
        let newest = Checkpoint::rounds(&checkpoints).ok().and_then(|rounds| rounds.last().copied());
        newest.map_or_else(|| "none".into(), |round| Checkpoint::path(&checkpoints, round).display().to_string())
    }
}

/// Trainings under way in this process: what its processors do, they do for all of them.
static TRAININGS: AtomicUsize = AtomicUsize::new(0);

/// A training under way.
struct UnderWay;

impl UnderWay {
    fn begin() -> Self {
        TRAININGS.fetch_add(1, Ordering::Relaxed);
        UnderWay
    }

    fn alone() -> bool {
        TRAININGS.load(Ordering::Relaxed) == 1
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        TRAININGS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// When a round began.
struct Started {
    clock: Instant,
    /// Nothing where they cannot be told apart from those of other trainings.
    processors: Option<ProcessTime>,
}

impl Started {
    fn now() -> Self {
        let processors = UnderWay::alone().then(|| ProcessTime::try_now().ok()).flatten();
        Started { clock: Instant::now(), processors }
    }

    fn took(&self) -> Took {
        let spent = self.processors.filter(|_| UnderWay::alone()).and_then(|spent| spent.try_elapsed().ok());
        let process_seconds = spent.map_or(f64::NAN, |spent| spent.as_secs_f64());
        Took { seconds: self.clock.elapsed().as_secs_f64(), process_seconds }
    }
}
