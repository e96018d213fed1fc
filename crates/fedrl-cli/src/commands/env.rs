//! `fedrl env list | describe | step`.

use std::io::BufRead;

use anyhow::{Context, Result};
use fedrl_core::Space;
use fedrl_envs::{ENVIRONMENTS, Environment, Instance, Parameters, Precision, Range, Spec, find};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::{self, EnvCommand, OutputArgs};
use crate::exit::{Done, Usage};
use crate::output::{Output, print_json, table};

/// Answers a question about environments.
pub fn run(command: &EnvCommand) -> Result<Done> {
    match command {
        EnvCommand::List { json } => list(*json)?,
        EnvCommand::Describe { env, json } => describe(find(env).map_err(Usage)?.spec(), *json)?,
        EnvCommand::Step { env, set, precision } => {
            let instance = instance(find(env).map_err(Usage)?, set)?;
            match precision {
                args::Precision::F32 => step::<f32>(&instance)?,
                args::Precision::F64 => step::<f64>(&instance)?,
            }
        }
    }
    Ok(Done::Complete)
}

fn list(json: bool) -> Result<()> {
    let output = Output::from(OutputArgs { json, quiet: false });
    let row = |spec: &'static Spec| {
        vec![
            spec.id.to_string(),
            spec.observation.width().to_string(),
            match &spec.action {
                Space::Discrete { n } => format!("{n} choices"),
                Space::Box { .. } => format!("{} numbers", spec.action.width()),
            },
            Instance::parameters(spec).count().to_string(),
            spec.summary.to_string(),
        ]
    };
    let rows = ENVIRONMENTS.iter().map(|environment| row(environment.spec())).collect();
    output.text(table(&["environment", "observes", "acts", "parameters", "task"], rows, 5))?;
    for environment in ENVIRONMENTS {
        output.value(&description(environment.spec()))?;
    }
    Ok(())
}

fn describe(spec: &'static Spec, json: bool) -> Result<()> {
    let output = Output::from(OutputArgs { json, quiet: false });
    output.value(&description(spec))?;
    let rows = Instance::parameters(spec)
        .map(|p| {
            [p.name, p.unit, &p.default.to_string(), &p.range.to_string(), p.description].map(String::from).to_vec()
        })
        .collect();
    output.text(format!(
        "{}: {}\n\nobservation  {} ({})\naction       {}\nreward       {}\nends when    {}\ntruncated    after {} steps\nsource       {}\n\n{}",
        spec.id,
        spec.summary,
        spec.observation,
        spec.observation_names.join(", "),
        spec.action,
        spec.reward,
        spec.termination,
        spec.max_episode_steps,
        spec.source,
        table(&["parameter", "unit", "default", "range", "meaning"], rows, 5)
    ))?;
    Ok(())
}

/// The description for programs. Infinite bounds are null, as JSON has no infinity.
fn description(spec: &'static Spec) -> Value {
    let parameters: Vec<Value> = Instance::parameters(spec)
        .map(|p| json!({"name": p.name, "unit": p.unit, "default": p.default, "range": p.range.to_string(), "description": p.description}))
        .collect();
    json!({
        "id": spec.id,
        "summary": spec.summary,
        "observation": spec.observation,
        "observation_names": spec.observation_names,
        "action": spec.action,
        "max_episode_steps": spec.max_episode_steps,
        "reward": spec.reward,
        "termination": spec.termination,
        "source": spec.source,
        "parameters": parameters,
    })
}

/// The variant of an environment that `--set` describes.
pub fn instance(environment: &'static dyn Environment, set: &[String]) -> Result<Instance> {
    let mut given = Parameters::new();
    for setting in set {
        let expected = || Usage(format!("--set {setting}: expected NAME=NUMBER, as in length=0.4"));
        let (name, value) = setting.split_once('=').ok_or_else(expected)?;
        let (name, value) = (name.trim(), value.trim());
        let parameter = Instance::parameters(environment.spec()).find(|parameter| parameter.name == name);
        let number = match parameter.map(|parameter| parameter.range) {
            Some(Range::Choice(words)) => match words.iter().position(|word| *word == value) {
                Some(place) => Ok(place as f64),
                None => Err(Usage(format!("--set {setting}: {}", fedrl_core::unknown_name("value", value, words)))),
            },
            _ => value.parse().map_err(|_| expected()),
        };
        given.insert(name.to_string(), number?);
    }
    Ok(Instance::new(environment, given).map_err(|error| Usage(error.to_string()))?)
}

/// One line of input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    state: Vec<f64>,
    action: Vec<f64>,
    /// Uniform in `[0, 1)`, as many as a step consumes.
    #[serde(default)]
    draws: Vec<f64>,
}

/// One line of output.
#[derive(Serialize)]
struct Stepped<F> {
    state: Vec<F>,
    obs: Vec<F>,
    reward: F,
    terminated: bool,
}

fn step<F: Precision + Serialize>(instance: &Instance) -> Result<()> {
    let simulator = instance.simulator::<F>();
    let spec = instance.spec();
    for (index, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.context("reading stdin")?;
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |problem: String| Usage(format!("stdin line {}: {problem}", index + 1));
        let input: Input = serde_json::from_str(&line)
            .map_err(|error| wrong(format!("{error}; expected {{\"state\":[..],\"action\":[..]}}")))?;
        check(instance, &input).map_err(wrong)?;
        let mut state: Vec<F> = input.state.into_iter().map(F::from_f64).collect();
        let action: Vec<F> = input.action.into_iter().map(F::from_f64).collect();
        let draws: Vec<F> = input.draws.into_iter().map(F::from_f64).collect();
        let transition = simulator.step(&draws, &mut state, &action);
        let mut obs = vec![F::default(); spec.observation.width()];
        simulator.observe(&state, &mut obs);
        print_json(&Stepped { state, obs, reward: transition.reward, terminated: transition.terminated })?;
    }
    Ok(())
}

fn check(instance: &Instance, input: &Input) -> Result<(), String> {
    let spec = instance.spec();
    let (state, action) = (input.state.len(), input.action.len());
    if state != spec.state_width {
        return Err(format!("`state` has {state} numbers, expected {}", spec.state_width));
    }
    if action != spec.action.width() {
        return Err(format!("`action` has {action} numbers, expected {}", spec.action.width()));
    }
    if input.draws.len() != spec.step_draws {
        return Err(format!(
            "`draws` has {} numbers, expected {}: uniform ones from [0, 1), which {} uses in a step",
            input.draws.len(),
            spec.step_draws,
            spec.id
        ));
    }
    if let Some(draw) = input.draws.iter().find(|draw| !(0.0..1.0).contains(*draw)) {
        return Err(format!("`draws` contains {draw}, expected numbers from 0 to below 1"));
    }
    if let Some(mdp) = instance.mdp() {
        number_below("state", input.state[0], mdp.states)?;
    }
    if let Space::Discrete { n } = spec.action {
        number_below("action", input.action[0], n)?;
    }
    Ok(())
}

fn number_below(name: &str, value: f64, n: usize) -> Result<(), String> {
    if value.fract() == 0.0 && (0.0..n as f64).contains(&value) {
        return Ok(());
    }
    Err(format!("`{name}` is {value}, expected a whole number from 0 to {}", n - 1))
}
