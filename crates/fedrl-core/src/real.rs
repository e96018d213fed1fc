//! The scalar of the shared functions: one source for native f32, native f64 and GPU kernels.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]

use cubecl::prelude::*;

/// A floating-point number whose mathematics works in a kernel *and* natively.
///
/// The methods of cubecl's generic `Float` exist only inside kernels; those of concrete types
/// work on both sides. This trait forwards to the concrete ones, so that a function generic over
/// `F: Real` is one source for the CPU (f32, f64) and the GPU.
#[cube]
pub trait Real: Float {
    /// Sine of an angle in radians.
    fn sine(x: Self) -> Self;
    /// Cosine of an angle in radians.
    fn cosine(x: Self) -> Self;
    /// e to the power `x`.
    fn exponential(x: Self) -> Self;
    /// Natural logarithm.
    fn natural_log(x: Self) -> Self;
    /// Hyperbolic tangent.
    fn hyperbolic_tangent(x: Self) -> Self;
    /// Square root.
    fn square_root(x: Self) -> Self;
    /// The greatest whole number that is not greater.
    fn round_down(x: Self) -> Self;
    /// The full turn, 2π.
    fn two_pi() -> Self;
    /// The whole number that `x`, which is not negative, is or exceeds.
    fn index(x: Self) -> usize;
    /// The uniform number in `[0, 1)` with 24 bits that the high bits of `bits` name.
    /// The same number in f32 and in f64.
    fn unit(bits: u32) -> Self;
}

#[cube]
impl Real for f32 {
    fn sine(x: f32) -> f32 {
        x.sin()
    }
    fn cosine(x: f32) -> f32 {
        x.cos()
    }
    fn exponential(x: f32) -> f32 {
        x.exp()
    }
    fn natural_log(x: f32) -> f32 {
        x.ln()
    }
    fn hyperbolic_tangent(x: f32) -> f32 {
        x.tanh()
    }
    fn square_root(x: f32) -> f32 {
        x.sqrt()
    }
    fn round_down(x: f32) -> f32 {
        x.floor()
    }
    fn two_pi() -> f32 {
        std::f32::consts::TAU
    }
    fn index(x: f32) -> usize {
        x as usize
    }
    fn unit(bits: u32) -> f32 {
        (bits >> 8u32) as f32 * 5.960_464_5e-8f32
    }
}

#[cube]
impl Real for f64 {
    fn sine(x: f64) -> f64 {
        x.sin()
    }
    fn cosine(x: f64) -> f64 {
        x.cos()
    }
    fn exponential(x: f64) -> f64 {
        x.exp()
    }
    fn natural_log(x: f64) -> f64 {
        x.ln()
    }
    fn hyperbolic_tangent(x: f64) -> f64 {
        x.tanh()
    }
    fn square_root(x: f64) -> f64 {
        x.sqrt()
    }
    fn round_down(x: f64) -> f64 {
        x.floor()
    }
    fn two_pi() -> f64 {
        std::f64::consts::TAU
    }
    fn index(x: f64) -> usize {
        x as usize
    }
    fn unit(bits: u32) -> f64 {
        (bits >> 8u32) as f64 * 5.960_464_477_539_063e-8f64
    }
}

/// A [`Real`] on the host: f32 for training, f64 for what has to be exact.
pub trait Scalar: Real + Default {
    /// The nearest number to `x`.
    fn from_f64(x: f64) -> Self;
    /// The number, exactly.
    fn as_double(self) -> f64;
}

impl Scalar for f32 {
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    fn as_double(self) -> f64 {
        f64::from(self)
    }
}

impl Scalar for f64 {
    fn from_f64(x: f64) -> f64 {
        x
    }
    fn as_double(self) -> f64 {
        self
    }
}
