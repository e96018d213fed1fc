use serde::{Deserialize, Serialize};

/// What an observation or an action may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// One of `n` choices, written as the numbers `0..n`.
    Discrete {
        /// How many choices there are.
        n: usize,
    },
    /// A vector with bounds per component; unbounded components are infinite.
    Box {
        /// Smallest value of each component.
        low: Vec<f64>,
        /// Largest value of each component.
        high: Vec<f64>,
    },
}

impl Space {
    /// Numbers needed to write down one element: 1 for a choice, the dimension of a box.
    pub fn width(&self) -> usize {
        match self {
            Space::Discrete { .. } => 1,
            Space::Box { low, .. } => low.len(),
        }
    }
}

impl std::fmt::Display for Space {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Space::Discrete { n } => write!(f, "Discrete({n})"),
            Space::Box { low, high } => write!(f, "Box({low:?}, {high:?})"),
        }
    }
}
