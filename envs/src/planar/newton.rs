//! Accelerations under constraints.
//!
//! They are the minimum of ½(a - a₀)ᵀM(a - a₀) + Σ ½ D min(0, J a - aref)², where M a₀ are the
//! smooth forces and the sum runs over the constraints: Gauss's principle with soft constraints.
//! Newton's method moves to where the forces balance as if those constraints push which pushed
//! before, until none changes its mind. On trajectories that takes at most 4 rounds; longer, and
//! the step is cut where the cost begins to rise, lest minds change back and forth. The last
//! round changes no mind: it takes away what rounding left, which stiff contacts need in f32.

use cubecl::prelude::*;
use fedrl_core::Real;

use super::arrow::{BLOCK, Blocks, Chains, factor, multiply, solve};
use super::constraints::{
    CONTACT_STRIDE, Contacts, EXCESS, EXCESS_NORMAL, EXCESS_TANGENT, LIMIT_STIFF, LIMIT_STRIDE, Limits, NORMAL,
    PUSH_MIXED, PUSH_NORMAL, PUSH_TANGENT, PUSHES, SIDE, STIFF, TANGENT, WANTED, WANTED_NORMAL, WANTED_TANGENT,
    body_of, leg_of,
};
use super::forces::{couple, twist};
use super::search::share_of_step;
use super::table::{CHAIN, LINKS, ROOT, Shape, TORSO};

/// Rounds of Newton's method at most.
const ROUNDS: usize = 12;
/// Rounds that take steps in full.
const FULL_ROUNDS: usize = 4;

/// The accelerations of the chains under `forces` and whatever constraints push.
#[cube]
pub(crate) fn accelerate<F: Real, S: Shape>(
    mass: &Blocks<F>,
    forces: &Chains<F>,
    contacts: &mut Contacts<F>,
    limits: &mut Limits<F>,
    acceleration: &mut Chains<F>,
) {
    let mut matrix = Blocks::<F>::new();
    let mut missing = Chains::<F>::new();
    let mut change = Chains::<F>::new();
    for i in 0..S::LEGS * CHAIN {
        acceleration[i] = F::new(0.0);
    }
    let mut settled = false;
    // In the first round nothing pushes.
    for round in 0..ROUNDS + 1 {
        if !settled {
            if round > 0 {
                let contacts_changed = push_contacts::<F, S>(contacts, &*acceleration);
                let limits_changed = push_limits::<F, S>(limits, &*acceleration);
                settled = !contacts_changed && !limits_changed;
            }
            if !settled {
                for row in 0..S::LEGS * CHAIN {
                    #[unroll]
                    for i in 0..CHAIN {
                        matrix[row * CHAIN + i] = mass[row * CHAIN + i];
                    }
                }
                stiffen_contacts::<F, S>(&*contacts, &mut matrix);
                stiffen_limits::<F, S>(&*limits, &mut matrix);
                factor::<F, S>(&mut matrix);
            }
            multiply::<F, S>(mass, &*acceleration, &mut change);
            for i in 0..S::LEGS * CHAIN {
                missing[i] = forces[i] - change[i];
                change[i] = missing[i];
            }
            apply_contacts::<F, S>(&*contacts, &mut change);
            apply_limits::<F, S>(&*limits, &mut change);
            solve::<F, S>(&matrix, &mut change);
            let mut share = F::new(1.0);
            if round > FULL_ROUNDS && !settled {
                share = share_of_step::<F, S>(mass, &missing, &*contacts, &*limits, &change);
            }
            for i in 0..S::LEGS * CHAIN {
                acceleration[i] += share * change[i];
            }
        }
    }
}

/// Lets those edges of contacts push that are accelerated less than they want. Says whether any
/// changed.
#[cube]
fn push_contacts<F: Real, S: Shape>(contacts: &mut Contacts<F>, acceleration: &Chains<F>) -> bool {
    let mut changed = false;
    let zero = F::new(0.0);
    let one = F::new(1.0);
    for end in 0..S::ENDS {
        let at = end * CONTACT_STRIDE;
        if contacts[at + STIFF] > zero {
            let chain = leg_of(body_of::<S>(end)) * CHAIN;
            let mut away = -contacts[at + WANTED_NORMAL];
            let mut along = -contacts[at + WANTED_TANGENT];
            #[unroll]
            for i in 0..CHAIN {
                away += contacts[at + NORMAL + i] * acceleration[chain + i];
                along += contacts[at + TANGENT + i] * acceleration[chain + i];
            }
            contacts[at + EXCESS_NORMAL] = away;
            contacts[at + EXCESS_TANGENT] = along;
            let plus = if away + along < zero { one } else { zero };
            let minus = if away - along < zero { one } else { zero };
            let centre = if away < zero { F::new(2.0) } else { zero };
            let normal = plus + minus + centre;
            let mixed = plus - minus;
            changed = changed || contacts[at + PUSH_NORMAL] != normal || contacts[at + PUSH_MIXED] != mixed;
            contacts[at + PUSH_NORMAL] = normal;
            contacts[at + PUSH_MIXED] = mixed;
            contacts[at + PUSH_TANGENT] = plus + minus;
        }
    }
    changed
}

/// The same for limits.
#[cube]
fn push_limits<F: Real, S: Shape>(limits: &mut Limits<F>, acceleration: &Chains<F>) -> bool {
    let mut changed = false;
    for leg in 0..S::LEGS {
        for link in 0..LINKS {
            let at = (leg * LINKS + link) * LIMIT_STRIDE;
            if limits[at + LIMIT_STIFF] > F::new(0.0) {
                let turning = acceleration[leg * CHAIN + ROOT + link] - acceleration[leg * CHAIN + TORSO + link];
                limits[at + EXCESS] = turning - limits[at + WANTED];
                let excess = limits[at + SIDE] * limits[at + EXCESS];
                let pushes = if excess < F::new(0.0) { F::new(1.0) } else { F::new(0.0) };
                changed = changed || limits[at + PUSHES] != pushes;
                limits[at + PUSHES] = pushes;
            }
        }
    }
    changed
}

/// Adds the contacts that push to the matrix.
#[cube]
fn stiffen_contacts<F: Real, S: Shape>(contacts: &Contacts<F>, matrix: &mut Blocks<F>) {
    for end in 0..S::ENDS {
        let at = end * CONTACT_STRIDE;
        if contacts[at + PUSH_NORMAL] > F::new(0.0) {
            let leg = leg_of(body_of::<S>(end));
            let normal = contacts[at + STIFF] * contacts[at + PUSH_NORMAL];
            let mixed = contacts[at + STIFF] * contacts[at + PUSH_MIXED];
            let tangent = contacts[at + STIFF] * contacts[at + PUSH_TANGENT];
            for row in 0..CHAIN {
                let n = contacts[at + NORMAL + row];
                let t = contacts[at + TANGENT + row];
                let along_normal = normal * n + mixed * t;
                let along_tangent = mixed * n + tangent * t;
                for column in 0..row + 1 {
                    let share =
                        along_normal * contacts[at + NORMAL + column] + along_tangent * contacts[at + TANGENT + column];
                    matrix[leg * BLOCK + row * CHAIN + column] += share;
                }
            }
        }
    }
}

/// Adds the forces of the contacts that push.
#[cube]
fn apply_contacts<F: Real, S: Shape>(contacts: &Contacts<F>, forces: &mut Chains<F>) {
    for end in 0..S::ENDS {
        let at = end * CONTACT_STRIDE;
        if contacts[at + PUSH_NORMAL] > F::new(0.0) {
            let chain = leg_of(body_of::<S>(end)) * CHAIN;
            let away = contacts[at + EXCESS_NORMAL];
            let along = contacts[at + EXCESS_TANGENT];
            let mixed = contacts[at + PUSH_MIXED];
            let normal = contacts[at + STIFF] * (contacts[at + PUSH_NORMAL] * away + mixed * along);
            let tangent = contacts[at + STIFF] * (mixed * away + contacts[at + PUSH_TANGENT] * along);
            #[unroll]
            for i in 0..CHAIN {
                forces[chain + i] -= normal * contacts[at + NORMAL + i] + tangent * contacts[at + TANGENT + i];
            }
        }
    }
}

/// Adds the limits that push to the matrix.
#[cube]
fn stiffen_limits<F: Real, S: Shape>(limits: &Limits<F>, matrix: &mut Blocks<F>) {
    for leg in 0..S::LEGS {
        for link in 0..LINKS {
            let at = (leg * LINKS + link) * LIMIT_STRIDE;
            if limits[at + PUSHES] > F::new(0.0) {
                couple::<F>(matrix, leg, link, limits[at + LIMIT_STIFF]);
            }
        }
    }
}

/// Adds the torques of the limits that push.
#[cube]
fn apply_limits<F: Real, S: Shape>(limits: &Limits<F>, forces: &mut Chains<F>) {
    for leg in 0..S::LEGS {
        for link in 0..LINKS {
            let at = (leg * LINKS + link) * LIMIT_STRIDE;
            if limits[at + PUSHES] > F::new(0.0) {
                twist::<F>(forces, leg, link, -(limits[at + LIMIT_STIFF] * limits[at + EXCESS]));
            }
        }
    }
}
