//! A run's directory: what lies where, and how it comes to be.

use std::io::Write;
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpoint, CheckpointError, sha256, sync_directory, write_synced};
use crate::config::{ConfigError, Source};

/// `manifest.json`: by what, on what and when a run was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the program.
    pub fedrl_version: String,
    /// Revision of its sources.
    pub git_revision: String,
    /// What was asked for as a device; a resumed run asks for the same.
    pub device_choice: String,
    /// The device it ran on.
    pub device: String,
    /// The device's driver.
    pub driver: String,
    /// When it started, RFC 3339.
    pub started: String,
    /// When it finished, RFC 3339; null until then.
    pub finished: Option<String>,
}

/// Why a run directory cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Something is there already.
    #[error("{path} exists already; choose another directory with --out{advice}")]
    Exists {
        /// The path.
        path: PathBuf,
        /// What else can be done.
        advice: String,
    },
    /// The directory cannot be made there.
    #[error("cannot make the run directory {path}: {error}")]
    Create {
        /// The path.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Somebody else is at it.
    #[error("another process is training {0}; wait for it, or stop it")]
    Busy(PathBuf),
    /// A file of the run is not what was written.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found and what was expected.
        reason: String,
    },
    /// The checkpoint asked for is not there.
    #[error("{path} has no checkpoint of round {round}; it has those of {known}")]
    NoCheckpoint {
        /// The run.
        path: PathBuf,
        /// The round asked for.
        round: u32,
        /// The rounds that there are.
        known: String,
    },
    /// Not a run.
    #[error("{path} is not a run directory: {reason}")]
    NotARun {
        /// The path.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// The experiment was changed after the run began.
    #[error(
        "{0}: the experiment is not the one that the checkpoint {1} was made with; \
         undo the change, or start a new run from it with `fedrl train`"
    )]
    ConfigChanged(PathBuf, String),
    /// The resolved experiment cannot be read back.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A checkpoint cannot be used.
    #[error("{error}{advice}")]
    Checkpoint {
        /// What is wrong with it.
        error: CheckpointError,
        /// What can be done.
        advice: String,
    },
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The directory of one run.
#[derive(Debug, Clone)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Makes the directory with its `config.toml` and `manifest.json`, whole or not at all.
    ///
    /// # Errors
    /// Something is there already, or the disk failed.
    pub fn create(path: &Path, config: &str, manifest: &Manifest) -> Result<Self, RunError> {
        if path.symlink_metadata().is_ok() {
            let display = path.display();
            let advice = Self::open(path)
                .map_or_else(|_| String::new(), |_| format!(", or continue it with `fedrl resume {display}`"));
            return Err(RunError::Exists { path: path.into(), advice });
        }
        Self::write_new(path, config, manifest).map_err(|error| RunError::Create { path: path.into(), error })?;
        Ok(RunDirectory { path: path.into() })
    }

    fn write_new(path: &Path, config: &str, manifest: &Manifest) -> std::io::Result<()> {
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        std::fs::create_dir_all(parent)?;
        let unfinished = tempfile::Builder::new().prefix(".unfinished-").tempdir_in(parent)?;
        readable(unfinished.path(), 0o755)?;
        write_synced(&unfinished.path().join("config.toml"), config.as_bytes())?;
        write_synced(&unfinished.path().join("manifest.json"), &serde_json::to_vec_pretty(manifest)?)?;
        sync_directory(unfinished.path())?;
        std::fs::rename(unfinished.path(), path)?;
        // It is no longer there to be removed.
        let _ = unfinished.keep();
        sync_directory(parent)
    }

    /// Keeps other processes from training this run until the guard is dropped.
    ///
    /// # Errors
    /// One is at it already.
    pub fn lock(&self) -> Result<fs::File, RunError> {
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(self.path.join(".lock"))?;
        match file.file().try_lock() {
            Ok(()) => Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => Err(RunError::Busy(self.path.clone())),
            Err(std::fs::TryLockError::Error(error)) => Err(RunError::Io(error)),
        }
    }

    /// The directory of a run that exists.
    ///
    /// # Errors
    /// There is none.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        let not = |reason: &str| RunError::NotARun { path: path.into(), reason: reason.into() };
        if !path.is_dir() {
            return Err(not("there is no such directory"));
        }
        for file in ["config.toml", "manifest.json"] {
            if !path.join(file).is_file() {
                return Err(not(&format!("it has no {file}")));
            }
        }
        Ok(RunDirectory { path: path.into() })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The resolved experiment.
    pub fn config_path(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// One JSON object per round.
    pub fn metrics_path(&self) -> PathBuf {
        self.path.join("metrics.jsonl")
    }

    /// One JSON object per run, of a batch of runs.
    pub fn results_path(&self) -> PathBuf {
        self.path.join("results.jsonl")
    }

    /// The checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    /// The TensorBoard events.
    pub(crate) fn events_path(&self) -> std::io::Result<PathBuf> {
        let directory = self.path.join("tensorboard");
        fs::create_dir_all(&directory)?;
        Ok(directory.join("events.out.tfevents.fedrl"))
    }

    /// Reads the resolved experiment.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn source(&self) -> Result<Source, RunError> {
        Ok(Source::read(&self.config_path())?)
    }

    /// SHA-256 of the resolved experiment.
    pub(crate) fn config_sha256(&self) -> Result<String, RunError> {
        Ok(sha256(&fs::read(self.config_path())?))
    }

    /// Reads the manifest.
    ///
    /// # Errors
    /// It is not a manifest.
    pub fn manifest(&self) -> Result<Manifest, RunError> {
        let reason = |error: serde_json::Error| RunError::NotARun {
            path: self.path.clone(),
            reason: format!("manifest.json: {error}"),
        };
        serde_json::from_slice(&fs::read(self.path.join("manifest.json"))?).map_err(reason)
    }

    /// Replaces the manifest.
    ///
    /// # Errors
    /// The disk failed.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), RunError> {
        let json = serde_json::to_vec_pretty(manifest).map_err(std::io::Error::from)?;
        Ok(self.write("manifest.json", &json)?)
    }

    /// Puts `bytes` in the file `name`, whole or not at all.
    ///
    /// # Errors
    /// The disk failed.
    pub fn write(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        let path = self.path.join(name);
        let parent = path.parent().unwrap_or(&self.path);
        fs::create_dir_all(parent)?;
        let mut file = tempfile::Builder::new().prefix(".unfinished-").tempfile_in(parent)?;
        readable(file.path(), 0o644)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    /// The checkpoint of `round`, or the newest; `None` when there is none yet.
    ///
    /// # Errors
    /// It is damaged or of another experiment. The newest one before it that is whole is offered.
    pub fn checkpoint(&self, round: Option<u32>) -> Result<Option<Checkpoint>, RunError> {
        let rounds = Checkpoint::rounds(&self.checkpoints())?;
        let Some(round) = round.or(rounds.last().copied()) else { return Ok(None) };
        let path = Checkpoint::path(&self.checkpoints(), round);
        if !rounds.contains(&round) {
            let known: Vec<String> = rounds.iter().map(u32::to_string).collect();
            return Err(RunError::NoCheckpoint { path: self.path.clone(), round, known: known.join(", ") });
        }
        let checkpoint = Checkpoint::read(&path)
            .map_err(|error| RunError::Checkpoint { advice: self.advice(&rounds, round, &error), error })?;
        if checkpoint.header.config_sha256 != self.config_sha256()? {
            return Err(RunError::ConfigChanged(self.config_path(), format!("round-{round:06}")));
        }
        Ok(Some(checkpoint))
    }

    /// The round of the best checkpoint, where there is one.
    ///
    /// # Errors
    /// The newest checkpoint is damaged.
    pub fn best_round(&self) -> Result<Option<u32>, RunError> {
        Ok(self.checkpoint(None)?.and_then(|checkpoint| checkpoint.header.progress.best).map(|best| best.round))
    }

    /// What to do when the checkpoint of `round` cannot be used.
    fn advice(&self, rounds: &[u32], round: u32, error: &CheckpointError) -> String {
        if matches!(error, CheckpointError::Unreadable { .. }) {
            return String::new();
        }
        let whole = |&earlier: &u32| {
            earlier < round && Checkpoint::read(&Checkpoint::path(&self.checkpoints(), earlier)).is_ok()
        };
        match rounds.iter().copied().rev().find(|earlier| whole(earlier)) {
            Some(earlier) => format!(
                "; the one before it, round-{earlier:06}, is whole: `fedrl resume {run} --from {earlier}` goes on from it, \
                 `fedrl eval {run} --checkpoint {earlier}` evaluates it",
                run = self.path.display()
            ),
            None => "; there is no earlier one that is whole".into(),
        }
    }

    /// Removes what unfinished writes have left, and checkpoints after `round`.
    pub(crate) fn tidy(&self, round: Option<u32>) -> std::io::Result<()> {
        let checkpoints = self.checkpoints();
        let results = ["eval", "adapt"].map(|name| self.path.join(name));
        for directory in [&self.path, &checkpoints].into_iter().chain(&results).filter(|path| path.is_dir()) {
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                if entry.file_name().to_string_lossy().starts_with(".unfinished-") {
                    if entry.path().is_dir() {
                        fs::remove_dir_all(entry.path())?
                    } else {
                        fs::remove_file(entry.path())?
                    }
                }
            }
        }
        for later in
            Checkpoint::rounds(&checkpoints)?.into_iter().filter(|&later| round.is_some_and(|round| later > round))
        {
            fs::remove_dir_all(Checkpoint::path(&checkpoints, later))?;
        }
        Ok(())
    }
}

/// Permissions that others may read, where temporary files are made for their owner alone.
fn readable(path: &Path, mode: u32) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    }
    let _ = (path, mode);
    Ok(())
}
