//! Hopper-v5: hop forward on one leg in a plane (Erez, Tassa & Todorov 2012; `hopper.xml` of
//! Gymnasium 1.4, with MuJoCo's physics).
//!
//! In MuJoCo, the hopper's bodies also collide with each other. That is not modelled: it takes
//! more than 1.63 rad of flexion in the leg.

use std::f64::consts::{FRAC_PI_2, PI};
use std::sync::LazyLock;

use cubecl::prelude::*;
use fedrl_core::{Real, Space};

use crate::planar::{
    Body, Capsule, Joint, Robot, Shape, Softness, coefficients, observe_clipped, parameters, picture, progress,
    reset_coordinates, reset_velocities, within,
};
use crate::{Dynamics, Environment, LaneDynamics, OneByOne, ParameterError, Parameters, Picture, Spec};

/// Hopper-v5. State: six coordinates (torso x, z in m, angle in rad; angles of thigh, leg and
/// foot in rad), then their velocities. Observation: the state without x, velocities clipped to
/// ±10. Actions: three motors, -1 to 1 of their greatest torque.
#[derive(Debug, Clone, Copy)]
pub struct Hopper;

impl Shape for Hopper {
    const LEGS: usize = 1;
    const TORSO_ENDS: usize = 2;
    const FRAME_SKIP: usize = 4;
    const RUNGE_KUTTA: bool = true;
}

#[cube]
impl Dynamics for Hopper {
    fn reset<F: Real>(coefficients: &[F], draws: &[F], state: &mut [F]) {
        reset_coordinates::<F, Self>(coefficients, draws, state);
        reset_velocities::<F, Self>(coefficients, draws, state);
    }

    fn observe<F: Real>(_coefficients: &[F], state: &[F], observation: &mut [F]) {
        observe_clipped::<F, Self>(state, F::new(10.0), observation);
    }

    fn step<F: Real>(coefficients: &[F], _draws: &[F], state: &mut [F], action: &[F]) -> F {
        let reward = progress::<F, Self>(coefficients, state, action);
        if healthy::<F>(state[1], state[2]) && within::<F, Self>(&*state, 2usize, F::new(100.0)) {
            reward + F::new(1.0)
        } else {
            reward
        }
    }

    fn terminated<F: Real>(_coefficients: &[F], state: &[F]) -> bool {
        !(healthy::<F>(state[1], state[2]) && within::<F, Self>(state, 2usize, F::new(100.0)))
    }
}

/// Whether a torso at this height and angle stands.
#[cube]
fn healthy<F: Real>(z: F, angle: F) -> bool {
    z > F::new(0.7) && angle > F::new(-0.2) && angle < F::new(0.2)
}

pub(crate) static ROBOT: Robot = Robot {
    bodies: &[
        Body {
            name: "torso",
            position: [0.0, 0.0],
            anchor: [0.0, 0.0],
            joint: Joint::FREE,
            capsules: &[capsule([0.0, 0.0], 0.0, 0.05, 0.2, 0.9)],
        },
        Body {
            name: "thigh",
            position: [0.0, -0.2],
            anchor: [0.0, 0.0],
            joint: hinge([-150.0, 0.0]),
            capsules: &[capsule([0.0, -0.225], 0.0, 0.05, 0.225, 0.9)],
        },
        Body {
            name: "leg",
            position: [0.0, -0.7],
            anchor: [0.0, 0.25],
            joint: hinge([-150.0, 0.0]),
            capsules: &[capsule([0.0, 0.0], 0.0, 0.04, 0.25, 0.9)],
        },
        Body {
            name: "foot",
            position: [0.13, -0.35],
            anchor: [-0.13, 0.1],
            joint: hinge([-45.0, 45.0]),
            capsules: &[capsule([-0.065, 0.1], -FRAC_PI_2, 0.06, 0.195, 2.0)],
        },
    ],
    height: 1.25,
    reference: 1.25,
    sign: -1.0,
    time_step: 0.002,
    total_mass: None,
    floor_friction: 1.0,
    contact: Softness { time_constant: 0.02, damping_ratio: 1.0, least: 0.8, greatest: 0.8, width: 0.01 },
    // The margins of the floor and of the bodies, 0.001 each, add up.
    margin: 0.002,
    limit: Softness { time_constant: 0.02, damping_ratio: 1.0, least: 0.9, greatest: 0.95, width: 0.001 },
};

const fn capsule(centre: [f64; 2], angle: f64, radius: f64, half_length: f64, friction: f64) -> Capsule {
    Capsule { centre, angle, radius, half_length, friction }
}

/// A hinge between two angles in degrees.
const fn hinge(range: [f64; 2]) -> Joint {
    let range = [range[0] * PI / 180.0, range[1] * PI / 180.0];
    Joint { stiffness: 0.0, damping: 1.0, armature: 1.0, gear: 200.0, range }
}

static SPEC: LazyLock<Spec> = LazyLock::new(|| Spec {
    id: "Hopper-v5",
    summary: "hop forward on one leg by three motors",
    observation: Space::Box { low: vec![f64::NEG_INFINITY; 11], high: vec![f64::INFINITY; 11] },
    observation_names: &[
        "torso z",
        "torso angle",
        "thigh angle",
        "leg angle",
        "foot angle",
        "torso x velocity",
        "torso z velocity",
        "torso angular velocity",
        "thigh velocity",
        "leg velocity",
        "foot velocity",
    ],
    action: Space::Box { low: vec![-1.0; 3], high: vec![1.0; 3] },
    state_width: 12,
    reset_draws: 12,
    step_draws: 0,
    max_episode_steps: 1000,
    parameters: parameters(&ROBOT, 0.005, 0.001).leak(),
    reward: "forward velocity (m/s) + 1 while standing - 0.001 x sum of squared actions",
    termination: "torso z <= 0.7 m, |torso angle| >= 0.2 rad, or another angle or velocity beyond 100",
    source: "Erez, Tassa & Todorov 2012; Gymnasium 1.4 Hopper-v5 with MuJoCo 3.17",
});

impl Environment for Hopper {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn lanes(&self) -> &'static dyn LaneDynamics {
        &OneByOne(Hopper)
    }

    fn coefficients(&self, given: &Parameters) -> Result<Vec<f64>, ParameterError> {
        Ok(coefficients::<Self>(&ROBOT, SPEC.parameters, given))
    }

    fn picture(&self, given: &Parameters, state: &[f64]) -> Option<Picture> {
        Some(picture::<Self>(&ROBOT, SPEC.parameters, given, state))
    }
}
