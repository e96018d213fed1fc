//! Checkpoints: complete or not there, and never silently wrong.
//!
//! A checkpoint is a directory `round-000123` with `state.safetensors` (every vector of the
//! server's state, compressed where that pays), `policy.safetensors` (the policy for people, in
//! PyTorch's layout), `header.json` (schema, progress) and `SHA256SUMS` over the three
//! (`sha256sum -c` checks it). It is written under another name, synced, and renamed.

mod draft;
mod state_file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fedrl_algos::ServerState;
use fedrl_engine::Matrix;
use fs_err as fs;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::state::{Progress, TrainState};
pub use draft::Written;
pub(crate) use draft::{Draft, Unfinished, sync_directory, write_synced};

/// Version of the format. A checkpoint of a later one is refused. Version 1 compressed nothing.
const SCHEMA: u32 = 2;

const STATE: &str = "state.safetensors";
const POLICY: &str = "policy.safetensors";
const HEADER: &str = "header.json";
const SUMS: &str = "SHA256SUMS";

/// A checkpoint in memory.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// How far the training had come, and what belongs to it.
    pub header: Header,
    /// The vectors of the server's state.
    pub vectors: BTreeMap<String, Vec<f32>>,
    /// Its counts.
    pub counts: BTreeMap<String, Vec<u32>>,
    /// θ as a safetensors file.
    pub policy: Vec<u8>,
}

/// `header.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub schema: u32,
    /// Version of the program that wrote it.
    pub fedrl_version: String,
    /// SHA-256 of the run's `config.toml`.
    pub config_sha256: String,
    /// How far the training had come.
    pub progress: Progress,
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// A file of it is not there.
    #[error("checkpoint {} is damaged: {file} is missing", name(.path))]
    Missing {
        /// The checkpoint.
        path: PathBuf,
        /// The file.
        file: String,
    },
    /// A file of it is not what was written.
    #[error("checkpoint {} is damaged: {file}: {reason}", name(.path))]
    Damaged {
        /// The checkpoint.
        path: PathBuf,
        /// The file.
        file: String,
        /// What was found and what was expected.
        reason: String,
    },
    /// A later version of the program wrote it.
    #[error("checkpoint {} has schema {found}, this program reads up to {SCHEMA}; a later fedrl wrote it", name(.path))]
    Newer {
        /// The checkpoint.
        path: PathBuf,
        /// Its schema.
        found: u32,
    },
    /// A file of it cannot be read at all.
    #[error("checkpoint {}: cannot read {file}: {error}", name(.path))]
    Unreadable {
        /// The checkpoint.
        path: PathBuf,
        /// The file.
        file: String,
        /// Why.
        error: std::io::Error,
    },
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Checkpoint {
    /// θ of every agent's own policy of so many parameters, where they have their own.
    pub fn policies(&self, parameters: usize) -> Option<Matrix<f32>> {
        Some(Matrix::from_rows(self.vectors.get("policies")?.chunks_exact(parameters.max(1))))
    }

    /// Where the checkpoint of `round` lies among `checkpoints`.
    pub fn path(checkpoints: &Path, round: u32) -> PathBuf {
        checkpoints.join(format!("round-{round:06}"))
    }

    /// The rounds that have a checkpoint, ascending.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub fn rounds(checkpoints: &Path) -> std::io::Result<Vec<u32>> {
        let mut rounds = Vec::new();
        if checkpoints.is_dir() {
            for entry in fs::read_dir(checkpoints)? {
                let name = entry?.file_name();
                rounds.extend(name.to_str().and_then(|name| name.strip_prefix("round-")?.parse::<u32>().ok()));
            }
        }
        rounds.sort_unstable();
        Ok(rounds)
    }

    /// Reads and verifies the checkpoint in `path`.
    ///
    /// # Errors
    /// It is damaged, or of a later version.
    pub fn read(path: &Path) -> Result<Self, CheckpointError> {
        let read = |file: &str| match std::fs::read(path.join(file)) {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(CheckpointError::Missing { path: path.into(), file: file.into() })
            }
            Err(error) => Err(CheckpointError::Unreadable { path: path.into(), file: file.into(), error }),
        };
        let damaged =
            |file: &str, reason: String| CheckpointError::Damaged { path: path.into(), file: file.into(), reason };

        let header = read(HEADER)?;
        // A later schema may have other files, so it is looked at before anything else.
        if let Some(found) = schema(&header)
            && found > SCHEMA
        {
            return Err(CheckpointError::Newer { path: path.into(), found });
        }
        let sums = String::from_utf8_lossy(&read(SUMS)?).into_owned();
        let mut files = BTreeMap::from([(HEADER, header), (STATE, read(STATE)?), (POLICY, read(POLICY)?)]);
        for (file, bytes) in &files {
            let expected = sums.lines().find_map(|line| line.strip_suffix(&format!("  {file}")));
            let expected = expected.ok_or_else(|| damaged(SUMS, format!("has no line for {file}")))?;
            let found = sha256(bytes);
            if found != expected {
                let reason = format!("checksum is {found:.12}.., expected {expected:.12}.. ({} bytes)", bytes.len());
                return Err(damaged(file, reason));
            }
        }
        let header: Header =
            serde_json::from_slice(&files[HEADER]).map_err(|error| damaged(HEADER, error.to_string()))?;
        let (vectors, counts) = state_file::read(&files[STATE]).map_err(|reason| damaged(STATE, reason))?;
        Ok(Checkpoint { header, vectors, counts, policy: files.remove(POLICY).unwrap_or_default() })
    }

    /// The training state that it holds.
    ///
    /// # Errors
    /// A vector that the algorithm needs is not in it.
    pub(crate) fn state<S: ServerState<f32>>(self, path: &Path) -> Result<TrainState<S>, CheckpointError> {
        let server = S::restore(self.vectors, self.counts).map_err(|missing| CheckpointError::Damaged {
            path: path.into(),
            file: STATE.into(),
            reason: format!("has no vector `{missing}`"),
        })?;
        Ok(TrainState { server, progress: self.header.progress })
    }
}

/// The schema that a header claims, if it can be read at all.
fn schema(header: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Schema {
        schema: u32,
    }
    serde_json::from_slice::<Schema>(header).ok().map(|header| header.schema)
}

#[cfg(test)]
mod tests;
