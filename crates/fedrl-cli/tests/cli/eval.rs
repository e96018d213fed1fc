//! `fedrl eval`: the numbers of a run's policy, the same whenever they are asked for.

use serde_json::Value;

use crate::compare::{assert_same_run, copy};
use crate::support::{Outcome, Place};

fn eval(place: &Place, more: &[&str]) -> Outcome {
    place.fedrl(&[&["eval", "run", "--device", "cpu"], more].concat()).done()
}

/// What `--json` says, the path of the run taken off.
fn eval_json(place: &Place, more: &[&str]) -> Vec<Value> {
    let said = eval(place, &[more, &["--json"]].concat());
    assert_eq!(said.stderr, "");
    said.json().into_iter().map(record).collect()
}

/// The record in a line: the files do not say where the run lies.
fn record(mut line: Value) -> Value {
    assert_eq!(line.as_object_mut().expect("an object").shift_remove("run"), Some("run".into()));
    line
}

#[test]
fn json_is_one_object_per_set_and_what_the_files_say() {
    let place = Place::trained();
    copy(&place.path("run"), &place.path("before"));
    let sets = ["agents", "interpolation", "extrapolation"];
    let said = eval_json(&place, &[]);
    assert_eq!(said.len(), sets.len());
    for (record, set) in said.iter().zip(sets) {
        assert_eq!(record["on"], set);
        assert_eq!(*record, place.read_json(&format!("run/eval/{set}.json")));
    }
    // What `train` has evaluated is what `eval` evaluates.
    assert_same_run(&place.path("before"), &place.path("run"));
    // Again, and one set alone.
    assert_eq!(eval_json(&place, &[]), said);
    assert_eq!(eval_json(&place, &["--on", "interpolation"]), said[1..2]);
}

#[test]
fn people_get_a_table() {
    let place = Place::trained();
    let said = eval(&place, &["--on", "extrapolation"]);
    let record = place.read_json("run/eval/extrapolation.json");
    for text in ["extrapolation (round 6, 2 episodes each)", "length=0.2000", "length=0.9000", "95 %"] {
        assert!(said.stdout.contains(text), "{text} is not in\n{}", said.stdout);
    }
    assert!(said.stdout.contains(&format!(
        "mean {:.1}   worst {:.1}",
        record["mean"].as_f64().unwrap(),
        record["worst"].as_f64().unwrap()
    )));
}

#[test]
fn variants_of_a_file_of_ones_own() {
    let place = Place::trained();
    place.write("heavy.toml", "masspole = { values = [0.2, 0.5, 1.0] }\nlength = 0.4\n");
    let record = eval_json(&place, &["--on", "heavy.toml"]).remove(0);
    let variants = record["variants"].as_array().unwrap();
    let masses: Vec<f64> = variants.iter().map(|variant| variant["parameters"]["masspole"].as_f64().unwrap()).collect();
    assert_eq!(masses, [0.2, 0.5, 1.0]);
    assert!(variants.iter().all(|variant| variant["parameters"]["length"] == 0.4));
    assert_eq!(record, place.read_json("run/eval/file-heavy.json"));
    assert_eq!(eval_json(&place, &["--on", "heavy.toml"]), [record]);
}

#[test]
fn greedy_actions_and_the_best_checkpoint_have_files_of_their_own() {
    let place = Place::trained();
    let standard = place.read("run/eval/agents.json");
    let greedy = eval_json(&place, &["--on", "agents", "--greedy"]).remove(0);
    assert_eq!(greedy["greedy"], true);
    assert_eq!(greedy, place.read_json("run/eval/agents-greedy.json"));

    let name = place.read("run/checkpoints/best");
    let best: u64 = name.trim().strip_prefix("round-").unwrap().parse().unwrap();
    let record = eval_json(&place, &["--on", "agents", "--checkpoint", "best"]).remove(0);
    assert_eq!(record["round"], best);
    assert_eq!(record, place.read_json(&format!("run/eval/agents-round-{best:06}.json")));
    assert_eq!(eval_json(&place, &["--on", "agents", "--checkpoint", &best.to_string()]), [record]);
    assert_eq!(eval_json(&place, &["--on", "agents", "--checkpoint", "2"])[0]["round"], 2);
    assert_eq!(place.read("run/eval/agents.json"), standard);
}

#[test]
fn another_number_of_episodes_leaves_the_standard_evaluation_alone() {
    let place = Place::trained();
    let standard = place.read_json("run/eval/agents.json");
    let record = eval_json(&place, &["--on", "agents", "--episodes", "5"]).remove(0);
    assert!(record["variants"].as_array().unwrap().iter().all(|variant| variant["episodes"] == 5));
    assert_eq!(place.read_json("run/eval/agents.json"), standard);
    assert_eq!(place.read_json("run/eval/agents-episodes-5.json"), record);
}
