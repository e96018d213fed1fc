//! Who takes part in a round.

use fedrl_core::random::{Key, Purpose};
use rand::seq::IteratorRandom;

/// Draws the agents of each round.
#[derive(Debug, Clone, Copy)]
pub struct Participation {
    fraction: f64,
    key: Key,
}

impl Participation {
    /// A `fraction` of the agents in every round, chosen uniformly without replacement.
    pub fn new(fraction: f64, seed: u64) -> Self {
        Participation { fraction, key: Key::new(seed, Purpose::Participation) }
    }

    /// How many of `agents` that is: the nearest whole number.
    pub fn count(fraction: f64, agents: usize) -> usize {
        (fraction * agents as f64).round() as usize
    }

    /// The participants of `round` among the agents `available`, in ascending order; at least one
    /// as long as anybody is available.
    pub fn select(&self, round: u32, available: &[usize]) -> Vec<usize> {
        let count = Self::count(self.fraction, available.len()).max(1);
        if count >= available.len() {
            return available.to_vec();
        }
        let mut rng = self.key.child([round, 0, 0, 0]).rng();
        let mut chosen = available.iter().copied().sample(&mut rng, count);
        chosen.sort_unstable();
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_takes_part_or_a_share_that_is_fair_over_rounds() {
        let agents: Vec<usize> = (0..10).collect();
        assert_eq!(Participation::new(1.0, 1).select(3, &agents), agents);
        let half = Participation::new(0.5, 1);
        let mut counts = [0; 10];
        for round in 0..2000 {
            let chosen = half.select(round, &agents);
            assert_eq!(chosen.len(), 5);
            assert!(chosen.is_sorted());
            assert_eq!(chosen, half.select(round, &agents));
            chosen.iter().for_each(|&agent| counts[agent] += 1);
        }
        // Binomial(2000, 1/2): sd 22.4; five of them.
        assert!(counts.iter().all(|&n: &i32| (n - 1000).abs() < 112), "{counts:?}");
    }

    #[test]
    fn agents_that_are_gone_are_not_chosen() {
        let chosen = Participation::new(0.5, 9).select(0, &[1, 4, 7]);
        assert_eq!(chosen.len(), 2);
        assert!(chosen.iter().all(|agent| [1, 4, 7].contains(agent)));
    }
}
