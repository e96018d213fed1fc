//! What a robot looks like: its capsules, where the physics has them, on a floor with marks.

use fedrl_core::Local;

use super::constraints::body_of;
use super::locomotion::variation;
use super::pose::{POSE_STRIDE, Pose, X, Z, place, turned_x, turned_z};
use super::robot::Robot;
use super::table::{END, END_STRIDE, HEIGHT, LINKS, POINT, START_HEIGHT, Shape};
use crate::picture::{Picture, Piece, Tone, View};
use crate::{Parameter, Parameters};

/// A capsule in the world.
struct Drawn {
    body: usize,
    ends: [[f64; 2]; 2],
    radius: f64,
}

/// The variant with the `given` parameters in `state`. The view follows the torso along x.
pub(crate) fn picture<S: Shape>(robot: &Robot, parameters: &[Parameter], given: &Parameters, state: &[f64]) -> Picture {
    let varied = variation(robot, parameters, given);
    let table = robot.table::<S>(&varied);
    let mut rest = vec![0.0; S::WIDTH];
    rest[1] = table[START_HEIGHT];
    let view = view(&capsules::<S>(&table, &varied.radius, &rest), state[0]);
    let mut pieces = floor(&view);
    // The second leg is behind the first, both behind the torso.
    let seen = capsules::<S>(&table, &varied.radius, state);
    pieces.extend(seen.iter().rev().map(|capsule| Piece::capsule(capsule.ends, capsule.radius, tone(capsule.body))));
    Picture { pieces, view, step_s: robot.time_step * S::FRAME_SKIP as f64 }
}

fn tone(body: usize) -> Tone {
    match body {
        0 => Tone::Body,
        _ if body <= LINKS => Tone::Limb,
        _ => Tone::FarLimb,
    }
}

/// All capsules at the coordinates with which `state` begins.
fn capsules<S: Shape>(table: &[f64], radius: &[f64], state: &[f64]) -> Vec<Drawn> {
    let mut coordinates = Local::<f64, 9>::new();
    coordinates.as_mut_slice()[..S::WIDTH].copy_from_slice(&state[..S::WIDTH]);
    let mut pose = Pose::<f64>::new();
    place::<f64, S>(table, &coordinates, &mut pose);
    let end = |index: usize, body: usize| {
        let of = END + index * END_STRIDE + POINT;
        let hinge = body * POSE_STRIDE;
        let [x, z] = [table[of], table[of + 1]];
        [
            state[0] + pose[hinge + X] + turned_x(&pose, body, x, z),
            state[1] + table[HEIGHT] + pose[hinge + Z] + turned_z(&pose, body, x, z),
        ]
    };
    let capsule = |first: usize| {
        let body = body_of::<S>(first);
        Drawn { body, ends: [end(first, body), end(first + 1, body)], radius: radius[body] }
    };
    (0..S::ENDS).step_by(2).map(capsule).collect()
}

/// Twice the robot at `rest` on either side of `x`, half of it above it, and some floor.
fn view(rest: &[Drawn], x: f64) -> View {
    let reach = |axis: usize| {
        let ends = rest.iter().flat_map(|capsule| capsule.ends.map(|end| end[axis].abs() + capsule.radius));
        ends.fold(0.0, f64::max)
    };
    let (width, height) = (2.0 * reach(0).max(reach(1) / 2.0), reach(1));
    View { x: [x - width, x + width], y: [-0.15 * height, 1.5 * height] }
}

/// An endless floor, its surface at 0, with marks as far as three views go. They are a power of ten
/// metres apart: 1 m for robots about as large as they are.
fn floor(view: &View) -> Vec<Piece> {
    let [left, right] = view.x;
    let (middle, half, depth) = ((left + right) / 2.0, (right - left) / 2.0, -view.y[0]);
    let mut pieces = vec![Piece::rectangle([middle, -100.0 * depth], [f64::INFINITY, 100.0 * depth], Tone::Ground)];
    let apart = 10f64.powf((half / 2.0).log10().round());
    let first = ((middle - 3.0 * half) / apart).ceil();
    let marks = (0..=40).map(|i| (first + f64::from(i)) * apart).take_while(|&x| x <= middle + 3.0 * half);
    pieces.extend(marks.map(|x| Piece::rectangle([x, -depth / 4.0], [half / 150.0, depth / 4.0], Tone::Mark)));
    pieces
}
