//! Steps HalfCheetah-v5 in f32 on one thread under random actions and prints steps per second.
//! `cargo run --release -p fedrl-envs --example speed [ID]` takes another environment.
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::time::Instant;

use fedrl_core::Real;
use fedrl_core::random::{Key, Purpose};
use fedrl_envs::{Instance, find};

const STEPS: u32 = 200_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let id = std::env::args().nth(1).unwrap_or_else(|| "HalfCheetah-v5".into());
    let instance = Instance::new(find(&id)?, Default::default())?;
    let (spec, simulator) = (instance.spec(), instance.simulator::<f32>());
    let key = Key::new(1, Purpose::Training);
    let uniform = |time: u32, index: u32, what: u32| f32::unit(key.block([time, index, what, 0]).a);
    let mut state = vec![0.0; spec.state_width];
    let mut action = vec![0.0; spec.action.width()];
    // Whoever falls or has run for an episode starts again.
    let (mut age, mut episodes, mut total) = (spec.max_episode_steps, 0, 0.0);
    let start = Instant::now();
    for time in 0..STEPS {
        if age == spec.max_episode_steps {
            let draws: Vec<f32> = (0..spec.reset_draws).map(|i| uniform(time, i as u32, 0)).collect();
            simulator.reset(&draws, &mut state);
            (age, episodes) = (0, episodes + 1);
        }
        for (i, x) in action.iter_mut().enumerate() {
            *x = 2.0 * uniform(time, i as u32, 1) - 1.0;
        }
        let step = simulator.step(&[], &mut state, &action);
        total += step.reward;
        age = if step.terminated { spec.max_episode_steps } else { age + 1 };
    }
    let rate = f64::from(STEPS) / start.elapsed().as_secs_f64();
    println!("{id}: {rate:.0} steps/s, {episodes} episodes, mean return {:.1}", total / episodes as f32);
    Ok(())
}
