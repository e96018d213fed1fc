//! A policy's shape, as the loops over lanes need it.

use fedrl_core::wide::{Lanes, Machine};
use fedrl_models::dense::{self, Dense};
use fedrl_models::{Head, Policy};

/// Does something with a layer whose input's width the compiler knows, if it is a usual one: loops over
/// inputs are then unrolled.
macro_rules! known_width {
    ($layer:expr, |$known:ident| $body:expr) => {{
        let layer: Dense = $layer;
        match layer.inputs {
            4 => {
                let $known = Dense { inputs: 4, ..layer };
                $body
            }
            6 => {
                let $known = Dense { inputs: 6, ..layer };
                $body
            }
            8 => {
                let $known = Dense { inputs: 8, ..layer };
                $body
            }
            16 => {
                let $known = Dense { inputs: 16, ..layer };
                $body
            }
            32 => {
                let $known = Dense { inputs: 32, ..layer };
                $body
            }
            64 => {
                let $known = Dense { inputs: 64, ..layer };
                $body
            }
            _ => {
                let $known = layer;
                $body
            }
        }
    }};
}

/// Layers, and where their outputs lie in a step's record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) layers: Vec<Dense>,
    /// Where the outputs of each hidden layer begin among the hidden values of a step.
    pub(crate) starts: Vec<usize>,
    /// Hidden values of a step.
    pub(crate) hidden: usize,
    pub(crate) inputs: usize,
    pub(crate) head: Head,
    /// Outputs of the network.
    pub(crate) outputs: usize,
    /// Numbers of an action.
    pub(crate) action: usize,
    /// Where the log standard deviations begin in θ.
    pub(crate) log_std: usize,
    pub(crate) parameters: usize,
    /// Outputs of all layers.
    pub(crate) units: usize,
}

impl Shape {
    pub(crate) fn new(policy: &Policy) -> Self {
        let layers: Vec<Dense> = policy.network.dense().collect();
        let mut hidden = 0;
        let starts = layers
            .iter()
            .map(|layer| {
                let start = hidden;
                hidden += layer.outputs;
                start
            })
            .collect();
        Shape {
            starts,
            hidden: hidden - policy.head.outputs(),
            inputs: policy.inputs(),
            head: policy.head,
            outputs: policy.head.outputs(),
            action: policy.head.action_width(),
            log_std: policy.log_std().start,
            parameters: policy.parameter_count(),
            units: hidden,
            layers,
        }
    }

    /// Writes the hidden values and the outputs of some steps.
    #[inline(always)]
    pub(super) fn forward<M: Machine>(
        &self,
        theta: &[Lanes<M>],
        observations: &[Lanes<M>],
        hidden: &mut [Lanes<M>],
        outputs: &mut [Lanes<M>],
        steps: usize,
    ) {
        let last = self.layers.len() - 1;
        for (k, layer) in self.layers.iter().enumerate() {
            known_width!(*layer, |layer| {
                for t in 0..steps {
                    let (before, own) = hidden[t * self.hidden..][..self.hidden].split_at_mut(self.starts[k]);
                    let x = if k == 0 {
                        &observations[t * self.inputs..][..self.inputs]
                    } else {
                        &before[self.starts[k - 1]..]
                    };
                    let y = if k == last {
                        &mut outputs[t * self.outputs..][..self.outputs]
                    } else {
                        &mut own[..layer.outputs]
                    };
                    dense::forward(theta, x, y, layer);
                }
            });
        }
    }

    /// From dL/dz of the outputs, the last of each step's `dz`, to dL/dz of every layer.
    #[inline(always)]
    pub(super) fn backward<M: Machine>(
        &self,
        theta: &[Lanes<M>],
        hidden: &[Lanes<M>],
        dz: &mut [Lanes<M>],
        steps: usize,
    ) {
        let last = self.layers.len() - 1;
        for (k, layer) in self.layers.iter().enumerate().rev() {
            let input = if k == 0 { 0 } else { self.starts[k - 1] };
            known_width!(*layer, |layer| {
                for t in 0..steps {
                    let (before, own) = dz[t * self.units..][..self.units].split_at_mut(self.starts[k]);
                    let hidden = &hidden[t * self.hidden..][..self.hidden];
                    // The outputs are what they are the sums of.
                    let y = if k == last { &hidden[..0] } else { &hidden[self.starts[k]..][..layer.outputs] };
                    dense::backward(theta, y, &mut own[..layer.outputs], &mut before[input..], layer, k > 0);
                }
            });
        }
    }

    /// Adds the gradient of some steps, whose dL/dz lie one after the other.
    #[inline(always)]
    pub(super) fn add_gradient<M: Machine>(
        &self,
        dz: &[Lanes<M>],
        observations: &[Lanes<M>],
        hidden: &[Lanes<M>],
        gradient: &mut [Lanes<M>],
        steps: usize,
    ) {
        for (k, layer) in self.layers.iter().enumerate() {
            let dz = &dz[self.starts[k]..];
            let (x, stride) =
                if k == 0 { (observations, self.inputs) } else { (&hidden[self.starts[k - 1]..], self.hidden) };
            known_width!(*layer, |layer| dense::add_gradient(dz, x, gradient, layer, steps, self.units, stride));
        }
    }

    /// The same for dL/dz and dL/dż, the outputs' of which are the last of `dz` and `dz_rate`.
    #[inline(always)]
    pub(super) fn backward_along<M: Machine>(
        &self,
        theta: &[Lanes<M>],
        along: &[Lanes<M>],
        hidden: &[Lanes<M>],
        sum_rates: &[Lanes<M>],
        dz: &mut [Lanes<M>],
        dz_rate: &mut [Lanes<M>],
    ) {
        // Outputs are linear: neither they nor their sums' rates are looked at.
        let none = vec![Lanes::default(); self.outputs];
        for (k, layer) in self.layers.iter().enumerate().rev() {
            let last = k + 1 == self.layers.len();
            let own = self.starts[k]..self.starts[k] + layer.outputs;
            let (y, sums) = if last { (&*none, &*none) } else { (&hidden[own.clone()], &sum_rates[own]) };
            let (before, dz) = dz.split_at_mut(self.starts[k]);
            let (rate_before, dz_rate) = dz_rate.split_at_mut(self.starts[k]);
            let input = if k == 0 { 0 } else { self.starts[k - 1] };
            let (dx, dx_rate) = (&mut before[input..], &mut rate_before[input..]);
            dense::backward_along(theta, along, y, sums, dz, dz_rate, dx, dx_rate, *layer, k > 0);
        }
    }

    /// Adds what the inputs' rates contribute to the gradient of one step: nothing to biases, and nothing
    /// to the first layer, since observations have no rates.
    #[inline(always)]
    pub(super) fn add_rate_gradient<M: Machine>(
        &self,
        dz_rate: &[Lanes<M>],
        hidden_rates: &[Lanes<M>],
        gradient: &mut [Lanes<M>],
    ) {
        for (k, &layer) in self.layers.iter().enumerate().skip(1) {
            let (dz, x) = (&dz_rate[self.starts[k]..], &hidden_rates[self.starts[k - 1]..]);
            dense::add_gradient(dz, x, gradient, Dense { biased: false, ..layer }, 1, 0, 0);
        }
    }

    /// The input of layer `k`, and its output, of a step.
    #[inline(always)]
    pub(super) fn around<'a, T>(
        &self,
        k: usize,
        observation: &'a [T],
        hidden: &'a [T],
        outputs: &'a [T],
    ) -> (&'a [T], &'a [T]) {
        let x = if k == 0 { observation } else { &hidden[self.starts[k - 1]..self.starts[k]] };
        let y = if k + 1 == self.layers.len() { outputs } else { &hidden[self.starts[k]..][..self.layers[k].outputs] };
        (x, y)
    }
}
