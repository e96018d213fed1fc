//! The two distributions over actions, step by step: what is sampled, how probable it was, and how that
//! changes with the network's outputs. One source for numbers, vectors and kernels.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]
#![allow(clippy::manual_memcpy, clippy::needless_range_loop, reason = "kernels go element by element")]

use cubecl::prelude::*;
use fedrl_core::Wide;

/// Writes softmax(`logits`), shifted by the greatest so that nothing overflows, and returns
/// log Σ exp.
#[cube]
#[inline(always)]
pub fn softmax<F: Wide>(logits: &[F], probabilities: &mut [F], #[comptime] actions: usize) -> F {
    let mut greatest = logits[0];
    for i in 1..actions {
        greatest = F::greater(logits[i], greatest);
    }
    let one = F::constant(1.0);
    let mut sum = F::constant(0.0);
    if comptime!(actions == 2) {
        // 1 / (1 + e^{±difference}): one exponential is enough.
        let difference = logits[1] - logits[0];
        let odds = F::exponential(F::greater(difference, F::constant(0.0) - difference) * F::constant(-1.0));
        sum = one + odds;
        let more = F::reciprocal(sum);
        let less = odds * more;
        probabilities[0] = F::choose_less(difference, F::constant(0.0), more, less);
        probabilities[1] = F::choose_less(difference, F::constant(0.0), less, more);
    } else {
        for i in 0..actions {
            let share = F::exponential(logits[i] - greatest);
            probabilities[i] = share;
            sum += share;
        }
        let scale = F::reciprocal(sum);
        for i in 0..actions {
            probabilities[i] = probabilities[i] * scale;
        }
    }
    greatest + F::natural_log(sum)
}

/// The first choice whose cumulative probability exceeds the `uniform` draw. Lowers `margin` to how
/// far the draw lay from the nearest threshold.
#[cube]
#[inline(always)]
pub fn choose<F: Wide>(probabilities: &[F], uniform: F, margin: &mut [F], #[comptime] actions: usize) -> F {
    let mut cumulative = F::constant(0.0);
    let mut choice = F::constant(0.0);
    for i in 0..comptime!(actions - 1) {
        cumulative += probabilities[i];
        choice += F::choose_less(uniform, cumulative, F::constant(0.0), F::constant(1.0));
        let distance = F::greater(cumulative - uniform, uniform - cumulative);
        margin[0] = F::lesser(distance, margin[0]);
    }
    choice
}

/// The most probable choice, the first among equals.
#[cube]
#[inline(always)]
pub fn likeliest<F: Wide>(logits: &[F], #[comptime] actions: usize) -> F {
    let mut greatest = logits[0];
    let mut choice = F::constant(0.0);
    let mut number = F::constant(0.0);
    for i in 1..actions {
        number += F::constant(1.0);
        choice = F::choose_less(greatest, logits[i], number, choice);
        greatest = F::greater(logits[i], greatest);
    }
    choice
}

/// What `values` has for a `choice`.
#[cube]
#[inline(always)]
pub fn of_choice<F: Wide>(values: &[F], choice: F, #[comptime] actions: usize) -> F {
    let mut value = values[0];
    let mut number = F::constant(0.0);
    for i in 1..actions {
        number += F::constant(1.0);
        value = F::choose_less(number, choice + F::constant(0.5), values[i], value);
    }
    value
}

/// weight · d log p(choice) / d logits: 1 for the choice, less the probability of each.
#[cube]
#[inline(always)]
pub fn choice_gradient<F: Wide>(
    probabilities: &[F],
    choice: F,
    weight: F,
    gradient: &mut [F],
    #[comptime] actions: usize,
) {
    let mut number = F::constant(0.0);
    for i in 0..actions {
        gradient[i] = weight * (chosen::<F>(choice, number) - probabilities[i]);
        number += F::constant(1.0);
    }
}

/// 1 for the number of the choice, 0 for others.
#[cube]
#[inline(always)]
fn chosen<F: Wide>(choice: F, number: F) -> F {
    let distance = choice - number;
    F::choose_less(distance * distance, F::constant(0.25), F::constant(1.0), F::constant(0.0))
}

/// d log p(choice) / dε when the logits change at `rates`.
#[cube]
#[inline(always)]
pub fn choice_rate<F: Wide>(probabilities: &[F], choice: F, rates: &[F], #[comptime] actions: usize) -> F {
    let mut rate = of_choice::<F>(rates, choice, actions);
    for i in 0..actions {
        rate = rate - probabilities[i] * rates[i];
    }
    rate
}

/// weight · the gradient of [`choice_rate()`] with respect to the logits and to their rates.
#[cube]
#[inline(always)]
pub fn choice_rate_gradient<F: Wide>(
    probabilities: &[F],
    choice: F,
    rates: &[F],
    weight: F,
    gradient: &mut [F],
    rate_gradient: &mut [F],
    #[comptime] actions: usize,
) {
    let mut mean = F::constant(0.0);
    for i in 0..actions {
        mean = F::multiply_add(probabilities[i], rates[i], mean);
    }
    for i in 0..actions {
        gradient[i] = weight * probabilities[i] * (mean - rates[i]);
    }
    choice_gradient::<F>(probabilities, choice, weight, rate_gradient, actions);
}

/// Two standard normals from two uniform draws (Box & Muller 1958), which lie in [0, 1): the
/// logarithm is of a number in (0, 1].
#[cube]
#[inline(always)]
pub fn normals<F: Wide>(first: F, second: F, out: &mut [F]) {
    let radius = F::square_root(F::constant(-2.0) * F::natural_log(F::constant(1.0) - first));
    let angle = F::two_pi() * second;
    out[0] = radius * F::cosine(angle);
    out[1] = radius * F::sine(angle);
}

/// log density of one component: (x - mean) / σ is `z`.
#[cube]
#[inline(always)]
pub fn normal_log_density<F: Wide>(z: F, log_std: F) -> F {
    F::constant(-0.5) * z * z - log_std - F::half_log_two_pi()
}
