//! Finite Markov decision processes as tables.

/// A finite Markov decision process that never ends by itself. A pair of state s and action a is
/// number `s · actions + a`.
#[derive(Debug, Clone, PartialEq)]
pub struct Mdp {
    /// |S|.
    pub states: usize,
    /// |A|.
    pub actions: usize,
    /// ρ(s): the distribution of the first state, `[states]`.
    pub initial: Vec<f64>,
    /// P(s′|s, a), `[states · actions, states]`.
    pub transition: Vec<f64>,
    /// R(s, a), `[states · actions]`.
    pub reward: Vec<f64>,
}

impl Mdp {
    /// P(·|pair).
    pub fn next(&self, pair: usize) -> &[f64] {
        &self.transition[pair * self.states..][..self.states]
    }

    /// For every distribution in `rows` of `width` numbers, its running sums without the last, which
    /// is 1: a uniform draw names the first entry whose sum exceeds it.
    pub fn thresholds(rows: &[f64], width: usize) -> Vec<f64> {
        let sums = rows.chunks_exact(width).flat_map(|row| {
            row[..width - 1].iter().scan(0.0, |sum, probability| {
                *sum += probability;
                Some(*sum)
            })
        });
        sums.collect()
    }
}
