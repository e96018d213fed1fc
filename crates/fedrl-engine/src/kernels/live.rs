//! Letting policies act, a lane per trajectory.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]
#![allow(clippy::manual_memcpy, clippy::needless_range_loop, reason = "kernels go element by element")]

use cubecl::prelude::*;
use fedrl_core::random::{Block, philox};
use fedrl_core::{Real, Wide};
use fedrl_envs::Dynamics;
use fedrl_models::{Head, distribution};

use super::network::forward;
use crate::Mode;
use crate::fused::Shape;
use crate::rollout::{ACTION, RESET};

/// Everything about a rollout that a kernel is made for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    pub(super) shape: Shape,
    pub(super) state: usize,
    pub(super) coefficients: usize,
    pub(super) reset_draws: usize,
    pub(super) batch: usize,
    pub(super) horizon: usize,
    pub(super) mode: Mode,
    /// Whether every step is written down, or only what the trajectories came to.
    pub(super) taped: bool,
    /// Steps of one launch: what is left of a trajectory is lived through in the next ones.
    pub(super) chunk: usize,
}

/// Places of what is told of a lane: its steps, whether its episode ended by itself, its closest draw, its
/// undiscounted return; then what it saw last.
pub(super) const STEPS: usize = 0;
pub(super) const TERMINATED: usize = 1;
pub(super) const MARGIN: usize = 2;
pub(super) const RETURN: usize = 3;
pub(super) const OUTCOME: usize = 4;

/// One trajectory per lane, from step `first` on: `batch` of every agent, whose parameters, coefficients,
/// reward's scale and shift, and keys lie one after the other.
#[cube(launch)]
pub(super) fn trajectories<D: Dynamics>(
    theta: &[f32],
    coefficients: &[f32],
    scales: &[f32],
    keys: &[u32],
    observations: &mut [f32],
    actions: &mut [f32],
    rewards: &mut [f32],
    logs: &mut [f32],
    states: &mut [f32],
    outcomes: &mut [f32],
    first: u32,
    #[comptime] plan: Plan,
) {
    let lane = ABSOLUTE_POS;
    let inputs = comptime!(plan.shape.inputs);
    let width = comptime!(plan.shape.action);
    let told = comptime!(OUTCOME + plan.shape.inputs);
    if lane * told < outcomes.len() {
        let agent = lane / plan.batch;
        let trajectory = u32::cast_from(lane % plan.batch);
        let parameters = comptime!(plan.shape.parameters);
        let theta = &theta[agent * parameters..(agent + 1) * parameters];
        let c = &coefficients[agent * plan.coefficients..(agent + 1) * plan.coefficients];
        let (low, high) = (keys[agent * 2], keys[agent * 2 + 1]);

        let mut state = Array::<f32>::new(plan.state);
        let mut margin = Array::<f32>::new(1usize);
        let mut steps = 0u32;
        let mut alive = true;
        let mut total = 0.0f32;
        margin[0] = 3e38f32;
        if first == 0 {
            let mut initial = Array::<f32>::new(comptime!(plan.reset_draws.div_ceil(4) * 4));
            for i in 0..comptime!(plan.reset_draws.div_ceil(4)) {
                let block = philox(Block { a: trajectory, b: 0u32, c: i as u32, d: RESET }, low, high);
                initial[4 * i] = f32::unit(block.a);
                initial[4 * i + 1] = f32::unit(block.b);
                initial[4 * i + 2] = f32::unit(block.c);
                initial[4 * i + 3] = f32::unit(block.d);
            }
            D::reset::<f32>(c, initial.as_slice(), state.as_mut_slice());
        } else {
            for i in 0..plan.state {
                state[i] = states[lane * plan.state + i];
            }
            steps = u32::cast_from(outcomes[lane * told + STEPS]);
            alive = outcomes[lane * told + TERMINATED] == 0.0f32;
            margin[0] = outcomes[lane * told + MARGIN];
            total = outcomes[lane * told + RETURN];
        }

        let mut observation = Array::<f32>::new(inputs);
        let mut action = Array::<f32>::new(width);
        let mut hidden = Array::<f32>::new(comptime!(plan.shape.hidden.max(1)));
        let mut outputs = Array::<f32>::new(comptime!(plan.shape.outputs));
        let mut draws = Array::<f32>::new(2usize);
        for k in 0..plan.chunk {
            let t = first as usize + k;
            if alive && t < plan.horizon {
                D::observe::<f32>(c, state.as_slice(), observation.as_mut_slice());
                forward(
                    theta,
                    observation.as_slice(),
                    hidden.as_mut_slice(),
                    outputs.as_mut_slice(),
                    comptime!(plan.shape.clone()),
                );
                let log = act(
                    theta,
                    outputs.as_slice(),
                    action.as_mut_slice(),
                    draws.as_mut_slice(),
                    margin.as_mut_slice(),
                    trajectory,
                    t as u32,
                    low,
                    high,
                    comptime!(plan.clone()),
                );
                let reward = D::step::<f32>(c, draws.as_slice(), state.as_mut_slice(), action.as_slice());
                let reward = reward * scales[agent * 2] + scales[agent * 2 + 1];
                if comptime!(plan.taped) {
                    let at = lane * plan.horizon + t;
                    for i in 0..inputs {
                        observations[at * inputs + i] = observation[i];
                    }
                    for i in 0..width {
                        actions[at * width + i] = action[i];
                    }
                    rewards[at] = reward;
                    logs[at] = log;
                }
                total += reward;
                steps += 1u32;
                alive = !D::terminated::<f32>(c, state.as_slice());
            }
        }
        for i in 0..plan.state {
            states[lane * plan.state + i] = state[i];
        }
        outcomes[lane * told + STEPS] = steps as f32;
        outcomes[lane * told + TERMINATED] = if alive { 0.0f32 } else { 1.0f32 };
        outcomes[lane * told + MARGIN] = margin[0];
        outcomes[lane * told + RETURN] = total;
        D::observe::<f32>(c, state.as_slice(), observation.as_mut_slice());
        for i in 0..inputs {
            outcomes[lane * told + OUTCOME + i] = observation[i];
        }
    }
}

/// Takes the action of a step, and draws what the environment draws. The logarithm of the action's
/// probability, or density, where it was drawn.
#[cube]
fn act(
    theta: &[f32],
    outputs: &[f32],
    action: &mut [f32],
    draws: &mut [f32],
    margin: &mut [f32],
    trajectory: u32,
    time: u32,
    low: u32,
    high: u32,
    #[comptime] plan: Plan,
) -> f32 {
    let block = philox(Block { a: trajectory, b: time, c: 0u32, d: ACTION }, low, high);
    draws[0] = f32::unit(block.d);
    draws[1] = f32::unit(block.c);
    let mut log = 0.0f32;
    match comptime!(plan.shape.head) {
        Head::Categorical { actions } => {
            if comptime!(plan.mode == Mode::Greedy) {
                action[0] = distribution::likeliest::<f32>(outputs, actions);
            } else {
                let mut probabilities = Array::<f32>::new(actions);
                distribution::softmax::<f32>(outputs, probabilities.as_mut_slice(), actions);
                action[0] = distribution::choose::<f32>(probabilities.as_slice(), f32::unit(block.a), margin, actions);
                let probability = distribution::of_choice::<f32>(probabilities.as_slice(), action[0], actions);
                log = f32::natural_log(probability);
            }
        }
        Head::DiagonalGaussian { actions } => {
            let mut pair = Array::<f32>::new(2usize);
            for i in 0..actions {
                if comptime!(plan.mode == Mode::Greedy) {
                    action[i] = outputs[i];
                } else {
                    if i % 2 == 0 {
                        let next = philox(Block { a: trajectory, b: time, c: i as u32 / 2u32, d: ACTION }, low, high);
                        distribution::normals::<f32>(f32::unit(next.a), f32::unit(next.b), pair.as_mut_slice());
                    }
                    let log_std = theta[comptime!(plan.shape.log_std) + i];
                    let deviation = f32::exponential(log_std);
                    action[i] = outputs[i] + deviation * pair[i % 2];
                    let z = (action[i] - outputs[i]) * f32::exponential(-log_std);
                    log += distribution::normal_log_density::<f32>(z, log_std);
                }
            }
        }
    }
    log
}
