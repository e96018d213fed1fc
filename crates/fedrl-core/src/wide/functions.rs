//! Elementary functions in f32 as polynomials, fitted by minimax: no tables, no branches, so that
//! they run in vectors and in kernels. The greatest errors are asserted in the tests.

#![allow(clippy::excessive_precision, reason = "the digits that the fit gave")]

use std::f32::consts::{FRAC_1_PI, LOG2_E, SQRT_2};

use cubecl::prelude::*;

use super::Single;

/// sin of an angle within ±π/2.
#[cube]
#[inline(always)]
fn sine_near_zero<F: Single>(r: F) -> F {
    let square = r * r;
    let mut p = F::multiply_add(F::constant(-2.388_889_9e-8), square, F::constant(2.752_538_4e-6));
    p = F::multiply_add(p, square, F::constant(-1.984_086_8e-4));
    p = F::multiply_add(p, square, F::constant(8.333_331_1e-3));
    p = F::multiply_add(p, square, F::constant(-1.666_666_66e-1));
    F::multiply_add(r * square, p, r)
}

/// x - n π, within ±π/2 whatever x is. π is the sum of three numbers, the first two so short that
/// their products with n are exact.
#[cube]
#[inline(always)]
fn less_half_turns<F: Single>(x: F, n: F) -> F {
    let mut r = F::multiply_add(n, F::constant(-3.140_625), x);
    r = F::multiply_add(n, F::constant(-9.675_025_939_941_406e-4), r);
    r = F::multiply_add(n, F::constant(-1.509_958e-7), r);
    let quarter = F::constant(1.570_796_4);
    let least = F::constant(-1.570_796_4);
    F::greater(least, F::lesser(quarter, r))
}

/// (-1)ⁿ of a whole number.
#[cube]
#[inline(always)]
fn sign_of_half_turns<F: Single>(n: F) -> F {
    let half = F::nearest(n * F::constant(0.5));
    // -1, 0 or 1.
    let odd = F::multiply_add(half, F::constant(-2.0), n);
    F::choose_less(odd * odd, F::constant(0.5), F::constant(1.0), F::constant(-1.0))
}

#[cube]
#[inline(always)]
pub(super) fn sine<F: Single>(x: F) -> F {
    let n = F::nearest(x * F::constant(FRAC_1_PI));
    sign_of_half_turns::<F>(n) * sine_near_zero::<F>(less_half_turns::<F>(x, n))
}

/// cos x = sin(x + π/2).
#[cube]
#[inline(always)]
pub(super) fn cosine<F: Single>(x: F) -> F {
    let n = F::nearest(F::multiply_add(x, F::constant(FRAC_1_PI), F::constant(-0.5)));
    let r = less_half_turns::<F>(x, n + F::constant(0.5));
    sign_of_half_turns::<F>(n + F::constant(1.0)) * sine_near_zero::<F>(r)
}

/// eˣ = 2ⁿ eʳ with |r| <= ln 2 / 2. Below -87.3 it is the least normal number, above 88.7 infinite.
#[cube]
#[inline(always)]
pub(super) fn exponential<F: Single>(x: F) -> F {
    let least = F::constant(-87.336_54);
    let greatest = F::constant(89.0);
    let x = F::lesser(greatest, F::greater(least, x));
    let n = F::nearest(x * F::constant(LOG2_E));
    let mut r = F::multiply_add(n, F::constant(-0.693_359_375), x);
    r = F::multiply_add(n, F::constant(2.121_944_4e-4), r);
    let mut p = F::multiply_add(F::constant(1.381_461_7e-3), r, F::constant(8.368_711e-3));
    p = F::multiply_add(p, r, F::constant(4.166_838_7e-2));
    p = F::multiply_add(p, r, F::constant(1.666_652_1e-1));
    p = F::multiply_add(p, r, F::constant(4.999_999_3e-1));
    p = F::multiply_add(r * r, p, r) + F::constant(1.0);
    // In two halves: 2¹²⁸ is no number, while a product may still be.
    let half = F::nearest(n * F::constant(0.5));
    p * F::power_of_two(half) * F::power_of_two(n - half)
}

/// ln x = e ln 2 + ln m with m in [√½, √2).
#[cube]
#[inline(always)]
pub(super) fn natural_log<F: Single>(x: F) -> F {
    let least = F::constant(1.175_494_4e-38);
    let x = F::greater(least, x);
    let whole = F::exponent(x);
    // In two halves, for the sake of the least numbers.
    let half = F::nearest(whole * F::constant(0.5));
    let mut m = x * F::power_of_two(F::constant(0.0) - half) * F::power_of_two(half - whole);
    let root = F::constant(SQRT_2);
    let one = F::constant(1.0);
    let zero = F::constant(0.0);
    let shift = F::choose_less(root, m, one, zero);
    m = m * F::multiply_add(shift, F::constant(-0.5), one);
    let e = whole + shift;
    let g = m - one;
    let mut p = F::multiply_add(F::constant(-7.634_523e-2), g, F::constant(1.276_161_7e-1));
    p = F::multiply_add(p, g, F::constant(-1.316_019_2e-1));
    p = F::multiply_add(p, g, F::constant(1.420_175_3e-1));
    p = F::multiply_add(p, g, F::constant(-1.662_335_6e-1));
    p = F::multiply_add(p, g, F::constant(2.000_122_7e-1));
    p = F::multiply_add(p, g, F::constant(-2.500_082_1e-1));
    p = F::multiply_add(p, g, F::constant(3.333_333_2e-1));
    let square = g * g;
    let mut small = F::multiply_add(g * square, p, e * F::constant(-2.121_944_4e-4));
    small = F::multiply_add(square, F::constant(-0.5), small);
    F::multiply_add(e, F::constant(0.693_359_375), g + small)
}

/// tanh x = x P(x²) / Q(x²) on ±9; beyond, it is ±1 in f32. This is x within ±9.
#[cube]
#[inline(always)]
fn within_nine<F: Single>(x: F) -> F {
    F::greater(F::constant(-9.0), F::lesser(F::constant(9.0), x))
}

/// x P(x²).
#[cube]
#[inline(always)]
fn numerator<F: Single>(x: F, square: F) -> F {
    let mut p = F::multiply_add(F::constant(1.335_471_8e-8), square, F::constant(2.060_912_8e-5));
    p = F::multiply_add(p, square, F::constant(3.495_591e-3));
    p = F::multiply_add(p, square, F::constant(1.338_102_8e-1));
    p = F::multiply_add(p, square, F::constant(1.0));
    x * p
}

/// Q(x²), from 1 to 417.
#[cube]
#[inline(always)]
fn denominator<F: Single>(square: F) -> F {
    let mut q = F::multiply_add(F::constant(7.776_583_3e-7), square, F::constant(3.285_639_7e-4));
    q = F::multiply_add(q, square, F::constant(2.587_699_3e-2));
    q = F::multiply_add(q, square, F::constant(4.671_434_5e-1));
    F::multiply_add(q, square, F::constant(1.0))
}

#[cube]
#[inline(always)]
pub(super) fn hyperbolic_tangent<F: Single>(x: F) -> F {
    let x = within_nine::<F>(x);
    let square = x * x;
    numerator::<F>(x, square) * F::reciprocal(denominator::<F>(square))
}

/// Four at a time, for which one inverse is enough: that of the product of their denominators.
#[cube]
#[inline(always)]
pub(super) fn hyperbolic_tangents<F: Single>(x: &mut [F]) {
    let blocks = x.len() / 4;
    for block in 0..blocks {
        let four = &mut x[block * 4..block * 4 + 4];
        let x_0 = within_nine::<F>(four[0]);
        let x_1 = within_nine::<F>(four[1]);
        let x_2 = within_nine::<F>(four[2]);
        let x_3 = within_nine::<F>(four[3]);
        let square_0 = x_0 * x_0;
        let square_1 = x_1 * x_1;
        let square_2 = x_2 * x_2;
        let square_3 = x_3 * x_3;
        let q_0 = denominator::<F>(square_0);
        let q_1 = denominator::<F>(square_1);
        let q_2 = denominator::<F>(square_2);
        let q_3 = denominator::<F>(square_3);
        let one_pair = q_0 * q_1;
        let other_pair = q_2 * q_3;
        let inverse = F::reciprocal(one_pair * other_pair);
        let one_inverse = inverse * other_pair;
        let other_inverse = inverse * one_pair;
        four[0] = numerator::<F>(x_0, square_0) * (one_inverse * q_1);
        four[1] = numerator::<F>(x_1, square_1) * (one_inverse * q_0);
        four[2] = numerator::<F>(x_2, square_2) * (other_inverse * q_3);
        four[3] = numerator::<F>(x_3, square_3) * (other_inverse * q_2);
    }
    for i in blocks * 4..x.len() {
        x[i] = hyperbolic_tangent::<F>(x[i]);
    }
}
