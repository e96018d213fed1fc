//! Physical parameters: their names, units, defaults and allowed ranges.

use std::collections::BTreeMap;
use std::fmt;

/// Values of parameters by name.
pub type Parameters = BTreeMap<String, f64>;

/// One parameter in which variants of an environment may differ.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name in configurations; Gymnasium's attribute name where there is one.
    pub name: &'static str,
    /// SI unit, or `1` for a pure number.
    pub unit: &'static str,
    /// Value when nobody sets it.
    pub default: f64,
    /// Values it may take.
    pub range: Range,
    /// What it is, in a few words.
    pub description: &'static str,
}

impl Parameter {
    /// A parameter with these fields.
    pub const fn new(
        name: &'static str,
        unit: &'static str,
        default: f64,
        range: Range,
        description: &'static str,
    ) -> Self {
        Parameter { name, unit, default, range, description }
    }
}

/// The value of the parameter `name` among `parameters`: as `given`, or its default.
pub(crate) fn value(parameters: &[Parameter], given: &Parameters, name: &str) -> f64 {
    let default = || parameters.iter().find(|parameter| parameter.name == name).map_or(f64::NAN, |p| p.default);
    given.get(name).copied().unwrap_or_else(default)
}

/// The values that a parameter may take. Never NaN, never infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// Any finite number.
    Finite,
    /// Finite and greater than zero.
    Positive,
    /// Finite and at least zero.
    NonNegative,
    /// From 0 to 1, both included.
    Share,
    /// A whole number from 0 to 2^53.
    Whole,
    /// One of these words, written as its place in the list.
    Choice(&'static [&'static str]),
}

impl Range {
    /// Whether `value` is allowed.
    pub fn contains(self, value: f64) -> bool {
        // Training runs in f32.
        (value as f32).is_finite()
            && match self {
                Range::Finite => true,
                Range::Positive => value > 0.0,
                Range::NonNegative => value >= 0.0,
                Range::Share => (0.0..=1.0).contains(&value),
                Range::Whole => whole(value, 2f64.powi(53)),
                Range::Choice(words) => whole(value, words.len() as f64 - 1.0),
            }
    }
}

fn whole(value: f64, most: f64) -> bool {
    value.fract() == 0.0 && (0.0..=most).contains(&value)
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::Finite => f.write_str("a finite number"),
            Range::Positive => f.write_str("a finite number > 0"),
            Range::NonNegative => f.write_str("a finite number >= 0"),
            Range::Share => f.write_str("a number from 0 to 1"),
            Range::Whole => f.write_str("a whole number from 0 to 2^53"),
            Range::Choice(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

/// Why values do not describe an environment.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// The environment has no parameter of that name.
    #[error("{environment}: {}", fedrl_core::unknown_name("parameter", name, known))]
    Unknown {
        /// Environment asked.
        environment: &'static str,
        /// Name given.
        name: String,
        /// Names it knows.
        known: Vec<&'static str>,
    },
    /// The value lies outside the physical range.
    #[error("{environment}: parameter `{name}` is {value}, expected {range}")]
    OutOfRange {
        /// Environment asked.
        environment: &'static str,
        /// Name given.
        name: String,
        /// Value given.
        value: f64,
        /// Values allowed.
        range: Range,
    },
    /// Two values contradict each other.
    #[error("{environment}: {reason}")]
    Contradiction {
        /// Environment asked.
        environment: &'static str,
        /// Which values, and why they cannot both hold.
        reason: String,
    },
}
