//! Adam (Kingma & Ba 2015, Alg. 1).

use fedrl_core::wide::{Lanes, Machine, Task, run_on_widest};
use fedrl_core::{LANES, Wide};

/// β_1: what stays of the first moment.
const FIRST: f64 = 0.9;
/// β_2: what stays of the second moment.
const SECOND: f64 = 0.999;
/// ε: added to the root of the second moment.
const OFFSET: f32 = 1e-8;

/// Parameters, their gradient and their moments, equally long.
pub(super) struct Adam<'a> {
    pub(super) theta: &'a mut [f32],
    pub(super) first: &'a mut [f32],
    pub(super) second: &'a mut [f32],
    pub(super) gradient: &'a [f32],
}

impl Adam<'_> {
    /// Step number `count`, from 1, of size `step_size`:
    ///
    /// ```text
    /// m ← β_1 m + (1−β_1) g;  v ← β_2 v + (1−β_2) g²
    /// θ ← θ − α (m / (1−β_1^t)) / (√(v / (1−β_2^t)) + ε)
    /// ```
    ///
    /// Returns ‖g‖².
    pub(super) fn step(self, count: u32, step_size: f64) -> f64 {
        let unbiased = |beta: f64| 1.0 - beta.powi(count as i32);
        let scale = (step_size / unbiased(FIRST)) as f32;
        let spread = (1.0 / unbiased(SECOND)) as f32;
        let squares = run_on_widest(Step { adam: self, scale, spread });
        squares.into_iter().map(f64::from).sum()
    }
}

struct Step<'a> {
    adam: Adam<'a>,
    /// α / (1−β_1^t).
    scale: f32,
    /// 1 / (1−β_2^t).
    spread: f32,
}

impl Task for Step<'_> {
    /// Squares of the gradient, added up in sixteen sums.
    type Output = [f32; LANES];

    #[inline(always)]
    fn run<M: Machine>(self) -> [f32; LANES] {
        let Step { adam: Adam { theta, first, second, gradient }, scale, spread } = self;
        let mut squares = Lanes::<M>::default();
        let (theta, theta_rest) = theta.as_chunks_mut::<LANES>();
        let (first, first_rest) = first.as_chunks_mut::<LANES>();
        let (second, second_rest) = second.as_chunks_mut::<LANES>();
        let (gradient, gradient_rest) = gradient.as_chunks::<LANES>();
        for (((theta, m), v), g) in theta.iter_mut().zip(first).zip(second).zip(gradient) {
            squares = sixteen::<M>(theta, m, v, g, scale, spread, squares);
        }

        let rest = theta_rest.len();
        let mut packs = [[0.0; LANES]; 4];
        for (pack, rest) in packs.iter_mut().zip([&*theta_rest, first_rest, second_rest, gradient_rest]) {
            pack[..rest.len()].copy_from_slice(rest);
        }
        let [theta, m, v, g] = &mut packs;
        squares = sixteen::<M>(theta, m, v, g, scale, spread, squares);
        theta_rest.copy_from_slice(&theta[..rest]);
        first_rest.copy_from_slice(&m[..rest]);
        second_rest.copy_from_slice(&v[..rest]);
        squares.to_array()
    }
}

#[inline(always)]
fn sixteen<M: Machine>(
    theta: &mut [f32; LANES],
    first: &mut [f32; LANES],
    second: &mut [f32; LANES],
    gradient: &[f32; LANES],
    scale: f32,
    spread: f32,
    squares: Lanes<M>,
) -> Lanes<M> {
    let lanes = Lanes::<M>::from_array;
    let constant = Lanes::<M>::constant;
    let g = lanes(*gradient);
    let m = constant(FIRST as f32) * lanes(*first) + constant((1.0 - FIRST) as f32) * g;
    let v = constant(SECOND as f32) * lanes(*second) + constant((1.0 - SECOND) as f32) * (g * g);
    let length = Lanes::square_root(v * constant(spread)) + constant(OFFSET);
    *theta = (lanes(*theta) - constant(scale) * m / length).to_array();
    *first = without_dust(m).to_array();
    *second = without_dust(v).to_array();
    Lanes::multiply_add(g, g, squares)
}

/// Zeros in place of numbers so small that processors are slow with them: what is left of the moments of a
/// unit that is never active.
#[inline(always)]
fn without_dust<M: Machine>(x: Lanes<M>) -> Lanes<M> {
    let (dust, zero) = (Lanes::constant(1e-30), Lanes::constant(0.0));
    let not_above = Lanes::choose_less(x, dust, zero, x);
    Lanes::choose_less(x, zero - dust, x, not_above)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, α = 0.1. Step 1, g = 2: m = 0.2, v = 0.004; m̂ = 2, v̂ = 4, so θ falls by 0.1 · 2/2 = 0.1.
    /// Step 2, g = −1: m = 0.18 − 0.1 = 0.08, v = 0.003996 + 0.001 = 0.004996; m̂ = 0.08/0.19 = 0.4210526,
    /// v̂ = 0.004996/0.001999 = 2.4992496, its root 1.5809015: θ falls by 0.1 · 0.4210526/1.5809015 = 0.0266337.
    #[test]
    fn moments_of_what_no_longer_moves_vanish() {
        let (mut theta, mut first, mut second) = (vec![1.0f32; 3], vec![2e-30, -2e-30, 1e-3], vec![2e-30, 0.0, 1.0]);
        for count in 1..9 {
            let (theta, first, second) = (&mut theta, &mut first, &mut second);
            Adam { theta, first, second, gradient: &[0.0; 3] }.step(count, 0.1);
        }
        assert_eq!((first[0], first[1]), (0.0, 0.0));
        assert!(first[2] > 4e-4 && second[2] > 0.99 && second[0] > 1e-30);
    }

    #[test]
    fn two_steps_by_hand_in_every_lane_and_in_the_rest() {
        let n = 21;
        let (mut theta, mut first, mut second) = (vec![1.0; n], vec![0.0; n], vec![0.0; n]);
        for (count, gradient, expected) in [(1, 2.0, 0.9), (2, -1.0, 0.9 - 0.026_633_7)] {
            let gradient = vec![gradient; n];
            let (theta, first, second) = (&mut theta, &mut first, &mut second);
            let square = Adam { theta, first, second, gradient: &gradient }.step(count, 0.1);
            assert_eq!(square, f64::from(gradient[0] * gradient[0]) * n as f64);
            assert!(theta.iter().all(|x: &f32| (x - expected).abs() < 1e-6), "{theta:?}");
        }
        assert!(first.iter().all(|m| (m - 0.08).abs() < 1e-7) && second.iter().all(|v| (v - 0.004_996).abs() < 1e-8));
    }
}
