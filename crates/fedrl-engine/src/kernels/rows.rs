//! Arithmetic on rows that stay on a device. Nothing is changed in place: a result is a buffer of its own.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]

use std::sync::Arc;

use cubecl::prelude::*;

use super::buffer::{Buffer, cubes};
use crate::EngineError;
use crate::rows::Combine;

/// A row of numbers for every agent of a block, on a device.
#[derive(Clone)]
pub struct DeviceRows {
    client: Client,
    /// Shared by all clones.
    pub(super) numbers: Arc<Buffer>,
    rows: usize,
    columns: usize,
}

impl std::fmt::Debug for DeviceRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceRows").field("rows", &self.rows).field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// What a row is summed up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Sum {
    Squares,
    /// How many numbers are infinite or none.
    NotFinite,
}

/// Parts that a row is summed in.
const PARTS: usize = 32;

/// Rows that are added one after the other: sums of sums keep the rounding small.
const TOGETHER: usize = 64;

impl DeviceRows {
    pub(super) fn new(client: &Client, numbers: Buffer, rows: usize, columns: usize) -> Self {
        DeviceRows { client: client.clone(), numbers: Arc::new(numbers), rows, columns }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    fn room(&self, rows: usize) -> DeviceRows {
        let numbers = Buffer::room(&self.client, rows * self.columns);
        DeviceRows::new(&self.client, numbers, rows, self.columns)
    }

    pub(crate) fn read(&self) -> Result<Vec<f32>, EngineError> {
        Ok(Buffer::read(&self.client, &[&self.numbers])?.remove(0))
    }

    pub(crate) fn norms(&self) -> Result<Vec<f64>, EngineError> {
        Ok(self.sums(Sum::Squares)?.into_iter().map(|squares| f64::from(squares).sqrt()).collect())
    }

    pub(crate) fn finite(&self) -> Result<Vec<bool>, EngineError> {
        Ok(self.sums(Sum::NotFinite)?.into_iter().map(|count| count == 0.0).collect())
    }

    fn sums(&self, sum: Sum) -> Result<Vec<f32>, EngineError> {
        let parts = Buffer::room(&self.client, self.rows * PARTS);
        let sums = Buffer::room(&self.client, self.rows);
        let (count, dim) = cubes(self.rows * PARTS);
        row_parts::launch(&self.client, count, dim, self.numbers.arg(), parts.arg(), self.columns, sum);
        let (count, dim) = cubes(self.rows);
        row_sums::launch(&self.client, count, dim, parts.arg(), sums.arg());
        let mut sums = Buffer::read(&self.client, &[&sums])?.remove(0);
        sums.truncate(self.rows);
        Ok(sums)
    }

    pub(crate) fn add_scaled(&mut self, factors: &[f32], x: &DeviceRows) {
        let factors = Buffer::numbers(&self.client, factors);
        let sum = self.room(self.rows);
        let (count, dim) = cubes(self.rows * self.columns);
        let (y, x) = (self.numbers.arg(), x.numbers.arg());
        scaled_sum::launch(&self.client, count, dim, y, factors.arg(), x, sum.numbers.arg(), self.columns);
        *self = sum;
    }

    pub(crate) fn clamp(&mut self, bounds: &[f32]) {
        let bounds = Buffer::numbers(&self.client, bounds);
        let clamped = self.room(self.rows);
        let (count, dim) = cubes(self.rows * self.columns);
        let x = self.numbers.arg();
        clamped_rows::launch(&self.client, count, dim, x, bounds.arg(), clamped.numbers.arg(), self.columns);
        *self = clamped;
    }

    pub(crate) fn combine<C: Combine>(&self, other: &DeviceRows, shared: &[f32], numbers: &[f32]) -> DeviceRows {
        let (shared, numbers) = (Buffer::numbers(&self.client, shared), Buffer::numbers(&self.client, numbers));
        let combined = self.room(self.rows);
        let (count, dim) = cubes(self.rows * self.columns);
        combined_rows::launch::<C>(
            &self.client,
            count,
            dim,
            self.numbers.arg(),
            other.numbers.arg(),
            shared.arg(),
            numbers.arg(),
            combined.numbers.arg(),
            self.columns,
        );
        combined
    }

    /// These rows of those buffers, one after the other. There is at least one.
    pub(crate) fn join(rows: &[(DeviceRows, usize)]) -> DeviceRows {
        let joined = rows[0].0.room(rows.len());
        let mut next = 0;
        while next < rows.len() {
            // As many as lie one after the other in one buffer.
            let (source, first) = &rows[next];
            let together = |(i, (other, row)): (usize, &(DeviceRows, usize))| {
                *row == first + i && Arc::ptr_eq(&other.numbers, &source.numbers)
            };
            let count = rows[next..].iter().enumerate().take_while(|&row| together(row)).count();
            if count == rows.len() && count == source.rows {
                return source.clone();
            }
            let numbers = count * source.columns;
            let (cube_count, dim) = cubes(numbers);
            let (from, to) = (first * source.columns, next * source.columns);
            let (x, y) = (source.numbers.arg(), joined.numbers.arg());
            copied::launch(&source.client, cube_count, dim, x, y, from as u32, to as u32, numbers as u32);
            next += count;
        }
        joined
    }

    /// Some of the rows.
    pub fn part(&self, rows: std::ops::Range<usize>) -> DeviceRows {
        DeviceRows::join(&rows.map(|row| (self.clone(), row)).collect::<Vec<_>>())
    }

    /// The mean of the rows.
    pub(crate) fn mean(&self) -> Result<Vec<f32>, EngineError> {
        let mut sums = self.clone();
        while sums.rows > 1 {
            let fewer = self.room(sums.rows.div_ceil(TOGETHER));
            let (count, dim) = cubes(fewer.rows * self.columns);
            let (x, y) = (sums.numbers.arg(), fewer.numbers.arg());
            column_sums::launch(&self.client, count, dim, x, y, sums.rows as u32, self.columns);
            sums = fewer;
        }
        let share = 1.0 / self.rows as f64;
        Ok(sums.read()?.into_iter().map(|sum| (f64::from(sum) * share) as f32).collect())
    }
}

#[cube(launch)]
fn scaled_sum(y: &[f32], factors: &[f32], x: &[f32], out: &mut [f32], #[comptime] columns: usize) {
    let i = ABSOLUTE_POS;
    if i < out.len() {
        out[i] = y[i] + factors[i / columns] * x[i];
    }
}

#[cube(launch)]
fn clamped_rows(x: &[f32], bounds: &[f32], out: &mut [f32], #[comptime] columns: usize) {
    let i = ABSOLUTE_POS;
    if i < out.len() {
        let bound = bounds[i / columns];
        let mut value = x[i];
        if value > bound {
            value = bound;
        } else if value < -bound {
            value = -bound;
        }
        out[i] = value;
    }
}

#[cube(launch)]
fn combined_rows<C: Combine>(
    own: &[f32],
    other: &[f32],
    shared: &[f32],
    numbers: &[f32],
    out: &mut [f32],
    #[comptime] columns: usize,
) {
    let i = ABSOLUTE_POS;
    if i < out.len() {
        out[i] = C::combine::<f32>(own[i], other[i], shared[i % shared.len()], numbers[i / columns]);
    }
}

#[cube(launch)]
fn copied(x: &[f32], y: &mut [f32], from: u32, to: u32, count: u32) {
    let i = ABSOLUTE_POS;
    if i < count as usize {
        y[to as usize + i] = x[from as usize + i];
    }
}

/// Each of the [`PARTS`] of a row.
#[cube(launch)]
fn row_parts(x: &[f32], out: &mut [f32], #[comptime] columns: usize, #[comptime] what: Sum) {
    let i = ABSOLUTE_POS;
    if i < out.len() {
        let (row, part) = (i / PARTS, i % PARTS);
        let mut sum = 0.0f32;
        for k in 0..comptime!(columns.div_ceil(PARTS)) {
            let column = k * PARTS + part;
            if column < columns {
                let value = x[row * columns + column];
                if comptime!(what == Sum::Squares) {
                    sum += value * value;
                } else if u32::reinterpret(value) & 0x7f80_0000u32 == 0x7f80_0000u32 {
                    // By its bits: compilers for GPUs may take numbers to be finite.
                    sum += 1.0f32;
                }
            }
        }
        out[i] = sum;
    }
}

#[cube(launch)]
fn row_sums(parts: &[f32], out: &mut [f32]) {
    let row = ABSOLUTE_POS;
    if row < out.len() {
        let mut sum = 0.0f32;
        for part in 0..PARTS {
            sum += parts[row * PARTS + part];
        }
        out[row] = sum;
    }
}

/// Every [`TOGETHER`] rows to one.
#[cube(launch)]
fn column_sums(x: &[f32], out: &mut [f32], rows: u32, #[comptime] columns: usize) {
    let i = ABSOLUTE_POS;
    if i < out.len() {
        let (group, column) = (i / columns, i % columns);
        let mut sum = 0.0f32;
        for k in 0..TOGETHER {
            let row = group * TOGETHER + k;
            if row < rows as usize {
                sum += x[row * columns + column];
            }
        }
        out[i] = sum;
    }
}
