//! How far to follow a step of Newton's method that would switch constraints back and forth.
//!
//! Along a step the cost is convex and piecewise quadratic: its slope rises from below 0. The
//! step ends where the slope reaches 0, or in full if it does not before.

use cubecl::prelude::*;
use fedrl_core::Real;

use super::arrow::{Blocks, Chains, multiply};
use super::constraints::{
    CONTACT_STRIDE, Contacts, EXCESS, EXCESS_NORMAL, EXCESS_TANGENT, LIMIT_STIFF, LIMIT_STRIDE, Limits, NORMAL, SIDE,
    STIFF, TANGENT, body_of, leg_of,
};
use super::table::{CHAIN, LINKS, ROOT, Shape, TORSO};

/// Halvings of the step.
const HALVINGS: usize = 10;

/// The share of the step `change` to take from where the smooth forces leave `missing`.
#[cube]
pub(crate) fn share_of_step<F: Real, S: Shape>(
    mass: &Blocks<F>,
    missing: &Chains<F>,
    contacts: &Contacts<F>,
    limits: &Limits<F>,
    change: &Chains<F>,
) -> F {
    let mut momentum = Chains::<F>::new();
    multiply::<F, S>(mass, change, &mut momentum);
    let mut start = F::new(0.0);
    let mut growth = F::new(0.0);
    for i in 0..S::LEGS * CHAIN {
        start -= missing[i] * change[i];
        growth += momentum[i] * change[i];
    }
    let first = start + slope_of_constraints::<F, S>(contacts, limits, change, F::new(0.0));
    let last = start + growth + slope_of_constraints::<F, S>(contacts, limits, change, F::new(1.0));
    let mut share = F::new(1.0);
    // Rounding leaves a little of the slope at the end of a perfect step.
    if last > F::new(-0.01) * first {
        let mut low = F::new(0.0);
        let mut high = F::new(1.0);
        for _ in 0..HALVINGS {
            share = F::new(0.5) * (low + high);
            let slope = start + share * growth + slope_of_constraints::<F, S>(contacts, limits, change, share);
            if slope > F::new(0.0) {
                high = share;
            } else {
                low = share;
            }
        }
    }
    share
}

/// What the constraints add to the slope of the cost after a `share` of the step.
#[cube]
fn slope_of_constraints<F: Real, S: Shape>(
    contacts: &Contacts<F>,
    limits: &Limits<F>,
    change: &Chains<F>,
    share: F,
) -> F {
    let zero = F::new(0.0);
    let mut slope = F::new(0.0);
    for end in 0..S::ENDS {
        let at = end * CONTACT_STRIDE;
        if contacts[at + STIFF] > zero {
            let chain = leg_of(body_of::<S>(end)) * CHAIN;
            let mut normal = F::new(0.0);
            let mut tangent = F::new(0.0);
            #[unroll]
            for i in 0..CHAIN {
                normal += contacts[at + NORMAL + i] * change[chain + i];
                tangent += contacts[at + TANGENT + i] * change[chain + i];
            }
            let away = contacts[at + EXCESS_NORMAL] + share * normal;
            let along = contacts[at + EXCESS_TANGENT] + share * tangent;
            let mut edges = F::new(0.0);
            if away + along < zero {
                edges += (away + along) * (normal + tangent);
            }
            if away - along < zero {
                edges += (away - along) * (normal - tangent);
            }
            if away < zero {
                edges += F::new(2.0) * away * normal;
            }
            slope += contacts[at + STIFF] * edges;
        }
    }
    for leg in 0..S::LEGS {
        for link in 0..LINKS {
            let at = (leg * LINKS + link) * LIMIT_STRIDE;
            if limits[at + LIMIT_STIFF] > zero {
                let turning = change[leg * CHAIN + ROOT + link] - change[leg * CHAIN + TORSO + link];
                let excess = limits[at + EXCESS] + share * turning;
                if limits[at + SIDE] * excess < zero {
                    slope += limits[at + LIMIT_STIFF] * excess * turning;
                }
            }
        }
    }
    slope
}
