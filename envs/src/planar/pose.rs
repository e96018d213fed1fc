//! Where the bodies are.

use cubecl::prelude::*;
use fedrl_core::{Local, Real};

use super::table::{BODY, BODY_STRIDE, LINKS, OFFSET, ROOT, SIGN, Shape};

/// Of each body: cosine and sine of its angle, and its hinge seen from the torso's frame, along
/// the world's axes, and how much higher it is than in the reference pose.
pub(crate) type Pose<F> = Local<F, 35>;

pub(crate) const POSE_STRIDE: usize = 5;
pub(crate) const COSINE: usize = 0;
pub(crate) const SINE: usize = 1;
pub(crate) const X: usize = 2;
pub(crate) const Z: usize = 3;
pub(crate) const RISE: usize = 4;

/// The pose at the coordinates `q`.
#[cube]
pub(crate) fn place<F: Real, S: Shape>(c: &[F], q: &Local<F, 9>, pose: &mut Pose<F>) {
    pose[COSINE] = F::cosine(q[2]);
    pose[SINE] = F::sine(q[2]);
    pose[X] = F::new(0.0);
    pose[Z] = F::new(0.0);
    pose[RISE] = F::new(0.0);
    for leg in 0..S::LEGS {
        let mut angle = q[2];
        for link in 0..LINKS {
            let hinge = leg * LINKS + link;
            let body = hinge + 1;
            let here = body * POSE_STRIDE;
            let on = parent(body, link);
            let parent = on * POSE_STRIDE;
            let x = c[BODY + body * BODY_STRIDE + OFFSET];
            let z = c[BODY + body * BODY_STRIDE + OFFSET + 1];
            angle += c[SIGN] * q[ROOT + hinge];
            pose[here + COSINE] = F::cosine(angle);
            pose[here + SINE] = F::sine(angle);
            let hinge_x = pose[parent + X] + pose[parent + COSINE] * x + pose[parent + SINE] * z;
            let hinge_z = pose[parent + Z] + pose[parent + COSINE] * z - pose[parent + SINE] * x;
            pose[here + X] = hinge_x;
            pose[here + Z] = hinge_z;
            let rise = risen::<F>(&*pose, on, x, z);
            pose[here + RISE] = rise;
        }
    }
}

/// The body that `body`, the link number `link` of its leg, hangs on.
#[cube]
pub(crate) fn parent(body: usize, link: usize) -> usize {
    if link == 0 { 0usize } else { body - 1 }
}

/// How much higher the point (`x`, `z`) of a body is than in the reference pose, torso aside.
/// Stiff contacts ask for this small difference; in f32 that of two heights would be too coarse.
#[cube]
pub(crate) fn risen<F: Real>(pose: &Pose<F>, body: usize, x: F, z: F) -> F {
    let here = body * POSE_STRIDE;
    pose[here + RISE] + (pose[here + COSINE] - F::new(1.0)) * z - pose[here + SINE] * x
}

/// The x component of the vector (`x`, `z`) of a body, along the world's axes.
#[cube]
pub(crate) fn turned_x<F: Real>(pose: &Pose<F>, body: usize, x: F, z: F) -> F {
    pose[body * POSE_STRIDE + COSINE] * x + pose[body * POSE_STRIDE + SINE] * z
}

/// The z component of the vector (`x`, `z`) of a body, along the world's axes.
#[cube]
pub(crate) fn turned_z<F: Real>(pose: &Pose<F>, body: usize, x: F, z: F) -> F {
    pose[body * POSE_STRIDE + COSINE] * z - pose[body * POSE_STRIDE + SINE] * x
}
