//! What pushes back: the floor, and the limits of joints.
//!
//! A constraint is soft. Where it is violated it wants an acceleration of its own (`aref` in
//! MuJoCo) and pushes with a stiffness per difference from it, but never pulls. Friction is a
//! pyramid of four edges n ± t and n ± (the direction y); nothing moves along y, so the last two
//! coincide with the normal n.

use cubecl::prelude::*;
use fedrl_core::{Local, Real};

use super::arrow::Chains;
use super::forces::{way_x, way_z};
use super::pose::{POSE_STRIDE, Pose, X, Z, risen, turned_x};
use super::table::{
    CHAIN, CLEARANCE, COMPLIANCE, CONTACT, DAMPING, END, END_STRIDE, FRICTION, GREATEST, HEIGHT, HIGH, JOINT,
    JOINT_STRIDE, LEAST, LIMIT, LINKS, LOW, MARGIN, POINT, ROOT, SIGN, START_HEIGHT, STIFFNESS, Shape, TORSO, WIDTH,
    YIELDING,
};

/// One contact per end of a capsule, touching or not.
pub(crate) type Contacts<F> = Local<F, 320>;

pub(crate) const CONTACT_STRIDE: usize = 20;
// Within a contact.
/// Velocity away from the floor per velocity of each number of the chain.
pub(crate) const NORMAL: usize = 0;
/// Velocity along the floor, times the friction.
pub(crate) const TANGENT: usize = CHAIN;
/// Force of an edge per difference of acceleration; 0 where nothing touches.
pub(crate) const STIFF: usize = 12;
/// Wanted acceleration away from the floor.
pub(crate) const WANTED_NORMAL: usize = 13;
/// Wanted acceleration along the floor, times the friction.
pub(crate) const WANTED_TANGENT: usize = 14;
// Which edges push: with p, m, c being 1 if n + t, n - t, n do so and 0 else,
/// p + m + 2c,
pub(crate) const PUSH_NORMAL: usize = 15;
/// p - m,
pub(crate) const PUSH_MIXED: usize = 16;
/// p + m.
pub(crate) const PUSH_TANGENT: usize = 17;
// By how much the latest accelerations exceed the wanted ones.
pub(crate) const EXCESS_NORMAL: usize = 18;
pub(crate) const EXCESS_TANGENT: usize = 19;

/// One limit per hinge, reached or not.
pub(crate) type Limits<F> = Local<F, 30>;

pub(crate) const LIMIT_STRIDE: usize = 5;
// Within a limit.
/// Torque per difference of acceleration; 0 where the limit is not reached.
pub(crate) const LIMIT_STIFF: usize = 0;
/// +1 where the limit pushes the link about +y, -1 where about -y.
pub(crate) const SIDE: usize = 1;
/// Wanted acceleration of the hinge about +y.
pub(crate) const WANTED: usize = 2;
/// 1 if it pushes, else 0.
pub(crate) const PUSHES: usize = 3;
/// By how much the latest acceleration exceeds the wanted one.
pub(crate) const EXCESS: usize = 4;

/// The body of the capsule end number `end`.
#[cube]
pub(crate) fn body_of<S: Shape>(end: usize) -> usize {
    if end < S::TORSO_ENDS { 0usize } else { (end - S::TORSO_ENDS) / 2 + 1 }
}

/// The leg whose chain moves `body`; the torso counts as part of the first.
#[cube]
pub(crate) fn leg_of(body: usize) -> usize {
    if body == 0 { 0usize } else { (body - 1) / LINKS }
}

/// Links of its leg from the hip to `body`, it included.
#[cube]
fn links_to(body: usize, leg: usize) -> usize {
    if body == 0 { 0usize } else { body - leg * LINKS }
}

/// The impedance at `distance` from where the constraint begins: from LEAST at 0 along two
/// parabolas to GREATEST at WIDTH.
#[cube]
fn impedance<F: Real>(c: &[F], softness: usize, distance: F) -> F {
    let far = distance / c[softness + WIDTH];
    let y = if far < F::new(0.0) { -far } else { far };
    let rest = F::new(1.0) - y;
    let share = if y >= F::new(1.0) {
        F::new(1.0)
    } else if y <= F::new(0.5) {
        F::new(2.0) * (y * y)
    } else {
        F::new(1.0) - F::new(2.0) * (rest * rest)
    };
    c[softness + LEAST] + share * (c[softness + GREATEST] - c[softness + LEAST])
}

/// Finds the contacts of the capsule ends with the floor, coordinate z being `z`.
#[cube]
pub(crate) fn find_contacts<F: Real, S: Shape>(
    c: &[F],
    pose: &Pose<F>,
    z: F,
    speeds: &Chains<F>,
    contacts: &mut Contacts<F>,
) {
    let height = c[HEIGHT] + z;
    for end in 0..S::ENDS {
        let at = end * CONTACT_STRIDE;
        let of = END + end * END_STRIDE;
        let body = body_of::<S>(end);
        let here = body * POSE_STRIDE;
        let centre_x = pose[here + X] + turned_x::<F>(pose, body, c[of + POINT], c[of + POINT + 1]);
        let rise = (z - c[START_HEIGHT]) + risen::<F>(pose, body, c[of + POINT], c[of + POINT + 1]);
        let distance = c[of + CLEARANCE] + rise;
        contacts[at + STIFF] = F::new(0.0);
        contacts[at + PUSH_NORMAL] = F::new(0.0);
        contacts[at + PUSH_MIXED] = F::new(0.0);
        contacts[at + PUSH_TANGENT] = F::new(0.0);
        if distance < c[MARGIN] {
            // The point of contact halves the overlap.
            let point_z = F::new(0.5) * distance - height;
            touch::<F>(pose, body, centre_x, point_z, c[of + FRICTION], at, contacts);
            let chain = leg_of(body) * CHAIN;
            let mut away = F::new(0.0);
            let mut along = F::new(0.0);
            #[unroll]
            for i in 0..CHAIN {
                away += contacts[at + NORMAL + i] * speeds[chain + i];
                along += contacts[at + TANGENT + i] * speeds[chain + i];
            }
            let overlap = distance - c[MARGIN];
            let hard = impedance::<F>(c, CONTACT, overlap);
            contacts[at + STIFF] = hard / ((F::new(1.0) - hard) * c[of + YIELDING]);
            contacts[at + WANTED_NORMAL] = -(c[CONTACT + DAMPING] * away + c[CONTACT + STIFFNESS] * hard * overlap);
            contacts[at + WANTED_TANGENT] = -(c[CONTACT + DAMPING] * along);
        }
    }
}

/// Writes how the point (`x`, `z`) of `body`, seen from the torso's frame, moves with the
/// numbers of its chain.
#[cube]
fn touch<F: Real>(pose: &Pose<F>, body: usize, x: F, z: F, friction: F, at: usize, contacts: &mut Contacts<F>) {
    let leg = leg_of(body);
    let last = TORSO + links_to(body, leg);
    contacts[at + NORMAL] = F::new(0.0);
    contacts[at + NORMAL + 1] = F::new(1.0);
    contacts[at + TANGENT] = friction;
    contacts[at + TANGENT + 1] = F::new(0.0);
    for place in TORSO..CHAIN {
        let mut right = F::new(0.0);
        let mut up = F::new(0.0);
        if place < last {
            right = way_x::<F>(pose, leg, place);
            up = way_z::<F>(pose, leg, place);
        } else if place == last {
            right = x - pose[body * POSE_STRIDE + X];
            up = z - pose[body * POSE_STRIDE + Z];
        }
        contacts[at + NORMAL + place] = -right;
        contacts[at + TANGENT + place] = friction * up;
    }
}

/// Finds the limits that hinges have reached.
#[cube]
pub(crate) fn find_limits<F: Real, S: Shape>(c: &[F], q: &Local<F, 9>, v: &Local<F, 9>, limits: &mut Limits<F>) {
    for hinge in 0..S::LEGS * LINKS {
        let at = hinge * LIMIT_STRIDE;
        let joint = JOINT + hinge * JOINT_STRIDE;
        let above = q[ROOT + hinge] - c[joint + LOW];
        let below = c[joint + HIGH] - q[ROOT + hinge];
        let side = if above < F::new(0.0) { F::new(1.0) } else { F::new(-1.0) };
        let distance = if above < F::new(0.0) { above } else { below };
        limits[at + LIMIT_STIFF] = F::new(0.0);
        limits[at + PUSHES] = F::new(0.0);
        if distance < F::new(0.0) {
            let hard = impedance::<F>(c, LIMIT, distance);
            limits[at + LIMIT_STIFF] = hard / ((F::new(1.0) - hard) * c[joint + COMPLIANCE]);
            limits[at + SIDE] = c[SIGN] * side;
            let towards = c[LIMIT + DAMPING] * v[ROOT + hinge] + side * (c[LIMIT + STIFFNESS] * hard * distance);
            limits[at + WANTED] = -(c[SIGN] * towards);
        }
    }
}
