//! Compiled robots against MuJoCo's, and physics that does not depend on it.

use std::f64::consts::PI;

use fedrl_core::Local;

use super::arrow::{Blocks, Chains, factor, multiply, solve};
use super::compile::{Solid, capsule_solid};
use super::constraints::body_of;
use super::forces::{chain_speeds, mass_matrix};
use super::locomotion::variation;
use super::pose::{Pose, place};
use super::robot::Robot;
use super::table::*;
use crate::{Environment, HalfCheetah, Hopper, Parameters, Walker2d};

/// Rows of numbers that MuJoCo 3.17 compiled from a model file: a header, softness of contacts
/// and of limits, then rows per body, capsule end, coordinate and motor.
fn compiled(text: &str) -> Vec<Vec<f64>> {
    text.lines().map(|line| line.split_whitespace().map(|x| x.parse().unwrap()).collect()).collect()
}

fn close(ours: f64, theirs: f64, what: &str) {
    assert!((ours - theirs).abs() <= 1e-12 * theirs.abs().max(1.0), "{what}: {ours}, MuJoCo has {theirs}");
}

fn check<S: Shape>(environment: &dyn Environment, robot: &Robot, text: &str) {
    let rows = compiled(text);
    let (bodies, coordinates, ends) = (rows[0][0] as usize, rows[0][1] as usize, rows[0][2] as usize);
    let table = environment.coefficients(&Parameters::new()).unwrap();
    let solids = robot.solids(&variation(robot, environment.spec().parameters, &Parameters::new()));
    assert_eq!((solids.len(), S::WIDTH, S::ENDS), (bodies, coordinates, ends));
    close(table[TIME_STEP], rows[0][3], "time step");
    close(table[GRAVITY], rows[0][4], "gravity");
    assert_eq!((S::FRAME_SKIP as f64, S::RUNGE_KUTTA), (rows[0][5], rows[0][6] == 1.0));
    close(table[HEIGHT], rows[0][8] - rows[0][10], "height");
    close(table[MARGIN], rows[0][11], "margin");

    let body_rows = &rows[3..][..bodies];
    for (row, solid) in body_rows.iter().zip(&solids) {
        close(solid.mass, row[6], "mass");
        close(solid.inertia, row[7], "inertia");
        // MuJoCo measures from the body's frame, we from its hinge.
        close(solid.centre[0] + row[3], row[8], "centre x");
        close(solid.centre[1] + row[4], row[9], "centre z");
    }
    for (index, row) in rows[3 + bodies..][..ends].iter().enumerate() {
        let of = &table[END + index * END_STRIDE..];
        let body = row[0] as usize;
        assert_eq!(body_of::<S>(index), body);
        close(of[POINT] + body_rows[body][3], row[1], "end x");
        close(of[POINT + 1] + body_rows[body][4], row[2], "end z");
        close(of[FRICTION], row[4], "friction");
        let friction = of[FRICTION] * of[FRICTION];
        close(of[YIELDING] / (2.0 * friction * (1.0 + friction)), body_rows[body][10], "body compliance");
    }
    let joint_rows = rows[3 + bodies + ends + ROOT..].iter().zip(&rows[3 + bodies + ends + coordinates..]);
    for (hinge, (row, motor)) in joint_rows.enumerate() {
        let of = &table[JOINT + hinge * JOINT_STRIDE..];
        for (at, theirs) in [SPRING, DAMPER, ARMATURE, COMPLIANCE].into_iter().zip(row) {
            close(of[at], *theirs, "joint");
        }
        for (at, theirs) in [GEAR, LOW, HIGH].into_iter().zip(motor) {
            close(of[at], *theirs, "motor");
        }
    }
}

#[test]
fn robots_compile_to_the_numbers_that_mujoco_compiles() {
    let half_cheetah = include_str!("../../tests/golden/HalfCheetah-v5.model");
    check::<HalfCheetah>(&HalfCheetah, &crate::half_cheetah::ROBOT, half_cheetah);
    check::<Hopper>(&Hopper, &crate::hopper::ROBOT, include_str!("../../tests/golden/Hopper-v5.model"));
    check::<Walker2d>(&Walker2d, &crate::walker2d::ROBOT, include_str!("../../tests/golden/Walker2d-v5.model"));
}

/// Its mass is that of a cylinder and a sphere; its inertia, here, a sum over 40,000 slices across
/// its length: each a disc of radius ρ with ¼ρ² + z² per mass.
#[test]
fn a_capsule_has_the_inertia_of_its_slices() {
    let (radius, half, density) = (0.3, 0.7, 11.0);
    let Solid { mass, inertia, .. } = capsule_solid([0.0, 0.0], radius, half, density);
    assert!((mass - density * PI * radius * radius * (2.0 * half + 4.0 / 3.0 * radius)).abs() < 1e-12);
    let (slices, reach) = (40_000, half + radius);
    let thick = 2.0 * reach / f64::from(slices);
    let slice = |i: i32| {
        let z = -reach + (f64::from(i) + 0.5) * thick;
        let beyond = (z.abs() - half).max(0.0);
        let square = radius * radius - beyond * beyond;
        density * PI * square * thick * (square / 4.0 + z * z)
    };
    assert!((inertia - (0..slices).map(slice).sum::<f64>()).abs() < 1e-7);
}

/// Coordinates and velocities in which everything moves.
fn moving(z: f64) -> (Local<f64, 9>, Local<f64, 9>) {
    let (mut q, mut v) = (Local::new(), Local::new());
    for i in 1..9 {
        q[i] = -0.1 - 0.05 * i as f64;
        v[i] = (1.7 * i as f64).sin();
    }
    q[1] = z;
    (q, v)
}

fn energy<S: Shape>(table: &[f64], q: &Local<f64, 9>, v: &Local<f64, 9>) -> f64 {
    let (mut pose, mut mass) = (Pose::new(), Blocks::new());
    let (mut speeds, mut momentum) = (Chains::new(), Chains::new());
    place::<f64, S>(table, q, &mut pose);
    mass_matrix::<f64, S>(table, &pose, &mut mass);
    chain_speeds::<f64, S>(table, v, &mut speeds);
    multiply::<f64, S>(&mass, &speeds, &mut momentum);
    let kinetic: f64 = momentum.as_slice().iter().zip(speeds.as_slice()).map(|(p, v)| 0.5 * p * v).sum();
    // The height of all mass is that of every body's augmented moment, added up.
    let of = |body: usize| BODY + body * BODY_STRIDE;
    let moments = (0..=S::LEGS * LINKS)
        .map(|body| super::pose::turned_z(&pose, body, table[of(body) + MOMENT], table[of(body) + MOMENT + 1]));
    kinetic + table[GRAVITY] * (table[TOTAL_MASS] * q[1] + moments.sum::<f64>())
}

/// Nothing that takes energy: it stays, while a free Walker2d turns over.
#[test]
fn free_motion_keeps_its_energy() {
    let mut table = Walker2d.coefficients(&[("damping_scale".to_string(), 0.0)].into()).unwrap();
    for hinge in 0..6 {
        table[JOINT + hinge * JOINT_STRIDE + LOW] = -1e3;
        table[JOINT + hinge * JOINT_STRIDE + HIGH] = 1e3;
    }
    let (mut q, mut v) = moving(50.0);
    let before = energy::<Walker2d>(&table, &q, &v);
    let start = v;
    for _ in 0..100 {
        let mut state: Vec<f64> = q.as_slice().iter().chain(v.as_slice()).copied().collect();
        super::motion::advance::<f64, Walker2d>(&table, &mut state, &[0.0; 6]);
        q.as_mut_slice().copy_from_slice(&state[..9]);
        v.as_mut_slice().copy_from_slice(&state[9..]);
    }
    let after = energy::<Walker2d>(&table, &q, &v);
    assert!((after - before).abs() < 1e-9 * before.abs(), "{before} {after}");
    assert!(v.as_slice().iter().zip(start.as_slice()).all(|(now, then)| (now - then).abs() > 1e-3));
}

/// The solution of a system put back into it gives its right-hand side.
#[test]
fn arrows_are_solved() {
    let table = HalfCheetah.coefficients(&Parameters::new()).unwrap();
    let (q, _) = moving(0.0);
    let (mut pose, mut mass, mut right) = (Pose::new(), Blocks::new(), Chains::new());
    place::<f64, HalfCheetah>(&table, &q, &mut pose);
    mass_matrix::<f64, HalfCheetah>(&table, &pose, &mut mass);
    for i in 0..2 * CHAIN {
        // The torso's part of the second leg stays 0: parts add up.
        right[i] = if (CHAIN..CHAIN + ROOT).contains(&i) { 0.0 } else { (2.3 * i as f64).cos() };
    }
    let (mut solution, mut product) = (right, Chains::new());
    let mut factors = mass;
    factor::<f64, HalfCheetah>(&mut factors);
    solve::<f64, HalfCheetah>(&factors, &mut solution);
    multiply::<f64, HalfCheetah>(&mass, &solution, &mut product);
    for i in 0..2 * CHAIN {
        let parts = if i < ROOT { product[i] + product[CHAIN + i] } else { product[i] };
        if !(CHAIN..CHAIN + ROOT).contains(&i) {
            assert!((parts - right[i]).abs() < 1e-11, "{i}: {parts} {}", right[i]);
        }
    }
}
