//! Damaged, cut, missing and newer data: refused by name with a way out, and left as it is.

use std::fs;
use std::path::Path;

use crate::compare::{assert_same_run, copy, listing};
use crate::support::Place;

const NEWEST: &str = "run/checkpoints/round-000006";

/// Two copies of one finished run: `run`, to be damaged, and `whole`.
fn two() -> Place {
    let place = Place::trained();
    copy(&place.path("run"), &place.path("whole"));
    place
}

/// Runs a command that must refuse with this code and one line, and must change nothing.
#[track_caller]
fn refused(place: &Place, arguments: &[&str], code: i32) -> String {
    let before = listing(place.root());
    let line = place.fedrl(arguments).refused(code);
    let after = listing(place.root());
    for name in before.keys().chain(after.keys()) {
        assert!(before.get(name) == after.get(name), "{arguments:?} has changed {name}");
    }
    line
}

/// `damage` done to a finished run's newest checkpoint: refused with its name and `words`, and the
/// command that is offered leads to the end that the undamaged run had.
#[track_caller]
fn refused_and_repaired(damage: impl Fn(&Path), words: &[&str]) {
    let place = two();
    damage(&place.path(NEWEST));
    let line = refused(&place, &["resume", "run"], 3);
    for word in [&["round-000006"], words].concat() {
        assert!(line.contains(word), "`{word}` is not in\n{line}");
    }
    assert!(refused(&place, &["eval", "run", "--device", "cpu"], 3).contains("round-000006"));

    let offered = line.split('`').nth(1).unwrap_or_else(|| panic!("no command is offered by\n{line}"));
    assert_eq!(offered, "fedrl resume run --from 4");
    let arguments: Vec<&str> = offered.split_whitespace().skip(1).collect();
    place.fedrl(&arguments).done();
    assert_same_run(&place.path("whole"), &place.path("run"));
}

fn flip(path: &Path, position: usize) {
    let mut bytes = fs::read(path).expect("a file");
    bytes[position] ^= 0x40;
    fs::write(path, bytes).expect("a writable file");
}

#[test]
fn a_flipped_byte() {
    refused_and_repaired(
        |checkpoint| flip(&checkpoint.join("state.safetensors"), 200),
        &["state.safetensors", "checksum"],
    );
    refused_and_repaired(|checkpoint| flip(&checkpoint.join("policy.safetensors"), 300), &["policy.safetensors"]);
}

#[test]
fn a_file_that_was_cut() {
    let cut = |checkpoint: &Path| {
        let path = checkpoint.join("state.safetensors");
        let bytes = fs::read(&path).expect("a file");
        fs::write(&path, &bytes[..bytes.len() / 2]).expect("a writable file");
    };
    refused_and_repaired(cut, &["state.safetensors"]);
    refused_and_repaired(
        |checkpoint| fs::write(checkpoint.join("header.json"), "").expect("a writable file"),
        &["header.json"],
    );
}

#[test]
fn a_file_that_is_gone() {
    for file in ["state.safetensors", "policy.safetensors", "header.json", "SHA256SUMS"] {
        let remove = |checkpoint: &Path| fs::remove_file(checkpoint.join(file)).expect("a file");
        refused_and_repaired(remove, &[&format!("{file} is missing")]);
    }
}

#[test]
fn a_schema_from_the_future() {
    let place = two();
    let header = format!("{NEWEST}/header.json");
    place.write(&header, &place.read(&header).replace("\"schema\": 2", "\"schema\": 3"));
    let line = refused(&place, &["resume", "run"], 3);
    for word in ["round-000006", "schema 3", "up to 2", "later fedrl"] {
        assert!(line.contains(word), "`{word}` is not in\n{line}");
    }
}

#[test]
fn all_checkpoints_damaged_leave_nothing_to_offer() {
    let place = two();
    for round in [2, 4, 6] {
        flip(&place.path(&format!("run/checkpoints/round-{round:06}/state.safetensors")), 200);
    }
    // Round 0 has been pruned, so there is no way back.
    let line = refused(&place, &["resume", "run"], 3);
    assert!(line.contains("there is no earlier one that is whole"), "{line}");
}

#[test]
fn metrics_shorter_than_their_checkpoint() {
    for damage in [Some("{}\n"), None] {
        let place = two();
        match damage {
            Some(text) => place.write("run/metrics.jsonl", text),
            None => fs::remove_file(place.path("run/metrics.jsonl")).unwrap(),
        }
        // Going back to an earlier checkpoint must not remove the later one before it is refused.
        for arguments in [vec!["resume", "run", "--quiet"], vec!["resume", "run", "--quiet", "--from", "4"]] {
            let line = refused(&place, &arguments, 3);
            assert!(line.contains("metrics.jsonl"), "{line}");
        }
    }
}

#[test]
fn an_experiment_that_was_changed() {
    let place = two();
    place.write("run/config.toml", &place.read("run/config.toml").replace("rounds = 6", "rounds = 8"));
    for arguments in [vec!["resume", "run"], vec!["eval", "run", "--device", "cpu"]] {
        let line = refused(&place, &arguments, 2);
        for word in ["run/config.toml", "experiment", "change", "round-000006"] {
            assert!(line.contains(word), "`{word}` is not in\n{line}");
        }
    }
}
