//! Sixteen numbers side by side.

use std::ops::{Add, AddAssign, Div, Mul, Sub};

use cubecl::prelude::*;

use super::machine::Machine;
use super::{Single, Wide, functions};

/// How many numbers lie side by side.
pub const LANES: usize = 16;

/// Sixteen numbers that are computed with at once. On the CPU only: a kernel has a lane of its own
/// instead.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct Lanes<M: Machine>(M::Vector);

impl<M: Machine> Lanes<M> {
    /// These numbers.
    #[inline(always)]
    pub fn from_array(x: [f32; LANES]) -> Self {
        Lanes(M::from_array(x))
    }

    /// The numbers.
    #[inline(always)]
    pub fn to_array(self) -> [f32; LANES] {
        M::to_array(self.0)
    }

    /// Numbers in memory, to compute with.
    #[inline(always)]
    pub fn of(packs: &[Pack]) -> &[Self] {
        // SAFETY: lanes and packs are sixteen plain numbers, of the same size; packs are aligned for all
        // vectors.
        #[allow(unsafe_code, reason = "a vector in memory is an array")]
        unsafe {
            std::slice::from_raw_parts(packs.as_ptr().cast(), packs.len())
        }
    }

    /// Sixteen numbers in memory, to compute with.
    #[inline(always)]
    pub fn one_of(pack: &Pack) -> Self {
        Self::from_array(pack.0)
    }

    /// Numbers in memory, to compute with and write to.
    #[inline(always)]
    pub fn of_mut(packs: &mut [Pack]) -> &mut [Self] {
        // SAFETY: as above, and any sixteen numbers are a pack.
        #[allow(unsafe_code, reason = "a vector in memory is an array")]
        unsafe {
            std::slice::from_raw_parts_mut(packs.as_mut_ptr().cast(), packs.len())
        }
    }
}

/// Sixteen numbers in memory, one of every lane.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct Pack(pub [f32; LANES]);

impl Pack {
    /// Nothing but zeros.
    pub const ZERO: Pack = Pack([0.0; LANES]);
}

impl<M: Machine> Default for Lanes<M> {
    #[inline(always)]
    fn default() -> Self {
        Lanes(M::splat(0.0))
    }
}

impl<M: Machine> Add for Lanes<M> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Lanes(M::add(self.0, other.0))
    }
}

impl<M: Machine> Sub for Lanes<M> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Lanes(M::sub(self.0, other.0))
    }
}

impl<M: Machine> Mul for Lanes<M> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Lanes(M::mul(self.0, other.0))
    }
}

impl<M: Machine> Div for Lanes<M> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Lanes(M::div(self.0, other.0))
    }
}

impl<M: Machine> AddAssign for Lanes<M> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// What cubecl asks of a type in order to emit kernels with it. None is ever emitted with lanes.
mod no_kernel {
    use cubecl::ir::{ConstantValue, Scope};

    use super::*;

    const NONE: &str = "lanes are a CPU's; a kernel computes with single numbers";

    impl<M: Machine> CubeType for Lanes<M> {
        type ExpandType = NativeExpand<Self>;
    }

    impl<M: Machine> CubeDebug for Lanes<M> {}

    impl<M: Machine> NativeAssign for Lanes<M> {}

    impl<M: Machine> IntoExpand for Lanes<M> {
        type Expand = NativeExpand<Self>;

        fn into_expand(self, _scope: &Scope) -> NativeExpand<Self> {
            unreachable!("{NONE}")
        }
    }

    impl<M: Machine> IntoRuntime for Lanes<M> {
        fn __expand_runtime_method(self, _scope: &Scope) -> NativeExpand<Self> {
            unreachable!("{NONE}")
        }
    }

    impl<M: Machine> CubePrimitive for Lanes<M> {
        type Scalar = f32;
        type Size = Const<1>;
        type WithScalar<S: Scalar> = S;

        fn from_const_value(_value: ConstantValue) -> Self {
            unreachable!("{NONE}")
        }

        fn __expand_as_type(scope: &Scope) -> cubecl::ir::pliron::r#type::TypeHandle {
            f32::__expand_as_type(scope)
        }
    }
}

/// A [`Wide`] function of lanes, and the kernel half that nobody calls.
macro_rules! wide {
    ($($name:ident, $expand:ident ($($x:ident),*) $body:expr;)*) => {
        $(
            #[inline(always)]
            fn $name($($x: Self),*) -> Self {
                $body
            }
            fn $expand(_scope: &Scope, $($x: NativeExpand<Self>),*) -> NativeExpand<Self> {
                $(let _ = $x;)*
                unreachable!("lanes are a CPU's; a kernel computes with single numbers")
            }
        )*
    };
}

impl<M: Machine> Wide for Lanes<M> {
    #[inline(always)]
    fn constant(x: f32) -> Self {
        Lanes(M::splat(x))
    }
    fn __expand_constant(_scope: &Scope, _x: NativeExpand<f32>) -> NativeExpand<Self> {
        unreachable!("lanes are a CPU's; a kernel computes with single numbers")
    }
    #[inline(always)]
    fn hyperbolic_tangents(x: &mut [Self]) {
        functions::hyperbolic_tangents(x);
    }
    fn __expand_hyperbolic_tangents(_scope: &Scope, _x: &mut NativeExpand<[Self]>) {
        unreachable!("lanes are a CPU's; a kernel computes with single numbers")
    }

    wide! {
        two_pi, __expand_two_pi() Self::constant(f32::two_pi());
        half_log_two_pi, __expand_half_log_two_pi() Self::constant(f32::half_log_two_pi());
        multiply_add, __expand_multiply_add(a, b, c) Lanes(M::multiply_add(a.0, b.0, c.0));
        reciprocal, __expand_reciprocal(x) reciprocal(x);
        choose_less, __expand_choose_less(x, y, then, other) Lanes(M::choose_less(x.0, y.0, then.0, other.0));
        lesser, __expand_lesser(a, b) Lanes(M::lesser(a.0, b.0));
        greater, __expand_greater(a, b) Lanes(M::greater(a.0, b.0));
        round_down, __expand_round_down(x) Lanes(M::round_down(x.0));
        square_root, __expand_square_root(x) Lanes(M::square_root(x.0));
        sine, __expand_sine(x) functions::sine(x);
        cosine, __expand_cosine(x) functions::cosine(x);
        exponential, __expand_exponential(x) functions::exponential(x);
        natural_log, __expand_natural_log(x) functions::natural_log(x);
        hyperbolic_tangent, __expand_hyperbolic_tangent(x) functions::hyperbolic_tangent(x);
    }
}

impl<M: Machine> Single for Lanes<M> {
    wide! {
        nearest, __expand_nearest(x) Lanes(M::nearest(x.0));
        power_of_two, __expand_power_of_two(n) Lanes(M::power_of_two(n.0));
        exponent, __expand_exponent(x) Lanes(M::exponent(x.0));
    }
}

/// 1 / x by two steps of Halley's method, each of which cubes the error: faster than a division.
#[inline(always)]
fn reciprocal<M: Machine>(x: Lanes<M>) -> Lanes<M> {
    let mut y = Lanes(M::rough_reciprocal(x.0));
    for _ in 0..2 {
        let error = Lanes(M::one_less_product(x.0, y.0));
        let both = Wide::multiply_add(error, error, error);
        y = Wide::multiply_add(y, both, y);
    }
    y
}
