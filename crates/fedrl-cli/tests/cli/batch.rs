//! Many runs at once: sweeps, seeds, their tables, and that stopping changes nothing.

use std::time::Duration;

use serde_json::Value;

use crate::support::Place;

/// Three agents, two algorithms, two values of kappa, three seeds.
const SWEEP: &str = r#"
[environment]
id = "RandomMDP-v0"
agents = { mdp = "seed", own = "index" }
[agents]
count = 3
[policy]
hidden = []
bias = false
initialisation = "zeros"
[algorithm]
local_steps = 4
local_step_size = 0.05
global_step_size = 0.2
discount = 0.9
horizon = 30
[training]
rounds = 3
seed = 5
runs = 3
[sweep]
algorithm = [{ name = "pavg" }, { name = "fedsvrpg-m", beta = 0.2 }]
environment.agents.kappa = [0.0, 1.0]
"#;

fn results(place: &Place, run: &str) -> Vec<Value> {
    place.read(&format!("{run}/results.jsonl")).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_combination_and_seed_is_one_line() {
    let place = Place::with(SWEEP);
    let said = place.fedrl(&["train", "experiment.toml", "--out", "run", "--json"]).done().json();
    let lines = results(&place, "run");
    assert_eq!(lines.len(), 12);
    assert_eq!(said[0]["runs"], 12);
    assert_eq!(lines[0]["settings"]["algorithm"], "pavg");
    assert_eq!(lines[11]["settings"]["environment.agents.kappa"], 1.0);
    let seeds: Vec<&Value> = lines[..3].iter().map(|line| &line["seed"]).collect();
    assert_eq!(seeds, [5, 6, 7]);
    for line in &lines {
        assert_eq!(line["objective"].as_array().unwrap().len(), 4, "the start and three rounds");
        assert_eq!(line["importance"].is_null(), line["settings"]["algorithm"] == "pavg");
        // Three agents, four local steps of 30 steps, three rounds; u_0 is ⌈4/(3 · 0.04)⌉ = 34 more.
        let steps = if line["settings"]["algorithm"] == "pavg" { 1080 } else { 1080 + 3 * 34 * 30 };
        assert_eq!(line["env_steps"], steps);
    }
    // Seeds are paired: the same decision processes before anything is learned.
    assert_eq!(lines[0]["objective"][0], lines[6]["objective"][0]);
    assert_ne!(lines[0]["objective"][0], lines[1]["objective"][0]);
    // A mean in the table is the mean of its lines.
    let of = |range: std::ops::Range<usize>| -> Vec<f64> {
        lines[range].iter().map(|line| line["objective"][3].as_f64().unwrap()).collect()
    };
    let cell = said[0]["tables"][0]["rows"][1][2].as_str().unwrap();
    let shown: f64 = cell.split(' ').next().unwrap().parse().unwrap();
    assert!((shown - fedrl_stats::mean(&of(9..12))).abs() < 0.006, "{cell}");
    let page = place.read("run/report.html");
    assert!(page.contains(cell) && page.contains("fedsvrpg-m, beta 0.2"));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let place = Place::with(SWEEP);
    for threads in ["1", "2"] {
        let mut command = place.command(&["train", "experiment.toml", "--out", threads, "--quiet"]);
        assert!(command.env("RAYON_NUM_THREADS", threads).status().unwrap().success());
    }
    assert_eq!(place.read("1/results.jsonl"), place.read("2/results.jsonl"));
}

#[test]
fn a_batch_that_was_killed_ends_with_the_same_bytes() {
    let place = Place::with(SWEEP);
    let many = ["--set", "training.runs=300", "--quiet"];
    place.fedrl(&[&["train", "experiment.toml", "--out", "whole"][..], &many].concat()).done();
    let mut child = place.start(&[&["train", "experiment.toml", "--out", "killed"][..], &many].concat());
    while !place.path("killed/results.jsonl").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    place.fedrl(&["resume", "killed", "--quiet"]).done();
    assert_eq!(place.read("whole/results.jsonl"), place.read("killed/results.jsonl"));
    assert_eq!(place.read("whole/figures/objective-rounds.svg"), place.read("killed/figures/objective-rounds.svg"));
}

/// As if the machine had gone down in the middle of a line.
#[test]
fn a_batch_that_was_cut_anywhere_ends_with_the_same_bytes() {
    // A list of tables before a plain list: the order in which TOML itself would not write them.
    let sweep = SWEEP.replace("environment.agents.kappa = [0.0, 1.0]", "\"algorithm.local_step_size\" = [0.05, 0.1]");
    let place = Place::with(&sweep);
    place.fedrl(&["train", "experiment.toml", "--out", "run", "--quiet"]).done();
    let whole = place.read("run/results.jsonl");
    let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
    for kept in [0, 5, ends[0], ends[2] + 40, ends[7], whole.len() - 1] {
        place.write("run/results.jsonl", &whole[..kept]);
        // What is there can be looked at meanwhile.
        place.fedrl(&["report", "run", "--quiet"]).done();
        place.fedrl(&["resume", "run", "--quiet"]).done();
        assert!(place.read("run/results.jsonl") == whole, "cut after {kept} bytes");
    }
}

#[test]
fn results_of_another_experiment_are_not_continued() {
    let place = Place::with(SWEEP);
    place.fedrl(&["train", "experiment.toml", "--out", "run", "--quiet"]).done();
    let config = place.read("run/config.toml").replace("discount = 0.9", "discount = 0.8");
    place.write("run/config.toml", &config);
    let error = place.fedrl(&["resume", "run", "--quiet"]).refused(3);
    assert!(error.contains("line 1 is not of this batch"), "{error}");
}

#[test]
fn what_cannot_be_done_with_a_batch_is_refused_by_name() {
    let place = Place::with(SWEEP);
    place.fedrl(&["train", "experiment.toml", "--out", "run", "--quiet"]).done();
    assert!(place.fedrl(&["eval", "run"]).refused(2).contains("is a batch of runs: it keeps results, not policies"));
    assert!(place.fedrl(&["compare", "run"]).refused(2).contains("`fedrl report run` prints its tables"));
    assert!(place.fedrl(&["resume", "run", "--from", "2"]).refused(2).contains("is a batch of runs"));
    place.fedrl(&["report", "run"]).done();
    place.fedrl(&["doctor", "experiment.toml"]).done();

    let mut text = place.read("run/results.jsonl");
    text = text.replacen("\"seed\":6", "\"seed\":9", 1);
    place.write("run/results.jsonl", &text);
    let error = place.fedrl(&["resume", "run", "--quiet"]).refused(3);
    assert!(error.contains("line 2 is not of this batch, expected that of"), "{error}");

    let mixed = ["train", "experiment.toml", "--out", "deep", "--set", "sweep.policy.bias=[false, true]"];
    assert!(place.fedrl(&mixed).refused(2).contains("every point has to be a tabular policy"));
    let error = place.fedrl(&["train", "experiment.toml", "--out", "deep", "--set", "sweep.agents.count=3"]).refused(2);
    assert!(error.contains("sweep.agents.count: expected keys with lists of values"), "{error}");
    for (setting, reason) in [
        ("algorithm.discount=1", "algorithm.discount: is 1, expected a number below 1"),
        ("sweep.training.seed=[1, 2]", "cannot be swept"),
        ("training.seed=9007199254740992", "expected seeds up to 9007199254740992"),
        ("environment.agents.reward_kappa=seed", "reward_kappa` is 5"),
    ] {
        let error = place.fedrl(&["train", "experiment.toml", "--out", "deep", "--set", setting]).refused(2);
        assert!(error.contains(reason), "{setting}: {error}");
    }
    let error = place.fedrl(&["train", "experiment.toml", "--out", "deep", "--device", "gpu"]).refused(2);
    assert!(error.contains("--device gpu: tabular runs are made on the CPU"), "{error}");
    assert!(!place.path("deep").exists());
}

/// Steps of 1e300 make every policy deterministic, and nothing infinite.
#[test]
fn deterministic_policies_stay_finite() {
    let place = Place::with(SWEEP);
    let set = ["--set", "algorithm.local_step_size=1e300", "--set", "algorithm.global_step_size=1e300"];
    place.fedrl(&[&["train", "experiment.toml", "--out", "run", "--quiet"][..], &set].concat()).done();
    for line in results(&place, "run") {
        assert!(line["diverged"].is_null());
        let objective = line["objective"].as_array().unwrap();
        assert!(objective.iter().all(Value::is_f64) && objective.len() == 4, "{line}");
    }
}

/// A run that leaves the finite numbers is a line that says so, and a table without it.
#[test]
fn a_run_that_diverges_is_counted_and_left_out() {
    let place = Place::with(SWEEP);
    let set = ["--set", "algorithm.local_step_size=1e300", "--set", "environment.agents.reward_max=1e38"];
    place.fedrl(&[&["train", "experiment.toml", "--out", "run", "--quiet"][..], &set].concat()).done();
    let lines = results(&place, "run");
    assert!(lines.iter().all(|line| line["diverged"].is_u64()), "{lines:?}");
    assert!(place.read("run/report.html").contains("runs that diverged"));
}
