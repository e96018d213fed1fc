//! What the three tasks of a running robot share: parameters, initial states, rewards.

#![allow(clippy::manual_memcpy, clippy::needless_range_loop, reason = "kernels go element by element")]

use cubecl::prelude::*;
use fedrl_core::Real;

use super::compile::Variation;
use super::motion::advance;
use super::robot::Robot;
use super::table::{ACTION_BIAS, CONTROL_COST, FORWARD_REWARD, LINKS, RESET_NOISE, START_HEIGHT, Shape};
use crate::parameter::value;
use crate::{Parameter, Parameters, Range};

/// Beyond this a state has blown up: MuJoCo's bound on coordinates and velocities.
pub(crate) const BLOWN_UP: f32 = 1e10;

/// The parameters of a task: `reset_noise` and `control_cost` are its defaults.
pub(crate) fn parameters(robot: &Robot, reset_noise: f64, control_cost: f64) -> Vec<Parameter> {
    let scale = |name, range, description| Parameter::new(name, "1", 1.0, range, description);
    let mut all = vec![
        Parameter::new("gravity", "m/s^2", 9.81, Range::Finite, "downward acceleration"),
        scale("friction_scale", Range::Positive, "friction of the floor and of everything that touches it"),
        scale("gear_scale", Range::Finite, "torque of every motor"),
        scale("damping_scale", Range::NonNegative, "damping of every hinge"),
        scale("stiffness_scale", Range::NonNegative, "stiffness of every hinge's spring"),
        scale("armature_scale", Range::NonNegative, "inertia of every motor"),
        scale("mass_scale", Range::Positive, "mass and inertia of every body"),
        scale("link_length_scale", Range::Positive, "every length along the bodies; masses follow at equal density"),
        scale("geom_radius_scale", Range::Positive, "radius of every capsule; masses follow at equal density"),
        scale("joint_range_scale", Range::Positive, "both limits of every hinge"),
        Parameter::new("action_bias", "1", 0.0, Range::Finite, "added to every action before it is clipped to [-1, 1]"),
        Parameter::new(
            "reset_noise_scale",
            "m, rad",
            reset_noise,
            Range::NonNegative,
            "scale of the initial state's deviation from rest",
        ),
        Parameter::new("reward.forward_weight", "s/m", 1.0, Range::Finite, "reward per forward velocity"),
        Parameter::new(
            "reward.ctrl_cost_weight",
            "1",
            control_cost,
            Range::Finite,
            "cost of the sum of squared actions",
        ),
    ];
    // Nothing varies with the stiffness of springs that are not there.
    let springs = robot.bodies.iter().any(|body| body.joint.stiffness != 0.0);
    all.retain(|parameter| springs || parameter.name != "stiffness_scale");
    // Names live as long as the program: made once per task.
    for body in robot.bodies {
        let name = format!("mass_scale.{}", body.name).leak();
        all.push(scale(name, Range::Positive, "mass and inertia of this body"));
    }
    for body in robot.bodies {
        let name = format!("geom_radius.{}", body.name).leak();
        let radius = body.capsules[0].radius;
        all.push(Parameter::new(
            name,
            "m",
            radius,
            Range::Positive,
            "radius of this body's capsules; its mass follows",
        ));
    }
    all
}

/// What the `given` values of the `parameters` vary about a robot.
pub(crate) fn variation(robot: &Robot, parameters: &[Parameter], given: &Parameters) -> Variation {
    let value = |name: &str| value(parameters, given, name);
    let scale = |name: &str| if parameters.iter().any(|parameter| parameter.name == name) { value(name) } else { 1.0 };
    let of_bodies = |name: &str, factor: f64| {
        robot.bodies.iter().map(|body| factor * value(&format!("{name}.{}", body.name))).collect::<Vec<f64>>()
    };
    Variation {
        gravity: value("gravity"),
        friction_scale: value("friction_scale"),
        gear_scale: value("gear_scale"),
        damping_scale: value("damping_scale"),
        stiffness_scale: scale("stiffness_scale"),
        armature_scale: value("armature_scale"),
        link_length_scale: value("link_length_scale"),
        joint_range_scale: value("joint_range_scale"),
        mass_scale: of_bodies("mass_scale", value("mass_scale")),
        radius: of_bodies("geom_radius", value("geom_radius_scale")),
    }
}

/// The table of numbers of a task with the parameters `given`.
pub(crate) fn coefficients<S: Shape>(robot: &Robot, parameters: &[Parameter], given: &Parameters) -> Vec<f64> {
    let value = |name: &str| value(parameters, given, name);
    let mut table = robot.table::<S>(&variation(robot, parameters, given));
    table[ACTION_BIAS] = value("action_bias");
    table[FORWARD_REWARD] = value("reward.forward_weight") / (robot.time_step * S::FRAME_SKIP as f64);
    table[CONTROL_COST] = value("reward.ctrl_cost_weight");
    table[RESET_NOISE] = value("reset_noise_scale");
    table
}

/// Moves the state on and returns the reward for going forward and for saving effort. The effort
/// is that of the action as it was chosen, before bias and clipping.
#[cube]
pub(crate) fn progress<F: Real, S: Shape>(c: &[F], state: &mut [F], action: &[F]) -> F {
    let way = advance::<F, S>(c, state, action);
    let mut effort = F::new(0.0);
    for i in 0..S::LEGS * LINKS {
        effort += action[i] * action[i];
    }
    c[FORWARD_REWARD] * way - c[CONTROL_COST] * effort
}

/// Writes initial coordinates: the reference pose, each changed by up to the reset noise.
#[cube]
pub(crate) fn reset_coordinates<F: Real, S: Shape>(c: &[F], draws: &[F], state: &mut [F]) {
    for i in 0..S::WIDTH {
        state[i] = noise::<F>(c, draws[i]);
    }
    state[1] += c[START_HEIGHT];
}

/// Writes initial velocities: each up to the reset noise, from the draws behind those of the
/// coordinates.
#[cube]
pub(crate) fn reset_velocities<F: Real, S: Shape>(c: &[F], draws: &[F], state: &mut [F]) {
    for i in S::WIDTH..2 * S::WIDTH {
        state[i] = noise::<F>(c, draws[i]);
    }
}

/// A draw from [0, 1) spread over plus and minus the reset noise.
#[cube]
fn noise<F: Real>(c: &[F], draw: F) -> F {
    c[RESET_NOISE] * (F::new(2.0) * draw - F::new(1.0))
}

/// Writes what an agent sees: all coordinates but x, then velocities, clipped to `bound`.
#[cube]
pub(crate) fn observe_clipped<F: Real, S: Shape>(state: &[F], bound: F, observation: &mut [F]) {
    for i in 1..S::WIDTH {
        observation[i - 1] = state[i];
    }
    for i in 0..S::WIDTH {
        let velocity = state[S::WIDTH + i];
        let capped = if velocity > bound { bound } else { velocity };
        observation[S::WIDTH - 1 + i] = if capped < -bound { -bound } else { capped };
    }
}

/// Whether every number of `state` from `start` on lies strictly within plus and minus `bound`.
/// No number does not.
#[cube]
pub(crate) fn within<F: Real, S: Shape>(state: &[F], start: usize, bound: F) -> bool {
    let mut all = true;
    for i in start..2 * S::WIDTH {
        all = all && state[i] > -bound && state[i] < bound;
    }
    all
}
