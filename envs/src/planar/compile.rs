//! From a description of a robot and what varies about it to the table of numbers.
//!
//! Everything derived (masses, centres of mass, moments of inertia, the compliance of bodies and
//! joints) is derived from the varied description, as MuJoCo derives it from a model file.

use std::f64::consts::PI;

use fedrl_core::Local;

use super::arrow::{Blocks, Chains, factor, solve};
use super::constraints::body_of;
use super::forces::{mass_matrix, twist, way_x, way_z};
use super::pose::{POSE_STRIDE, Pose, Z, place};
use super::robot::{Body, Capsule, Joint, Robot, Softness};
use super::table::*;

/// What differs from a robot's description. `_scale`s multiply.
#[derive(Debug, Clone)]
pub(crate) struct Variation {
    /// m/s², downwards.
    pub gravity: f64,
    pub friction_scale: f64,
    pub gear_scale: f64,
    pub damping_scale: f64,
    pub stiffness_scale: f64,
    pub armature_scale: f64,
    pub link_length_scale: f64,
    pub joint_range_scale: f64,
    /// Of each body's mass and inertia.
    pub mass_scale: Vec<f64>,
    /// Radius of each body's capsules, m.
    pub radius: Vec<f64>,
}

/// Density where no total mass is given, kg/m³.
const DENSITY: f64 = 1000.0;

/// MuJoCo's bounds.
const LEAST_FRICTION: f64 = 1e-5;
const LEAST_IMPEDANCE: f64 = 1e-4;
const GREATEST_IMPEDANCE: f64 = 0.9999;

/// Mass, centre of mass and moment of inertia about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Solid {
    pub mass: f64,
    pub centre: [f64; 2],
    pub inertia: f64,
}

/// A cylinder between two half spheres, turning about an axis across it.
pub(crate) fn capsule_solid(centre: [f64; 2], radius: f64, half_length: f64, density: f64) -> Solid {
    let (r, h) = (radius, 2.0 * half_length);
    let cylinder = density * PI * r * r * h;
    let spheres = density * 4.0 / 3.0 * PI * r.powi(3);
    // A half sphere's centre of mass lies 3r/8 beyond the cylinder's end.
    let inertia = cylinder * (3.0 * r * r + h * h) / 12.0 + spheres * (0.4 * r * r + h * (3.0 * r + 2.0 * h) / 8.0);
    Solid { mass: cylinder + spheres, centre, inertia }
}

/// Several solids as one.
fn joined(solids: &[Solid]) -> Solid {
    let mass: f64 = solids.iter().map(|solid| solid.mass).sum();
    let centre = [0, 1].map(|i| solids.iter().map(|solid| solid.mass * solid.centre[i]).sum::<f64>() / mass);
    let about = |solid: &Solid| {
        let [x, z] = [solid.centre[0] - centre[0], solid.centre[1] - centre[1]];
        solid.inertia + solid.mass * (x * x + z * z)
    };
    Solid { mass, centre, inertia: solids.iter().map(about).sum() }
}

impl Robot {
    /// The density of the unvaried robot: a variant is made of the same stuff.
    fn density(&self) -> f64 {
        let capsules = self.bodies.iter().flat_map(|body| body.capsules);
        let solid = |capsule: &Capsule| capsule_solid(capsule.centre, capsule.radius, capsule.half_length, 1.0);
        let volume: f64 = capsules.map(|capsule| solid(capsule).mass).sum();
        self.total_mass.map_or(DENSITY, |mass| mass / volume)
    }

    /// The table of numbers of the varied robot, without what belongs to a task.
    pub(crate) fn table<S: Shape>(&self, varied: &Variation) -> Vec<f64> {
        let mut table = vec![0.0; LENGTH];
        table[GRAVITY] = varied.gravity;
        table[TIME_STEP] = self.time_step;
        table[START_HEIGHT] = self.reference * varied.link_length_scale;
        table[HEIGHT] = self.height * varied.link_length_scale - table[START_HEIGHT];
        table[SIGN] = self.sign;
        table[MARGIN] = self.margin;
        soften(&mut table[LIMIT..], &self.limit, self.time_step);
        soften(&mut table[CONTACT..], &self.contact, self.time_step);
        let solids = self.solids(varied);
        let mut end = END;
        for (index, body) in self.bodies.iter().enumerate() {
            for i in 0..2 {
                table[BODY + index * BODY_STRIDE + OFFSET + i] = self.offset(index)[i] * varied.link_length_scale;
            }
            if index > 0 {
                write_joint(&body.joint, varied, &mut table[JOINT + (index - 1) * JOINT_STRIDE..]);
            }
            end = self.write_ends(index, body, varied, end, &mut table);
        }
        augment(&solids, &mut table);
        self.write_compliance::<S>(&solids, &mut table);
        table
    }

    /// Mass, centre of mass and inertia of each varied body. Centres are seen from the hinge.
    pub(crate) fn solids(&self, varied: &Variation) -> Vec<Solid> {
        let (long, density) = (varied.link_length_scale, self.density());
        let solid = |(index, body): (usize, &Body)| {
            let capsule = |capsule: &Capsule| {
                let centre = [0, 1].map(|i| (capsule.centre[i] - body.anchor[i]) * long);
                capsule_solid(centre, varied.radius[index], capsule.half_length * long, density)
            };
            let solid = joined(&body.capsules.iter().map(capsule).collect::<Vec<_>>());
            let scale = varied.mass_scale[index];
            Solid { mass: solid.mass * scale, inertia: solid.inertia * scale, ..solid }
        };
        self.bodies.iter().enumerate().map(solid).collect()
    }

    /// Where a body's hinge is, seen from that of its parent: the torso for the first link of a
    /// leg, else the link before it.
    fn offset(&self, index: usize) -> [f64; 2] {
        let body = &self.bodies[index];
        let parent = if index % LINKS == 1 || index == 0 { 0 } else { index - 1 };
        [0, 1].map(|i| body.position[i] + body.anchor[i] - self.bodies[parent].anchor[i])
    }

    /// Writes both ends of the body's capsules from the place `end` of the table on; returns the
    /// place behind them.
    fn write_ends(&self, index: usize, body: &Body, varied: &Variation, mut end: usize, table: &mut [f64]) -> usize {
        for capsule in body.capsules {
            let direction = [capsule.angle.sin(), capsule.angle.cos()];
            for side in [1.0, -1.0] {
                let of = &mut table[end..][..END_STRIDE];
                for i in 0..2 {
                    let point = capsule.centre[i] + side * capsule.half_length * direction[i];
                    of[POINT + i] = (point - body.anchor[i]) * varied.link_length_scale;
                }
                let friction = capsule.friction.max(self.floor_friction) * varied.friction_scale;
                of[CLEARANCE] = -varied.radius[index];
                of[FRICTION] = friction.max(LEAST_FRICTION);
                end += END_STRIDE;
            }
        }
        end
    }

    /// How bodies and joints give way to forces in the reference pose, by the varied masses.
    fn write_compliance<S: Shape>(&self, solids: &[Solid], table: &mut [f64]) {
        let mut pose = Pose::<f64>::new();
        place::<f64, S>(table, &Local::new(), &mut pose);
        let mut mass = Blocks::<f64>::new();
        mass_matrix::<f64, S>(table, &pose, &mut mass);
        factor::<f64, S>(&mut mass);
        // The acceleration along `force` that it causes.
        let response = |force: &Chains<f64>| {
            let mut acceleration = *force;
            solve::<f64, S>(&mass, &mut acceleration);
            force.as_slice().iter().zip(acceleration.as_slice()).map(|(f, a)| f * a).sum::<f64>()
        };
        for hinge in 0..S::LEGS * LINKS {
            let mut force = Chains::<f64>::new();
            twist(&mut force, hinge / LINKS, hinge % LINKS, 1.0);
            table[JOINT + hinge * JOINT_STRIDE + COMPLIANCE] = response(&force);
        }
        let at_centre = |(body, solid): (usize, &Solid)| response_at_centre(&pose, body, solid.centre, &response);
        let compliance: Vec<f64> = solids.iter().enumerate().map(at_centre).collect();
        for end in 0..S::ENDS {
            let of = END + end * END_STRIDE;
            let body = body_of::<S>(end);
            let weight = compliance[body];
            // Written as minus the radius; nothing is turned.
            table[of + CLEARANCE] +=
                table[HEIGHT] + table[START_HEIGHT] + pose[body * POSE_STRIDE + Z] + table[of + POINT + 1];
            let friction = table[of + FRICTION];
            // MuJoCo: an edge's regularisation is 2μ² times that of the first edge, w(1 + μ²).
            table[of + YIELDING] = 2.0 * friction * friction * weight * (1.0 + friction * friction);
        }
    }
}

/// How the centre of mass of `body` gives way to forces, on average over three directions. In a
/// plane it does not give way in the third.
fn response_at_centre(pose: &Pose<f64>, body: usize, centre: [f64; 2], response: &impl Fn(&Chains<f64>) -> f64) -> f64 {
    let leg = body.saturating_sub(1) / LINKS;
    let last = TORSO + body - leg * LINKS;
    let (mut along_x, mut along_z) = (Chains::<f64>::new(), Chains::<f64>::new());
    (along_x[leg * CHAIN], along_z[leg * CHAIN + 1]) = (1.0, 1.0);
    for place in TORSO..=last {
        // In the reference pose nothing is turned.
        let [x, z] = if place < last { [way_x(pose, leg, place), way_z(pose, leg, place)] } else { centre };
        (along_x[leg * CHAIN + place], along_z[leg * CHAIN + place]) = (z, -x);
    }
    (response(&along_x) + response(&along_z)) / 3.0
}

/// Writes the moments and inertias of bodies with what hangs on them.
fn augment(solids: &[Solid], table: &mut [f64]) {
    let square = |[x, z]: [f64; 2]| x * x + z * z;
    for (index, solid) in solids.iter().enumerate() {
        let of = BODY + index * BODY_STRIDE;
        table[of + INERTIA] = solid.inertia + solid.mass * square(solid.centre);
        for i in 0..2 {
            table[of + MOMENT + i] = solid.mass * solid.centre[i];
        }
    }
    for (index, below) in solids.iter().enumerate().skip(1) {
        // Of its leg's links, those before it carry its mass; so does the torso.
        let first = index - (index - 1) % LINKS;
        for link in first..=index {
            let offset = [0, 1].map(|i| table[BODY + link * BODY_STRIDE + OFFSET + i]);
            let parent = if link == first { 0 } else { link - 1 };
            let of = BODY + parent * BODY_STRIDE;
            table[of + INERTIA] += below.mass * square(offset);
            for i in 0..2 {
                table[of + MOMENT + i] += below.mass * offset[i];
            }
        }
    }
    table[TOTAL_MASS] = solids.iter().map(|solid| solid.mass).sum();
}

fn write_joint(joint: &Joint, varied: &Variation, table: &mut [f64]) {
    table[SPRING] = joint.stiffness * varied.stiffness_scale;
    table[DAMPER] = joint.damping * varied.damping_scale;
    table[ARMATURE] = joint.armature * varied.armature_scale;
    table[GEAR] = joint.gear * varied.gear_scale;
    table[LOW] = joint.range[0] * varied.joint_range_scale;
    table[HIGH] = joint.range[1] * varied.joint_range_scale;
}

/// Writes stiffness, damping and impedance of a kind of constraint.
fn soften(table: &mut [f64], softness: &Softness, time_step: f64) {
    let [least, greatest] = [softness.least, softness.greatest].map(|x| x.clamp(LEAST_IMPEDANCE, GREATEST_IMPEDANCE));
    let time_constant = softness.time_constant.max(2.0 * time_step);
    table[STIFFNESS] = (greatest * time_constant * softness.damping_ratio).powi(-2);
    table[DAMPING] = 2.0 / (greatest * time_constant);
    table[LEAST] = least;
    table[GREATEST] = greatest;
    table[WIDTH] = softness.width;
}
