//! `fedrl env`: what it tells of environments, and their steps against recorded ones.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::Place;

/// Transitions recorded from Gymnasium: `state | action | next | next in f32 | reward terminated`.
const RECORDED: &str = include_str!("../../../../envs/tests/golden/CartPole-v1.txt");

struct Recorded {
    state: Vec<f64>,
    action: Vec<f64>,
    next: Vec<f64>,
    reward: f64,
    terminated: bool,
}

fn recorded() -> Vec<Recorded> {
    let numbers = |field: &str| field.split_whitespace().map(|x| x.parse().expect("a number")).collect::<Vec<f64>>();
    let line = |line: &str| {
        let fields: Vec<Vec<f64>> = line.split('|').map(numbers).collect();
        let [state, action, next, _, outcome] = fields.try_into().expect("five fields");
        Recorded { state, action, next, reward: outcome[0], terminated: outcome[1] != 0.0 }
    };
    RECORDED.lines().map(line).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    state: Vec<f64>,
    obs: Vec<f64>,
    reward: f64,
    terminated: bool,
}

fn steps(arguments: &[&str], recorded: &[Recorded]) -> Vec<Step> {
    let line = |step: &Recorded| format!("{}\n", json!({"state": step.state, "action": step.action}));
    let input: String = recorded.iter().map(line).collect();
    let arguments = [&["env", "step", "CartPole-v1"], arguments].concat();
    let said = Place::tiny().fedrl_reading(&arguments, &input).done();
    assert_eq!(said.stderr, "");
    said.stdout.lines().map(|line| serde_json::from_str(line).expect("a step")).collect()
}

#[test]
fn steps_are_those_of_gymnasium() {
    let recorded = recorded();
    for (precision, tolerance) in [("f64", 1e-12), ("f32", 1e-5)] {
        let ours = steps(&["--precision", precision], &recorded);
        assert_eq!(ours.len(), recorded.len());
        for (line, (ours, theirs)) in ours.iter().zip(&recorded).enumerate() {
            for (a, b) in ours.state.iter().zip(&theirs.next) {
                assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{precision}, line {line}: {a} {b}");
            }
            assert_eq!(ours.obs, ours.state, "CartPole shows its state");
            assert_eq!((ours.reward, ours.terminated), (theirs.reward, theirs.terminated), "{precision}, line {line}");
        }
    }
}

#[test]
fn parameters_that_are_set_change_the_step() {
    let recorded = &recorded()[..1];
    let nominal = steps(&[], recorded).remove(0);
    assert_eq!(steps(&["--set", "length=0.5"], recorded)[0].state, nominal.state);
    assert_ne!(steps(&["--set", "length=0.4", "--set", "masspole=0.2"], recorded)[0].state, nominal.state);
    assert_eq!(steps(&["--set", "reward_scale=3"], recorded)[0].reward, 3.0 * nominal.reward);
}

#[test]
fn the_list_of_environments() {
    insta::assert_snapshot!(Place::tiny().fedrl(&["env", "list"]).done().stdout);
}

#[test]
fn the_description_of_cartpole() {
    insta::assert_snapshot!(Place::tiny().fedrl(&["env", "describe", "CartPole-v1"]).done().stdout);
}

#[test]
fn the_list_and_the_descriptions_for_programs() {
    let place = Place::tiny();
    let list = place.fedrl(&["env", "list", "--json"]).done().json();
    let one = place.fedrl(&["env", "describe", "CartPole-v1", "--json"]).done().json();
    assert_eq!(one.len(), 1);
    assert!(list.contains(&one[0]));
    let description = &one[0];
    assert_eq!(description["id"], "CartPole-v1");
    assert_eq!(description["max_episode_steps"], 500);
    let parameters = description["parameters"].as_array().unwrap();
    let length = parameters.iter().find(|parameter| parameter["name"] == "length").unwrap();
    assert_eq!((&length["unit"], &length["default"]), (&"m".into(), &0.5.into()));
    assert!(parameters.iter().all(|parameter| parameter["range"].as_str().is_some_and(|text| !text.is_empty())));
    assert!(!description["observation"].is_null() && description["action"] != Value::Null);
}

#[test]
fn speeds_are_measured() {
    let bench = |what: &str, rest: &[&str]| {
        let options = ["--repeats", "2", "--agents", "3,20", "--json"];
        let said = Place::tiny().fedrl(&[&["bench", what], rest, &options].concat()).done().json();
        assert_eq!(said.len(), 2);
        for (said, agents) in said.iter().zip([3, 20]) {
            assert_eq!((&said["bench"], &said["environment"]), (&what.into(), &"CartPole-v1".into()));
            assert_eq!((&said["agents"], &said["repeats"]), (&agents.into(), &2.into()));
            let [slowest, middle, fastest, core] =
                ["slowest", "per_second", "fastest", "per_core_second"].map(|key| said[key].as_f64().expect("a rate"));
            assert!(slowest <= middle && middle <= fastest && slowest > 0.0 && core > 0.0);
        }
        said
    };
    for what in ["env", "rollout", "eval"] {
        bench(what, &["CartPole-v1"]);
    }
    for said in bench("round", &[]) {
        // Poles that never fall.
        let full = said["agents"].as_u64().expect("a count") * 10 * 200;
        assert_eq!(said["env_steps_per_round"].as_f64(), Some(full as f64));
    }
    assert!(Place::tiny().fedrl(&["bench", "env", "Cartpole"]).refused(2).contains("did you mean `CartPole-v1`?"));
}
