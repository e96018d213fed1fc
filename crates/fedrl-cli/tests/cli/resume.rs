//! `fedrl resume`: a run that was killed or interrupted ends as if nothing had happened.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::compare::{assert_same_run, copy, listing};
use crate::support::{Place, tiny};
use crate::value;

/// The tiny experiment, long enough to be hit.
fn long() -> Place {
    Place::with(&tiny(&[
        ("rounds = 6", "rounds = 120"),
        ("checkpoint_every = 2", "checkpoint_every = 3"),
        ("local_steps = 2", "local_steps = 20"),
        ("batch = 2", "batch = 8"),
    ]))
}

const KILL: i32 = 9;

/// Delays without a pattern, the same in every run of the test (SplitMix64, Steele et al. 2014).
struct Delays(u64);

impl Delays {
    fn next(&mut self, below: Duration) -> Duration {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        below.mul_f64((z ^ (z >> 31)) as f64 / u64::MAX as f64)
    }
}

/// Trains, or resumes where there is something to resume, and kills that after the delay. How
/// many rounds it had done, or nothing where it had ended before.
fn killed(place: &Place, run: &str, delay: Duration) -> Option<usize> {
    let mut child = start_or_resume(place, run);
    std::thread::sleep(delay);
    child.kill().expect("the kill is sent");
    let status = child.wait().expect("the program ends");
    if status.signal() != Some(KILL) {
        assert!(status.success(), "{status}");
        return None;
    }
    let metrics = fs::read_to_string(place.path(run).join("metrics.jsonl")).unwrap_or_default();
    Some(metrics.lines().count())
}

fn start_or_resume(place: &Place, run: &str) -> std::process::Child {
    // A directory is there as soon as there is something in it to resume.
    if place.path(run).exists() {
        place.start(&["resume", run])
    } else {
        place.start(&["train", "experiment.toml", "--device", "cpu", "--out", run])
    }
}

#[test]
fn twenty_kills_at_random_moments_change_nothing() {
    kill(&long(), 20);
}

#[test]
fn ten_kills_change_nothing_in_networks_moments_memories_and_lives() {
    kill(
        &value::experiment("pfeddqn-rep", &[("rounds = 6", "rounds = 120"), ("iterations = 40", "iterations = 400")]),
        10,
    );
}

/// Kills a training at so many moments and resumes it each time: every file is as if nothing had happened.
fn kill(place: &Place, times: usize) {
    let started = Instant::now();
    place.train("whole", &[]);
    let whole = started.elapsed();

    let mut delays = Delays(2024);
    let mut after = Vec::new();
    let mut runs = 0;
    while after.len() < times {
        runs += 1;
        let run = format!("killed-{runs}");
        let mut ended = false;
        while after.len() < times && !ended {
            match killed(place, &run, delays.next(whole / 4)) {
                Some(rounds) => after.push(rounds),
                None => ended = true,
            }
        }
        if !ended {
            assert!(start_or_resume(place, &run).wait().expect("the program ends").success());
        }
        assert_same_run(&place.path("whole"), &place.path(&run));
    }
    let moments: BTreeSet<usize> = after.iter().copied().collect();
    assert!(moments.len() >= 5, "the kills did not hit different rounds: {after:?}, {whole:?}");
}

/// Metrics come after the signal handler and the first checkpoint are in their places.
fn wait_for_a_round(place: &Place) {
    let started = Instant::now();
    while fs::read(place.path("run/metrics.jsonl")).unwrap_or_default().is_empty() {
        assert!(started.elapsed() < Duration::from_secs(60), "no round within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interrupt_ends_the_round_under_way_with_a_checkpoint() {
    let place = long();
    place.train("whole", &[]);
    let mut command = place.command(&["train", "experiment.toml", "--device", "cpu", "--out", "run"]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_for_a_round(&place);
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("continue with: fedrl resume run"), "{said}");

    let done = place.metrics("run").len();
    assert!(done < 120);
    assert!(place.path("run").join(format!("checkpoints/round-{done:06}/SHA256SUMS")).is_file());
    assert_eq!(place.read("run/checkpoints/latest"), format!("round-{done:06}\n"));
    assert!(place.read_json("run/manifest.json")["finished"].is_null());
    place.fedrl(&["resume", "run"]).done();
    assert_same_run(&place.path("whole"), &place.path("run"));
}

#[test]
fn a_run_that_is_being_trained_is_left_alone() {
    let place = long();
    let mut child = place.start(&["train", "experiment.toml", "--device", "cpu", "--out", "run"]);
    wait_for_a_round(&place);
    let manifest = place.read("run/manifest.json");
    let line = place.fedrl(&["resume", "run", "--quiet"]).refused(1);
    assert!(line.contains("another process is training run"), "{line}");
    assert_eq!(place.read("run/manifest.json"), manifest);
    assert!(child.wait().unwrap().success());
    place.train("whole", &[]);
    assert_same_run(&place.path("whole"), &place.path("run"));
    // Whoever has ended, however, holds it no longer.
    place.fedrl(&["resume", "run"]).done();
}

#[test]
fn resuming_a_finished_run_is_harmless() {
    let place = Place::trained();
    place.train("other", &[]);
    let before = listing(&place.path("run"));
    place.fedrl(&["resume", "run"]).done();
    assert_same_run(&place.path("other"), &place.path("run"));
    let after = listing(&place.path("run"));
    for (name, bytes) in &before {
        assert_eq!(after.get(name), Some(bytes), "{name} has changed");
    }
    assert_eq!(before.len(), after.len());
}

#[test]
fn an_earlier_checkpoint_leads_to_the_same_end() {
    let place = Place::trained();
    place.train("other", &[]);
    place.fedrl(&["resume", "run", "--from", "2"]).done();
    assert_same_run(&place.path("other"), &place.path("run"));
}

#[test]
fn resuming_clears_away_what_a_kill_left_half_written() {
    let place = Place::trained();
    for left in ["run/.unfinished-a", "run/eval/.unfinished-b", "run/checkpoints/.unfinished-c"] {
        place.write(left, "half");
    }
    place.fedrl(&["resume", "run"]).done();
    let left: Vec<String> =
        listing(&place.path("run")).into_keys().filter(|name| name.contains("unfinished")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A kill can come after a checkpoint is in its place and before `latest` and `best` name it.
#[test]
fn resuming_corrects_which_checkpoint_is_said_to_be_latest_and_best() {
    let place = Place::trained();
    copy(&place.path("run"), &place.path("whole"));
    place.write("run/checkpoints/latest", "round-000004\n");
    place.write("run/checkpoints/best", "round-000001\n");
    place.fedrl(&["resume", "run"]).done();
    assert_same_run(&place.path("whole"), &place.path("run"));
}

#[test]
fn a_run_does_not_need_the_file_that_its_policy_began_with() {
    let place = Place::trained();
    fs::copy(place.path("run/checkpoints/round-000006/policy.safetensors"), place.path("first.safetensors")).unwrap();
    place.train("second", &["--set", "policy.initial=first.safetensors"]);
    fs::remove_file(place.path("first.safetensors")).unwrap();
    place.fedrl(&["eval", "second", "--device", "cpu"]).done();
    place.fedrl(&["resume", "second"]).done();
}
