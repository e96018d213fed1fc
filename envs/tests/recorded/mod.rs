//! Transitions recorded from Gymnasium 1.4 (and MuJoCo 3.17): one step each, half of them along
//! trajectories, half from hard states. A line of `tests/golden/ID.txt` is
//! `state | action | next state | observation | reward terminated`.
#![allow(dead_code, reason = "each test program uses its share")]

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
    let path = format!("{}/tests/golden/{id}.txt", env!("CARGO_MANIFEST_DIR"));
    parse(&std::fs::read_to_string(&path).expect("recorded transitions"))
}

/// Reads such lines.
pub fn parse(text: &str) -> Vec<Recorded> {
    let numbers = |field: &str| field.split_whitespace().map(|x| x.parse().expect("a number")).collect::<Vec<f64>>();
    let line = |line: &str| {
        let fields: Vec<Vec<f64>> = line.split('|').map(numbers).collect();
        let [state, action, next, observation, outcome] = fields.try_into().expect("five fields");
        Recorded { state, action, next, observation, reward: outcome[0], terminated: outcome[1] != 0.0 }
    };
    text.lines().map(line).collect()
}
