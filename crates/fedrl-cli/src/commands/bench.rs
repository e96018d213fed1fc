//! `fedrl bench`.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use fedrl_core::random::{Key, Purpose};
use fedrl_core::{Real, Space};
use fedrl_envs::{ENVIRONMENTS, Environment, Instance, Parameters, STEP_DRAWS, Simulator, find};
use serde::Serialize;

use crate::args::{BenchCommand, OutputArgs};
use crate::exit::{Done, Usage};
use crate::output::{Output, table};

/// Measures something.
pub fn run(command: &BenchCommand) -> Result<Done> {
    match command {
        BenchCommand::Env { envs, repeats, json } => environments(envs, *repeats, *json)?,
    }
    Ok(Done::Complete)
}

/// How fast one environment steps.
#[derive(Debug, Serialize)]
struct Speed {
    bench: &'static str,
    environment: &'static str,
    /// Environment steps per second of one core: the median, the slowest and the fastest repeat.
    steps_per_second: f64,
    slowest: f64,
    fastest: f64,
    repeats: usize,
}

fn environments(names: &[String], repeats: usize, json: bool) -> Result<()> {
    if !(1..=1000).contains(&repeats) {
        return Err(Usage(format!("--repeats is {repeats}, expected a whole number from 1 to 1000")).into());
    }
    let output = Output::from(OutputArgs { json, quiet: false });
    let named = names.iter().map(|name| find(name).map_err(Usage)).collect::<Result<Vec<_>, _>>()?;
    let chosen = if named.is_empty() { ENVIRONMENTS.to_vec() } else { named };
    let mut rows = Vec::new();
    for environment in chosen {
        let speed = speed(environment, repeats)?;
        let million = |rate: f64| format!("{:.3}", rate / 1e6);
        rows.push(vec![
            speed.environment.to_string(),
            million(speed.steps_per_second),
            format!("{} .. {}", million(speed.slowest), million(speed.fastest)),
        ]);
        output.value(&speed)?;
    }
    output.text(table(&["environment, f32, one core", "M steps/s", "range"], rows, 1))?;
    Ok(())
}

fn speed(environment: &'static dyn Environment, repeats: usize) -> Result<Speed> {
    let instance = Instance::new(environment, Parameters::new())?;
    let mut stepping = Stepping::new(&instance);
    // Long enough that the clock does not matter.
    let mut steps = 1000;
    while stepping.seconds(steps) < 0.1 {
        steps *= 2;
    }
    let mut rates: Vec<f64> = (0..repeats).map(|_| steps as f64 / stepping.seconds(steps)).collect();
    rates.sort_by(f64::total_cmp);
    Ok(Speed {
        bench: "env",
        environment: environment.spec().id,
        steps_per_second: fedrl_stats::quantile(&rates, 0.5),
        slowest: rates[0],
        fastest: rates[repeats - 1],
        repeats,
    })
}

/// Some episodes side by side under random actions, begun anew when they end.
struct Stepping {
    simulator: Simulator<f32>,
    states: Vec<Vec<f32>>,
    ages: Vec<usize>,
    limit: usize,
    resets: Vec<Vec<f32>>,
    actions: Vec<Vec<f32>>,
    draws: Vec<[f32; STEP_DRAWS]>,
    step_draws: usize,
    observation: Vec<f32>,
    clock: usize,
}

/// Episodes side by side.
const LANES: usize = 64;
/// Random numbers are drawn beforehand and used again after this many.
const PERIOD: usize = 1021;

impl Stepping {
    fn new(instance: &Instance) -> Self {
        let spec = instance.spec();
        let simulator = instance.simulator::<f32>();
        let key = Key::new(0, Purpose::Evaluation);
        let unit = |what: u32, i: usize, j: usize| f32::unit(key.block([what, i as u32, j as u32, 0]).a);
        let action = |i: usize| -> Vec<f32> {
            match &spec.action {
                Space::Discrete { n } => vec![(unit(0, i, 0) * *n as f32).floor()],
                Space::Box { low, high } => low
                    .iter()
                    .zip(high)
                    .enumerate()
                    .map(|(j, (low, high))| (low + (high - low) * f64::from(unit(0, i, j))) as f32)
                    .collect(),
            }
        };
        let resets: Vec<Vec<f32>> =
            (0..PERIOD).map(|i| (0..spec.reset_draws).map(|j| unit(1, i, j)).collect()).collect();
        let states = (0..LANES)
            .map(|lane| {
                let mut state = vec![0.0; spec.state_width];
                simulator.reset(&resets[lane], &mut state);
                state
            })
            .collect();
        Stepping {
            simulator,
            states,
            ages: vec![0; LANES],
            limit: spec.max_episode_steps,
            resets,
            actions: (0..PERIOD).map(action).collect(),
            draws: (0..PERIOD).map(|i| std::array::from_fn(|j| unit(2, i, j))).collect(),
            step_draws: spec.step_draws,
            observation: vec![0.0; spec.observation.width()],
            clock: 0,
        }
    }

    /// Seconds that so many steps take, observations included.
    fn seconds(&mut self, steps: usize) -> f64 {
        let started = Instant::now();
        for step in 0..steps {
            let lane = step % LANES;
            let moment = self.clock % PERIOD;
            self.clock += 1;
            let state = &mut self.states[lane];
            self.simulator.observe(state, &mut self.observation);
            black_box(&self.observation);
            let transition = self.simulator.step(&self.draws[moment][..self.step_draws], state, &self.actions[moment]);
            self.ages[lane] += 1;
            if transition.terminated || self.ages[lane] == self.limit {
                self.simulator.reset(&self.resets[moment], state);
                self.ages[lane] = 0;
            }
        }
        started.elapsed().as_secs_f64()
    }
}
