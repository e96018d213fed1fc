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
}

/// Numbers that are told of a lane: its steps, whether its episode ended by itself, its closest draw; then
/// what it saw last.
pub(super) const OUTCOME: usize = 3;

/// One trajectory per lane: `batch` of every agent, whose parameters, coefficients, reward's scale and
/// shift, and keys lie one after the other.
#[cube(launch)]
pub(super) fn trajectories<D: Dynamics>(
    theta: &[f32],
    coefficients: &[f32],
    scales: &[f32],
    keys: &[u32],
    observations: &mut [f32],
    actions: &mut [f32],
    rewards: &mut [f32],
    outcomes: &mut [f32],
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
        let mut initial = Array::<f32>::new(comptime!(plan.reset_draws.div_ceil(4) * 4));
        for i in 0..comptime!(plan.reset_draws.div_ceil(4)) {
            let block = philox(Block { a: trajectory, b: 0u32, c: i as u32, d: RESET }, low, high);
            initial[4 * i] = f32::unit(block.a);
            initial[4 * i + 1] = f32::unit(block.b);
            initial[4 * i + 2] = f32::unit(block.c);
            initial[4 * i + 3] = f32::unit(block.d);
        }
        D::reset::<f32>(c, initial.as_slice(), state.as_mut_slice());

        let mut hidden = Array::<f32>::new(comptime!(plan.shape.hidden.max(1)));
        let mut outputs = Array::<f32>::new(comptime!(plan.shape.outputs));
        let mut draws = Array::<f32>::new(2usize);
        let mut margin = Array::<f32>::new(1usize);
        margin[0] = 3e38f32;
        let mut steps = 0u32;
        let mut alive = true;
        for t in 0..plan.horizon {
            if alive {
                let at = lane * plan.horizon + t;
                let observation = &mut observations[at * inputs..(at + 1) * inputs];
                D::observe::<f32>(c, state.as_slice(), observation);
                forward(
                    theta,
                    &*observation,
                    hidden.as_mut_slice(),
                    outputs.as_mut_slice(),
                    comptime!(plan.shape.clone()),
                );
                let action = &mut actions[at * width..(at + 1) * width];
                act(
                    theta,
                    outputs.as_slice(),
                    action,
                    draws.as_mut_slice(),
                    margin.as_mut_slice(),
                    trajectory,
                    t as u32,
                    low,
                    high,
                    comptime!(plan.clone()),
                );
                let reward = D::step::<f32>(c, draws.as_slice(), state.as_mut_slice(), &*action);
                rewards[at] = reward * scales[agent * 2] + scales[agent * 2 + 1];
                steps += 1u32;
                alive = !D::terminated::<f32>(c, state.as_slice());
            }
        }
        outcomes[lane * told] = steps as f32;
        outcomes[lane * told + 1] = if alive { 0.0f32 } else { 1.0f32 };
        outcomes[lane * told + 2] = margin[0];
        D::observe::<f32>(c, state.as_slice(), &mut outcomes[lane * told + OUTCOME..(lane + 1) * told]);
    }
}

/// Takes the action of a step, and draws what the environment draws.
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
) {
    let block = philox(Block { a: trajectory, b: time, c: 0u32, d: ACTION }, low, high);
    draws[0] = f32::unit(block.d);
    draws[1] = f32::unit(block.c);
    match comptime!(plan.shape.head) {
        Head::Categorical { actions } => {
            if comptime!(plan.mode == Mode::Greedy) {
                action[0] = distribution::likeliest::<f32>(outputs, actions);
            } else {
                let mut probabilities = Array::<f32>::new(actions);
                distribution::softmax::<f32>(outputs, probabilities.as_mut_slice(), actions);
                action[0] = distribution::choose::<f32>(probabilities.as_slice(), f32::unit(block.a), margin, actions);
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
                    let deviation = f32::exponential(theta[comptime!(plan.shape.log_std) + i]);
                    action[i] = outputs[i] + deviation * pair[i % 2];
                }
            }
        }
    }
}
