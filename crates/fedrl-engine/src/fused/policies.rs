//! Sixteen policies at their parameters, a few steps at a time.

use fedrl_core::wide::{Lanes, Machine, Pack, Wide};
use fedrl_models::{Head, distribution};

use super::Lived;
use super::shape::Shape;

/// Steps that a layer is worked out for at a time: as many as the nearest cache has room for.
pub(super) const TILE: usize = 16;

/// The policies of sixteen lanes.
pub(super) struct Policies<'a, M: Machine> {
    pub(super) shape: &'a Shape,
    pub(super) theta: &'a [Lanes<M>],
    /// 1 / σ of every component, for Gaussian heads.
    pub(super) scales: Vec<Lanes<M>>,
}

/// Some steps one after the other, and what the networks have there.
#[derive(Clone, Copy)]
pub(super) struct Tile<'a, M: Machine> {
    pub(super) observations: &'a [Lanes<M>],
    pub(super) actions: &'a [Lanes<M>],
    pub(super) hidden: &'a [Lanes<M>],
    /// Probabilities or means.
    pub(super) outputs: &'a [Lanes<M>],
}

impl<'a, M: Machine> Policies<'a, M> {
    #[inline(always)]
    pub(super) fn new(shape: &'a Shape, theta: &'a [Pack]) -> Self {
        let theta = Lanes::<M>::of(theta);
        let mut scales = Vec::with_capacity(shape.parameters - shape.log_std);
        for &log_std in &theta[shape.log_std..shape.parameters] {
            scales.push(Lanes::exponential(Lanes::constant(0.0) - log_std));
        }
        Policies { shape, theta, scales }
    }

    /// Observations and actions of `steps` steps from `first` on, with what the networks have there.
    #[inline(always)]
    pub(super) fn tile(
        &self,
        lived: &'a Lived,
        first: usize,
        steps: usize,
        hidden: &'a [Lanes<M>],
        outputs: &'a [Lanes<M>],
    ) -> Tile<'a, M> {
        let Shape { inputs, action, .. } = *self.shape;
        Tile {
            observations: Lanes::of(&lived.observations[first * inputs..][..steps * inputs]),
            actions: Lanes::of(&lived.actions[first * action..][..steps * action]),
            hidden,
            outputs,
        }
    }

    /// Writes hidden values, and probabilities or means, of as many steps as there are outputs for.
    #[inline(always)]
    pub(super) fn forward(
        &self,
        observations: &[Lanes<M>],
        hidden: &mut [Lanes<M>],
        outputs: &mut [Lanes<M>],
        probabilities: &mut [Lanes<M>],
    ) {
        self.shape.forward(self.theta, observations, hidden, outputs, outputs.len() / self.shape.outputs);
        if let Head::Categorical { actions } = self.shape.head {
            for logits in outputs.chunks_exact_mut(actions) {
                distribution::softmax(&*logits, probabilities, actions);
                logits.copy_from_slice(probabilities);
            }
        }
    }

    /// Writes log π(a_t|s_t).
    #[inline(always)]
    pub(super) fn log_probabilities(&self, tile: Tile<M>, logs: &mut [Lanes<M>]) {
        let Shape { log_std, outputs: width, .. } = *self.shape;
        let steps = tile.actions.chunks_exact(self.shape.action).zip(tile.outputs.chunks_exact(width));
        for (log, (action, outputs)) in logs.iter_mut().zip(steps) {
            *log = match self.shape.head {
                Head::Categorical { actions } => {
                    Lanes::natural_log(distribution::of_choice(outputs, action[0], actions))
                }
                Head::DiagonalGaussian { actions } => {
                    let mut sum = Lanes::default();
                    for i in 0..actions {
                        let z = (action[i] - outputs[i]) * self.scales[i];
                        sum += distribution::normal_log_density(z, self.theta[log_std + i]);
                    }
                    sum
                }
            };
        }
    }

    /// Adds Σ_t `weights`_t ∇ log π(a_t|s_t) to `gradient`; `dz` is room for all units of a tile.
    #[inline(always)]
    pub(super) fn add_gradient(
        &self,
        tile: Tile<M>,
        weights: &[Lanes<M>],
        dz: &mut [Lanes<M>],
        gradient: &mut [Lanes<M>],
    ) {
        let shape = self.shape;
        let steps = tile.actions.chunks_exact(shape.action).zip(tile.outputs.chunks_exact(shape.outputs));
        for ((dz, &weight), (action, outputs)) in dz.chunks_exact_mut(shape.units).zip(weights).zip(steps) {
            let (_, of_outputs) = dz.split_at_mut(shape.hidden);
            match shape.head {
                Head::Categorical { actions } => {
                    distribution::choice_gradient(outputs, action[0], weight, of_outputs, actions);
                }
                Head::DiagonalGaussian { actions } => {
                    for i in 0..actions {
                        let z = (action[i] - outputs[i]) * self.scales[i];
                        of_outputs[i] = weight * z * self.scales[i];
                        let of_log_std = Wide::multiply_add(z, z, Lanes::constant(-1.0));
                        let sum = &mut gradient[shape.log_std + i];
                        *sum = Wide::multiply_add(weight, of_log_std, *sum);
                    }
                }
            }
        }
        shape.backward(self.theta, tile.hidden, dz, weights.len());
        shape.add_gradient(dz, tile.observations, tile.hidden, gradient, weights.len());
    }
}
