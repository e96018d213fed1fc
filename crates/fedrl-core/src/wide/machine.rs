//! What a processor's vectors can do, and running a task on the widest there are.

#![allow(unsafe_code, reason = "vector instructions, each behind a check that the processor has them")]

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use portable::Portable;

use super::lanes::LANES;
use crate::random::LaneWords;

/// A kind of vector instructions: sixteen numbers at once. All kinds give the same numbers.
///
/// The functions of a kind whose instructions the processor lacks must not be called. [`run_on_widest`]
/// is where kinds are chosen.
///
/// # Safety
/// `Vector` is sixteen f32 and nothing else, aligned at most to 64 bytes: memory is taken for it.
pub unsafe trait Machine: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// Its name.
    const NAME: &'static str;
    /// Sixteen numbers in registers.
    type Vector: Copy + Send + Sync + std::fmt::Debug + 'static;

    /// These numbers in registers.
    fn from_array(x: [f32; LANES]) -> Self::Vector;
    /// The numbers in memory.
    fn to_array(x: Self::Vector) -> [f32; LANES];
    /// One number in every lane.
    fn splat(x: f32) -> Self::Vector;
    /// `a + b`.
    fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a - b`.
    fn sub(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a · b`.
    fn mul(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a / b`.
    fn div(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a · b + c`, rounded once.
    fn multiply_add(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// `1 - a · b`, rounded once.
    fn one_less_product(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// See [`Wide::choose_less`](super::Wide::choose_less).
    fn choose_less(x: Self::Vector, y: Self::Vector, then: Self::Vector, other: Self::Vector) -> Self::Vector;
    /// See [`Single::nearest`](super::Single::nearest).
    fn nearest(x: Self::Vector) -> Self::Vector;
    /// See [`Single::power_of_two`](super::Single::power_of_two).
    fn power_of_two(n: Self::Vector) -> Self::Vector;
    /// See [`Single::exponent`](super::Single::exponent).
    fn exponent(x: Self::Vector) -> Self::Vector;
    /// See [`Wide::lesser`](super::Wide::lesser).
    fn lesser(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// See [`Wide::greater`](super::Wide::greater).
    fn greater(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The greatest whole number that is not greater.
    fn round_down(x: Self::Vector) -> Self::Vector;
    /// Square root.
    fn square_root(x: Self::Vector) -> Self::Vector;
    /// About 1 / x, to an eighth.
    fn rough_reciprocal(x: Self::Vector) -> Self::Vector;

    /// One block of Philox 4×32-10 in every lane; see [`random`](crate::random).
    #[inline(always)]
    fn philox(counters: [LaneWords; 4], mut low: LaneWords, mut high: LaneWords) -> [LaneWords; 4] {
        let [mut a, mut b, mut c, mut d] = counters;
        for _ in 0..PHILOX_ROUNDS {
            for lane in 0..LANES {
                let first = u64::from(c[lane]) * u64::from(PHILOX_FACTORS[0]);
                let second = u64::from(a[lane]) * u64::from(PHILOX_FACTORS[1]);
                a[lane] = (first >> 32) as u32 ^ b[lane] ^ low[lane];
                c[lane] = (second >> 32) as u32 ^ d[lane] ^ high[lane];
                b[lane] = first as u32;
                d[lane] = second as u32;
                low[lane] = low[lane].wrapping_add(PHILOX_KEYS[0]);
                high[lane] = high[lane].wrapping_add(PHILOX_KEYS[1]);
            }
        }
        [a, b, c, d]
    }
}

const PHILOX_ROUNDS: usize = 10;
const PHILOX_FACTORS: [u32; 2] = [0xCD9E_8D57, 0xD251_1F53];
const PHILOX_KEYS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// From this number the bits of x are subtracted to get about those of 1 / x.
const RECIPROCAL: i32 = 0x7EF3_11C7;

/// Something to do on any kind of vectors. `run` and everything that it calls has to be
/// `#[inline(always)]`: what is not inlined is compiled for no vectors in particular.
pub trait Task {
    /// What it comes to.
    type Output;

    /// Does it.
    fn run<M: Machine>(self) -> Self::Output;
}

/// The name of the widest vectors of this processor that are made use of.
pub fn widest() -> &'static str {
    struct Name;
    impl Task for Name {
        type Output = &'static str;
        #[inline(always)]
        fn run<M: Machine>(self) -> &'static str {
            M::NAME
        }
    }
    run_on_widest(Name)
}

/// Runs `task` on the widest vectors that this processor has.
#[inline]
pub fn run_on_widest<T: Task>(task: T) -> T::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if x86::has_avx512() {
            // SAFETY: the processor has these instructions.
            return unsafe { x86::on_avx512(task) };
        }
        if x86::has_avx2() {
            // SAFETY: the processor has these instructions.
            return unsafe { x86::on_avx2(task) };
        }
    }
    task.run::<Portable>()
}

/// Runs a task on every kind of vectors that this processor has.
#[cfg(test)]
pub(super) fn run_on_every<T: Task>(task: impl Fn() -> T) -> Vec<T::Output> {
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut))]
    let mut outputs = vec![task().run::<Portable>(), run_on_widest(task())];
    #[cfg(target_arch = "x86_64")]
    if x86::has_avx2() {
        // SAFETY: the processor has these instructions.
        outputs.push(unsafe { x86::on_avx2(task()) });
    }
    outputs
}
