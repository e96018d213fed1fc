//! Local memory of the shared functions.

use std::ops::{Index, IndexMut};

use cubecl::prelude::*;

use crate::Real;

/// `N` numbers of a function's own: on the CPU an array on the stack, in a kernel a local array.
///
/// cubecl's `Array` exists only inside kernels; this is the same memory on both sides.
#[derive(Debug, Clone, Copy)]
pub struct Local<F, const N: usize>([F; N]);

impl<F: Real, const N: usize> CubeType for Local<F, N> {
    type ExpandType = NativeExpand<Array<F>>;
}

impl<F: Real, const N: usize> Local<F, N> {
    /// `N` zeros.
    #[allow(clippy::new_without_default, reason = "a kernel has no Default")]
    #[inline(always)]
    pub fn new() -> Self {
        Local([F::new(0.0); N])
    }

    /// Emits the local array of [`Local::new`].
    pub fn __expand_new(scope: &Scope) -> NativeExpand<Array<F>> {
        Array::__expand_new(scope, N)
    }

    /// All of it.
    #[inline(always)]
    pub fn as_slice(&self) -> &[F] {
        &self.0
    }

    /// All of it, to write to.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> &mut [F] {
        &mut self.0
    }
}

impl<F, const N: usize> Index<usize> for Local<F, N> {
    type Output = F;

    #[inline(always)]
    fn index(&self, index: usize) -> &F {
        &self.0[index]
    }
}

impl<F, const N: usize> IndexMut<usize> for Local<F, N> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut F {
        &mut self.0[index]
    }
}
