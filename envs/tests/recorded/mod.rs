//! Transitions recorded from Gymnasium 1.4 (and MuJoCo 3.17): one step each, half of them along
//! trajectories, half from hard states. A line of `tests/golden/ID.txt` is
//! `state | action | next state | observation | reward terminated`.
#![allow(dead_code, reason = "each test program uses its share")]

use fedrl_envs::Parameters;

/// One recorded step.
pub struct Recorded {
    pub state: Vec<f64>,
    pub action: Vec<f64>,
    pub next: Vec<f64>,
    pub observation: Vec<f64>,
    pub reward: f64,
    pub terminated: bool,
}

/// The steps recorded of the environment `id`.
pub fn recorded(id: &str) -> Vec<Recorded> {
    let line = |line: &str| {
        let [state, action, next, observation, outcome] = fields(line).try_into().expect("five fields");
        Recorded { state, action, next, observation, reward: outcome[0], terminated: outcome[1] != 0.0 }
    };
    read(&format!("{id}.txt")).lines().map(line).collect()
}

/// A recorded step of a variant.
pub struct Motion {
    pub state: Vec<f64>,
    pub action: Vec<f64>,
    pub next: Vec<f64>,
}

/// The steps recorded of variants of the environment `id` (by `tests/golden/variants.py`), with
/// what varies. A line is `name=value .. | state | action | next state`.
pub fn recorded_variants(id: &str) -> Vec<(Parameters, Motion)> {
    let text = read(&format!("{id}.variants.txt"));
    let line = |line: &str| {
        let (setting, rest) = line.split_once('|').expect("a setting");
        let value = |pair: &str| {
            let (name, value) = pair.split_once('=').expect("name=value");
            (name.to_string(), value.parse().expect("a number"))
        };
        let [state, action, next] = fields(rest).try_into().expect("three fields");
        (setting.split_whitespace().map(value).collect(), Motion { state, action, next })
    };
    text.lines().map(line).collect()
}

fn read(file: &str) -> String {
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).expect("recorded transitions")
}

fn fields(line: &str) -> Vec<Vec<f64>> {
    let numbers = |field: &str| field.split_whitespace().map(|x| x.parse().expect("a number")).collect();
    line.split('|').map(numbers).collect()
}
