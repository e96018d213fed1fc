//! CartPole-v1: balance a pole on a cart (Barto, Sutton & Anderson 1983, as in Gymnasium 1.4).
#![allow(clippy::manual_memcpy, reason = "kernels copy element by element")]

use std::f64::consts::PI;

use cubecl::prelude::*;
use fedrl_core::{Real, Space};

use crate::parameter::value;
use crate::{Dynamics, Environment, Parameter, ParameterError, Parameters, Picture, Piece, Range, Spec, Tone, View};

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
const TOTAL_MASS: usize = 5;
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
impl Dynamics for CartPole {
    fn reset<F: Real>(coefficients: &[F], draws: &[F], state: &mut [F]) {
        for i in 0..4usize {
            state[i] = coefficients[INIT_LOW] + coefficients[INIT_WIDTH] * draws[i];
        }
    }

    fn observe<F: Real>(_coefficients: &[F], state: &[F], observation: &mut [F]) {
        for i in 0..4usize {
            observation[i] = state[i];
        }
    }

    /// Explicit Euler: positions move with the velocities from before the step.
    fn step<F: Real>(coefficients: &[F], _draws: &[F], state: &mut [F], action: &[F]) -> F {
        let velocity = state[1];
        let angle = state[2];
        let spin = state[3];
        let force = coefficients[FORCE] * (F::new(2.0) * action[0] - F::new(1.0));
        let total = coefficients[TOTAL_MASS];
        let moment = coefficients[POLE_MASS_LENGTH];
        let sine = F::sine(angle);
        let cosine = F::cosine(angle);

        let push = (force + moment * (spin * spin) * sine) / total;
        let inertia = coefficients[HALF_LENGTH]
            * (F::new(4.0) / F::new(3.0) - coefficients[POLE_MASS] * (cosine * cosine) / total);
        let spin_rate = (coefficients[GRAVITY] * sine - cosine * push) / inertia;
        let acceleration = push - moment * spin_rate * cosine / total;

        let dt = coefficients[TIME_STEP];
        let position = state[0];
        state[0] = position + dt * velocity;
        state[1] = velocity + dt * acceleration;
        state[2] = angle + dt * spin;
        state[3] = spin + dt * spin_rate;
        F::new(1.0)
    }

    fn terminated<F: Real>(coefficients: &[F], state: &[F]) -> bool {
        // Not "outside": a state that is no number is not a pole that stands.
        let inside = state[0] >= -coefficients[POSITION_LIMIT]
            && state[0] <= coefficients[POSITION_LIMIT]
            && state[2] >= -coefficients[ANGLE_LIMIT]
            && state[2] <= coefficients[ANGLE_LIMIT];
        !inside
    }
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
        table[TOTAL_MASS] = mass_cart + mass_pole;
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
