//! CartPole-v1: balance a pole on a cart (Barto, Sutton & Anderson 1983, as in Gymnasium 1.4).
#![allow(clippy::manual_memcpy, reason = "kernels copy element by element")]

use std::f64::consts::PI;

use cubecl::prelude::*;
use fedrl_core::{Real, Space, Wide};

use crate::environment::smooth_dynamics;
use crate::parameter::value;
use crate::{
    AtOnce, Dynamics, Environment, LaneDynamics, Parameter, ParameterError, Parameters, Picture, Piece, Range, Smooth,
    Spec, Tone, View,
};

/// CartPole-v1. State and observation: cart position (m), cart velocity (m/s), pole angle from
/// the vertical (rad), pole angular velocity (rad/s). Actions: 0 pushes left, 1 right.
#[derive(Debug, Clone, Copy)]
pub struct CartPole;

// Places in the coefficient table.
const GRAVITY: usize = 0;
const FORCE: usize = 1;
const TIME_STEP: usize = 2;
const HALF_LENGTH: usize = 3;
const POLE_MASS: usize = 4;
/// 1 / (mass of cart and pole).
const INVERSE_MASS: usize = 5;
const POLE_MASS_LENGTH: usize = 6;
const INIT_LOW: usize = 7;
const INIT_WIDTH: usize = 8;
const POSITION_LIMIT: usize = 9;
const ANGLE_LIMIT: usize = 10;

/// Greatest distance from the middle of the track, m.
const LIMIT: f64 = 2.4;
/// Half the width and height of the cart as it is drawn, m.
const CART: [f64; 2] = [0.2, 0.12];

#[cube]
impl Smooth for CartPole {
    #[inline(always)]
    fn reset<F: Wide>(coefficients: &[F], draws: &[F], state: &mut [F]) {
        for i in 0..4usize {
            state[i] = coefficients[INIT_LOW] + coefficients[INIT_WIDTH] * draws[i];
        }
    }

    #[inline(always)]
    fn observe<F: Wide>(_coefficients: &[F], state: &[F], observation: &mut [F]) {
        for i in 0..4usize {
            observation[i] = state[i];
        }
    }

    /// Explicit Euler: positions move with the velocities from before the step.
    #[inline(always)]
    fn step<F: Wide>(coefficients: &[F], _draws: &[F], state: &mut [F], action: &[F]) -> F {
        let velocity = state[1];
        let angle = state[2];
        let spin = state[3];
        let force = coefficients[FORCE] * (F::constant(2.0) * action[0] - F::constant(1.0));
        let inverse_mass = coefficients[INVERSE_MASS];
        let moment = coefficients[POLE_MASS_LENGTH];
        let sine = F::sine(angle);
        let cosine = F::cosine(angle);

        let push = (force + moment * (spin * spin) * sine) * inverse_mass;
        let inertia = coefficients[HALF_LENGTH]
            * (F::constant(4.0) / F::constant(3.0) - coefficients[POLE_MASS] * (cosine * cosine) * inverse_mass);
        let spin_rate = (coefficients[GRAVITY] * sine - cosine * push) / inertia;
        let acceleration = push - moment * spin_rate * cosine * inverse_mass;

        let dt = coefficients[TIME_STEP];
        let position = state[0];
        state[0] = position + dt * velocity;
        state[1] = velocity + dt * acceleration;
        state[2] = angle + dt * spin;
        state[3] = spin + dt * spin_rate;
        F::constant(1.0)
    }

    #[inline(always)]
    fn alive<F: Wide>(coefficients: &[F], state: &[F]) -> F {
        within::<F>(state[0], coefficients[POSITION_LIMIT]) * within::<F>(state[2], coefficients[ANGLE_LIMIT])
    }
}

smooth_dynamics!(CartPole);

/// 1 where |x| is at most `limit`, else 0. A number that is none is nowhere.
#[cube]
#[inline(always)]
fn within<F: Wide>(x: F, limit: F) -> F {
    let zero = F::constant(0.0);
    let one = F::constant(1.0);
    let number = F::choose_less(x, F::constant(3e38), one, zero);
    let not_above = F::choose_less(limit, x, zero, number);
    F::choose_less(x, zero - limit, zero, not_above)
}

static PARAMETERS: [Parameter; 9] = [
    Parameter::new("gravity", "m/s^2", 9.8, Range::Finite, "downward acceleration"),
    Parameter::new("masscart", "kg", 1.0, Range::Positive, "mass of the cart"),
    Parameter::new("masspole", "kg", 0.1, Range::Positive, "mass of the pole"),
    Parameter::new("length", "m", 0.5, Range::Positive, "HALF the pole's length"),
    Parameter::new("pole_length", "m", 1.0, Range::Positive, "the pole's full length, 2 x length"),
    Parameter::new("force_mag", "N", 10.0, Range::Positive, "size of the push"),
    Parameter::new("tau", "s", 0.02, Range::Positive, "time step"),
    Parameter::new("init_low", "m, m/s, rad, rad/s", -0.05, Range::Finite, "least initial value of each component"),
    Parameter::new("init_high", "m, m/s, rad, rad/s", 0.05, Range::Finite, "greatest initial value of each component"),
];

static SPEC: std::sync::LazyLock<Spec> = std::sync::LazyLock::new(|| {
    let angle = 24.0 * PI / 180.0;
    let bound = vec![4.8, f64::INFINITY, angle, f64::INFINITY];
    Spec {
        id: "CartPole-v1",
        summary: "keep a pole upright on a cart by pushing the cart left or right",
        observation: Space::Box { low: bound.iter().map(|x| -x).collect(), high: bound },
        observation_names: &["cart position", "cart velocity", "pole angle", "pole angular velocity"],
        action: Space::Discrete { n: 2 },
        state_width: 4,
        reset_draws: 4,
        step_draws: 0,
        max_episode_steps: 500,
        parameters: &PARAMETERS,
        reward: "1 for every step, the last one included",
        termination: "|cart position| > 2.4 m or |pole angle| > 12 degrees",
        source: "Barto, Sutton & Anderson 1983; Gymnasium 1.4 CartPole-v1",
    }
});

impl Environment for CartPole {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn lanes(&self) -> &'static dyn LaneDynamics {
        &AtOnce(CartPole)
    }

    fn coefficients(&self, given: &Parameters) -> Result<Vec<f64>, ParameterError> {
        let contradiction =
            |reason: &str| ParameterError::Contradiction { environment: SPEC.id, reason: reason.into() };
        if given.contains_key("length") && given.contains_key("pole_length") {
            return Err(contradiction(
                "`length` (half the pole) and `pole_length` (the whole pole) are both set; set one of them",
            ));
        }
        let value = |name: &str| value(&PARAMETERS, given, name);
        let (init_low, init_high) = (value("init_low"), value("init_high"));
        if init_low > init_high {
            return Err(contradiction(&format!("`init_low` ({init_low}) is greater than `init_high` ({init_high})")));
        }
        let half_length = half_length(given);
        let (mass_cart, mass_pole) = (value("masscart"), value("masspole"));

        let mut table = vec![0.0; 11];
        table[GRAVITY] = value("gravity");
        table[FORCE] = value("force_mag");
        table[TIME_STEP] = value("tau");
        table[HALF_LENGTH] = half_length;
        table[POLE_MASS] = mass_pole;
        table[INVERSE_MASS] = 1.0 / (mass_cart + mass_pole);
        table[POLE_MASS_LENGTH] = mass_pole * half_length;
        table[INIT_LOW] = init_low;
        table[INIT_WIDTH] = init_high - init_low;
        table[POSITION_LIMIT] = LIMIT;
        table[ANGLE_LIMIT] = 12.0 * 2.0 * PI / 360.0;
        Ok(table)
    }

    /// The pole has its length; the cart is as large as Gymnasium draws it. Marks are where the track
    /// ends.
    fn picture(&self, given: &Parameters, state: &[f64]) -> Option<Picture> {
        let (cart_x, angle) = (state[0], state[2]);
        let length = 2.0 * half_length(given);
        let foot = [cart_x, CART[1]];
        let tip = [foot[0] + length * angle.sin(), foot[1] + length * angle.cos()];
        let end_mark = |x: f64| Piece::rectangle([x, 0.0], [0.015, 0.06], Tone::Mark);
        let pieces = vec![
            Piece::rectangle([0.0, 0.0], [LIMIT, 0.015], Tone::Ground),
            end_mark(-LIMIT),
            end_mark(LIMIT),
            Piece::rectangle([cart_x, 0.0], CART, Tone::Body),
            Piece::capsule([foot, tip], 0.03, Tone::Limb),
        ];
        let wide = LIMIT + 0.4;
        let view = View { x: [-wide, wide], y: [-0.3, length.max(0.6) + 0.4] };
        Some(Picture { pieces, view, step_s: value(&PARAMETERS, given, "tau") })
    }
}

/// Half the pole's length, m.
fn half_length(given: &Parameters) -> f64 {
    given.get("pole_length").map_or_else(|| value(&PARAMETERS, given, "length"), |full| full / 2.0)
}
