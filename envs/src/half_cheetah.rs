//! HalfCheetah-v5: run with two legs in a plane (Wawrzyński 2009; `half_cheetah.xml` of
//! Gymnasium 1.4, with MuJoCo's physics).

#![allow(clippy::manual_memcpy, reason = "kernels copy element by element")]

use std::f64::consts::FRAC_PI_2;
use std::sync::LazyLock;

use cubecl::prelude::*;
use fedrl_core::{Real, Space};

use crate::planar::{
    BLOWN_UP, Body, Capsule, Joint, RESET_NOISE, Robot, Shape, Softness, coefficients, parameters, picture, progress,
    reset_coordinates, within,
};
use crate::{Dynamics, Environment, LaneDynamics, OneByOne, ParameterError, Parameters, Picture, Spec};

/// HalfCheetah-v5. State: nine coordinates (torso x, z in m, angle in rad; angles of back thigh,
/// shin and foot, front thigh, shin and foot in rad), then their velocities. Observation: the
/// state without x. Actions: six motors, -1 to 1 of their greatest torque.
#[derive(Debug, Clone, Copy)]
pub struct HalfCheetah;

impl Shape for HalfCheetah {
    const LEGS: usize = 2;
    const TORSO_ENDS: usize = 4;
    const FRAME_SKIP: usize = 5;
    const RUNGE_KUTTA: bool = false;
}

#[cube]
impl Dynamics for HalfCheetah {
    /// Coordinates are uniform, velocities normal: two of them from a pair of draws (Box & Muller
    /// 1958), the last from half a pair.
    fn reset<F: Real>(coefficients: &[F], draws: &[F], state: &mut [F]) {
        reset_coordinates::<F, Self>(coefficients, draws, state);
        for pair in 0..5usize {
            // 1 - u lies in (0, 1].
            let radius = F::square_root(F::new(-2.0) * F::natural_log(F::new(1.0) - draws[9 + 2 * pair]));
            let angle = F::two_pi() * draws[10 + 2 * pair];
            state[9 + 2 * pair] = coefficients[RESET_NOISE] * radius * F::cosine(angle);
            if pair < 4 {
                state[10 + 2 * pair] = coefficients[RESET_NOISE] * radius * F::sine(angle);
            }
        }
    }

    fn observe<F: Real>(_coefficients: &[F], state: &[F], observation: &mut [F]) {
        for i in 0..17usize {
            observation[i] = state[i + 1];
        }
    }

    fn step<F: Real>(coefficients: &[F], _draws: &[F], state: &mut [F], action: &[F]) -> F {
        progress::<F, Self>(coefficients, state, action)
    }

    fn terminated<F: Real>(_coefficients: &[F], state: &[F]) -> bool {
        !within::<F, Self>(state, 0usize, F::new(BLOWN_UP))
    }
}

/// Every capsule is as thick and as smooth as any other.
const fn capsule(centre: [f64; 2], angle: f64, half_length: f64) -> Capsule {
    Capsule { centre, angle, radius: 0.046, half_length, friction: 0.4 }
}

const fn link(
    name: &'static str,
    position: [f64; 2],
    capsules: &'static [Capsule],
    [stiffness, damping, gear]: [f64; 3],
    range: [f64; 2],
) -> Body {
    Body {
        name,
        position,
        anchor: [0.0, 0.0],
        joint: Joint { stiffness, damping, armature: 0.1, gear, range },
        capsules,
    }
}

pub(crate) static ROBOT: Robot = Robot {
    bodies: &[
        Body {
            name: "torso",
            position: [0.0, 0.0],
            anchor: [0.0, 0.0],
            joint: Joint::FREE,
            capsules: &[capsule([0.0, 0.0], -FRAC_PI_2, 0.5), capsule([0.6, 0.1], 0.87, 0.15)],
        },
        link("bthigh", [-0.5, 0.0], &[capsule([0.1, -0.13], -3.8, 0.145)], [240.0, 6.0, 120.0], [-0.52, 1.05]),
        link("bshin", [0.16, -0.25], &[capsule([-0.14, -0.07], -2.03, 0.15)], [180.0, 4.5, 90.0], [-0.785, 0.785]),
        link("bfoot", [-0.28, -0.14], &[capsule([0.03, -0.097], -0.27, 0.094)], [120.0, 3.0, 60.0], [-0.4, 0.785]),
        link("fthigh", [0.5, 0.0], &[capsule([-0.07, -0.12], 0.52, 0.133)], [180.0, 4.5, 120.0], [-1.0, 0.7]),
        link("fshin", [-0.14, -0.24], &[capsule([0.065, -0.09], -0.6, 0.106)], [120.0, 3.0, 60.0], [-1.2, 0.87]),
        link("ffoot", [0.13, -0.18], &[capsule([0.045, -0.07], -0.6, 0.07)], [60.0, 1.5, 30.0], [-0.5, 0.5]),
    ],
    height: 0.7,
    reference: 0.0,
    sign: 1.0,
    time_step: 0.01,
    total_mass: Some(14.0),
    floor_friction: 0.4,
    contact: Softness { time_constant: 0.02, damping_ratio: 1.0, least: 0.0, greatest: 0.8, width: 0.01 },
    margin: 0.0,
    limit: Softness { time_constant: 0.02, damping_ratio: 1.0, least: 0.0, greatest: 0.8, width: 0.03 },
};

static SPEC: LazyLock<Spec> = LazyLock::new(|| Spec {
    id: "HalfCheetah-v5",
    summary: "run forward with two legs by six motors",
    observation: Space::Box { low: vec![f64::NEG_INFINITY; 17], high: vec![f64::INFINITY; 17] },
    observation_names: &[
        "torso z",
        "torso angle",
        "bthigh angle",
        "bshin angle",
        "bfoot angle",
        "fthigh angle",
        "fshin angle",
        "ffoot angle",
        "torso x velocity",
        "torso z velocity",
        "torso angular velocity",
        "bthigh velocity",
        "bshin velocity",
        "bfoot velocity",
        "fthigh velocity",
        "fshin velocity",
        "ffoot velocity",
    ],
    action: Space::Box { low: vec![-1.0; 6], high: vec![1.0; 6] },
    state_width: 18,
    reset_draws: 19,
    step_draws: 0,
    max_episode_steps: 1000,
    parameters: parameters(&ROBOT, 0.1, 0.1).leak(),
    reward: "forward velocity (m/s) - 0.1 x sum of squared actions",
    termination: "never, unless a number of the state is none or exceeds 1e10",
    source: "Wawrzynski 2009; Gymnasium 1.4 HalfCheetah-v5 with MuJoCo 3.17",
});

impl Environment for HalfCheetah {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn lanes(&self) -> &'static dyn LaneDynamics {
        &OneByOne(HalfCheetah)
    }

    fn coefficients(&self, given: &Parameters) -> Result<Vec<f64>, ParameterError> {
        Ok(coefficients::<Self>(&ROBOT, SPEC.parameters, given))
    }

    fn picture(&self, given: &Parameters, state: &[f64]) -> Option<Picture> {
        Some(picture::<Self>(&ROBOT, SPEC.parameters, given, state))
    }
}
