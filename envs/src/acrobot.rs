//! Acrobot-v1: swing a two-link pendulum up by a motor in its middle joint (Sutton 1996, with the
//! equations of the book by Sutton & Barto, as in Gymnasium 1.4).

use cubecl::prelude::*;
use fedrl_core::{Real, Space, Wide};

use crate::environment::smooth_dynamics;
use crate::parameter::value;
use crate::{
    AtOnce, Dynamics, Environment, LaneDynamics, Parameter, ParameterError, Parameters, Picture, Piece, Range, Smooth,
    Spec, Tone, View,
};

/// Acrobot-v1. State: angle of the first link from hanging straight down (rad), angle of the
/// second from the first (rad), and their velocities (rad/s). Observation: cosine and sine of
/// each angle, then the velocities. Actions: 0, 1, 2 push with torque -1, 0, 1.
#[derive(Debug, Clone, Copy)]
pub struct Acrobot;

// Places in the coefficient table. The equations of motion need no more than these combinations:
// with d₁ = SHOULDER + 2·COUPLING·cosθ₂ and d₂ = ELBOW + COUPLING·cosθ₂ they are the book's.
/// m₁c₁² + m₂(l₁² + c₂²) + I₁ + I₂, where c is the distance of a centre of mass from its joint.
const SHOULDER: usize = 0;
/// m₂c₂² + I₂.
const ELBOW: usize = 1;
/// m₂l₁c₂.
const COUPLING: usize = 2;
/// (m₁c₁ + m₂l₁)g.
const WEIGHT_1: usize = 3;
/// m₂c₂g.
const WEIGHT_2: usize = 4;
const TORQUE: usize = 5;
const TIME_STEP: usize = 6;
const GREATEST_SPEED_1: usize = 7;
const GREATEST_SPEED_2: usize = 8;
const TIP_1: usize = 9;
const TIP_2: usize = 10;
const GOAL: usize = 11;
const INIT_LOW: usize = 12;
const INIT_WIDTH: usize = 13;

/// Duration of a step, s.
const DURATION: f64 = 0.2;

/// Angles and velocities, or their rates of change.
#[derive(CubeType, Clone, Copy)]
struct Motion<F: Wide> {
    angle_1: F,
    angle_2: F,
    speed_1: F,
    speed_2: F,
}

/// The rate of change of `at` under `torque` on the middle joint: the book's equations.
#[cube]
#[inline(always)]
fn rate<F: Wide>(c: &[F], at: &Motion<F>, torque: F) -> Motion<F> {
    let sine = F::sine(at.angle_2);
    let bend = c[COUPLING] * F::cosine(at.angle_2);
    let twice = F::constant(2.0);
    let d1 = c[SHOULDER] + twice * bend;
    let d2 = c[ELBOW] + bend;
    let phi2 = c[WEIGHT_2] * F::sine(at.angle_1 + at.angle_2);
    let swirl = (at.speed_2 + twice * at.speed_1) * at.speed_2;
    let phi1 = c[WEIGHT_1] * F::sine(at.angle_1) + phi2 - c[COUPLING] * sine * swirl;
    let push = torque + d2 / d1 * phi1 - c[COUPLING] * sine * (at.speed_1 * at.speed_1) - phi2;
    let second = push / (c[ELBOW] - d2 * d2 / d1);
    let first = (F::constant(0.0) - d2 * second - phi1) / d1;
    Motion::<F> { angle_1: at.speed_1, angle_2: at.speed_2, speed_1: first, speed_2: second }
}

/// `at + duration · rate`.
#[cube]
#[inline(always)]
fn moved<F: Wide>(at: &Motion<F>, rate: &Motion<F>, duration: F) -> Motion<F> {
    Motion::<F> {
        angle_1: at.angle_1 + duration * rate.angle_1,
        angle_2: at.angle_2 + duration * rate.angle_2,
        speed_1: at.speed_1 + duration * rate.speed_1,
        speed_2: at.speed_2 + duration * rate.speed_2,
    }
}

/// `angle` in [-π, π).
#[cube]
#[inline(always)]
fn wrapped<F: Wide>(angle: F) -> F {
    let turn = F::two_pi();
    angle - turn * F::round_down(angle / turn + F::constant(0.5))
}

#[cube]
#[inline(always)]
fn clipped<F: Wide>(x: F, bound: F) -> F {
    let least = F::constant(0.0) - bound;
    F::lesser(bound, F::greater(least, x))
}

/// 1 where the tip is not higher than the goal, else 0.
#[cube]
#[inline(always)]
fn below<F: Wide>(c: &[F], angle_1: F, angle_2: F) -> F {
    let depth = c[TIP_1] * F::cosine(angle_1) + c[TIP_2] * F::cosine(angle_1 + angle_2);
    let height = F::constant(0.0) - depth;
    let zero = F::constant(0.0);
    // A state that is no number goes no further.
    let number = F::choose_less(height, F::constant(3e38), F::constant(1.0), zero);
    F::choose_less(c[GOAL], height, zero, number)
}

#[cube]
impl Smooth for Acrobot {
    #[inline(always)]
    fn reset<F: Wide>(coefficients: &[F], draws: &[F], state: &mut [F]) {
        for i in 0..4usize {
            state[i] = coefficients[INIT_LOW] + coefficients[INIT_WIDTH] * draws[i];
        }
    }

    #[inline(always)]
    fn observe<F: Wide>(_coefficients: &[F], state: &[F], observation: &mut [F]) {
        observation[0] = F::cosine(state[0]);
        observation[1] = F::sine(state[0]);
        observation[2] = F::cosine(state[1]);
        observation[3] = F::sine(state[1]);
        observation[4] = state[2];
        observation[5] = state[3];
    }

    /// One step of the classical Runge-Kutta method; then angles are wrapped and speeds clipped.
    #[inline(always)]
    fn step<F: Wide>(coefficients: &[F], _draws: &[F], state: &mut [F], action: &[F]) -> F {
        let c = coefficients;
        let torque = c[TORQUE] * (action[0] - F::constant(1.0));
        let start = Motion::<F> { angle_1: state[0], angle_2: state[1], speed_1: state[2], speed_2: state[3] };
        let dt = c[TIME_STEP];
        let half = F::constant(0.5) * dt;
        let k1 = rate::<F>(c, &start, torque);
        let k2 = rate::<F>(c, &moved::<F>(&start, &k1, half), torque);
        let k3 = rate::<F>(c, &moved::<F>(&start, &k2, half), torque);
        let k4 = rate::<F>(c, &moved::<F>(&start, &k3, dt), torque);
        let sixth = dt / F::constant(6.0);
        let middle = F::constant(2.0) * sixth;
        let mean = moved::<F>(&moved::<F>(&start, &k1, sixth), &k2, middle);
        let end = moved::<F>(&moved::<F>(&mean, &k3, middle), &k4, sixth);

        state[0] = wrapped::<F>(end.angle_1);
        state[1] = wrapped::<F>(end.angle_2);
        state[2] = clipped::<F>(end.speed_1, c[GREATEST_SPEED_1]);
        state[3] = clipped::<F>(end.speed_2, c[GREATEST_SPEED_2]);
        F::constant(0.0) - below::<F>(c, state[0], state[1])
    }

    #[inline(always)]
    fn alive<F: Wide>(coefficients: &[F], state: &[F]) -> F {
        below::<F>(coefficients, state[0], state[1])
    }
}

smooth_dynamics!(Acrobot);

static PARAMETERS: [Parameter; 13] = [
    Parameter::new("link_length_1", "m", 1.0, Range::Positive, "length of the first link"),
    Parameter::new("link_length_2", "m", 1.0, Range::Positive, "length of the second link"),
    Parameter::new("link_mass_1", "kg", 1.0, Range::Positive, "mass of the first link"),
    Parameter::new("link_mass_2", "kg", 1.0, Range::Positive, "mass of the second link"),
    Parameter::new(
        "link_com_pos_1",
        "m",
        0.5,
        Range::Positive,
        "distance of the first link's centre of mass from its joint; half the link's length unless set",
    ),
    Parameter::new(
        "link_com_pos_2",
        "m",
        0.5,
        Range::Positive,
        "distance of the second link's centre of mass from its joint; half the link's length unless set",
    ),
    Parameter::new("link_moi", "kg m^2", 1.0, Range::Positive, "moment of inertia of either link about its centre"),
    Parameter::new("gravity", "m/s^2", 9.8, Range::Finite, "downward acceleration"),
    Parameter::new("torque_scale", "1", 1.0, Range::Finite, "the motor's torque is multiplied by this"),
    Parameter::new("goal_height", "m", 1.0, Range::Finite, "height above the fixed joint that the tip has to exceed"),
    Parameter::new(
        "goal",
        "1",
        0.0,
        Range::Choice(&["fixed", "scaled"]),
        "scaled: the goal is for the real links, `goal_height` times their mean length; fixed: for links of 1 m",
    ),
    Parameter::new("init_low", "rad, rad/s", -0.1, Range::Finite, "least initial value of each component"),
    Parameter::new("init_high", "rad, rad/s", 0.1, Range::Finite, "greatest initial value of each component"),
];

static SPEC: std::sync::LazyLock<Spec> = std::sync::LazyLock::new(|| {
    use std::f64::consts::PI;
    let bound = vec![1.0, 1.0, 1.0, 1.0, 4.0 * PI, 9.0 * PI];
    Spec {
        id: "Acrobot-v1",
        summary: "swing a two-link pendulum up by its middle joint",
        observation: Space::Box { low: bound.iter().map(|x| -x).collect(), high: bound },
        observation_names: &["cos angle 1", "sin angle 1", "cos angle 2", "sin angle 2", "velocity 1", "velocity 2"],
        action: Space::Discrete { n: 3 },
        state_width: 4,
        reset_draws: 4,
        step_draws: 0,
        max_episode_steps: 500,
        parameters: &PARAMETERS,
        reward: "-1 for every step, 0 for the one that reaches the goal",
        termination: "the tip is higher than the goal",
        source: "Sutton 1996; Sutton & Barto 2018, section 11.3; Gymnasium 1.4 Acrobot-v1",
    }
});

impl Environment for Acrobot {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn lanes(&self) -> &'static dyn LaneDynamics {
        &AtOnce(Acrobot)
    }

    fn coefficients(&self, given: &Parameters) -> Result<Vec<f64>, ParameterError> {
        use std::f64::consts::PI;
        let value = |name: &str| value(&PARAMETERS, given, name);
        let (init_low, init_high) = (value("init_low"), value("init_high"));
        if init_low > init_high {
            let reason = format!("`init_low` ({init_low}) is greater than `init_high` ({init_high})");
            return Err(ParameterError::Contradiction { environment: SPEC.id, reason });
        }
        let (l1, l2) = (value("link_length_1"), value("link_length_2"));
        let (m1, m2) = (value("link_mass_1"), value("link_mass_2"));
        let c1 = given.get("link_com_pos_1").copied().unwrap_or(l1 / 2.0);
        let c2 = given.get("link_com_pos_2").copied().unwrap_or(l2 / 2.0);
        let (inertia, gravity) = (value("link_moi"), value("gravity"));
        let scaled = value("goal") == 1.0;

        let mut table = vec![0.0; 14];
        table[SHOULDER] = m1 * c1 * c1 + m2 * (l1 * l1 + c2 * c2) + 2.0 * inertia;
        table[ELBOW] = m2 * c2 * c2 + inertia;
        table[COUPLING] = m2 * l1 * c2;
        table[WEIGHT_1] = (m1 * c1 + m2 * l1) * gravity;
        table[WEIGHT_2] = m2 * c2 * gravity;
        table[TORQUE] = value("torque_scale");
        table[TIME_STEP] = DURATION;
        table[GREATEST_SPEED_1] = 4.0 * PI;
        table[GREATEST_SPEED_2] = 9.0 * PI;
        table[TIP_1] = if scaled { l1 } else { 1.0 };
        table[TIP_2] = if scaled { l2 } else { 1.0 };
        table[GOAL] = goal(given);
        table[INIT_LOW] = init_low;
        table[INIT_WIDTH] = init_high - init_low;
        Ok(table)
    }

    /// Links have their lengths. A fixed goal is for links of 1 m: the line is at its height, which the
    /// tip of other links need not cross.
    fn picture(&self, given: &Parameters, state: &[f64]) -> Option<Picture> {
        let [l1, l2] = ["link_length_1", "link_length_2"].map(|name| value(&PARAMETERS, given, name));
        let below = |[x, y]: [f64; 2], length: f64, angle: f64| [x + length * angle.sin(), y - length * angle.cos()];
        let elbow = below([0.0, 0.0], l1, state[0]);
        let tip = below(elbow, l2, state[0] + state[1]);
        let goal = goal(given);
        let (reach, thick) = (l1 + l2, 0.025 * (l1 + l2));
        let pieces = vec![
            Piece::rectangle([0.0, goal], [reach, 0.2 * thick], Tone::Mark),
            Piece::capsule([[0.0, 0.0], elbow], thick, Tone::Body),
            Piece::capsule([elbow, tip], thick, Tone::Limb),
            Piece::capsule([[0.0, 0.0]; 2], 0.6 * thick, Tone::Ground),
        ];
        let half = 1.1 * reach;
        let view = View { x: [-half, half], y: [(1.1 * goal).min(-half), (1.1 * goal).max(half)] };
        Some(Picture { pieces, view, step_s: DURATION })
    }
}

/// What the tip has to exceed, m above the fixed joint.
fn goal(given: &Parameters) -> f64 {
    let value = |name: &str| value(&PARAMETERS, given, name);
    let mean_length = (value("link_length_1") + value("link_length_2")) / 2.0;
    value("goal_height") * if value("goal") == 1.0 { mean_length } else { 1.0 }
}
