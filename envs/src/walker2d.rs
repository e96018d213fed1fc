//! Walker2d-v5: walk forward on two legs in a plane (Erez, Tassa & Todorov 2012;
//! `walker2d_v5.xml` of Gymnasium 1.4, with MuJoCo's physics).

use std::f64::consts::{FRAC_PI_2, PI};
use std::sync::LazyLock;

use cubecl::prelude::*;
use fedrl_core::{Real, Space};

use crate::planar::{
    BLOWN_UP, Body, Capsule, Joint, Robot, Shape, Softness, coefficients, observe_clipped, parameters, picture,
    progress, reset_coordinates, reset_velocities, within,
};
use crate::{Dynamics, Environment, LaneDynamics, OneByOne, ParameterError, Parameters, Picture, Spec};

/// Walker2d-v5. State: nine coordinates (torso x, z in m, angle in rad; angles of thigh, leg and
/// foot, then of the left thigh, leg and foot in rad), then their velocities. Observation: the
/// state without x, velocities clipped to ±10. Actions: six motors, -1 to 1 of their greatest
/// torque.
#[derive(Debug, Clone, Copy)]
pub struct Walker2d;

impl Shape for Walker2d {
    const LEGS: usize = 2;
    const TORSO_ENDS: usize = 2;
    const FRAME_SKIP: usize = 4;
    const RUNGE_KUTTA: bool = true;
}

#[cube]
impl Dynamics for Walker2d {
    fn reset<F: Real>(coefficients: &[F], draws: &[F], state: &mut [F]) {
        reset_coordinates::<F, Self>(coefficients, draws, state);
        reset_velocities::<F, Self>(coefficients, draws, state);
    }

    fn observe<F: Real>(_coefficients: &[F], state: &[F], observation: &mut [F]) {
        observe_clipped::<F, Self>(state, F::new(10.0), observation);
    }

    fn step<F: Real>(coefficients: &[F], _draws: &[F], state: &mut [F], action: &[F]) -> F {
        let reward = progress::<F, Self>(coefficients, state, action);
        if healthy::<F>(state[1], state[2]) { reward + F::new(1.0) } else { reward }
    }

    fn terminated<F: Real>(_coefficients: &[F], state: &[F]) -> bool {
        !(healthy::<F>(state[1], state[2]) && within::<F, Self>(state, 0usize, F::new(BLOWN_UP)))
    }
}

/// Whether a torso at this height and angle stands.
#[cube]
fn healthy<F: Real>(z: F, angle: F) -> bool {
    z > F::new(0.8) && z < F::new(2.0) && angle > F::new(-1.0) && angle < F::new(1.0)
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
        thigh("thigh"),
        leg("leg"),
        foot("foot"),
        thigh("thigh_left"),
        leg("leg_left"),
        foot("foot_left"),
    ],
    height: 1.25,
    reference: 1.25,
    sign: -1.0,
    time_step: 0.002,
    total_mass: None,
    floor_friction: 0.7,
    contact: SOFTNESS,
    margin: 0.0,
    limit: SOFTNESS,
};

const SOFTNESS: Softness =
    Softness { time_constant: 0.02, damping_ratio: 1.0, least: 0.9, greatest: 0.95, width: 0.001 };

const fn thigh(name: &'static str) -> Body {
    let capsules = const { &[capsule([0.0, -0.225], 0.0, 0.05, 0.225, 0.9)] };
    Body { name, position: [0.0, -0.2], anchor: [0.0, 0.0], joint: hinge([-150.0, 0.0]), capsules }
}

const fn leg(name: &'static str) -> Body {
    let capsules = const { &[capsule([0.0, 0.0], 0.0, 0.04, 0.25, 0.9)] };
    Body { name, position: [0.0, -0.7], anchor: [0.0, 0.25], joint: hinge([-150.0, 0.0]), capsules }
}

const fn foot(name: &'static str) -> Body {
    let capsules = const { &[capsule([-0.1, 0.1], -FRAC_PI_2, 0.06, 0.1, 1.9)] };
    Body { name, position: [0.2, -0.35], anchor: [-0.2, 0.1], joint: hinge([-45.0, 45.0]), capsules }
}

const fn capsule(centre: [f64; 2], angle: f64, radius: f64, half_length: f64, friction: f64) -> Capsule {
    Capsule { centre, angle, radius, half_length, friction }
}

/// A hinge between two angles in degrees.
const fn hinge(range: [f64; 2]) -> Joint {
    let range = [range[0] * PI / 180.0, range[1] * PI / 180.0];
    Joint { stiffness: 0.0, damping: 0.1, armature: 0.01, gear: 100.0, range }
}

static SPEC: LazyLock<Spec> = LazyLock::new(|| Spec {
    id: "Walker2d-v5",
    summary: "walk forward on two legs by six motors",
    observation: Space::Box { low: vec![f64::NEG_INFINITY; 17], high: vec![f64::INFINITY; 17] },
    observation_names: &[
        "torso z",
        "torso angle",
        "thigh angle",
        "leg angle",
        "foot angle",
        "left thigh angle",
        "left leg angle",
        "left foot angle",
        "torso x velocity",
        "torso z velocity",
        "torso angular velocity",
        "thigh velocity",
        "leg velocity",
        "foot velocity",
        "left thigh velocity",
        "left leg velocity",
        "left foot velocity",
    ],
    action: Space::Box { low: vec![-1.0; 6], high: vec![1.0; 6] },
    state_width: 18,
    reset_draws: 18,
    step_draws: 0,
    max_episode_steps: 1000,
    parameters: parameters(&ROBOT, 0.005, 0.001).leak(),
    reward: "forward velocity (m/s) + 1 while standing - 0.001 x sum of squared actions",
    termination: "torso z outside (0.8, 2) m or |torso angle| >= 1 rad",
    source: "Erez, Tassa & Todorov 2012; Gymnasium 1.4 Walker2d-v5 with MuJoCo 3.17",
});

impl Environment for Walker2d {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn lanes(&self) -> &'static dyn LaneDynamics {
        &OneByOne(Walker2d)
    }

    fn coefficients(&self, given: &Parameters) -> Result<Vec<f64>, ParameterError> {
        Ok(coefficients::<Self>(&ROBOT, SPEC.parameters, given))
    }

    fn picture(&self, given: &Parameters, state: &[f64]) -> Option<Picture> {
        Some(picture::<Self>(&ROBOT, SPEC.parameters, given, state))
    }
}
