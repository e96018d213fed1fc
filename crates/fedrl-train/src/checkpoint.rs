//! Checkpoints: complete or not there, and never silently wrong.
//!
//! A checkpoint is a directory `round-000123` with `state.safetensors` (every vector of the
//! server's state), `policy.safetensors` (the policy for people, in PyTorch's layout),
//! `header.json` (schema, progress) and `SHA256SUMS` over the three (`sha256sum -c` checks it). It
//! is written under another name, synced, and renamed.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use fedrl_algos::ServerState;
use fedrl_engine::Matrix;
use fs_err as fs;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::state::{Progress, TrainState};

/// Version of the format. A checkpoint of a later one is refused.
const SCHEMA: u32 = 1;

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
    /// The checkpoint of `state`.
    pub(crate) fn new<S: ServerState<f32>>(state: &TrainState<S>, config_sha256: String, policy: Vec<u8>) -> Self {
        let vectors = state.server.vectors().into_iter().map(|(name, x)| (name.to_string(), x.to_vec())).collect();
        let counts = state.server.counts().into_iter().map(|(name, counts)| (name.to_string(), counts)).collect();
        let header = Header {
            schema: SCHEMA,
            fedrl_version: env!("CARGO_PKG_VERSION").into(),
            config_sha256,
            progress: state.progress.clone(),
        };
        Checkpoint { header, vectors, counts, policy }
    }

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

    /// Writes it among `checkpoints`, whole or not at all, in place of one of the same round.
    ///
    /// # Errors
    /// The disk failed, or a vector does not fit safetensors.
    pub(crate) fn write(&self, checkpoints: &Path) -> std::io::Result<()> {
        let other = |error: safetensors::SafeTensorError| std::io::Error::other(error.to_string());
        let numbers = |x: &Vec<f32>| x.iter().flat_map(|x| x.to_le_bytes()).collect();
        let whole = |x: &Vec<u32>| x.iter().flat_map(|x| x.to_le_bytes()).collect();
        let vectors = self.vectors.iter().map(|(name, x)| (name.as_str(), (Dtype::F32, numbers(x))));
        let counts = self.counts.iter().map(|(name, x)| (name.as_str(), (Dtype::U32, whole(x))));
        let bytes: BTreeMap<&str, (Dtype, Vec<u8>)> = vectors.chain(counts).collect();
        let views = bytes
            .iter()
            .map(|(name, (kind, bytes))| Ok((*name, TensorView::new(*kind, vec![bytes.len() / 4], bytes)?)));
        let views = views.collect::<Result<Vec<_>, _>>().map_err(other)?;
        let state = safetensors::serialize(views, None::<HashMap<String, String>>).map_err(other)?;
        let header = serde_json::to_vec_pretty(&self.header)?;

        fs::create_dir_all(checkpoints)?;
        let unfinished = tempfile::Builder::new().prefix(".unfinished-").tempdir_in(checkpoints)?;
        let files = [(STATE, &state), (POLICY, &self.policy), (HEADER, &header)];
        let sums: String = files.iter().map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes))).collect();
        for (name, bytes) in files.into_iter().chain([(SUMS, &sums.into_bytes())]) {
            write_synced(&unfinished.path().join(name), bytes)?;
        }
        sync_directory(unfinished.path())?;
        let target = Self::path(checkpoints, self.header.progress.round);
        if target.exists() {
            fs::remove_dir_all(&target)?;
        }
        fs::rename(unfinished.path(), &target)?;
        // It is no longer there to be removed.
        let _ = unfinished.keep();
        sync_directory(checkpoints)
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
        let (vectors, counts) = tensors(&files[STATE]).map_err(|error| damaged(STATE, error.to_string()))?;
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

/// Vectors and counts by name.
type Tensors = (BTreeMap<String, Vec<f32>>, BTreeMap<String, Vec<u32>>);

fn tensors(bytes: &[u8]) -> Result<Tensors, safetensors::SafeTensorError> {
    let file = SafeTensors::deserialize(bytes)?;
    let (mut vectors, mut counts) = Tensors::default();
    for (name, view) in file.tensors() {
        let (words, _) = view.data().as_chunks();
        if view.dtype() == Dtype::U32 {
            counts.insert(name, words.iter().map(|&word| u32::from_le_bytes(word)).collect());
        } else {
            vectors.insert(name, words.iter().map(|&word| f32::from_le_bytes(word)).collect());
        }
    }
    Ok((vectors, counts))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Best, Totals};

    fn checkpoint() -> Checkpoint {
        let totals = Totals { env_steps: 7, bytes_up: 8, bytes_down: 9 };
        let best = Some(Best { round: 2, return_mean: 0.1 + 0.2 });
        let progress = Progress { round: 12, active: vec![true, false], totals, best };
        Checkpoint {
            header: Header { schema: SCHEMA, fedrl_version: "0".into(), config_sha256: "c".into(), progress },
            vectors: [("theta".to_string(), vec![1.0, -2.5]), ("direction".to_string(), vec![0.5; 3])].into(),
            counts: [("steps".to_string(), vec![u32::MAX, 0x7F80_0001])].into(),
            policy: b"policy".to_vec(),
        }
    }

    fn written() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        checkpoint().write(directory.path()).unwrap();
        let path = Checkpoint::path(directory.path(), 12);
        (directory, path)
    }

    #[test]
    fn what_was_written_is_read_and_the_bytes_are_always_the_same() {
        let (directory, path) = written();
        let read = Checkpoint::read(&path).unwrap();
        assert_eq!(read.header, checkpoint().header);
        assert_eq!(read.vectors, checkpoint().vectors);
        assert_eq!(read.counts, checkpoint().counts);
        let before: Vec<Vec<u8>> = [STATE, HEADER, SUMS].map(|file| std::fs::read(path.join(file)).unwrap()).into();
        checkpoint().write(directory.path()).unwrap();
        let after: Vec<Vec<u8>> = [STATE, HEADER, SUMS].map(|file| std::fs::read(path.join(file)).unwrap()).into();
        assert_eq!(before, after);
        assert_eq!(Checkpoint::rounds(directory.path()).unwrap(), [12]);
    }

    #[test]
    fn any_flipped_byte_of_any_file_is_noticed_and_named() {
        for file in [STATE, POLICY, HEADER, SUMS] {
            let length = std::fs::read(written().1.join(file)).unwrap().len();
            for position in [0, length / 3, length / 2, length - 1] {
                let (_directory, path) = written();
                let mut bytes = std::fs::read(path.join(file)).unwrap();
                bytes[position] ^= 1;
                std::fs::write(path.join(file), bytes).unwrap();
                let error = Checkpoint::read(&path).unwrap_err();
                assert!(matches!(error, CheckpointError::Damaged { .. }), "{file} {position}: {error}");
                assert!(error.to_string().starts_with("checkpoint round-000012 is damaged: "), "{error}");
            }
        }
    }

    #[test]
    fn a_cut_a_missing_and_a_newer_file_are_refused_by_name() {
        let (_directory, path) = written();
        let bytes = std::fs::read(path.join(STATE)).unwrap();
        std::fs::write(path.join(STATE), &bytes[..bytes.len() - 1]).unwrap();
        assert!(Checkpoint::read(&path).unwrap_err().to_string().contains("damaged: state.safetensors: checksum"));
        std::fs::remove_file(path.join(STATE)).unwrap();
        assert!(Checkpoint::read(&path).unwrap_err().to_string().contains("state.safetensors is missing"));

        let (_directory, path) = written();
        let header = std::fs::read_to_string(path.join(HEADER)).unwrap().replace("\"schema\": 1", "\"schema\": 2");
        std::fs::write(path.join(HEADER), header).unwrap();
        let error = Checkpoint::read(&path).unwrap_err().to_string();
        assert_eq!(error, "checkpoint round-000012 has schema 2, this program reads up to 1; a later fedrl wrote it");
    }
}
