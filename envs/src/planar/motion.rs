//! Steps through time.

use cubecl::prelude::*;
use fedrl_core::{Local, Real};

use super::arrow::{Blocks, Chains, factor, multiply, solve};
use super::constraints::{Contacts, Limits, find_contacts, find_limits};
use super::forces::{chain_speeds, couple, mass_matrix, smooth_forces};
use super::newton::accelerate;
use super::pose::{Pose, place};
use super::table::{ACTION_BIAS, CHAIN, DAMPER, GEAR, JOINT, JOINT_STRIDE, LINKS, ROOT, SIGN, Shape, TIME_STEP, TORSO};

/// Coordinates or velocities.
type Coordinates<F> = Local<F, 9>;

/// Moves `state` (coordinates, then velocities) one step of the environment on under `action`.
/// Returns the way that the torso went along x.
#[cube]
pub(crate) fn advance<F: Real, S: Shape>(c: &[F], state: &mut [F], action: &[F]) -> F {
    let mut q = Coordinates::<F>::new();
    let mut v = Coordinates::<F>::new();
    for i in 0..S::WIDTH {
        q[i] = state[i];
        v[i] = state[S::WIDTH + i];
    }
    // The way is summed from 0: far from the origin, f32 would lose it.
    q[0] = F::new(0.0);
    let mut torques = Local::<F, 6>::new();
    for i in 0..S::LEGS * LINKS {
        let wanted = action[i] + c[ACTION_BIAS];
        let capped = if wanted > F::new(1.0) { F::new(1.0) } else { wanted };
        let control = if capped < F::new(-1.0) { F::new(-1.0) } else { capped };
        torques[i] = c[JOINT + i * JOINT_STRIDE + GEAR] * control;
    }
    for _ in 0..S::FRAME_SKIP {
        if S::RUNGE_KUTTA {
            runge_kutta::<F, S>(c, &mut q, &mut v, &torques);
        } else {
            euler::<F, S>(c, &mut q, &mut v, &torques);
        }
    }
    state[0] += q[0];
    for i in 1..S::WIDTH {
        state[i] = q[i];
    }
    for i in 0..S::WIDTH {
        state[S::WIDTH + i] = v[i];
    }
    q[0]
}

/// Accelerations of the chains at the coordinates `q` and velocities `v`, and the mass matrix there.
#[cube]
fn forward<F: Real, S: Shape>(
    c: &[F],
    q: &Coordinates<F>,
    v: &Coordinates<F>,
    torques: &Local<F, 6>,
    mass: &mut Blocks<F>,
    acceleration: &mut Chains<F>,
) {
    let mut pose = Pose::<F>::new();
    let mut speeds = Chains::<F>::new();
    let mut forces = Chains::<F>::new();
    let mut contacts = Contacts::<F>::new();
    let mut limits = Limits::<F>::new();
    place::<F, S>(c, q, &mut pose);
    mass_matrix::<F, S>(c, &pose, mass);
    chain_speeds::<F, S>(c, v, &mut speeds);
    smooth_forces::<F, S>(c, &pose, q, v, &speeds, torques, &mut forces);
    find_contacts::<F, S>(c, &pose, q[1], &speeds, &mut contacts);
    find_limits::<F, S>(c, q, v, &mut limits);
    accelerate::<F, S>(&*mass, &forces, &mut contacts, &mut limits, acceleration);
}

/// The accelerations of the coordinates, from those of the chains.
#[cube]
fn to_coordinates<F: Real, S: Shape>(c: &[F], chains: &Chains<F>, coordinates: &mut Coordinates<F>) {
    for i in 0..ROOT {
        coordinates[i] = chains[i];
    }
    for leg in 0..S::LEGS {
        for link in 0..LINKS {
            let turning = chains[leg * CHAIN + ROOT + link] - chains[leg * CHAIN + TORSO + link];
            coordinates[ROOT + leg * LINKS + link] = c[SIGN] * turning;
        }
    }
}

/// Velocities first, coordinates with the new ones; dampers act at the new velocities:
/// (M + h D) a' = M a, MuJoCo's implicit damping.
#[cube]
fn euler<F: Real, S: Shape>(c: &[F], q: &mut Coordinates<F>, v: &mut Coordinates<F>, torques: &Local<F, 6>) {
    let h = c[TIME_STEP];
    let mut mass = Blocks::<F>::new();
    let mut acceleration = Chains::<F>::new();
    let mut forces = Chains::<F>::new();
    forward::<F, S>(c, &*q, &*v, torques, &mut mass, &mut acceleration);
    multiply::<F, S>(&mass, &acceleration, &mut forces);
    for leg in 0..S::LEGS {
        for link in 0..LINKS {
            let damper = c[JOINT + (leg * LINKS + link) * JOINT_STRIDE + DAMPER];
            couple::<F>(&mut mass, leg, link, h * damper);
        }
    }
    factor::<F, S>(&mut mass);
    solve::<F, S>(&mass, &mut forces);
    let mut a = Coordinates::<F>::new();
    to_coordinates::<F, S>(c, &forces, &mut a);
    for i in 0..S::WIDTH {
        v[i] += h * a[i];
        let way = h * v[i];
        q[i] += way;
    }
}

/// The classical method of order 4.
#[cube]
fn runge_kutta<F: Real, S: Shape>(c: &[F], q: &mut Coordinates<F>, v: &mut Coordinates<F>, torques: &Local<F, 6>) {
    let h = c[TIME_STEP];
    let mut mass = Blocks::<F>::new();
    let mut acceleration = Chains::<F>::new();
    // Where each stage looks, and the weighted sums of what it finds.
    let mut stage_q = Coordinates::<F>::new();
    let mut stage_v = Coordinates::<F>::new();
    let mut sum_v = Coordinates::<F>::new();
    let mut sum_a = Coordinates::<F>::new();
    let mut a = Coordinates::<F>::new();
    for i in 0..S::WIDTH {
        stage_q[i] = q[i];
        stage_v[i] = v[i];
    }
    for stage in 0..4usize {
        forward::<F, S>(c, &stage_q, &stage_v, torques, &mut mass, &mut acceleration);
        to_coordinates::<F, S>(c, &acceleration, &mut a);
        let inner = stage == 1 || stage == 2;
        let weight = if inner { F::new(2.0) } else { F::new(1.0) };
        let ahead = if stage == 2 { h } else { F::new(0.5) * h };
        for i in 0..S::WIDTH {
            sum_v[i] += weight * stage_v[i];
            sum_a[i] += weight * a[i];
            stage_q[i] = q[i] + ahead * stage_v[i];
            stage_v[i] = v[i] + ahead * a[i];
        }
    }
    for i in 0..S::WIDTH {
        q[i] += h / F::new(6.0) * sum_v[i];
        v[i] += h / F::new(6.0) * sum_a[i];
    }
}
