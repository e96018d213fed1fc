//! Letting sixteen lanes live, with everything kept that gradients need.

use fedrl_core::LANES;
use fedrl_core::wide::{Lanes, Machine, Pack, Task, Wide, run_on_widest};
use fedrl_envs::{STEP_DRAWS, Simulators, Spec};
use fedrl_models::{Head, distribution};

use super::draws::{Draws, units};
use super::shape::Shape;
use super::values::Values;
use super::{Fused, Lane, Lived, pack};
use crate::Mode;
use crate::rollout::reset_draws;

impl Fused {
    /// Lets at most sixteen lanes live for at most `horizon` steps, and keeps the network's values.
    pub fn rollout(&self, lanes: &[Lane], spec: &'static Spec, horizon: usize, mode: Mode) -> (Lived, Values) {
        let simulators: Vec<_> = lanes.iter().map(|lane| lane.simulator).collect();
        let mut draws = Draws::new();
        lanes.iter().enumerate().for_each(|(index, lane)| draws.set(index, lane));
        run_on_widest(Rollout {
            shape: &self.shape,
            theta: &pack(lanes.iter().map(|lane| lane.theta)),
            simulators: &Simulators::new(&simulators),
            spec,
            draws: &draws,
            lanes,
            horizon,
            mode,
            lived: Lived {
                observations: self.pools.observations.take(horizon * self.shape.inputs),
                actions: self.pools.actions.take(horizon * self.shape.action),
                observation_width: self.shape.inputs,
                action_width: self.shape.action,
                rewards: Vec::with_capacity(horizon),
                lengths: [0; LANES],
                terminated: [false; LANES],
                margins: [f32::INFINITY; LANES],
            },
            values: self.room_for_values(horizon),
        })
    }
}

struct Rollout<'a> {
    shape: &'a Shape,
    theta: &'a [Pack],
    simulators: &'a Simulators,
    spec: &'static Spec,
    draws: &'a Draws,
    lanes: &'a [Lane<'a>],
    horizon: usize,
    mode: Mode,
    lived: Lived,
    values: Values,
}

impl Task for Rollout<'_> {
    type Output = (Lived, Values);

    #[inline(always)]
    fn run<M: Machine>(self) -> (Lived, Values) {
        let Rollout { shape, theta, simulators, spec, draws, lanes, horizon, mode, mut lived, mut values } = self;
        let theta = Lanes::<M>::of(theta);
        let mut acting = Acting::<M>::new(shape, theta, mode);
        let mut state = vec![Pack::ZERO; spec.state_width];
        for (index, lane) in lanes.iter().enumerate() {
            simulators.reset(index, &reset_draws(lane.key, lane.trajectory, spec.reset_draws), &mut state);
        }
        let mut alive = Pack(std::array::from_fn(|lane| if lane < lanes.len() { 1.0 } else { 0.0 }));

        for time in 0..horizon {
            if alive == Pack::ZERO {
                break;
            }
            let observation = &mut lived.observations[time * shape.inputs..][..shape.inputs];
            simulators.observe(&state, &alive, observation);
            let hidden = Lanes::<M>::of_mut(&mut values.hidden[time * shape.hidden..][..shape.hidden]);
            let outputs = Lanes::<M>::of_mut(&mut values.outputs[time * shape.outputs..][..shape.outputs]);
            let action = &mut lived.actions[time * shape.action..][..shape.action];
            shape.forward(theta, Lanes::of(observation), hidden, outputs, 1);
            let step_draws = acting.act(shape, draws, [time as u32; LANES], outputs, Lanes::<M>::of_mut(action));
            acting.count_margins(&alive, &mut lived.margins);

            let step = simulators.step(&step_draws, &mut state, action, &alive);
            lived.rewards.push(step.reward);
            for lane in 0..LANES {
                let lived_on = alive.0[lane] > 0.0;
                lived.lengths[lane] += usize::from(lived_on);
                lived.terminated[lane] |= lived_on && step.alive.0[lane] == 0.0;
            }
            alive = step.alive;
        }
        (lived, values)
    }
}

/// Turns the network's outputs into actions.
pub(super) struct Acting<M: Machine> {
    /// Standard deviations, for Gaussian heads.
    deviations: Vec<Lanes<M>>,
    /// Room for probabilities.
    probabilities: Vec<Lanes<M>>,
    margin: Lanes<M>,
    mode: Mode,
}

impl<M: Machine> Acting<M> {
    #[inline(always)]
    pub(super) fn new(shape: &Shape, theta: &[Lanes<M>], mode: Mode) -> Self {
        let mut deviations = Vec::new();
        for &log_std in &theta[shape.log_std..shape.parameters] {
            deviations.push(Lanes::exponential(log_std));
        }
        Acting {
            deviations,
            probabilities: vec![Lanes::default(); shape.outputs],
            margin: Lanes::constant(f32::INFINITY),
            mode,
        }
    }

    /// Takes an action for every lane at the lanes' own times, and what the environments draw in the
    /// step. In a categorical head `outputs` become probabilities.
    #[inline(always)]
    pub(super) fn act(
        &mut self,
        shape: &Shape,
        draws: &Draws,
        time: [u32; LANES],
        outputs: &mut [Lanes<M>],
        action: &mut [Lanes<M>],
    ) -> [Pack; STEP_DRAWS] {
        let first = draws.action::<M>(time, 0);
        match shape.head {
            Head::Categorical { actions } => {
                if self.mode == Mode::Greedy {
                    action[0] = distribution::likeliest(&*outputs, actions);
                }
                distribution::softmax(&*outputs, &mut self.probabilities, actions);
                outputs.copy_from_slice(&self.probabilities);
                if self.mode == Mode::Sampled {
                    let mut margin = [Lanes::constant(f32::INFINITY)];
                    let uniform = Lanes::one_of(&units(&first[0]));
                    action[0] = distribution::choose(&*outputs, uniform, &mut margin, actions);
                    self.margin = margin[0];
                }
            }
            Head::DiagonalGaussian { .. } if self.mode == Mode::Greedy => action.copy_from_slice(outputs),
            Head::DiagonalGaussian { actions } => {
                let mut pair = [Lanes::default(); 2];
                for i in 0..actions {
                    if i % 2 == 0 {
                        let block = if i == 0 { first } else { draws.action::<M>(time, i / 2) };
                        let (one, two) = (units(&block[0]), units(&block[1]));
                        distribution::normals(Lanes::one_of(&one), Lanes::one_of(&two), &mut pair);
                    }
                    action[i] = Wide::multiply_add(self.deviations[i], pair[i % 2], outputs[i]);
                }
            }
        }
        [units(&first[3]), units(&first[2])]
    }

    /// Lowers the margins of lanes that are alive to those of the last draws.
    #[inline(always)]
    fn count_margins(&self, alive: &Pack, margins: &mut [f32; LANES]) {
        let margin = self.margin.to_array();
        for lane in 0..LANES {
            let closer = alive.0[lane] > 0.0 && margin[lane] < margins[lane];
            margins[lane] = if closer { margin[lane] } else { margins[lane] };
        }
    }
}
