//! AVX-512 and AVX2 with fused multiply-add.

use std::arch::x86_64::*;
use std::mem::transmute;

use super::{LANES, LaneWords, Machine, PHILOX_FACTORS, PHILOX_KEYS, PHILOX_ROUNDS, RECIPROCAL, Task};

/// One register of 512 bits.
#[derive(Debug, Clone, Copy)]
pub struct Avx512;

/// Two registers of 256 bits.
#[derive(Debug, Clone, Copy)]
pub struct Avx2;

/// Whether the processor has what [`on_avx512`] is compiled for.
#[inline]
pub(super) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && has_avx2()
}

/// Whether the processor has what [`on_avx2`] is compiled for.
#[inline]
pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// # Safety
/// [`has_avx512`].
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
pub(super) unsafe fn on_avx512<T: Task>(task: T) -> T::Output {
    task.run::<Avx512>()
}

/// # Safety
/// [`has_avx2`].
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn on_avx2<T: Task>(task: T) -> T::Output {
    task.run::<Avx2>()
}

// SAFETY, here and below: the type's functions are called only within `on_avx512`, where the processor
// has the instructions; arrays and registers of the same size hold the same plain numbers.
unsafe impl Machine for Avx512 {
    const NAME: &'static str = "AVX-512";
    type Vector = __m512;

    #[inline(always)]
    fn from_array(x: [f32; LANES]) -> __m512 {
        unsafe { transmute(x) }
    }
    #[inline(always)]
    fn to_array(x: __m512) -> [f32; LANES] {
        unsafe { transmute(x) }
    }
    #[inline(always)]
    fn splat(x: f32) -> __m512 {
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    fn add(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    fn sub(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_sub_ps(a, b) }
    }
    #[inline(always)]
    fn mul(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    fn div(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_div_ps(a, b) }
    }
    #[inline(always)]
    fn multiply_add(a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    fn choose_less(x: __m512, y: __m512, then: __m512, other: __m512) -> __m512 {
        unsafe { _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(x, y), other, then) }
    }
    #[inline(always)]
    fn nearest(x: __m512) -> __m512 {
        unsafe { _mm512_roundscale_ps::<0>(x) }
    }
    #[inline(always)]
    fn power_of_two(n: __m512) -> __m512 {
        unsafe {
            let biased = _mm512_add_epi32(_mm512_cvttps_epi32(n), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(biased))
        }
    }
    #[inline(always)]
    fn exponent(x: __m512) -> __m512 {
        unsafe {
            let biased = _mm512_srli_epi32::<23>(_mm512_castps_si512(x));
            _mm512_cvtepi32_ps(_mm512_sub_epi32(biased, _mm512_set1_epi32(127)))
        }
    }
    #[inline(always)]
    fn one_less_product(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_fnmadd_ps(a, b, _mm512_set1_ps(1.0)) }
    }
    #[inline(always)]
    fn lesser(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_min_ps(a, b) }
    }
    #[inline(always)]
    fn greater(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_max_ps(a, b) }
    }
    #[inline(always)]
    fn round_down(x: __m512) -> __m512 {
        unsafe { _mm512_roundscale_ps::<1>(x) }
    }
    #[inline(always)]
    fn square_root(x: __m512) -> __m512 {
        unsafe { _mm512_sqrt_ps(x) }
    }
    #[inline(always)]
    fn rough_reciprocal(x: __m512) -> __m512 {
        unsafe { _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32(RECIPROCAL), _mm512_castps_si512(x))) }
    }

    #[inline(always)]
    fn philox(counters: [LaneWords; 4], low: LaneWords, high: LaneWords) -> [LaneWords; 4] {
        let [a, b, c, d] = counters;
        unsafe {
            let (mut a, mut b, mut c, mut d) = (words(a), words(b), words(c), words(d));
            let (mut low, mut high) = (words(low), words(high));
            for _ in 0..PHILOX_ROUNDS {
                let (first_high, first_low) = halves_of_product(c, PHILOX_FACTORS[0]);
                let (second_high, second_low) = halves_of_product(a, PHILOX_FACTORS[1]);
                // Of three words the exclusive or.
                a = _mm512_ternarylogic_epi32::<0x96>(first_high, b, low);
                c = _mm512_ternarylogic_epi32::<0x96>(second_high, d, high);
                b = first_low;
                d = second_low;
                low = _mm512_add_epi32(low, _mm512_set1_epi32(PHILOX_KEYS[0] as i32));
                high = _mm512_add_epi32(high, _mm512_set1_epi32(PHILOX_KEYS[1] as i32));
            }
            [lanes(a), lanes(b), lanes(c), lanes(d)]
        }
    }
}

#[inline(always)]
fn words(lanes: LaneWords) -> __m512i {
    unsafe { transmute::<LaneWords, __m512i>(lanes) }
}

#[inline(always)]
fn lanes(words: __m512i) -> LaneWords {
    unsafe { transmute::<__m512i, LaneWords>(words) }
}

/// High and low halves of sixteen products: those of even and of odd lanes, sorted.
#[inline(always)]
unsafe fn halves_of_product(a: __m512i, factor: u32) -> (__m512i, __m512i) {
    unsafe {
        let factor = _mm512_set1_epi32(factor as i32);
        let even = _mm512_mul_epu32(a, factor);
        let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(a), factor);
        let high = _mm512_setr_epi32(1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
        let low = _mm512_setr_epi32(0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
        (_mm512_permutex2var_epi32(even, high, odd), _mm512_permutex2var_epi32(even, low, odd))
    }
}

type Pair = [__m256; 2];

#[inline(always)]
fn each(f: impl Fn(usize) -> __m256) -> Pair {
    [f(0), f(1)]
}

unsafe impl Machine for Avx2 {
    const NAME: &'static str = "AVX2";
    type Vector = Pair;

    #[inline(always)]
    fn from_array(x: [f32; LANES]) -> Pair {
        unsafe { transmute(x) }
    }
    #[inline(always)]
    fn to_array(x: Pair) -> [f32; LANES] {
        unsafe { transmute(x) }
    }
    #[inline(always)]
    fn splat(x: f32) -> Pair {
        each(|_| unsafe { _mm256_set1_ps(x) })
    }
    #[inline(always)]
    fn add(a: Pair, b: Pair) -> Pair {
        each(|i| unsafe { _mm256_add_ps(a[i], b[i]) })
    }
    #[inline(always)]
    fn sub(a: Pair, b: Pair) -> Pair {
        each(|i| unsafe { _mm256_sub_ps(a[i], b[i]) })
    }
    #[inline(always)]
    fn mul(a: Pair, b: Pair) -> Pair {
        each(|i| unsafe { _mm256_mul_ps(a[i], b[i]) })
    }
    #[inline(always)]
    fn div(a: Pair, b: Pair) -> Pair {
        each(|i| unsafe { _mm256_div_ps(a[i], b[i]) })
    }
    #[inline(always)]
    fn multiply_add(a: Pair, b: Pair, c: Pair) -> Pair {
        each(|i| unsafe { _mm256_fmadd_ps(a[i], b[i], c[i]) })
    }
    #[inline(always)]
    fn choose_less(x: Pair, y: Pair, then: Pair, other: Pair) -> Pair {
        each(|i| unsafe { _mm256_blendv_ps(other[i], then[i], _mm256_cmp_ps::<_CMP_LT_OQ>(x[i], y[i])) })
    }
    #[inline(always)]
    fn nearest(x: Pair) -> Pair {
        each(|i| unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x[i]) })
    }
    #[inline(always)]
    fn power_of_two(n: Pair) -> Pair {
        each(|i| unsafe {
            let biased = _mm256_add_epi32(_mm256_cvttps_epi32(n[i]), _mm256_set1_epi32(127));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
        })
    }
    #[inline(always)]
    fn exponent(x: Pair) -> Pair {
        each(|i| unsafe {
            let biased = _mm256_srli_epi32::<23>(_mm256_castps_si256(x[i]));
            _mm256_cvtepi32_ps(_mm256_sub_epi32(biased, _mm256_set1_epi32(127)))
        })
    }
    #[inline(always)]
    fn one_less_product(a: Pair, b: Pair) -> Pair {
        each(|i| unsafe { _mm256_fnmadd_ps(a[i], b[i], _mm256_set1_ps(1.0)) })
    }
    #[inline(always)]
    fn lesser(a: Pair, b: Pair) -> Pair {
        each(|i| unsafe { _mm256_min_ps(a[i], b[i]) })
    }
    #[inline(always)]
    fn greater(a: Pair, b: Pair) -> Pair {
        each(|i| unsafe { _mm256_max_ps(a[i], b[i]) })
    }
    #[inline(always)]
    fn round_down(x: Pair) -> Pair {
        each(|i| unsafe { _mm256_floor_ps(x[i]) })
    }
    #[inline(always)]
    fn square_root(x: Pair) -> Pair {
        each(|i| unsafe { _mm256_sqrt_ps(x[i]) })
    }
    #[inline(always)]
    fn rough_reciprocal(x: Pair) -> Pair {
        each(|i| unsafe {
            _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_set1_epi32(RECIPROCAL), _mm256_castps_si256(x[i])))
        })
    }
}
