//! Gradients of log-probabilities.

use fedrl_core::wide::{Lanes, Machine, Pack, Task, run_on_widest};

use super::policies::{Policies, TILE};
use super::shape::Shape;
use super::values::Values;
use super::{Fused, Lived};

/// What one pass of the steps through other policies comes to.
#[derive(Debug)]
pub struct Pass {
    /// log π_θ(a_t|s_t), a pack per step.
    pub logs: Vec<Pack>,
    /// ∇_θ Σ_t weights_t log π_θ(a_t|s_t).
    pub gradient: Vec<Pack>,
}

impl Fused {
    /// ∇_θ Σ_t `weights`_t log π_θ(a_t|s_t) in every lane, from the `values` at `theta`. Weights are
    /// constants, a pack per step.
    pub fn gradient(&self, theta: &[Pack], lived: &Lived, values: &Values, weights: &[Pack]) -> Vec<Pack> {
        run_on_widest(Gradient { shape: &self.shape, theta, lived, values, weights })
    }

    /// The same together with the log-probabilities, without values to be kept.
    pub fn pass(&self, theta: &[Pack], lived: &Lived, weights: &[Pack]) -> Pass {
        run_on_widest(OnePass { shape: &self.shape, theta, lived, weights })
    }
}

struct Gradient<'a> {
    shape: &'a Shape,
    theta: &'a [Pack],
    lived: &'a Lived,
    values: &'a Values,
    weights: &'a [Pack],
}

impl Task for Gradient<'_> {
    type Output = Vec<Pack>;

    #[inline(always)]
    fn run<M: Machine>(self) -> Vec<Pack> {
        let Gradient { shape, theta, lived, values, weights } = self;
        let policies = Policies::<M>::new(shape, theta);
        let mut gradient = vec![Pack::ZERO; shape.parameters];
        let mut dz = vec![Lanes::default(); TILE * shape.units];
        for (tile, weights) in Lanes::<M>::of(weights).chunks(TILE).enumerate() {
            let (hidden, outputs) = values.of(shape, tile * TILE, weights.len());
            let tile = policies.tile(lived, tile * TILE, weights.len(), hidden, outputs);
            policies.add_gradient(tile, weights, &mut dz, Lanes::of_mut(&mut gradient));
        }
        gradient
    }
}

struct OnePass<'a> {
    shape: &'a Shape,
    theta: &'a [Pack],
    lived: &'a Lived,
    weights: &'a [Pack],
}

impl Task for OnePass<'_> {
    type Output = Pass;

    #[inline(always)]
    fn run<M: Machine>(self) -> Pass {
        let OnePass { shape, theta, lived, weights } = self;
        let policies = Policies::<M>::new(shape, theta);
        let mut gradient = vec![Pack::ZERO; shape.parameters];
        let mut logs = vec![Pack::ZERO; lived.steps()];
        let mut dz = vec![Lanes::default(); TILE * shape.units];
        let mut hidden = vec![Lanes::default(); TILE * shape.hidden];
        let mut outputs = vec![Lanes::default(); TILE * shape.outputs];
        let mut probabilities = vec![Lanes::default(); shape.outputs];
        let tiles = Lanes::<M>::of(weights).chunks(TILE).zip(Lanes::of_mut(&mut logs).chunks_mut(TILE));
        for (tile, (weights, logs)) in tiles.enumerate() {
            let steps = weights.len();
            let observations = Lanes::of(&lived.observations[tile * TILE * shape.inputs..]);
            let outputs = &mut outputs[..steps * shape.outputs];
            policies.forward(observations, &mut hidden, outputs, &mut probabilities);
            let tile = policies.tile(lived, tile * TILE, steps, &hidden, outputs);
            policies.log_probabilities(tile, logs);
            policies.add_gradient(tile, weights, &mut dz, Lanes::of_mut(&mut gradient));
        }
        Pass { logs, gradient }
    }
}
