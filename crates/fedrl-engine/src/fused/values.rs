//! The network's values on the way, and how probable the actions were.

use fedrl_core::wide::{Lanes, Machine, Pack, Task, run_on_widest};

use super::policies::{Policies, TILE};
use super::pool::Room;
use super::shape::Shape;
use super::{Fused, Lived};

/// What the network had in its layers at every step, at one parameter vector per lane.
#[derive(Debug)]
pub struct Values {
    /// Outputs of the hidden layers, `[steps, hidden]`.
    pub(super) hidden: Room,
    /// Probabilities of the choices, or means, `[steps, outputs]`.
    pub(super) outputs: Room,
}

impl Values {
    /// Those of some steps.
    #[inline(always)]
    pub(super) fn of<M: Machine>(&self, shape: &Shape, first: usize, steps: usize) -> (&[Lanes<M>], &[Lanes<M>]) {
        let hidden = &self.hidden[first * shape.hidden..][..steps * shape.hidden];
        (Lanes::of(hidden), Lanes::of(&self.outputs[first * shape.outputs..][..steps * shape.outputs]))
    }
}

impl Fused {
    /// The values at the parameters `theta` of every lane, at the steps that were `lived`.
    pub fn values(&self, theta: &[Pack], lived: &Lived) -> Values {
        let values = self.room_for_values(lived.steps());
        run_on_widest(Forward { shape: &self.shape, theta, lived, values })
    }

    pub(super) fn room_for_values(&self, steps: usize) -> Values {
        Values {
            hidden: self.pools.hidden.take(steps * self.shape.hidden),
            outputs: self.pools.outputs.take(steps * self.shape.outputs),
        }
    }

    /// log π_θ(a_t|s_t) of every step.
    pub fn log_probabilities(&self, theta: &[Pack], lived: &Lived, values: &Values) -> Room {
        let logs = self.pools.steps.take(lived.steps());
        run_on_widest(LogProbabilities { shape: &self.shape, theta, lived, values, logs })
    }
}

struct Forward<'a> {
    shape: &'a Shape,
    theta: &'a [Pack],
    lived: &'a Lived,
    values: Values,
}

impl Task for Forward<'_> {
    type Output = Values;

    #[inline(always)]
    fn run<M: Machine>(self) -> Values {
        let Forward { shape, theta, lived, mut values } = self;
        let policies = Policies::<M>::new(shape, theta);
        let mut probabilities = vec![Lanes::default(); shape.outputs];
        for first in (0..lived.steps()).step_by(TILE) {
            let steps = TILE.min(lived.steps() - first);
            let observations = Lanes::of(&lived.observations[first * shape.inputs..]);
            let hidden = Lanes::of_mut(&mut values.hidden[first * shape.hidden..]);
            let outputs = Lanes::of_mut(&mut values.outputs[first * shape.outputs..][..steps * shape.outputs]);
            policies.forward(observations, hidden, outputs, &mut probabilities);
        }
        values
    }
}

struct LogProbabilities<'a> {
    shape: &'a Shape,
    theta: &'a [Pack],
    lived: &'a Lived,
    values: &'a Values,
    logs: Room,
}

impl Task for LogProbabilities<'_> {
    type Output = Room;

    #[inline(always)]
    fn run<M: Machine>(self) -> Room {
        let LogProbabilities { shape, theta, lived, values, mut logs } = self;
        let policies = Policies::<M>::new(shape, theta);
        let (hidden, outputs) = values.of(shape, 0, lived.steps());
        let all = policies.tile(lived, 0, lived.steps(), hidden, outputs);
        policies.log_probabilities(all, Lanes::of_mut(&mut logs));
        logs
    }
}
