//! Descriptions of robots, as their model files have them.
//!
//! Points are (x, z) in metres, angles in radians about +y.

/// A torso with legs on a floor.
#[derive(Debug)]
pub(crate) struct Robot {
    /// The torso, then leg after leg from the hip down; every leg has three links.
    pub bodies: &'static [Body],
    /// Height of the torso's frame in the reference pose.
    pub height: f64,
    /// Coordinate z in the reference pose.
    pub reference: f64,
    /// +1 where hinges of the legs turn about +y, -1 where they turn about -y.
    pub sign: f64,
    /// Duration of a simulation step, s.
    pub time_step: f64,
    /// Mass of all bodies, kg, where the density is set so that it comes out; else the density
    /// is 1000 kg/m³.
    pub total_mass: Option<f64>,
    /// Sliding friction of the floor.
    pub floor_friction: f64,
    /// Of contacts.
    pub contact: Softness,
    /// Distance at which contacts begin, m.
    pub margin: f64,
    /// Of joint limits.
    pub limit: Softness,
}

/// A rigid body.
#[derive(Debug)]
pub(crate) struct Body {
    pub name: &'static str,
    /// Its frame in its parent's: that of the torso for the first link of a leg, else of the link
    /// before it.
    pub position: [f64; 2],
    /// Its hinge in its own frame.
    pub anchor: [f64; 2],
    /// The hinge; the torso's own is free.
    pub joint: Joint,
    pub capsules: &'static [Capsule],
}

/// A hinge with a spring towards 0, a damper, a motor and limits.
#[derive(Debug)]
pub(crate) struct Joint {
    /// N·m/rad.
    pub stiffness: f64,
    /// N·m·s/rad.
    pub damping: f64,
    /// Inertia of the motor, kg·m².
    pub armature: f64,
    /// Torque at action 1, N·m.
    pub gear: f64,
    /// Least and greatest angle.
    pub range: [f64; 2],
}

impl Joint {
    /// The torso's.
    pub const FREE: Joint =
        Joint { stiffness: 0.0, damping: 0.0, armature: 0.0, gear: 0.0, range: [f64::NEG_INFINITY, f64::INFINITY] };
}

/// A capsule: all points within `radius` of a segment.
#[derive(Debug)]
pub(crate) struct Capsule {
    /// The segment's middle.
    pub centre: [f64; 2],
    /// The segment's direction, from +z.
    pub angle: f64,
    pub radius: f64,
    /// Half the segment's length.
    pub half_length: f64,
    /// Sliding friction.
    pub friction: f64,
}

/// How a constraint yields: MuJoCo's `solref` and `solimp` (midpoint 0.5, power 2).
#[derive(Debug)]
pub(crate) struct Softness {
    /// s.
    pub time_constant: f64,
    pub damping_ratio: f64,
    /// Impedance at distance 0.
    pub least: f64,
    /// Impedance from `width` on.
    pub greatest: f64,
    /// m, or rad.
    pub width: f64,
}
