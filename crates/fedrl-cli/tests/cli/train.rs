//! `fedrl train`: what it writes, what it says, and that neither depends on the machine's threads.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::compare::{assert_same_run, listing};
use crate::support::{Outcome, Place, TINY_PARAMETERS, tiny};

/// The keys of a round of an algorithm with importance weights, in their order.
const ROUND_KEYS: [&str; 33] = [
    "round",
    "train/return_mean",
    "train/return_min",
    "train/return_max",
    "train/episode_length_mean",
    "train/gradient_norm_mean",
    "train/drift_mean",
    "train/env_steps",
    "importance/weight_mean",
    "importance/effective_sample_size",
    "importance/non_finite",
    "importance/clipped",
    "federation/participants",
    "federation/diverged",
    "federation/bytes_up",
    "federation/bytes_down",
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
    "time/agents_seconds",
    // Room for comparison: see `keys`.
    "",
    "",
    "",
];

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn checkpoints(place: &Place, run: &str) -> BTreeSet<String> {
    let directories = fs::read_dir(place.path(run).join("checkpoints")).expect("checkpoints");
    let names = directories.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("round-")).collect()
}
