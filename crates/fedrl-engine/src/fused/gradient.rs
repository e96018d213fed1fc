//! Gradients of log-probabilities.

use fedrl_core::wide::{Lanes, Machine, Pack, Task, run_on_widest};

use super::policies::{Policies, TILE};
use super::pool::Room;
use super::shape::Shape;
use super::values::Values;
use super::{Fused, Lived};

/// What one pass of the steps through other policies comes to.
#[derive(Debug)]
pub struct Pass {
    /// log π_θ(a_t|s_t), a pack per step.
    pub logs: Room,
    /// ∇_θ Σ_t weights_t log π_θ(a_t|s_t).
    pub gradient: Room,
}

impl Fused {
    /// ∇_θ Σ_t `weights`_t log π_θ(a_t|s_t) in every lane, from the `values` at `theta`. Weights are
    /// constants, a pack per step.
    pub fn gradient(&self, theta: &[Pack], lived: &Lived, values: &Values, weights: &[Pack]) -> Room {
        let gradient = self.pools.parameters.take_zeros(self.shape.parameters);
        let dz = self.pools.tiles.take(TILE * self.shape.units);
        run_on_widest(Gradient { shape: &self.shape, theta, lived, values, weights, gradient, dz })
    }

    /// The same together with the log-probabilities, without values to be kept.
    pub fn pass(&self, theta: &[Pack], lived: &Lived, weights: &[Pack]) -> Pass {
        let Shape { parameters, units, hidden, outputs, .. } = self.shape;
        let pools = &self.pools;
        run_on_widest(OnePass {
            shape: &self.shape,
            theta,
            lived,
            weights,
            gradient: pools.parameters.take_zeros(parameters),
            logs: pools.steps.take(lived.steps()),
            dz: pools.tiles.take(TILE * units),
            hidden: pools.tiles.take(TILE * hidden),
            outputs: pools.tiles.take(TILE * outputs),
        })
    }
}

struct Gradient<'a> {
    shape: &'a Shape,
    theta: &'a [Pack],
    lived: &'a Lived,
    values: &'a Values,
    weights: &'a [Pack],
    gradient: Room,
    dz: Room,
}

impl Task for Gradient<'_> {
    type Output = Room;

    #[inline(always)]
    fn run<M: Machine>(self) -> Room {
        let Gradient { shape, theta, lived, values, weights, mut gradient, mut dz } = self;
        let policies = Policies::<M>::new(shape, theta);
        for (tile, weights) in Lanes::<M>::of(weights).chunks(TILE).enumerate() {
            let (hidden, outputs) = values.of(shape, tile * TILE, weights.len());
            let tile = policies.tile(lived, tile * TILE, weights.len(), hidden, outputs);
            policies.add_gradient(tile, weights, Lanes::of_mut(&mut dz), Lanes::of_mut(&mut gradient));
        }
        gradient
    }
}

struct OnePass<'a> {
    shape: &'a Shape,
    theta: &'a [Pack],
    lived: &'a Lived,
    weights: &'a [Pack],
    gradient: Room,
    logs: Room,
    dz: Room,
    hidden: Room,
    outputs: Room,
}

impl Task for OnePass<'_> {
    type Output = Pass;

    #[inline(always)]
    fn run<M: Machine>(self) -> Pass {
        let OnePass { shape, theta, lived, weights, mut gradient, mut logs, mut dz, mut hidden, mut outputs } = self;
        let policies = Policies::<M>::new(shape, theta);
        let (hidden, outputs) = (Lanes::<M>::of_mut(&mut hidden), Lanes::of_mut(&mut outputs));
        let mut probabilities = vec![Lanes::default(); shape.outputs];
        let tiles = Lanes::<M>::of(weights).chunks(TILE).zip(Lanes::of_mut(&mut logs).chunks_mut(TILE));
        for (tile, (weights, logs)) in tiles.enumerate() {
            let steps = weights.len();
            let observations = Lanes::of(&lived.observations[tile * TILE * shape.inputs..]);
            let outputs = &mut outputs[..steps * shape.outputs];
            policies.forward(observations, hidden, outputs, &mut probabilities);
            let tile = policies.tile(lived, tile * TILE, steps, hidden, outputs);
            policies.log_probabilities(tile, logs);
            policies.add_gradient(tile, weights, Lanes::of_mut(&mut dz), Lanes::of_mut(&mut gradient));
        }
        Pass { logs, gradient }
    }
}
