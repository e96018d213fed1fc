//! The scalar of the shared functions: one source for native f32, native f64 and GPU kernels.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]

use cubecl::prelude::*;

use crate::Wide;

/// One floating-point number: [`Wide`] that can be looked at, compared and branched on.
#[cube]
pub trait Real: Float + Wide {
    /// The whole number that `x`, which is not negative, is or exceeds.
    fn index(x: Self) -> usize;
    /// The uniform number in `[0, 1)` with 24 bits that the high bits of `bits` name.
    /// The same number in f32 and in f64.
    fn unit(bits: u32) -> Self;
}

#[cube]
impl Real for f32 {
    #[inline]
    fn index(x: f32) -> usize {
        x as usize
    }
    #[inline]
    fn unit(bits: u32) -> f32 {
        (bits >> 8u32) as f32 * 5.960_464_5e-8f32
    }
}

#[cube]
impl Real for f64 {
    #[inline]
    fn index(x: f64) -> usize {
        x as usize
    }
    #[inline]
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
    #[inline]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    #[inline]
    fn as_double(self) -> f64 {
        f64::from(self)
    }
}

impl Scalar for f64 {
    #[inline]
    fn from_f64(x: f64) -> f64 {
        x
    }
    #[inline]
    fn as_double(self) -> f64 {
        self
    }
}
