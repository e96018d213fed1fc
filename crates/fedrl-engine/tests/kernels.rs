//! The functions shared by the CPU and the GPU give the same numbers inside a kernel. Runs on any
//! wgpu adapter, a software one (Mesa's llvmpipe) included.
#![cfg(feature = "wgpu")]
#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]
#![allow(unsafe_code, reason = "a kernel launch hands raw buffers to the device")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use cubecl::prelude::*;
use fedrl_core::Real;
use fedrl_core::random::{Block, Key, philox};
use fedrl_envs::{Acrobot, CartPole, Dynamics, Environment, HalfCheetah, Hopper, Instance, RandomMdp, Walker2d};

fn client() -> Client {
    cubecl::device::Device::Wgpu(Default::default()).client()
}

#[cube(launch)]
fn random_bits(out: &mut [u32], units: &mut [f32], key_low: u32, key_high: u32) {
    let index = ABSOLUTE_POS;
    if index * 4 < out.len() {
        let counter = Block { a: index as u32, b: 7u32, c: 4_000_000_000u32, d: 1u32 };
        let block = philox(counter, key_low, key_high);
        out[index * 4] = block.a;
        out[index * 4 + 1] = block.b;
        out[index * 4 + 2] = block.c;
        out[index * 4 + 3] = block.d;
        units[index] = f32::unit(block.a);
    }
}

#[test]
fn draws_are_the_same_bits_in_a_kernel() {
    let (client, n, key) = (client(), 1000, Key { low: 0xDEAD_BEEF, high: 42 });
    let out = client.empty(n * 4 * 4);
    let units = client.empty(n * 4);
    // SAFETY: the buffers are as long as the lengths given.
    unsafe {
        random_bits::launch(
            &client,
            CubeCount::Static(n.div_ceil(64) as u32, 1, 1),
            CubeDim::new_1d(64),
            BufferArg::from_raw_parts(out.clone(), n * 4),
            BufferArg::from_raw_parts(units.clone(), n),
            key.low,
            key.high,
        );
    }
    let out = client.read_one_unchecked(out);
    let units = client.read_one_unchecked(units);
    for (i, (words, &unit)) in u32::from_bytes(&out).chunks_exact(4).zip(f32::from_bytes(&units)).enumerate() {
        let block = key.block([i as u32, 7, 4_000_000_000, 1]);
        assert_eq!(words, [block.a, block.b, block.c, block.d]);
        assert_eq!(unit, <f32 as Real>::unit(block.a));
    }
}

/// Steps CartPoles under alternating pushes and writes every state.
#[cube(launch)]
fn trajectories<D: Dynamics>(coefficients: &[f32], draws: &[f32], states: &mut [f32], #[comptime] steps: usize) {
    let lane = ABSOLUTE_POS;
    if lane * 4 < draws.len() {
        let mut state = Array::<f32>::new(4usize);
        let mut initial = Array::<f32>::new(4usize);
        let mut action = Array::<f32>::new(1usize);
        for i in 0..4usize {
            initial[i] = draws[lane * 4 + i];
        }
        D::reset::<f32>(coefficients, initial.as_slice(), state.as_mut_slice());
        for t in 0..steps {
            action[0] = f32::cast_from((t + lane) % 2);
            let _reward = D::step::<f32>(coefficients, draws, state.as_mut_slice(), action.as_slice());
            for i in 0..4usize {
                states[(lane * steps + t) * 4 + i] = state[i];
            }
        }
    }
}

#[test]
fn cartpole_moves_the_same_way_in_a_kernel() {
    let (client, lanes, steps) = (client(), 64, 50);
    let given = [("length".to_string(), 0.31), ("masspole".to_string(), 0.17)].into();
    let simulator = Instance::new(&CartPole, given).unwrap();
    let coefficients: Vec<f32> = CartPole.coefficients(simulator.given()).unwrap().iter().map(|&x| x as f32).collect();
    let simulator = simulator.simulator::<f32>();
    let draws: Vec<f32> =
        (0..lanes as u32 * 4).map(|i| f32::unit(Key { low: 5, high: 6 }.block([i, 0, 0, 0]).a)).collect();

    let states = client.empty(lanes * steps * 4 * 4);
    // SAFETY: the buffers are as long as the lengths given.
    unsafe {
        trajectories::launch::<CartPole>(
            &client,
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(64),
            BufferArg::from_raw_parts(client.create_from_slice(f32::as_bytes(&coefficients)), coefficients.len()),
            BufferArg::from_raw_parts(client.create_from_slice(f32::as_bytes(&draws)), draws.len()),
            BufferArg::from_raw_parts(states.clone(), lanes * steps * 4),
            steps,
        );
    }
    let states = client.read_one_unchecked(states);
    let states = f32::from_bytes(&states);
    for lane in 0..lanes {
        let mut state = [0.0f32; 4];
        simulator.reset(&draws[lane * 4..][..4], &mut state);
        for t in 0..steps {
            simulator.step(&[], &mut state, &[((t + lane) % 2) as f32]);
            for (i, &native) in state.iter().enumerate() {
                let kernel = states[(lane * steps + t) * 4 + i];
                assert!(
                    (kernel - native).abs() <= 1e-4 * (1.0 + native.abs()),
                    "lane {lane} step {t}: {kernel} {native}"
                );
            }
        }
    }
}

/// Steps every lane once and writes its state, the reward, whether it ended, and what is seen.
#[cube(launch)]
fn one_step<D: Dynamics>(
    coefficients: &[f32],
    states: &[f32],
    actions: &[f32],
    after: &mut [f32],
    #[comptime] width: usize,
    #[comptime] motors: usize,
    #[comptime] seen: usize,
) {
    let lane = ABSOLUTE_POS;
    if lane * width < states.len() {
        let mut state = Array::<f32>::new(width);
        let mut action = Array::<f32>::new(motors);
        for i in 0..width {
            state[i] = states[lane * width + i];
        }
        for i in 0..motors {
            action[i] = actions[lane * motors + i];
        }
        let reward = D::step::<f32>(coefficients, states, state.as_mut_slice(), action.as_slice());
        let mut observation = Array::<f32>::new(seen);
        D::observe::<f32>(coefficients, state.as_slice(), observation.as_mut_slice());
        let at = lane * (width + 2 + seen);
        for i in 0..width {
            after[at + i] = state[i];
        }
        after[at + width] = reward;
        after[at + width + 1] =
            if D::terminated::<f32>(coefficients, state.as_slice()) { f32::new(1.0) } else { f32::new(0.0) };
        for i in 0..seen {
            after[at + width + 2 + i] = observation[i];
        }
    }
}

/// From initial states and, in every other lane, from bent ones that touch the floor. A single
/// step: llvmpipe ends a kernel after 65,535 rounds of its loops.
fn steps_alike<D: Dynamics>(environment: &'static dyn Environment) {
    let (client, lanes, spec) = (client(), 64, environment.spec());
    let (width, motors, seen) = (spec.state_width, spec.action.width(), spec.observation.width());
    let all = width + 2 + seen;
    let coefficients = environment.coefficients(&Default::default()).unwrap();
    let coefficients: Vec<f32> = coefficients.iter().map(|&x| x as f32).collect();
    let simulator = Instance::new(environment, Default::default()).unwrap().simulator::<f32>();
    let unit =
        |lane: usize, i: usize, what: u32| f32::unit(Key { low: 5, high: 6 }.block([lane as u32, i as u32, what, 0]).a);

    let mut states = vec![0.0; lanes * width];
    for (lane, state) in states.chunks_exact_mut(width).enumerate() {
        let draws: Vec<f32> = (0..spec.reset_draws).map(|i| unit(lane, i, 0)).collect();
        simulator.reset(&draws, state);
        if lane % 2 == 1 {
            state.iter_mut().enumerate().skip(1).for_each(|(i, x)| *x += 0.15 * (unit(lane, i, 1) - 0.7));
        }
    }
    let choice = |i: usize| if motors == 1 { (i % 3) as f32 } else { 2.0 * unit(0, i, 2) - 1.0 };
    let actions: Vec<f32> = (0..lanes * motors).map(choice).collect();
    let after = client.empty(lanes * all * 4);
    // SAFETY: the buffers are as long as the lengths given.
    unsafe {
        one_step::launch::<D>(
            &client,
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(64),
            BufferArg::from_raw_parts(client.create_from_slice(f32::as_bytes(&coefficients)), coefficients.len()),
            BufferArg::from_raw_parts(client.create_from_slice(f32::as_bytes(&states)), states.len()),
            BufferArg::from_raw_parts(client.create_from_slice(f32::as_bytes(&actions)), actions.len()),
            BufferArg::from_raw_parts(after.clone(), lanes * all),
            width,
            motors,
            seen,
        );
    }
    let after = client.read_one_unchecked(after);
    for (lane, kernel) in f32::from_bytes(&after).chunks_exact(all).enumerate() {
        let mut native = states[lane * width..][..width].to_vec();
        let step = simulator.step(&[], &mut native, &actions[lane * motors..][..motors]);
        let mut observation = vec![0.0; seen];
        simulator.observe(&native, &mut observation);
        native.extend([step.reward, f32::from(u8::from(step.terminated))]);
        native.extend(observation);
        for (ours, theirs) in kernel.iter().zip(&native) {
            assert!((ours - theirs).abs() <= 1e-3 * (1.0 + theirs.abs()), "{} lane {lane}: {ours} {theirs}", spec.id);
        }
    }
}

#[test]
fn acrobot_steps_the_same_way_in_a_kernel() {
    steps_alike::<Acrobot>(&Acrobot);
}

#[test]
fn half_cheetah_steps_the_same_way_in_a_kernel() {
    steps_alike::<HalfCheetah>(&HalfCheetah);
}

#[test]
fn hopper_steps_the_same_way_in_a_kernel() {
    steps_alike::<Hopper>(&Hopper);
}

#[test]
fn walker2d_steps_the_same_way_in_a_kernel() {
    steps_alike::<Walker2d>(&Walker2d);
}

/// Walks through a decision process with the draws given and writes every state and reward.
#[cube(launch)]
fn walks<D: Dynamics>(coefficients: &[f32], draws: &[f32], out: &mut [f32], #[comptime] steps: usize) {
    let lane = ABSOLUTE_POS;
    if lane * steps < draws.len() {
        let mut state = Array::<f32>::new(1usize);
        let mut draw = Array::<f32>::new(1usize);
        let mut action = Array::<f32>::new(1usize);
        draw[0] = draws[lane * steps];
        D::reset::<f32>(coefficients, draw.as_slice(), state.as_mut_slice());
        for t in 0..steps {
            draw[0] = draws[lane * steps + t];
            action[0] = f32::cast_from((t + lane) % 5);
            let reward = D::step::<f32>(coefficients, draw.as_slice(), state.as_mut_slice(), action.as_slice());
            out[(lane * steps + t) * 2] = state[0];
            out[(lane * steps + t) * 2 + 1] = reward;
        }
    }
}

#[test]
fn a_decision_process_goes_through_the_same_states_in_a_kernel() {
    let (client, lanes, steps) = (client(), 64, 30);
    let given = [("kappa".to_string(), 0.4), ("mdp".to_string(), 3.0)].into();
    let instance = Instance::new(&RandomMdp, given).unwrap();
    let coefficients: Vec<f32> = RandomMdp.coefficients(instance.given()).unwrap().iter().map(|&x| x as f32).collect();
    let simulator = instance.simulator::<f32>();
    let draws: Vec<f32> =
        (0..(lanes * steps) as u32).map(|i| f32::unit(Key { low: 7, high: 8 }.block([i, 0, 0, 0]).a)).collect();
    let out = client.empty(lanes * steps * 2 * 4);
    // SAFETY: the buffers are as long as the lengths given.
    unsafe {
        walks::launch::<RandomMdp>(
            &client,
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(64),
            BufferArg::from_raw_parts(client.create_from_slice(f32::as_bytes(&coefficients)), coefficients.len()),
            BufferArg::from_raw_parts(client.create_from_slice(f32::as_bytes(&draws)), draws.len()),
            BufferArg::from_raw_parts(out.clone(), lanes * steps * 2),
            steps,
        );
    }
    let out = client.read_one_unchecked(out);
    for (lane, walked) in f32::from_bytes(&out).chunks_exact(steps * 2).enumerate() {
        let mut state = [0.0f32];
        simulator.reset(&draws[lane * steps..][..1], &mut state);
        for (t, at) in walked.chunks_exact(2).enumerate() {
            let step = simulator.step(&draws[lane * steps + t..][..1], &mut state, &[((t + lane) % 5) as f32]);
            assert_eq!(at, [state[0], step.reward], "lane {lane} step {t}");
        }
    }
}
