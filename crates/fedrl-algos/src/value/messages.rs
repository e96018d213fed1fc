//! What travels between server and agents: shared columns, their moments where these are averaged,
//! and for importance averaging how often which regions were visited. Nothing else has a field.

use fedrl_federation::{Message, vector_bytes};

use super::config::Moments;
use super::state::Learner;

/// Shared columns, and Adam's moments of them; empty where they are not sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shared {
    pub(super) theta: Vec<f32>,
    pub(super) first: Vec<f32>,
    pub(super) second: Vec<f32>,
}

impl Shared {
    /// The first `columns` columns of an agent's, with their moments if these are averaged.
    pub(super) fn of(learner: &Learner, columns: usize, moments: Moments) -> Self {
        let moments = if moments == Moments::Averaged { columns } else { 0 };
        Shared {
            theta: learner.theta[..columns].to_vec(),
            first: learner.first[..moments].to_vec(),
            second: learner.second[..moments].to_vec(),
        }
    }

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
        // Without a way out in the middle, so that many numbers are looked at at once.
        let finite = |numbers: &[f32]| numbers.iter().fold(true, |all, x| all & x.is_finite());
        finite(&self.theta) && finite(&self.first) && finite(&self.second)
    }
}

/// What an agent answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Upload {
    pub(super) shared: Shared,
    /// Visits to every region since the last exchange, where they weigh.
    pub(super) visits: Vec<u32>,
}

impl Message for Upload {
    fn bytes(&self) -> u64 {
        self.shared.bytes() + vector_bytes(&self.visits)
    }

    fn is_finite(&self) -> bool {
        self.shared.is_finite()
    }
}
