//! Robots in a vertical plane: a torso with legs of three links each, on a floor.
//!
//! This is MuJoCo's physics (Todorov, Erez & Tassa 2012; soft constraints as its documentation
//! has them), reduced to what HalfCheetah, Hopper and Walker2d consist of: capsules, hinges with
//! springs, dampers and limits, and contacts of capsule ends with a floor. One step of it agrees
//! with MuJoCo 3.17 to rounding.
//!
//! - [`robot`] describes a robot as its model file does, [`compile`] turns a description and a
//!   variation of it into a [`table`] of numbers.
//! - [`pose`], [`forces`], [`constraints`], [`newton`] and [`search`] take positions and velocities to
//!   accelerations, [`arrow`] solves their linear systems, [`motion`] steps through time.
//! - [`locomotion`] is what the three tasks share: parameters, reset, reward; [`picture`] what they
//!   look like.
//!
//! Coordinates: a torso's position x, height z and angle (about +y, so that z turns towards x),
//! then the angles of its hinges, leg after leg. x does not enter the dynamics.

mod arrow;
mod compile;
mod constraints;
mod forces;
mod locomotion;
mod motion;
mod newton;
mod picture;
mod pose;
mod robot;
mod search;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use locomotion::{
    BLOWN_UP, coefficients, observe_clipped, parameters, progress, reset_coordinates, reset_velocities, within,
};
pub(crate) use picture::picture;
pub(crate) use robot::{Body, Capsule, Joint, Robot, Softness};
pub(crate) use table::{RESET_NOISE, Shape};
