//! What travels between server and agents: shared columns, their moments where these are averaged,
//! and for importance averaging how often which regions were visited. Nothing else has a field.

use fedrl_federation::{Message, vector_bytes};
use serde::{Deserialize, Serialize};

use super::state::Learner;

/// What becomes of Adam's moments of shared parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Moments {
    /// They are averaged with the parameters.
    Averaged,
    /// Every agent keeps its own.
    Local,
}

/// Shared columns, and Adam's moments of them; empty where they are not sent. What the server has and says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shared {
    pub(super) theta: Vec<f32>,
    pub(super) first: Vec<f32>,
    pub(super) second: Vec<f32>,
}

impl Shared {
    /// Puts them in the places of an agent's.
    pub(super) fn write(&self, learner: &mut Learner) {
        learner.theta[..self.theta.len()].copy_from_slice(&self.theta);
        learner.first[..self.first.len()].copy_from_slice(&self.first);
        learner.second[..self.second.len()].copy_from_slice(&self.second);
    }
}

impl Message for Shared {
    fn bytes(&self) -> u64 {
        vector_bytes(&self.theta) + vector_bytes(&self.first) + vector_bytes(&self.second)
    }

    fn is_finite(&self) -> bool {
        [&self.theta, &self.first, &self.second].into_iter().all(|numbers| finite(numbers))
    }
}

/// What an agent answers: the same of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Upload<'s> {
    pub(super) theta: &'s [f32],
    pub(super) first: &'s [f32],
    pub(super) second: &'s [f32],
    /// Visits to every region since the last exchange, where they weigh.
    pub(super) visits: &'s [u32],
}

impl<'s> Upload<'s> {
    /// The first `columns` columns of an agent's, with their moments if these are averaged.
    pub(super) fn of(learner: &'s Learner, columns: usize, moments: Moments, visits: &'s [u32]) -> Self {
        let moments = if moments == Moments::Averaged { columns } else { 0 };
        let (theta, first, second) = (&learner.theta[..columns], &learner.first[..moments], &learner.second[..moments]);
        Upload { theta, first, second, visits }
    }
}

impl Message for Upload<'_> {
    fn bytes(&self) -> u64 {
        vector_bytes(self.theta) + vector_bytes(self.first) + vector_bytes(self.second) + vector_bytes(self.visits)
    }

    fn is_finite(&self) -> bool {
        [self.theta, self.first, self.second].into_iter().all(finite)
    }
}

/// Whether all numbers are finite: without a way out in the middle, so that many are looked at at once.
fn finite(numbers: &[f32]) -> bool {
    numbers.iter().fold(true, |all, x| all & x.is_finite())
}
