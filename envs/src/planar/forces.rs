//! Inertia, and every force but those of constraints.
//!
//! The dynamics take absolute angles: a link turns about the hinge of the one above, whatever
//! that one does. Hang the mass of all that follows into its lower hinge, and its first moment S
//! and its moment of inertia about its upper hinge become constants (Wittenburg's augmented
//! body). With u the way from a body's hinge to the next one down the leg, the mass matrix
//! couples it to a link further down by u · S and nothing else; in f32 that loses much less than
//! relative angles do, whose inertias nearly cancel.

use cubecl::prelude::*;
use fedrl_core::{Local, Real};

use super::arrow::{BLOCK, Blocks, Chains};
use super::pose::{POSE_STRIDE, Pose, X, Z, turned_x, turned_z};
use super::table::{
    ARMATURE, BODY, BODY_STRIDE, CHAIN, DAMPER, GRAVITY, INERTIA, JOINT, JOINT_STRIDE, LINKS, MOMENT, ROOT, SIGN,
    SPRING, Shape, TORSO, TOTAL_MASS,
};

/// The body whose angle has the place `place` in the chain of `leg`.
#[cube]
pub(crate) fn body_at(leg: usize, place: usize) -> usize {
    if place == TORSO { 0usize } else { leg * LINKS + place - TORSO }
}

/// The x component of the way from the hinge at `place` of a chain to the next one.
#[cube]
pub(crate) fn way_x<F: Real>(pose: &Pose<F>, leg: usize, place: usize) -> F {
    pose[body_at(leg, place + 1) * POSE_STRIDE + X] - pose[body_at(leg, place) * POSE_STRIDE + X]
}

/// The z component of that way.
#[cube]
pub(crate) fn way_z<F: Real>(pose: &Pose<F>, leg: usize, place: usize) -> F {
    pose[body_at(leg, place + 1) * POSE_STRIDE + Z] - pose[body_at(leg, place) * POSE_STRIDE + Z]
}

/// The mass matrix in a pose.
#[cube]
pub(crate) fn mass_matrix<F: Real, S: Shape>(c: &[F], pose: &Pose<F>, matrix: &mut Blocks<F>) {
    for leg in 0..S::LEGS {
        let block = leg * BLOCK;
        for row in 0..ROOT {
            for column in 0..row + 1 {
                matrix[block + row * CHAIN + column] = F::new(0.0);
            }
        }
        for row in ROOT..CHAIN {
            let body = body_at(leg, row);
            let of = BODY + body * BODY_STRIDE;
            let s_x = turned_x::<F>(pose, body, c[of + MOMENT], c[of + MOMENT + 1]);
            let s_z = turned_z::<F>(pose, body, c[of + MOMENT], c[of + MOMENT + 1]);
            matrix[block + row * CHAIN] = s_z;
            matrix[block + row * CHAIN + 1] = -s_x;
            for above in TORSO..row {
                matrix[block + row * CHAIN + above] =
                    way_x::<F>(pose, leg, above) * s_x + way_z::<F>(pose, leg, above) * s_z;
            }
            matrix[block + row * CHAIN + row] = c[of + INERTIA];
        }
        for link in 0..LINKS {
            couple::<F>(matrix, leg, link, c[JOINT + (leg * LINKS + link) * JOINT_STRIDE + ARMATURE]);
        }
    }
    matrix[0] = c[TOTAL_MASS];
    matrix[CHAIN + 1] = c[TOTAL_MASS];
    matrix[TORSO * CHAIN] = turned_z::<F>(pose, 0usize, c[BODY + MOMENT], c[BODY + MOMENT + 1]);
    matrix[TORSO * CHAIN + 1] = -turned_x::<F>(pose, 0usize, c[BODY + MOMENT], c[BODY + MOMENT + 1]);
    matrix[TORSO * CHAIN + TORSO] += c[BODY + INERTIA];
}

/// Adds what resists turning the hinge above the link number `link` of a leg, `much` per rate.
#[cube]
pub(crate) fn couple<F: Real>(matrix: &mut Blocks<F>, leg: usize, link: usize, much: F) {
    let above = leg * BLOCK + (TORSO + link) * CHAIN + TORSO + link;
    let below = above + CHAIN + 1;
    matrix[above] += much;
    matrix[below] += much;
    matrix[below - 1] -= much;
}

/// Adds a torque about +y at the hinge above the link number `link` of a leg.
#[cube]
pub(crate) fn twist<F: Real>(forces: &mut Chains<F>, leg: usize, link: usize, torque: F) {
    forces[leg * CHAIN + ROOT + link] += torque;
    forces[leg * CHAIN + TORSO + link] -= torque;
}

/// The velocities of the chains at the velocities `v` of the coordinates.
#[cube]
pub(crate) fn chain_speeds<F: Real, S: Shape>(c: &[F], v: &Local<F, 9>, speeds: &mut Chains<F>) {
    for leg in 0..S::LEGS {
        for i in 0..ROOT {
            speeds[leg * CHAIN + i] = v[i];
        }
        let mut speed = v[TORSO];
        for link in 0..LINKS {
            speed += c[SIGN] * v[ROOT + leg * LINKS + link];
            speeds[leg * CHAIN + ROOT + link] = speed;
        }
    }
}

/// Forces on the chains: gravity, those of rotation, springs, dampers, and the motors' `torques`.
/// The torso's parts of the legs add up.
#[cube]
pub(crate) fn smooth_forces<F: Real, S: Shape>(
    c: &[F],
    pose: &Pose<F>,
    q: &Local<F, 9>,
    v: &Local<F, 9>,
    speeds: &Chains<F>,
    torques: &Local<F, 6>,
    forces: &mut Chains<F>,
) {
    for leg in 0..S::LEGS {
        let chain = leg * CHAIN;
        for i in 0..CHAIN {
            forces[chain + i] = F::new(0.0);
        }
        for place in TORSO..CHAIN {
            // The torso's own share counts once.
            if place > TORSO || leg == 0 {
                let body = body_at(leg, place);
                let of = BODY + body * BODY_STRIDE;
                let s_x = turned_x::<F>(pose, body, c[of + MOMENT], c[of + MOMENT + 1]);
                let s_z = turned_z::<F>(pose, body, c[of + MOMENT], c[of + MOMENT + 1]);
                let swing = speeds[chain + place] * speeds[chain + place];
                forces[chain] += swing * s_x;
                forces[chain + 1] += swing * s_z;
                forces[chain + place] += c[GRAVITY] * s_x;
                for above in TORSO..place {
                    let lever = way_x::<F>(pose, leg, above) * s_z - way_z::<F>(pose, leg, above) * s_x;
                    forces[chain + above] -= lever * swing;
                    forces[chain + place] += lever * (speeds[chain + above] * speeds[chain + above]);
                }
            }
        }
        for link in 0..LINKS {
            let hinge = leg * LINKS + link;
            let joint = JOINT + hinge * JOINT_STRIDE;
            let passive = c[joint + SPRING] * q[ROOT + hinge] + c[joint + DAMPER] * v[ROOT + hinge];
            twist::<F>(forces, leg, link, c[SIGN] * (torques[hinge] - passive));
        }
    }
    forces[1] -= c[GRAVITY] * c[TOTAL_MASS];
}
