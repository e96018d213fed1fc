//! What replicas lived through.

use fedrl_core::Scalar;

use crate::fused::Outcome;

/// One trajectory: `len` steps, each an observation, an action and a reward.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trajectory<F> {
    /// Observations before each step, `[len, observation width]`.
    pub observations: Vec<F>,
    /// Actions, `[len, action width]`; a choice is its number.
    pub actions: Vec<F>,
    /// Rewards, `[len]`.
    pub rewards: Vec<F>,
    /// What was seen after the last step, `[observation width]`: where a value is bootstrapped from.
    pub final_observation: Vec<F>,
    /// Whether the episode ended by itself: nothing follows. If not, it was truncated by the horizon.
    pub terminated: bool,
}

impl<F: Scalar> Trajectory<F> {
    /// Number of steps.
    pub fn len(&self) -> usize {
        self.rewards.len()
    }

    /// Whether it has no step.
    pub fn is_empty(&self) -> bool {
        self.rewards.is_empty()
    }

    /// What it came to.
    pub fn outcome(&self) -> Outcome {
        Outcome { total_reward: self.total_reward(), steps: self.len(), terminated: self.terminated }
    }

    /// Undiscounted return.
    pub fn total_reward(&self) -> f64 {
        self.rewards.iter().map(|r| r.as_double()).sum()
    }
}

/// The trajectories of a block of replicas.
#[derive(Debug, Clone, PartialEq)]
pub struct Trajectories<F> {
    /// The trajectories of each replica.
    pub replicas: Vec<Vec<Trajectory<F>>>,
    /// For each replica, how close any of its draws came to choosing another action: ties that
    /// rounding may break differently on another device show as margins near zero.
    pub margins: Vec<F>,
}

impl<F: Scalar> Trajectories<F> {
    /// Steps of all trajectories of replica `index`.
    pub fn steps(&self, index: usize) -> usize {
        self.replicas[index].iter().map(Trajectory::len).sum()
    }

    /// The most steps that any replica has.
    pub(crate) fn longest(&self) -> usize {
        (0..self.replicas.len()).map(|index| self.steps(index)).max().unwrap_or(0)
    }

    /// Concatenates `field` of each replica's trajectories and pads every replica to the longest:
    /// `[replicas, longest, width]`.
    pub(crate) fn padded(&self, width: usize, field: impl Fn(&Trajectory<F>) -> &[F]) -> Vec<F> {
        let size = self.longest() * width;
        let mut data = Vec::with_capacity(self.replicas.len() * size);
        for (index, replica) in self.replicas.iter().enumerate() {
            for trajectory in replica {
                data.extend_from_slice(field(trajectory));
            }
            data.resize((index + 1) * size, F::default());
        }
        data
    }
}
