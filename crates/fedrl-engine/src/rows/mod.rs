//! Rows of numbers where estimates are made: in memory, or on a device that keeps them to itself.
//!
//! What an algorithm does with parameters and gradients is written once, over these: the same lines run
//! on both. What is read back is a number per agent, and one row for all of them.

mod combine;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use fedrl_core::Scalar;

use crate::kernels::DeviceRows;
use crate::{EngineError, Matrix};

pub use combine::{Combine, Difference};

/// A row of numbers for every agent of a block.
#[derive(Debug, Clone)]
pub enum Rows<F> {
    /// In memory.
    Host(Matrix<F>),
    /// On a device, in f32.
    Device(DeviceRows),
}

impl<F> From<Matrix<F>> for Rows<F> {
    fn from(matrix: Matrix<F>) -> Self {
        Rows::Host(matrix)
    }
}

impl<F: Scalar> Rows<F> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Rows::Host(matrix) => matrix.rows(),
            Rows::Device(rows) => rows.rows(),
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        match self {
            Rows::Host(matrix) => matrix.columns(),
            Rows::Device(rows) => rows.columns(),
        }
    }

    /// The numbers in memory, read back where they are not there.
    ///
    /// # Errors
    /// The device failed.
    pub fn host(&self) -> Result<Cow<'_, Matrix<F>>, EngineError> {
        match self {
            Rows::Host(matrix) => Ok(Cow::Borrowed(matrix)),
            Rows::Device(rows) => {
                let numbers = rows.read()?;
                Ok(Cow::Owned(Matrix::from_rows(numbers.chunks(rows.columns()).map(numbers_of))))
            }
        }
    }

    /// Euclidean norm of every row.
    ///
    /// # Errors
    /// The device failed.
    pub fn norms(&self) -> Result<Vec<f64>, EngineError> {
        match self {
            Rows::Host(matrix) => Ok(each(matrix).map(norm).collect()),
            Rows::Device(rows) => rows.norms(),
        }
    }

    /// Adds the rows of `x`, each times its factor.
    pub fn add_scaled(&mut self, factors: &[F], x: &Rows<F>) {
        match (self, x) {
            (Rows::Host(rows), Rows::Host(x)) => {
                for (index, &factor) in factors.iter().enumerate() {
                    add_scaled(rows.row_mut(index), factor, x.row(index));
                }
            }
            (Rows::Device(rows), Rows::Device(x)) => rows.add_scaled(&singles(factors), x),
            _ => unreachable!("{ONE_PLACE}"),
        }
    }

    /// Brings every component of each row into ± its bound; what is no number stays none.
    pub fn clamp(&mut self, bounds: &[F]) {
        match self {
            Rows::Host(rows) => {
                for (index, &bound) in bounds.iter().enumerate() {
                    rows.row_mut(index).iter_mut().for_each(|x| *x = clamp(*x, bound));
                }
            }
            Rows::Device(rows) => rows.clamp(&singles(bounds)),
        }
    }

    /// Every component `C` makes of those of this row and the `other`, of a vector that all rows share or of
    /// as many vectors as there are rows, one after the other, and of the row's number.
    #[must_use]
    pub fn combine<C: Combine>(&self, other: &Rows<F>, shared: &[F], numbers: &[F]) -> Rows<F> {
        match (self, other) {
            (Rows::Host(rows), Rows::Host(others)) => {
                let mut combined = rows.clone();
                for (index, &number) in numbers.iter().enumerate() {
                    let own_or_shared = &shared[index * rows.columns() % shared.len().max(1)..];
                    let terms = others.row(index).iter().zip(own_or_shared);
                    for (own, (&other, &shared)) in combined.row_mut(index).iter_mut().zip(terms) {
                        *own = C::combine::<F>(*own, other, shared, number);
                    }
                }
                Rows::Host(combined)
            }
            (Rows::Device(rows), Rows::Device(others)) => {
                Rows::Device(rows.combine::<C>(others, &singles(shared), &singles(numbers)))
            }
            _ => unreachable!("{ONE_PLACE}"),
        }
    }

    /// Every row less a vector that all share, or less the row's own of as many as there are rows.
    #[must_use]
    pub fn less(&self, shared: &[F]) -> Rows<F> {
        self.combine::<Difference>(self, shared, &vec![F::default(); self.rows()])
    }

    /// Every row less the other's.
    #[must_use]
    pub fn minus(&self, other: &Rows<F>) -> Rows<F> {
        let mut difference = self.clone();
        difference.add_scaled(&vec![F::from_f64(-1.0); self.rows()], other);
        difference
    }

    /// As many rows as there are, or copies of the only one.
    #[must_use]
    pub fn spread(&self, rows: usize) -> Rows<F> {
        if self.rows() == rows { self.clone() } else { self.chosen(std::iter::repeat_n(0, rows)) }
    }

    /// Some of the rows.
    #[must_use]
    pub fn part(&self, rows: Range<usize>) -> Rows<F> {
        self.chosen(rows)
    }

    fn chosen(&self, rows: impl Iterator<Item = usize>) -> Rows<F> {
        match self {
            Rows::Host(matrix) => Rows::Host(Matrix::from_rows(rows.map(|row| matrix.row(row)))),
            Rows::Device(all) => {
                Rows::Device(DeviceRows::join(&rows.map(|row| (all.clone(), row)).collect::<Vec<_>>()))
            }
        }
    }

    /// Every row of its own, knowing whether all of its numbers are finite.
    ///
    /// # Errors
    /// The device failed.
    pub fn split(self) -> Result<Vec<Row<F>>, EngineError> {
        let finite: Vec<bool> = match &self {
            Rows::Host(matrix) => each(matrix).map(|row| row.iter().all(|x| x.as_double().is_finite())).collect(),
            Rows::Device(rows) => rows.finite()?,
        };
        let rows = Arc::new(self);
        let row = |(index, finite)| Row { rows: Arc::clone(&rows), index, finite };
        Ok(finite.into_iter().enumerate().map(row).collect())
    }

    /// All rows of these, one after the other. There is at least one.
    pub fn stack(all: &[&Rows<F>]) -> Rows<F> {
        let rows = all.iter().flat_map(|&rows| {
            let rows = Arc::new(rows.clone());
            (0..rows.rows()).map(move |index| Row { rows: Arc::clone(&rows), index, finite: true })
        });
        Rows::join(&rows.collect::<Vec<_>>().iter().collect::<Vec<_>>())
    }

    /// These rows together, in their order. There is at least one.
    pub fn join(rows: &[&Row<F>]) -> Rows<F> {
        match &*rows[0].rows {
            Rows::Host(_) => Rows::Host(Matrix::from_rows(rows.iter().filter_map(|row| row.numbers()))),
            Rows::Device(_) => Rows::Device(on_device(rows)),
        }
    }
}

const ONE_PLACE: &str = "the rows of one experiment lie in one place";

/// One agent's row.
#[derive(Debug, Clone)]
pub struct Row<F> {
    rows: Arc<Rows<F>>,
    index: usize,
    finite: bool,
}

impl<F: Scalar> Row<F> {
    /// Length.
    pub fn columns(&self) -> usize {
        self.rows.columns()
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        self.finite
    }

    /// The numbers, if they are in memory.
    pub fn numbers(&self) -> Option<&[F]> {
        match &*self.rows {
            Rows::Host(matrix) => Some(matrix.row(self.index)),
            Rows::Device(_) => None,
        }
    }

    /// The mean of these rows, if they are on a device.
    ///
    /// # Errors
    /// The device failed.
    pub fn mean_on_device(rows: &[&Row<F>]) -> Option<Result<Vec<F>, EngineError>> {
        let Rows::Device(_) = &*rows.first()?.rows else { return None };
        Some(on_device(rows).mean().map(|mean| numbers_of(&mean)))
    }
}

/// These rows, which are on a device, in one place.
fn on_device<F>(rows: &[&Row<F>]) -> DeviceRows {
    let place = |row: &&Row<F>| match &*row.rows {
        Rows::Device(rows) => (rows.clone(), row.index),
        Rows::Host(_) => unreachable!("{ONE_PLACE}"),
    };
    DeviceRows::join(&rows.iter().map(place).collect::<Vec<_>>())
}

fn each<F: Copy>(matrix: &Matrix<F>) -> impl Iterator<Item = &[F]> {
    (0..matrix.rows()).map(|index| matrix.row(index))
}

fn singles<F: Scalar>(numbers: &[F]) -> Vec<f32> {
    numbers.iter().map(|x| x.as_double() as f32).collect()
}

fn numbers_of<F: Scalar>(singles: &[f32]) -> Vec<F> {
    singles.iter().map(|&x| F::from_f64(f64::from(x))).collect()
}

/// `y ← y + a x`.
fn add_scaled<F: Scalar>(y: &mut [F], a: F, x: &[F]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y += a * x);
}

/// Euclidean norm, in f64.
pub fn norm<F: Scalar>(x: &[F]) -> f64 {
    // Four sums, since one would wait for itself.
    let mut sums = [0.0; 4];
    for four in x.chunks(4) {
        sums.iter_mut().zip(four).for_each(|(sum, x)| *sum += x.as_double().powi(2));
    }
    sums.iter().sum::<f64>().sqrt()
}

/// `x` within ±`bound`; not a number if it is none.
fn clamp<F: Scalar>(x: F, bound: F) -> F {
    if x > bound {
        bound
    } else if x < -bound {
        -bound
    } else {
        x
    }
}
