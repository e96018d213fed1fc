//! How log-probabilities change along a direction, and how that changes with the parameters:
//! Hessian-vector products.

use fedrl_core::wide::{Lanes, Machine, Pack, Task, Wide, run_on_widest};
use fedrl_models::dense;
use fedrl_models::{Head, distribution};

use super::policies::Policies;
use super::shape::Shape;
use super::values::Values;
use super::{Fused, Lived};

/// The last `count` of `packs`, made longer by as many.
#[inline(always)]
fn grown(packs: &mut Vec<Pack>, count: usize) -> &mut [Pack] {
    let start = packs.len();
    packs.resize(start + count, Pack::ZERO);
    &mut packs[start..]
}

/// Rates of change along v of everything that [`Values`] has.
#[derive(Debug, Clone, Default)]
pub struct Rates {
    /// Of the sums that hidden layers are functions of, `[steps, hidden]`.
    sums: Vec<Pack>,
    /// Of the hidden layers' outputs, `[steps, hidden]`.
    hidden: Vec<Pack>,
    /// Of logits or means, `[steps, outputs]`.
    outputs: Vec<Pack>,
    /// ⟨∇ log π_θ(a_t|s_t), v⟩, `[steps]`.
    pub values: Vec<Pack>,
}

impl Fused {
    /// The rates along `along`, v of every lane, at the parameters that the `values` are of.
    pub fn rates(&self, theta: &[Pack], along: &[Pack], lived: &Lived, values: &Values) -> Rates {
        run_on_widest(Forward { shape: &self.shape, theta, along, lived, values })
    }

    /// (Σ_t `weights`_t ∇² log π_θ(a_t|s_t)) v in every lane.
    pub fn hessian_product(
        &self,
        theta: &[Pack],
        along: &[Pack],
        lived: &Lived,
        values: &Values,
        rates: &Rates,
        weights: &[Pack],
    ) -> Vec<Pack> {
        run_on_widest(Backward { shape: &self.shape, theta, along, lived, values, rates, weights })
    }
}

struct Forward<'a> {
    shape: &'a Shape,
    theta: &'a [Pack],
    along: &'a [Pack],
    lived: &'a Lived,
    values: &'a Values,
}

impl Task for Forward<'_> {
    type Output = Rates;

    #[inline(always)]
    fn run<M: Machine>(self) -> Rates {
        let Forward { shape, theta, along, lived, values } = self;
        let policies = Policies::<M>::new(shape, theta);
        let (theta, along) = (policies.theta, Lanes::<M>::of(along));
        let scales = policies.scales.as_slice();
        let along_log_std = &along[shape.log_std..shape.parameters];
        let mut rates = Rates { values: vec![Pack::ZERO; lived.steps()], ..Rates::default() };
        let mut last_sums = vec![Lanes::<M>::default(); shape.outputs];
        for step in 0..lived.steps() {
            let action = Lanes::<M>::of(&lived.actions[step * shape.action..][..shape.action]);
            let (hidden, outputs) = values.of::<M>(shape, step, 1);
            let observation = Lanes::of(&lived.observations[step * shape.inputs..][..shape.inputs]);
            let sum_rates = Lanes::of_mut(grown(&mut rates.sums, shape.hidden));
            let hidden_rates = Lanes::of_mut(grown(&mut rates.hidden, shape.hidden));
            let output_rates = Lanes::of_mut(grown(&mut rates.outputs, shape.outputs));
            for (k, layer) in shape.layers.iter().enumerate() {
                let (x, y) = shape.around(k, observation, hidden, outputs);
                let (before, own) = hidden_rates.split_at_mut(shape.starts[k]);
                let x_rate = if k == 0 { observation } else { &before[shape.starts[k - 1]..] };
                let last = k + 1 == shape.layers.len();
                let y_rate = if last { &mut *output_rates } else { &mut own[..layer.outputs] };
                let sums = if last { &mut *last_sums } else { &mut sum_rates[shape.starts[k]..][..layer.outputs] };
                dense::forward_along(theta, along, x, x_rate, y, sums, y_rate, *layer, k > 0);
            }
            Lanes::<M>::of_mut(&mut rates.values)[step] = match shape.head {
                Head::Categorical { actions } => distribution::choice_rate(outputs, action[0], &*output_rates, actions),
                Head::DiagonalGaussian { actions } => {
                    let mut sum = Lanes::default();
                    for i in 0..actions {
                        let normal = Normal::new(action[i] - outputs[i], scales[i], output_rates[i], along_log_std[i]);
                        sum = sum - normal.z * normal.z_rate - along_log_std[i];
                    }
                    sum
                }
            };
        }
        rates
    }
}

/// One component of a Gaussian action: z = (a - μ) e^{-s}, and ż when μ and s change at their rates.
struct Normal<M: Machine> {
    z: Lanes<M>,
    z_rate: Lanes<M>,
}

impl<M: Machine> Normal<M> {
    #[inline(always)]
    fn new(deviation: Lanes<M>, scale: Lanes<M>, mean_rate: Lanes<M>, log_std_rate: Lanes<M>) -> Self {
        let z = deviation * scale;
        Normal { z, z_rate: Lanes::constant(0.0) - (mean_rate * scale + z * log_std_rate) }
    }
}

struct Backward<'a> {
    shape: &'a Shape,
    theta: &'a [Pack],
    along: &'a [Pack],
    lived: &'a Lived,
    values: &'a Values,
    rates: &'a Rates,
    weights: &'a [Pack],
}

impl Task for Backward<'_> {
    type Output = Vec<Pack>;

    #[inline(always)]
    fn run<M: Machine>(self) -> Vec<Pack> {
        let Backward { shape, theta, along, lived, values, rates, weights } = self;
        let policies = Policies::<M>::new(shape, theta);
        let (theta, along) = (policies.theta, Lanes::<M>::of(along));
        let scales = policies.scales.as_slice();
        let along_log_std = &along[shape.log_std..shape.parameters];
        let mut packs = vec![Pack::ZERO; shape.parameters];
        let gradient = Lanes::<M>::of_mut(&mut packs);
        let room = vec![Lanes::<M>::default(); shape.units];
        let (mut dz, mut dz_rate) = (room.clone(), room);
        for (step, &weight) in Lanes::<M>::of(weights).iter().enumerate() {
            let action = Lanes::<M>::of(&lived.actions[step * shape.action..][..shape.action]);
            let (hidden, outputs) = values.of::<M>(shape, step, 1);
            let output_rates = Lanes::of(&rates.outputs[step * shape.outputs..][..shape.outputs]);
            let (of_outputs, of_rates) = (&mut dz[shape.hidden..], &mut dz_rate[shape.hidden..]);
            match shape.head {
                Head::Categorical { actions } => {
                    let choice = action[0];
                    distribution::choice_rate_gradient(
                        outputs,
                        choice,
                        output_rates,
                        weight,
                        of_outputs,
                        of_rates,
                        actions,
                    );
                }
                Head::DiagonalGaussian { actions } => {
                    // Of Σ -z ż - ṡ, where dz/dμ = -e^{-s}, dz/ds = -z and dż/ds = -ż.
                    for i in 0..actions {
                        let Normal { z, z_rate } =
                            Normal::new(action[i] - outputs[i], scales[i], output_rates[i], along_log_std[i]);
                        of_outputs[i] = weight * scales[i] * (z_rate - z * along_log_std[i]);
                        of_rates[i] = weight * scales[i] * z;
                        gradient[shape.log_std + i] += weight * Lanes::constant(2.0) * z * z_rate;
                    }
                }
            }
            let observation = Lanes::of(&lived.observations[step * shape.inputs..][..shape.inputs]);
            let hidden_rates = Lanes::of(&rates.hidden[step * shape.hidden..][..shape.hidden]);
            let sum_rates = Lanes::of(&rates.sums[step * shape.hidden..][..shape.hidden]);
            shape.backward_along(theta, along, hidden, sum_rates, &mut dz, &mut dz_rate);
            shape.add_gradient(&dz, observation, hidden, gradient, 1);
            shape.add_rate_gradient(&dz_rate, hidden_rates, gradient);
        }
        packs
    }
}
