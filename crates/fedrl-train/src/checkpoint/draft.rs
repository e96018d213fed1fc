//! A checkpoint on its way to the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fedrl_algos::ServerState;
use fs_err as fs;
use serde::Serialize;
use tempfile::TempDir;

use super::{Checkpoint, HEADER, Header, POLICY, SCHEMA, STATE, SUMS, sha256, state_file};
use crate::state::TrainState;

/// A checkpoint to be: the state's own vectors, not a copy of them.
pub(crate) struct Draft<'a> {
    pub(super) header: Header,
    pub(super) vectors: BTreeMap<&'static str, &'a [f32]>,
    pub(super) counts: BTreeMap<&'static str, Vec<u32>>,
    pub(super) policy: Vec<u8>,
}

/// One that is on the disk under another name, which goes with it unless it is finished.
pub(crate) struct Unfinished {
    directory: TempDir,
    checkpoints: PathBuf,
    written: Written,
}

/// What writing a checkpoint took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Written {
    /// The round after which.
    pub round: u32,
    /// Its size on disk.
    pub bytes: u64,
    /// Seconds until all of it was there, compression included.
    pub seconds: f64,
}

impl<'a> Draft<'a> {
    /// The checkpoint of `state`.
    pub(crate) fn new<S: ServerState<f32>>(state: &'a TrainState<S>, config_sha256: String, policy: Vec<u8>) -> Self {
        let fedrl_version = env!("CARGO_PKG_VERSION").into();
        let header = Header { schema: SCHEMA, fedrl_version, config_sha256, progress: state.progress.clone() };
        Draft { header, vectors: state.server.vectors(), counts: state.server.counts(), policy }
    }

    /// Writes it among `checkpoints`, not yet under its name.
    ///
    /// # Errors
    /// The disk failed, or a vector does not fit safetensors.
    pub(crate) fn write(&self, checkpoints: &Path) -> std::io::Result<Unfinished> {
        let started = Instant::now();
        let state = state_file::bytes(&self.vectors, &self.counts)?;
        let header = serde_json::to_vec_pretty(&self.header)?;
        let files = [(STATE, &state), (POLICY, &self.policy), (HEADER, &header)];
        let sums: String = files.iter().map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes))).collect();
        let sums = sums.into_bytes();

        fs::create_dir_all(checkpoints)?;
        let directory = tempfile::Builder::new().prefix(".unfinished-").tempdir_in(checkpoints)?;
        let mut written = Written { round: self.header.progress.round, bytes: 0, seconds: 0.0 };
        for (name, bytes) in files.into_iter().chain([(SUMS, &sums)]) {
            write_synced(&directory.path().join(name), bytes)?;
            written.bytes += bytes.len() as u64;
        }
        sync_directory(directory.path())?;
        written.seconds = started.elapsed().as_secs_f64();
        Ok(Unfinished { directory, checkpoints: checkpoints.into(), written })
    }
}

impl Unfinished {
    /// What it took.
    pub(crate) fn written(&self) -> Written {
        self.written
    }

    /// Gives it its name, in place of one of the same round.
    ///
    /// # Errors
    /// The disk failed.
    pub(crate) fn finish(self) -> std::io::Result<Written> {
        let target = Checkpoint::path(&self.checkpoints, self.written.round);
        if target.exists() {
            fs::remove_dir_all(&target)?;
        }
        fs::rename(self.directory.path(), &target)?;
        // It is no longer there to be removed.
        let _ = self.directory.keep();
        sync_directory(&self.checkpoints)?;
        Ok(self.written)
    }
}

/// Writes a new file and waits until it is on the disk.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Waits until the names in a directory are on the disk.
pub(crate) fn sync_directory(path: &Path) -> std::io::Result<()> {
    if cfg!(unix) { fs::File::open(path)?.sync_all() } else { Ok(()) }
}
