//! The arithmetic of the shared functions: one source for one number, for sixteen side by side in
//! a processor's vectors, and for a GPU kernel.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]
#![allow(clippy::needless_range_loop, reason = "kernels go element by element, and lanes lane by lane")]

mod functions;
mod lanes;
mod machine;
#[cfg(test)]
mod tests;

use cubecl::prelude::*;

pub use lanes::{LANES, Lanes, Pack};
pub use machine::{Machine, Portable, Task, run_on_widest, widest};

/// What can be computed with without looking at it: a number, or [`Lanes`] of them.
///
/// The methods of cubecl's generic `Float` exist only inside kernels; those of concrete types
/// work on both sides. A function generic over `F: Wide` is one source for native f32 and f64, for
/// vectors, and for kernels. In f32 the elementary functions are polynomials whose greatest errors
/// are known (see their tests), the same ones everywhere; in f64 they are the platform's.
#[cube]
pub trait Wide: CubePrimitive + CubeAdd + CubeSub + CubeMul + CubeDiv + CubeAddAssign {
    /// The number `x`, in every lane.
    fn constant(x: f32) -> Self;
    /// The full turn, 2π.
    fn two_pi() -> Self;
    /// ½ ln 2π, of which the normal density is made.
    fn half_log_two_pi() -> Self;
    /// `a · b + c`, rounded once where the hardware does that.
    fn multiply_add(a: Self, b: Self, c: Self) -> Self;
    /// 1 / x of a normal number whose inverse is one.
    fn reciprocal(x: Self) -> Self;
    /// `then` where x < y, otherwise `other`; also where x or y is no number.
    fn choose_less(x: Self, y: Self, then: Self, other: Self) -> Self;
    /// `a` where a < b, otherwise `b`; also where a or b is no number.
    fn lesser(a: Self, b: Self) -> Self;
    /// `a` where a > b, otherwise `b`; also where a or b is no number.
    fn greater(a: Self, b: Self) -> Self;
    /// The greatest whole number that is not greater.
    fn round_down(x: Self) -> Self;
    /// Square root.
    fn square_root(x: Self) -> Self;
    /// Sine of an angle in radians.
    fn sine(x: Self) -> Self;
    /// Cosine of an angle in radians.
    fn cosine(x: Self) -> Self;
    /// e to the power `x`.
    fn exponential(x: Self) -> Self;
    /// Natural logarithm of a positive normal number; of 0 and below something far below 0.
    fn natural_log(x: Self) -> Self;
    /// Hyperbolic tangent.
    fn hyperbolic_tangent(x: Self) -> Self;
    /// Replaces numbers by their hyperbolic tangents: faster than one by one.
    fn hyperbolic_tangents(x: &mut [Self]);
}

/// What the polynomials need of numbers in the format of f32.
#[cube]
pub trait Single: Wide {
    /// The nearest whole number, |x| < 2²².
    fn nearest(x: Self) -> Self;
    /// 2ⁿ of a whole number from -126 to 127.
    fn power_of_two(n: Self) -> Self;
    /// ⌊log₂ x⌋ of a positive normal number.
    fn exponent(x: Self) -> Self;
}

/// [`Single::nearest`] of an f32: adding 1.5 · 2²³ leaves no place for a fraction.
fn nearest(x: f32) -> f32 {
    const SHIFT: f32 = 12_582_912.0;
    (x + SHIFT) - SHIFT
}

/// The kernel half of [`nearest()`]: a compiler for GPUs may take the two additions away.
mod nearest {
    use super::*;

    pub fn expand(scope: &Scope, x: NativeExpand<f32>) -> NativeExpand<f32> {
        rounded::expand(scope, x)
    }

    #[cube]
    fn rounded(x: f32) -> f32 {
        x.round()
    }
}

/// [`Wide::multiply_add`] of an f32. Rounded twice: a scalar program is compiled for processors
/// without a fused multiply-add, where calling one would be slow.
#[inline(always)]
fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    a * b + c
}

/// The kernel half of [`multiply_add()`].
mod multiply_add {
    use super::*;

    pub fn expand(
        scope: &Scope,
        a: NativeExpand<f32>,
        b: NativeExpand<f32>,
        c: NativeExpand<f32>,
    ) -> NativeExpand<f32> {
        fma::expand(scope, a, b, c)
    }
}

#[cube]
impl Wide for f32 {
    #[inline(always)]
    fn constant(x: f32) -> f32 {
        x
    }
    #[inline(always)]
    fn two_pi() -> f32 {
        std::f32::consts::TAU
    }
    #[inline(always)]
    fn half_log_two_pi() -> f32 {
        0.918_938_5f32
    }
    #[inline(always)]
    fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
        multiply_add(a, b, c)
    }
    #[inline(always)]
    fn reciprocal(x: f32) -> f32 {
        1.0f32 / x
    }
    #[inline(always)]
    fn choose_less(x: f32, y: f32, then: f32, other: f32) -> f32 {
        if x < y { then } else { other }
    }
    #[inline(always)]
    fn lesser(a: f32, b: f32) -> f32 {
        if a < b { a } else { b }
    }
    #[inline(always)]
    fn greater(a: f32, b: f32) -> f32 {
        if a > b { a } else { b }
    }
    #[inline(always)]
    fn round_down(x: f32) -> f32 {
        x.floor()
    }
    #[inline(always)]
    fn square_root(x: f32) -> f32 {
        x.sqrt()
    }
    #[inline(always)]
    fn sine(x: f32) -> f32 {
        functions::sine::<f32>(x)
    }
    #[inline(always)]
    fn cosine(x: f32) -> f32 {
        functions::cosine::<f32>(x)
    }
    #[inline(always)]
    fn exponential(x: f32) -> f32 {
        functions::exponential::<f32>(x)
    }
    #[inline(always)]
    fn natural_log(x: f32) -> f32 {
        functions::natural_log::<f32>(x)
    }
    #[inline(always)]
    fn hyperbolic_tangent(x: f32) -> f32 {
        functions::hyperbolic_tangent::<f32>(x)
    }
    #[inline(always)]
    fn hyperbolic_tangents(x: &mut [f32]) {
        functions::hyperbolic_tangents::<f32>(x);
    }
}

#[cube]
impl Single for f32 {
    #[inline(always)]
    fn nearest(x: f32) -> f32 {
        nearest(x)
    }
    #[inline(always)]
    fn power_of_two(n: f32) -> f32 {
        f32::from_bits(((n as i32 + 127i32) << 23i32) as u32)
    }
    #[inline(always)]
    fn exponent(x: f32) -> f32 {
        ((x.to_bits() >> 23u32) as i32 - 127i32) as f32
    }
}

#[cube]
impl Wide for f64 {
    #[inline]
    fn constant(x: f32) -> f64 {
        x as f64
    }
    #[inline]
    fn two_pi() -> f64 {
        std::f64::consts::TAU
    }
    #[inline]
    fn half_log_two_pi() -> f64 {
        0.918_938_533_204_672_7f64
    }
    #[inline]
    fn multiply_add(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }
    #[inline]
    fn reciprocal(x: f64) -> f64 {
        1.0f64 / x
    }
    #[inline]
    fn choose_less(x: f64, y: f64, then: f64, other: f64) -> f64 {
        if x < y { then } else { other }
    }
    #[inline]
    fn lesser(a: f64, b: f64) -> f64 {
        if a < b { a } else { b }
    }
    #[inline]
    fn greater(a: f64, b: f64) -> f64 {
        if a > b { a } else { b }
    }
    #[inline]
    fn round_down(x: f64) -> f64 {
        x.floor()
    }
    #[inline]
    fn square_root(x: f64) -> f64 {
        x.sqrt()
    }
    #[inline]
    fn sine(x: f64) -> f64 {
        x.sin()
    }
    #[inline]
    fn cosine(x: f64) -> f64 {
        x.cos()
    }
    #[inline]
    fn exponential(x: f64) -> f64 {
        x.exp()
    }
    #[inline]
    fn natural_log(x: f64) -> f64 {
        x.ln()
    }
    #[inline]
    fn hyperbolic_tangent(x: f64) -> f64 {
        x.tanh()
    }
    #[inline]
    fn hyperbolic_tangents(x: &mut [f64]) {
        for i in 0..x.len() {
            x[i] = x[i].tanh();
        }
    }
}
