//! A matrix product in the processor's vectors, for matrices that fit its caches.
//!
//! C = A B with sixteen columns in a vector: an element of A is spread over the lanes and multiplied
//! with a row of B, so that neither has to be rearranged. Sums stay in registers, a tile of them at a
//! time, and are added in the order of k: they are the same on every processor.

use fedrl_core::wide::{Lanes, Machine};
use fedrl_core::{LANES, Wide};

/// Sixteen neighbouring numbers of a row.
pub(super) type Pack = [f32; LANES];

/// A: its element in row i and column k is `numbers[i · row + k · column]`.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    pub(super) numbers: &'a [f32],
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) row: usize,
    pub(super) column: usize,
}

/// B, or C: rows of `width` packs.
#[derive(Clone, Copy)]
pub(super) struct Right<'a> {
    pub(super) packs: &'a [Pack],
    pub(super) width: usize,
}

/// Where a product goes. A trait and no closures, since those are not compiled for the vectors.
pub(super) trait Sink<M: Machine> {
    /// What the sums of a row begin with.
    fn start(&self, row: usize) -> f32;
    /// Takes the sums of a row's neighbouring packs, from `pack` on.
    fn store(&mut self, row: usize, pack: usize, sums: &[Lanes<M>]);
}

/// Gives A B to `sink`.
#[inline(always)]
pub(super) fn product<M: Machine>(left: Left, right: Right, mut sink: impl Sink<M>) {
    let mut pack = 0;
    while pack + 4 <= right.width {
        rows::<M, 4, 4>(left, right, pack, &mut sink);
        pack += 4;
    }
    while pack < right.width {
        rows::<M, 8, 1>(left, right, pack, &mut sink);
        pack += 1;
    }
}

/// All rows of `C` packs from `pack` on, `R` at a time as long as there are so many.
#[inline(always)]
fn rows<M: Machine, const R: usize, const C: usize>(left: Left, right: Right, pack: usize, sink: &mut impl Sink<M>) {
    let mut row = 0;
    while row + R <= left.rows {
        tile::<M, R, C>(left, right, (row, pack), sink);
        row += R;
    }
    while row + 2 <= left.rows {
        tile::<M, 2, C>(left, right, (row, pack), sink);
        row += 2;
    }
    if row < left.rows {
        tile::<M, 1, C>(left, right, (row, pack), sink);
    }
}

#[inline(always)]
fn tile<M: Machine, const R: usize, const C: usize>(
    left: Left,
    right: Right,
    (row, pack): (usize, usize),
    sink: &mut impl Sink<M>,
) {
    let mut sums = [[Lanes::<M>::default(); C]; R];
    for (r, sums) in sums.iter_mut().enumerate() {
        *sums = [Lanes::constant(sink.start(row + r)); C];
    }
    let numbers = &left.numbers[row * left.row..];
    for k in 0..left.columns {
        let packs = &right.packs[k * right.width + pack..][..C];
        let mut across = [Lanes::<M>::default(); C];
        for (lanes, pack) in across.iter_mut().zip(packs) {
            *lanes = Lanes::from_array(*pack);
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            let factor = Lanes::constant(numbers[r * left.row + k * left.column]);
            for (sum, &pack) in sums.iter_mut().zip(&across) {
                *sum = Lanes::multiply_add(factor, pack, *sum);
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        sink.store(row + r, pack, sums);
    }
}
