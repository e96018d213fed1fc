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

impl Left<'_> {
    /// Whether all of it lies among the numbers, by rows or by columns.
    fn is_sound(&self) -> bool {
        let Left { numbers, rows, columns, row, column } = *self;
        if column == 1 {
            rows.saturating_sub(1) * row + columns <= numbers.len()
        } else {
            row == 1 && rows <= column && columns * column <= numbers.len()
        }
    }
}

/// Gives A B to `sink`.
///
/// # Panics
/// Where A or B does not hold what it says: the loops would pass over it in silence.
#[inline(always)]
pub(super) fn product<M: Machine>(left: Left, right: Right, mut sink: impl Sink<M>) {
    assert!(left.is_sound() && left.columns * right.width <= right.packs.len(), "a matrix without its numbers");
    let mut pack = 0;
    while pack + 4 <= right.width {
        rows::<M, 5, 4>(left, right, pack, &mut sink);
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
    let packs = &right.packs[pack..];
    if left.column > 1 {
        sums = add_columns(sums, &left.numbers[row..], left, packs, right.width);
    } else {
        sums = add_rows(sums, &left.numbers[row * left.row..], left, packs, right.width);
    }
    // A copy, so that only this one has to lie in memory.
    for (r, sums) in { sums }.iter().enumerate() {
        sink.store(row + r, pack, sums);
    }
}

/// Adds the products of `R` rows of A, whose elements of one column lie side by side. The loop has no way to
/// panic: sums that a panic could leave behind would be written to memory at every step.
#[inline(always)]
fn add_columns<M: Machine, const R: usize, const C: usize>(
    mut sums: [[Lanes<M>; C]; R],
    numbers: &[f32],
    left: Left,
    packs: &[Pack],
    width: usize,
) -> [[Lanes<M>; C]; R] {
    for (numbers, packs) in numbers.chunks(left.column).zip(packs.chunks(width)).take(left.columns) {
        if let (Some(factors), Some(packs)) = (numbers.first_chunk::<R>(), packs.first_chunk::<C>()) {
            add(&mut sums, factors, packs);
        }
    }
    sums
}

/// The same where the elements of one row lie side by side.
#[inline(always)]
fn add_rows<M: Machine, const R: usize, const C: usize>(
    mut sums: [[Lanes<M>; C]; R],
    numbers: &[f32],
    left: Left,
    packs: &[Pack],
    width: usize,
) -> [[Lanes<M>; C]; R] {
    let mut lines = [&numbers[..0]; R];
    for (r, line) in lines.iter_mut().enumerate() {
        *line = &numbers[r * left.row..][..left.columns];
    }
    for (k, packs) in packs.chunks(width).enumerate().take(left.columns) {
        let mut factors = [0.0; R];
        for (factor, line) in factors.iter_mut().zip(lines) {
            *factor = line.get(k).copied().unwrap_or_default();
        }
        if let Some(packs) = packs.first_chunk::<C>() {
            add(&mut sums, &factors, packs);
        }
    }
    sums
}

/// Adds the products of a column of A and a row of B.
#[inline(always)]
fn add<M: Machine, const R: usize, const C: usize>(
    sums: &mut [[Lanes<M>; C]; R],
    factors: &[f32; R],
    packs: &[Pack; C],
) {
    let mut across = [Lanes::<M>::default(); C];
    for (lanes, pack) in across.iter_mut().zip(packs) {
        *lanes = Lanes::from_array(*pack);
    }
    for (sums, &factor) in sums.iter_mut().zip(factors) {
        let factor = Lanes::constant(factor);
        for (sum, &pack) in sums.iter_mut().zip(&across) {
            *sum = Lanes::multiply_add(factor, pack, *sum);
        }
    }
}
