//! `fedrl train`: what it writes, what it says, and that the machine's threads change nothing.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::compare::assert_same_run;
use crate::support::{Place, TINY_PARAMETERS, tiny};

/// The keys of a round of an algorithm with importance weights, in their order; a round that ends with a
/// checkpoint has two more.
const ROUND_KEYS: [&str; 35] = [
    "round",
    "train/return_mean",
    "train/return_min",
    "train/return_max",
    "train/episode_length_mean",
    "train/gradient_norm_mean",
    "train/drift_mean",
    "train/terminated",
    "train/env_steps",
    "importance/weight_mean",
    "importance/effective_sample_size",
    "importance/non_finite",
    "importance/clipped",
    "importance/collapsed",
    "federation/participants",
    "federation/diverged",
    "federation/bytes_up",
    "federation/bytes_down",
    "federation/total_bytes_up",
    "federation/total_bytes_down",
    "agents/return",
    "agents/episode_length",
    "agents/gradient_norm",
    "agents/drift",
    "agents/importance_mean",
    "agents/importance_effective_sample_size",
    "agents/importance_non_finite",
    "agents/env_steps",
    "agents/bytes_up",
    "agents/bytes_down",
    "agents/draw_margin",
    "time/unix_seconds",
    "time/round_seconds",
    "time/process_seconds",
    "time/agents_seconds",
];

const PAVG: (&str, &str) = ("name = \"fedsvrpg-m\"\nbeta = 0.5\n", "name = \"pavg\"\n");
const NO_MOMENTUM: (&str, &str) = ("beta = 0.5", "beta = 1.0");

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn checkpoints(place: &Place, run: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(place.path(run).join("checkpoints")).expect("checkpoints");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| !["latest", "best"].contains(&name.as_str())).collect()
}

/// The scheduled round with the highest mean return, the first of equals.
fn best_round(place: &Place, run: &str, every: u64) -> u64 {
    let mut best = (0, f64::NEG_INFINITY);
    for metrics in place.metrics(run) {
        let (round, mean) = (metrics["round"].as_u64(), metrics["train/return_mean"].as_f64());
        let (round, mean) = (round.expect("a round"), mean.expect("a number"));
        if round % every == 0 && mean > best.1 {
            best = (round, mean);
        }
    }
    best.0
}

#[test]
fn a_run_directory_holds_everything_that_is_promised() {
    let place = Place::tiny();
    place.train("run", &[]);
    let mut top: Vec<String> = fs::read_dir(place.path("run"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    top.sort();
    let expected = [
        ".lock",
        "checkpoints",
        "config.toml",
        "eval",
        "figures",
        "manifest.json",
        "metrics.jsonl",
        "report.html",
        "tensorboard",
    ];
    assert_eq!(top, expected);

    let config = place.read("run/config.toml");
    for default in ["keep_checkpoints = 3", "participation = 1.0", "activation = \"tanh\"", "estimator = \"gpomdp\""] {
        assert!(config.contains(default), "the resolved experiment does not say {default}:\n{config}");
    }
    let manifest = place.read_json("run/manifest.json");
    for key in ["fedrl_version", "git_revision", "device_choice", "device", "driver", "started", "finished"] {
        assert!(manifest[key].as_str().is_some_and(|text| !text.is_empty()), "manifest.json: {key}: {manifest}");
    }
    let events: Vec<_> = fs::read_dir(place.path("run/tensorboard")).unwrap().collect();
    assert_eq!(events.len(), 1);
    assert!(place.read("run/report.html").contains("<svg"));
}

#[test]
fn every_round_is_one_object_with_every_metric() {
    let place = Place::trained();
    let rounds = place.metrics("run");
    assert_eq!(rounds.len(), 6);
    let mut steps = 0;
    for (index, metrics) in rounds.iter().enumerate() {
        let own = if (index + 1) % 2 == 0 { &["checkpoint/bytes", "time/checkpoint_seconds"][..] } else { &[] };
        assert_eq!(keys(metrics), [&ROUND_KEYS, own].concat());
        assert!(metrics["time/process_seconds"].as_f64() > Some(0.0), "a training alone");
        assert_eq!(metrics["round"], index + 1);
        for key in ROUND_KEYS.iter().filter(|key| key.starts_with("agents/") || **key == "time/agents_seconds") {
            let row = metrics[*key].as_array().unwrap();
            assert!(row.len() == 3 && row.iter().all(Value::is_number), "round {index}: {key}: {row:?}");
        }
        let mean = metrics["agents/return"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).sum::<f64>() / 3.0;
        assert!((mean - metrics["train/return_mean"].as_f64().unwrap()).abs() < 1e-9);
        // What is counted since the start grows by what the agents did in this round.
        let total = metrics["train/env_steps"].as_u64().unwrap();
        let taken: u64 = metrics["agents/env_steps"].as_array().unwrap().iter().map(|x| x.as_u64().unwrap()).sum();
        assert!(index == 0 && total > taken || total == steps + taken, "round {index}: {steps} + {taken}, {total}");
        steps = total;
    }
}

#[test]
fn the_newest_checkpoints_and_the_best_one_are_kept() {
    let place = Place::tiny();
    place.train("run", &["--set", "training.keep_checkpoints=2", "--set", "training.rounds=12"]);
    let best = best_round(&place, "run", 2);
    let expected: BTreeSet<String> = [10, 12, best].map(|round| format!("round-{round:06}")).into();
    assert_eq!(checkpoints(&place, "run"), expected);
    assert_eq!(place.read("run/checkpoints/latest"), "round-000012\n");
    assert_eq!(place.read("run/checkpoints/best"), format!("round-{best:06}\n"));
    for name in expected {
        for file in ["state.safetensors", "policy.safetensors", "header.json", "SHA256SUMS"] {
            assert!(place.path("run/checkpoints").join(&name).join(file).is_file(), "{name}/{file}");
        }
    }
}

#[test]
fn evaluations_have_the_schema_that_is_documented() {
    let place = Place::trained();
    for (set, lengths) in
        [("agents", vec![0.3, 0.5, 0.7]), ("interpolation", vec![0.4, 0.6]), ("extrapolation", vec![0.2, 0.9])]
    {
        let record = place.read_json(&format!("run/eval/{set}.json"));
        assert_eq!(keys(&record), ["on", "round", "greedy", "variants", "mean", "worst", "cvar"]);
        assert_eq!((&record["on"], &record["round"], &record["greedy"]), (&set.into(), &6.into(), &false.into()));
        let variants = record["variants"].as_array().unwrap();
        let mut means = Vec::new();
        for (variant, length) in variants.iter().zip(&lengths) {
            assert_eq!(keys(variant), ["parameters", "episodes", "mean", "low", "high"]);
            assert_eq!(variant["parameters"], serde_json::json!({"length": length}));
            assert_eq!(variant["episodes"], 2);
            let [mean, low, high] = ["mean", "low", "high"].map(|key| variant[key].as_f64().unwrap());
            assert!(low <= mean && mean <= high && low >= 1.0 && high <= 100.0, "{variant}");
            means.push(mean);
        }
        assert_eq!(variants.len(), lengths.len());
        let number = |key: &str| record[key].as_f64().unwrap();
        assert!((number("mean") - means.iter().sum::<f64>() / means.len() as f64).abs() < 1e-12);
        assert_eq!(number("worst"), means.iter().copied().fold(f64::INFINITY, f64::min));
        assert!(number("worst") <= number("cvar") && number("cvar") <= number("mean"));
    }
}

#[test]
fn json_is_one_object_and_nothing_else() {
    let place = Place::tiny();
    let said = place.train("run", &["--json"]);
    assert_eq!(said.stderr, "");
    let objects = said.json();
    assert_eq!(objects.len(), 1);
    let last = place.metrics("run").pop().unwrap();
    let summary = &objects[0];
    assert_eq!(summary["run"], "run");
    assert_eq!(summary["rounds"], 6);
    assert_eq!(summary["env_steps"], last["train/env_steps"]);
    assert_eq!(summary["return_mean"], last["train/return_mean"]);
    assert_eq!(summary["checkpoint"]["round"], 6);
    assert_eq!(summary["checkpoint"]["bytes"], last["checkpoint/bytes"]);
    assert_eq!(summary["checkpoint"]["seconds"], last["time/checkpoint_seconds"]);
}

#[test]
fn quiet_leaves_the_results_and_nothing_else() {
    let place = Place::tiny();
    let quiet = place.train("quiet", &["--quiet"]);
    assert_eq!(quiet.stderr, "");
    for word in ["agents", "interpolation", "extrapolation", "length=0.3000", "quiet/report.html"] {
        assert!(quiet.stdout.contains(word), "{word} is not in\n{}", quiet.stdout);
    }
    let chatty = place.train("chatty", &[]);
    let timeless = |text: &str| text.lines().filter(|line| !line.contains("written in")).collect::<Vec<_>>().join("\n");
    assert_eq!(timeless(&chatty.stdout), timeless(&quiet.stdout.replace("quiet", "chatty")));
    for word in ["training in chatty", "round 6/6"] {
        assert!(chatty.stderr.contains(word), "{word} is not in\n{}", chatty.stderr);
    }
}

#[test]
fn runs_get_the_name_of_their_experiment_and_then_a_number() {
    let place = Place::tiny();
    for run in ["runs/experiment", "runs/experiment-2", "runs/experiment-3"] {
        let said = place
            .fedrl(&["train", "experiment.toml", "--device", "cpu", "--json", "--set", "training.rounds=1"])
            .done();
        assert_eq!(said.json()[0]["run"], run);
        assert!(place.path(run).join("report.html").is_file());
    }
}

#[test]
fn what_was_set_is_in_the_resolved_experiment() {
    let place = Place::tiny();
    let settings =
        ["algorithm.local_step_size=0.003", "training.rounds=1", "policy.activation=relu", "policy.hidden=[5, 3]"];
    let arguments: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    place.train("run", &arguments);
    let config = place.read("run/config.toml");
    for line in ["local_step_size = 0.003", "rounds = 1", "activation = \"relu\"", "hidden = [5, 3]"] {
        assert!(config.lines().any(|other| other == line), "no line `{line}` in\n{config}");
    }
    // A resolved experiment is an experiment: it trains the same run again.
    place.fedrl(&["train", "run/config.toml", "--device", "cpu", "--out", "again"]).done();
    assert_same_run(&place.path("run"), &place.path("again"));
}

/// Robots share their lanes out among threads.
const ROBOTS: &str = r#"
[environment]
id = "HalfCheetah-v5"
agents = { gravity = { linspace = [9.0, 10.0] } }
[agents]
count = 5
[policy]
hidden = [8]
[algorithm]
name = "fedhapg-m"
beta = 0.5
local_steps = 2
local_step_size = 0.001
global_step_size = 0.01
discount = 0.99
horizon = 25
batch = 3
[training]
rounds = 2
[evaluation]
episodes = 2
"#;

#[test]
fn the_number_of_threads_changes_nothing() {
    for place in [Place::tiny(), Place::with(ROBOTS)] {
        for threads in ["1", "2", "5"] {
            let arguments = ["train", "experiment.toml", "--device", "cpu", "--quiet", "--out", threads];
            let mut command = place.command(&arguments);
            let status = command.env("RAYON_NUM_THREADS", threads).stdout(Stdio::null()).status().unwrap();
            assert!(status.success());
        }
        assert_same_run(&place.path("1"), &place.path("2"));
        assert_same_run(&place.path("1"), &place.path("5"));
    }
}

#[test]
fn agents_that_sit_out_are_null_and_cost_nothing() {
    let place = Place::with(&tiny(&[("count = 3", "count = 3\nparticipation = 0.67")]));
    place.train("run", &[]);
    let mut sat_out = BTreeSet::new();
    for metrics in place.metrics("run") {
        assert_eq!(metrics["federation/participants"], 2);
        assert_eq!(metrics["federation/bytes_up"], 2 * 4 * TINY_PARAMETERS);
        assert_eq!(metrics["federation/bytes_down"], 2 * 3 * 4 * TINY_PARAMETERS);
        let rows = ROUND_KEYS.iter().filter(|key| key.starts_with("agents/") || **key == "time/agents_seconds");
        let absent: BTreeSet<Vec<usize>> = rows
            .map(|key| {
                metrics[*key]
                    .as_array()
                    .unwrap()
                    .iter()
                    .enumerate()
                    .filter(|(_, x)| x.is_null())
                    .map(|(i, _)| i)
                    .collect()
            })
            .collect();
        assert_eq!(absent.len(), 1, "the same agents are absent everywhere: {absent:?}");
        let absent = absent.into_iter().next().unwrap();
        assert_eq!(absent.len(), 1);
        sat_out.insert(absent[0]);
    }
    assert!(sat_out.len() > 1, "in six rounds not always the same agent sits out");
}

#[test]
fn bytes_are_those_of_the_vectors_that_are_sent() {
    let vector = 4 * TINY_PARAMETERS;
    // With momentum θ_r, θ_{r-1} and u_r go down and Δ comes up; without it only θ_r goes down.
    for (edits, down) in [(vec![], 3), (vec![NO_MOMENTUM], 1), (vec![PAVG], 1)] {
        let place = Place::with(&tiny(&edits));
        place.train("run", &["--set", "training.rounds=2"]);
        for metrics in place.metrics("run") {
            assert_eq!(metrics["agents/bytes_up"], Value::from([vector; 3].to_vec()), "{edits:?}");
            assert_eq!(metrics["agents/bytes_down"], Value::from([down * vector; 3].to_vec()), "{edits:?}");
            assert_eq!(metrics["federation/bytes_up"], 3 * vector);
            assert_eq!(metrics["federation/bytes_down"], 3 * down * vector);
        }
        // θ_0 down and a gradient up before the first round, where there is momentum.
        let before = if down == 3 { 3 * vector } else { 0 };
        let totals = &place.read_json("run/checkpoints/round-000002/header.json")["progress"]["totals"];
        assert_eq!(totals["bytes_up"], before + 2 * 3 * vector);
        assert_eq!(totals["bytes_down"], before + 2 * 3 * down * vector);
        let last = place.metrics("run").pop().unwrap();
        assert_eq!(last["federation/total_bytes_up"], totals["bytes_up"]);
        assert_eq!(last["federation/total_bytes_down"], totals["bytes_down"]);
    }
}

#[test]
fn plain_averaging_is_the_algorithm_without_momentum() {
    let (plain, without) = (Place::with(&tiny(&[PAVG])), Place::with(&tiny(&[NO_MOMENTUM])));
    plain.train("run", &[]);
    without.train("run", &[]);
    for round in [2, 4, 6] {
        assert_eq!(plain.theta("run", round), without.theta("run", round));
    }
    assert!(plain.metrics("run")[0].get("importance/weight_mean").is_none());
}

/// As after `fedrl train … | head -1`.
#[test]
fn a_run_is_finished_though_nobody_reads_its_results() {
    let place = Place::tiny();
    let mut command = place.command(&["train", "experiment.toml", "--device", "cpu", "--out", "run"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert!(place.path("run/report.html").is_file());
    assert!(place.read_json("run/manifest.json")["finished"].is_string());
}
