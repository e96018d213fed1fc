//! Sixteen numbers in an array, for any processor.

use super::{LANES, Machine, RECIPROCAL};

/// Arrays, in whose loops the compiler finds what vectors there are.
#[derive(Debug, Clone, Copy)]
pub struct Portable;

#[inline(always)]
fn map(f: impl Fn(usize) -> f32) -> [f32; LANES] {
    std::array::from_fn(f)
}

// SAFETY: the vector is an array of sixteen f32.
#[allow(unsafe_code, reason = "the trait promises a layout")]
unsafe impl Machine for Portable {
    const NAME: &'static str = "portable";
    type Vector = [f32; LANES];

    #[inline(always)]
    fn from_array(x: [f32; LANES]) -> [f32; LANES] {
        x
    }
    #[inline(always)]
    fn to_array(x: [f32; LANES]) -> [f32; LANES] {
        x
    }
    #[inline(always)]
    fn splat(x: f32) -> [f32; LANES] {
        [x; LANES]
    }
    #[inline(always)]
    fn add(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        map(|i| a[i] + b[i])
    }
    #[inline(always)]
    fn sub(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        map(|i| a[i] - b[i])
    }
    #[inline(always)]
    fn mul(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        map(|i| a[i] * b[i])
    }
    #[inline(always)]
    fn div(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        map(|i| a[i] / b[i])
    }
    #[inline(always)]
    fn multiply_add(a: [f32; LANES], b: [f32; LANES], c: [f32; LANES]) -> [f32; LANES] {
        map(|i| a[i].mul_add(b[i], c[i]))
    }
    #[inline(always)]
    fn choose_less(x: [f32; LANES], y: [f32; LANES], then: [f32; LANES], other: [f32; LANES]) -> [f32; LANES] {
        map(|i| if x[i] < y[i] { then[i] } else { other[i] })
    }
    #[inline(always)]
    fn nearest(x: [f32; LANES]) -> [f32; LANES] {
        map(|i| x[i].round_ties_even())
    }
    #[inline(always)]
    fn power_of_two(n: [f32; LANES]) -> [f32; LANES] {
        map(|i| f32::from_bits((n[i] as i32).wrapping_add(127).wrapping_shl(23) as u32))
    }
    #[inline(always)]
    fn exponent(x: [f32; LANES]) -> [f32; LANES] {
        map(|i| ((x[i].to_bits() >> 23) as i32 - 127) as f32)
    }
    #[inline(always)]
    fn one_less_product(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        map(|i| (-a[i]).mul_add(b[i], 1.0))
    }
    #[inline(always)]
    fn lesser(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        map(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn greater(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
        map(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn round_down(x: [f32; LANES]) -> [f32; LANES] {
        map(|i| x[i].floor())
    }
    #[inline(always)]
    fn square_root(x: [f32; LANES]) -> [f32; LANES] {
        map(|i| x[i].sqrt())
    }
    #[inline(always)]
    fn rough_reciprocal(x: [f32; LANES]) -> [f32; LANES] {
        map(|i| f32::from_bits(RECIPROCAL.wrapping_sub(x[i].to_bits() as i32) as u32))
    }
}
