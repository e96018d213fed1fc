//! Linear systems of a torso with legs.
//!
//! The matrix of such a system is an arrow: the torso's three coordinates meet all others, but
//! links of one leg never meet those of another, and floor contacts keep it so. It is stored as
//! one block of 6 by 6 per leg: that of its chain, lower triangle. The blocks' torso parts add up.

use cubecl::prelude::*;
use fedrl_core::{Local, Real};

use super::table::{CHAIN, ROOT, Shape};

/// One block per leg.
pub(crate) type Blocks<F> = Local<F, 72>;
/// Six numbers per leg, in the order of a block.
pub(crate) type Chains<F> = Local<F, 12>;

/// Numbers in a block.
pub(crate) const BLOCK: usize = CHAIN * CHAIN;

/// Factors `matrix` into L D Lᵀ in place, from the feet to the torso, which fills no zero.
#[cube]
pub(crate) fn factor<F: Real, S: Shape>(matrix: &mut Blocks<F>) {
    for leg in 0..S::LEGS {
        for back in 0..CHAIN - ROOT {
            eliminate::<F>(matrix, leg, CHAIN - 1 - back);
        }
    }
    for leg in 1..S::LEGS {
        for row in 0..ROOT {
            for column in 0..row + 1 {
                let share = matrix[leg * BLOCK + row * CHAIN + column];
                matrix[row * CHAIN + column] += share;
            }
        }
    }
    for back in 0..ROOT {
        eliminate::<F>(matrix, 0usize, ROOT - 1 - back);
    }
}

/// Takes the coordinate `pivot` out of the equations of those before it. Leaves the inverse of
/// the pivot on the diagonal.
#[cube]
fn eliminate<F: Real>(matrix: &mut Blocks<F>, leg: usize, pivot: usize) {
    let block = leg * BLOCK;
    let from = block + pivot * CHAIN;
    let inverse = F::new(1.0) / matrix[from + pivot];
    matrix[from + pivot] = inverse;
    for row in 0..pivot {
        let times = matrix[from + row] * inverse;
        for column in 0..row + 1 {
            let change = times * matrix[from + column];
            matrix[block + row * CHAIN + column] -= change;
        }
    }
}

/// Solves a linear system of which [`factor`] made `factors`. Torso parts of `right` add up; the
/// solution is left in it, with the torso's part in every leg.
#[cube]
pub(crate) fn solve<F: Real, S: Shape>(factors: &Blocks<F>, right: &mut Chains<F>) {
    for leg in 0..S::LEGS {
        for back in 0..CHAIN - ROOT {
            carry::<F>(factors, right, leg, CHAIN - 1 - back);
        }
    }
    for leg in 1..S::LEGS {
        for row in 0..ROOT {
            let share = right[leg * CHAIN + row];
            right[row] += share;
        }
    }
    for back in 0..ROOT {
        carry::<F>(factors, right, 0usize, ROOT - 1 - back);
    }
    for row in 0..ROOT {
        substitute::<F>(factors, right, 0usize, row);
    }
    for leg in 1..S::LEGS {
        for row in 0..ROOT {
            let torso = right[row];
            right[leg * CHAIN + row] = torso;
        }
    }
    for leg in 0..S::LEGS {
        for row in ROOT..CHAIN {
            substitute::<F>(factors, right, leg, row);
        }
    }
}

/// Does to the right-hand side what taking `pivot` out does.
#[cube]
fn carry<F: Real>(factors: &Blocks<F>, right: &mut Chains<F>, leg: usize, pivot: usize) {
    let from = leg * BLOCK + pivot * CHAIN;
    let times = right[leg * CHAIN + pivot] * factors[from + pivot];
    for row in 0..pivot {
        right[leg * CHAIN + row] -= times * factors[from + row];
    }
}

/// Solves the equation of `row` for its coordinate, those before it being known.
#[cube]
fn substitute<F: Real>(factors: &Blocks<F>, right: &mut Chains<F>, leg: usize, row: usize) {
    let from = leg * BLOCK + row * CHAIN;
    let mut rest = right[leg * CHAIN + row];
    for column in 0..row {
        rest -= factors[from + column] * right[leg * CHAIN + column];
    }
    right[leg * CHAIN + row] = rest * factors[from + row];
}

/// `product = matrix · x`, with the torso's part of `x` in every leg; torso parts of the product
/// add up.
#[cube]
pub(crate) fn multiply<F: Real, S: Shape>(matrix: &Blocks<F>, x: &Chains<F>, product: &mut Chains<F>) {
    for leg in 0..S::LEGS {
        let start = leg * CHAIN;
        for row in 0..CHAIN {
            product[start + row] = F::new(0.0);
        }
        for row in 0..CHAIN {
            let from = leg * BLOCK + row * CHAIN;
            let mut sum = matrix[from + row] * x[start + row];
            for column in 0..row {
                sum += matrix[from + column] * x[start + column];
                let mirrored = matrix[from + column] * x[start + row];
                product[start + column] += mirrored;
            }
            product[start + row] += sum;
        }
    }
}
