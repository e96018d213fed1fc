//! `fedrl bench env`: environments alone.

use std::hint::black_box;

use anyhow::Result;
use fedrl_core::random::{Key, Purpose};
use fedrl_core::wide::{Pack, widest};
use fedrl_core::{LANES, Real, Space};
use fedrl_envs::{Instance, STEP_DRAWS, Simulator, Simulators, Spec};
use rayon::prelude::*;
use serde::Serialize;

use super::measure::{Rates, measure, short};
use super::{environments, variants};
use crate::args::{BenchOptions, OutputArgs};
use crate::output::{Output, table};

#[derive(Serialize)]
struct Row {
    bench: &'static str,
    environment: &'static str,
    agents: usize,
    threads: usize,
    vectors: &'static str,
    /// Environment steps.
    #[serde(flatten)]
    steps: Rates,
}

/// Measures every environment with every number of agents.
pub fn run(envs: &[String], options: &BenchOptions) -> Result<()> {
    let output = Output::from(OutputArgs { json: options.json, quiet: false });
    let all: Vec<&str> = fedrl_envs::ENVIRONMENTS.iter().map(|environment| environment.spec().id).collect();
    let mut rows = Vec::new();
    for environment in environments(envs, &all)? {
        let spec = environment.spec();
        for &agents in &options.agents {
            let instances = variants(environment, agents)?;
            let random = Random::new(spec);
            let mut blocks: Vec<Block> = instances.chunks(LANES).map(|chunk| Block::new(chunk, &random)).collect();
            let steps = measure(options.repeats, || {
                blocks.par_iter_mut().for_each(|block| block.live(&random));
                Ok((agents * STEPS) as f64)
            })?;
            rows.push(vec![
                spec.id.to_string(),
                agents.to_string(),
                short(steps.per_second),
                short(steps.per_core_second),
                format!("{} .. {}", short(steps.slowest), short(steps.fastest)),
            ]);
            let (environment, threads, vectors) = (spec.id, options.threads, widest());
            output.value(&Row { bench: "env", environment, agents, threads, vectors, steps })?;
        }
    }
    let header = format!("environment, {} threads, {}", options.threads, widest());
    output.text(table(&[&header, "agents", "steps/s", "per core", "range"], rows, 1))?;
    Ok(())
}

/// Steps at a time.
const STEPS: usize = 100;
/// Random numbers are drawn beforehand and used again after this many.
const PERIOD: usize = 251;

/// Draws and actions.
struct Random {
    spec: &'static Spec,
    resets: Vec<Vec<f32>>,
    actions: Vec<Vec<Pack>>,
    draws: Vec<[Pack; STEP_DRAWS]>,
}

impl Random {
    fn new(spec: &'static Spec) -> Self {
        let key = Key::new(0, Purpose::Evaluation);
        let unit = |what: u32, time: usize, i: usize| {
            Pack(std::array::from_fn(|lane| f32::unit(key.block([what, time as u32, i as u32, lane as u32]).a)))
        };
        let action = |time: usize| -> Vec<Pack> {
            let scaled = |i: usize, low: f64, width: f64, whole: bool| {
                let x = unit(0, time, i).0.map(|u| (low + width * f64::from(u)) as f32);
                Pack(if whole { x.map(f32::floor) } else { x })
            };
            match &spec.action {
                Space::Discrete { n } => vec![scaled(0, 0.0, *n as f64, true)],
                Space::Box { low, high } => {
                    let bounds = low.iter().zip(high).enumerate();
                    bounds.map(|(i, (low, high))| scaled(i, *low, high - low, false)).collect()
                }
            }
        };
        Random {
            spec,
            resets: (0..PERIOD).map(|time| (0..spec.reset_draws).map(|i| unit(1, time, i).0[0]).collect()).collect(),
            actions: (0..PERIOD).map(action).collect(),
            draws: (0..PERIOD).map(|time| std::array::from_fn(|i| unit(2, time, i))).collect(),
        }
    }
}

/// Sixteen episodes side by side, begun anew when they end.
struct Block {
    agents: usize,
    simulators: Simulators,
    state: Vec<Pack>,
    ages: [usize; LANES],
    observation: Vec<Pack>,
    clock: usize,
}

impl Block {
    fn new(instances: &[Instance], random: &Random) -> Self {
        let simulators: Vec<Simulator<f32>> = instances.iter().map(Instance::simulator).collect();
        let simulators = Simulators::new(&simulators.iter().collect::<Vec<_>>());
        let mut state = vec![Pack::ZERO; random.spec.state_width];
        (0..LANES).for_each(|lane| simulators.reset(lane, &random.resets[lane], &mut state));
        let observation = vec![Pack::ZERO; random.spec.observation.width()];
        Block { agents: instances.len(), simulators, state, ages: [0; LANES], observation, clock: 0 }
    }

    fn live(&mut self, random: &Random) {
        // The last block may have fewer.
        let there = Pack(std::array::from_fn(|lane| if lane < self.agents { 1.0 } else { 0.0 }));
        for _ in 0..STEPS {
            let moment = self.clock % PERIOD;
            self.clock += 1;
            self.simulators.observe(&self.state, &there, &mut self.observation);
            black_box(&self.observation);
            let step = self.simulators.step(&random.draws[moment], &mut self.state, &random.actions[moment], &there);
            black_box(&step.reward);
            for lane in 0..self.agents {
                self.ages[lane] += 1;
                if step.alive.0[lane] == 0.0 || self.ages[lane] == random.spec.max_episode_steps {
                    self.simulators.reset(lane, &random.resets[moment], &mut self.state);
                    self.ages[lane] = 0;
                }
            }
        }
    }
}
