use super::*;
use crate::state::{Best, Totals};

const MEMORY: usize = 20_000;

const THETA: [f32; 2] = [1.0, -2.5];

/// Two vectors, one of them long and easily compressed.
fn draft(memory: &[f32]) -> Draft<'_> {
    let totals = Totals { env_steps: 7, bytes_up: 8, bytes_down: 9 };
    let best = Some(Best { round: 2, return_mean: 0.1 + 0.2 });
    let progress = Progress { round: 12, active: vec![true, false], totals, best };
    Draft {
        header: Header { schema: SCHEMA, fedrl_version: "0".into(), config_sha256: "c".into(), progress },
        vectors: [("theta", &THETA[..]), ("memory", memory)].into(),
        counts: [("steps", vec![u32::MAX, 0x7F80_0001])].into(),
        policy: b"policy".to_vec(),
    }
}

fn memory() -> Vec<f32> {
    (0..MEMORY).map(|i| (i % 100) as f32 / 7.0).collect()
}

fn written() -> (tempfile::TempDir, PathBuf, Written) {
    let directory = tempfile::tempdir().unwrap();
    let written = draft(&memory()).write(directory.path()).unwrap().finish().unwrap();
    let path = Checkpoint::path(directory.path(), 12);
    (directory, path, written)
}

#[test]
fn what_was_written_is_read_and_the_bytes_are_always_the_same() {
    let (directory, path, took) = written();
    let read = Checkpoint::read(&path).unwrap();
    let memory = memory();
    let draft = draft(&memory);
    assert_eq!(read.header, draft.header);
    assert!(read.vectors.iter().map(|(name, x)| (name.as_str(), x.as_slice())).eq(draft.vectors.clone()));
    assert!(read.counts.iter().map(|(name, x)| (name.as_str(), x.clone())).eq(draft.counts.clone()));
    let files = || [STATE, POLICY, HEADER, SUMS].map(|file| std::fs::read(path.join(file)).unwrap());
    let before = files();
    draft.write(directory.path()).unwrap().finish().unwrap();
    assert!(before == files());
    assert_eq!(Checkpoint::rounds(directory.path()).unwrap(), [12]);
    assert_eq!(took.bytes, before.iter().map(|file| file.len() as u64).sum::<u64>());
    // A period of 400 bytes in 80,000.
    assert!(took.bytes < 4000 && took.seconds > 0.0 && took.round == 12, "{took:?}");
}

/// Until it has its name it is not there, and nothing of it is left if it never gets one.
#[test]
fn a_checkpoint_that_is_not_finished_is_none() {
    let (directory, path, _) = written();
    std::fs::remove_dir_all(&path).unwrap();
    let unfinished = draft(&[]).write(directory.path()).unwrap();
    assert!(Checkpoint::rounds(directory.path()).unwrap().is_empty());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    drop(unfinished);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// A checkpoint as versions before 2 wrote it, byte by byte.
#[test]
fn a_checkpoint_of_the_first_schema_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let header = r#"{"schema": 1, "fedrl_version": "0.1.0", "config_sha256": "c", "progress": {"round": 3,
        "active": [true], "totals": {"env_steps": 7, "bytes_up": 8, "bytes_down": 9}, "best": null}}"#;
    // Numbers of a long vector, too, as they are.
    let description = r#"{"memory":{"dtype":"F32","shape":[20000],"data_offsets":[0,80000]},
        "theta":{"dtype":"F32","shape":[2],"data_offsets":[80000,80008]},
        "steps":{"dtype":"U32","shape":[1],"data_offsets":[80008,80012]}}"#;
    let mut state = (description.len() as u64).to_le_bytes().to_vec();
    state.extend(description.as_bytes());
    state.extend(memory().iter().flat_map(|x| x.to_le_bytes()));
    // 1, −2.5 and 258.
    state.extend([0, 0, 0x80, 0x3F, 0, 0, 0x20, 0xC0, 2, 1, 0, 0]);
    let files = [(STATE, &state[..]), (POLICY, b"policy"), (HEADER, header.as_bytes())];
    let sums: String = files.iter().map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes))).collect();
    for (name, bytes) in files.into_iter().chain([(SUMS, sums.as_bytes())]) {
        std::fs::write(directory.path().join(name), bytes).unwrap();
    }
    let read = Checkpoint::read(directory.path()).unwrap();
    assert_eq!((read.header.schema, read.header.progress.round), (1, 3));
    assert_eq!(read.vectors, [("memory".to_string(), memory()), ("theta".to_string(), THETA.to_vec())].into());
    assert_eq!(read.counts, [("steps".to_string(), vec![258])].into());
}

#[test]
fn any_flipped_byte_of_any_file_is_noticed_and_named() {
    for file in [STATE, POLICY, HEADER, SUMS] {
        let length = std::fs::read(written().1.join(file)).unwrap().len();
        for position in [0, length / 3, length / 2, length - 1] {
            let (_directory, path, _) = written();
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
    let (_directory, path, _) = written();
    let bytes = std::fs::read(path.join(STATE)).unwrap();
    std::fs::write(path.join(STATE), &bytes[..bytes.len() - 1]).unwrap();
    assert!(Checkpoint::read(&path).unwrap_err().to_string().contains("damaged: state.safetensors: checksum"));
    std::fs::remove_file(path.join(STATE)).unwrap();
    assert!(Checkpoint::read(&path).unwrap_err().to_string().contains("state.safetensors is missing"));

    let (_directory, path, _) = written();
    let header = std::fs::read_to_string(path.join(HEADER)).unwrap().replace("\"schema\": 2", "\"schema\": 3");
    std::fs::write(path.join(HEADER), header).unwrap();
    let error = Checkpoint::read(&path).unwrap_err().to_string();
    assert_eq!(error, "checkpoint round-000012 has schema 3, this program reads up to 2; a later fedrl wrote it");
}

/// Whoever makes the sums anew hides the damage from them, not from what reads the file.
#[test]
fn a_vector_that_cannot_be_decompressed_is_named() {
    let (_directory, path, _) = written();
    let mut state = std::fs::read(path.join(STATE)).unwrap();
    let old = sha256(&state);
    // The compressed vector is the last: whole numbers come before single bytes.
    let last = state.len() - 1;
    state[last] ^= 1;
    let sums = std::fs::read_to_string(path.join(SUMS)).unwrap().replace(&old, &sha256(&state));
    std::fs::write(path.join(STATE), state).unwrap();
    std::fs::write(path.join(SUMS), sums).unwrap();
    let error = Checkpoint::read(&path).unwrap_err().to_string();
    assert_eq!(error, "checkpoint round-000012 is damaged: state.safetensors: `memory` cannot be decompressed");
}
