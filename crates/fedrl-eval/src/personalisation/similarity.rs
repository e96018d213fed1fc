//! How alike agents are: their environments, their heads, what lies before the heads (004 G.5).

use fedrl_models::Policy;
use fedrl_stats::{cosine, spearman};
use rayon::prelude::*;
use serde::Serialize;

use super::life::Resident;

/// Pairs of state and action in the common sample, over all agents.
const PAIRS: usize = 10_000;

/// Cosines between agents, `[agents, agents]` each; NaN where a vector is zero.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Similarity {
    /// Of what one step changes in their environments.
    pub environments: Vec<Vec<f64>>,
    /// Of the last layers' parameters.
    pub heads: Vec<Vec<f64>>,
    /// Of the parameters of all other layers.
    pub shared: Vec<Vec<f64>>,
    /// Spearman's rank correlation between heads and environments over the pairs of different agents; NaN where one
    /// of the two does not vary.
    pub rank_correlation: f64,
}

impl Similarity {
    /// Of agents with policies of this form, who are at home where `changes` says.
    pub(super) fn new(policy: &Policy, residents: &[Resident], changes: &[Vec<f64>]) -> Self {
        let head = policy.network.layers().last().map_or(0, |layer| layer.weight.start);
        let columns = |range: std::ops::Range<usize>| {
            let of = |resident: &Resident| resident.theta[range.clone()].iter().map(|&x| f64::from(x)).collect();
            cosines(&residents.iter().map(of).collect::<Vec<Vec<f64>>>())
        };
        let heads = columns(head..policy.network.parameter_count());
        let environments = cosines(changes);
        let rank_correlation = spearman(&between_agents(&heads), &between_agents(&environments));
        Similarity { environments, heads, shared: columns(0..head), rank_correlation }
    }
}

/// What one step changes in every agent's environment, from the same states by the same actions: a row for every
/// agent, `[pairs, observation width]`. Changes are of observations, in which angles do not jump; each component
/// is divided by its standard deviation over agents and pairs.
pub(super) fn changes(residents: &[Resident], limit: usize, exploration: f64) -> Vec<Vec<f64>> {
    let share = PAIRS.div_ceil(residents.len().max(1));
    let pairs: Vec<Pair> =
        residents.par_iter().flat_map_iter(|resident| visited(resident, share, limit, exploration)).collect();
    let mut changes: Vec<Vec<f64>> = residents.par_iter().map(|resident| changed(resident, &pairs)).collect();
    scale(&mut changes, residents.first().map_or(1, |resident| resident.policy.inputs()));
    changes
}

/// A state and an action.
type Pair = (Vec<f32>, f32);

/// The first `share` pairs of an agent's exploring episodes.
fn visited(resident: &Resident, share: usize, limit: usize, exploration: f64) -> Vec<Pair> {
    let mut pairs = Vec::with_capacity(share);
    let mut number = 0;
    while pairs.len() < share {
        let life = resident.live(number, limit, exploration);
        pairs.extend(life.states.into_iter().zip(life.actions).take(share - pairs.len()));
        number += 1;
    }
    pairs
}

/// By how much a step changes each component of what an agent sees, pair by pair.
fn changed(resident: &Resident, pairs: &[Pair]) -> Vec<f64> {
    let width = resident.policy.inputs();
    let (mut before, mut after) = (vec![0.0; width], vec![0.0; width]);
    let mut changes = Vec::with_capacity(pairs.len() * width);
    for (state, action) in pairs {
        let mut state = state.clone();
        resident.simulator.observe(&state, &mut before);
        resident.simulator.step(&[], &mut state, &[*action]);
        resident.simulator.observe(&state, &mut after);
        changes.extend(after.iter().zip(&before).map(|(after, before)| f64::from(*after) - f64::from(*before)));
    }
    changes
}

/// Divides each of `width` components by its standard deviation over all rows. What never varies tells nobody
/// apart, and becomes 0.
fn scale(rows: &mut [Vec<f64>], width: usize) {
    for component in 0..width {
        let values = || rows.iter().flat_map(|row| row.iter().skip(component).step_by(width));
        let n = values().count() as f64;
        let centre = values().sum::<f64>() / n;
        let deviation = (values().map(|x| (x - centre).powi(2)).sum::<f64>() / n).sqrt();
        let factor = if deviation > 0.0 { 1.0 / deviation } else { 0.0 };
        rows.iter_mut().flat_map(|row| row.iter_mut().skip(component).step_by(width)).for_each(|x| *x *= factor);
    }
}

fn cosines(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    rows.par_iter().map(|one| rows.iter().map(|other| cosine(one, other)).collect()).collect()
}

/// The entries above the diagonal.
fn between_agents(matrix: &[Vec<f64>]) -> Vec<f64> {
    matrix.iter().enumerate().flat_map(|(row, entries)| entries[row + 1..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two agents, two pairs, three components: 1, 3, 1, 3 with deviation 1; 0, 0, 4, 4 with 2; always 7.
    #[test]
    fn components_are_scaled_by_their_deviation() {
        let mut rows = vec![vec![1.0, 0.0, 7.0, 3.0, 0.0, 7.0], vec![1.0, 4.0, 7.0, 3.0, 4.0, 7.0]];
        scale(&mut rows, 3);
        assert_eq!(rows, [[1.0, 0.0, 0.0, 3.0, 0.0, 0.0], [1.0, 2.0, 0.0, 3.0, 2.0, 0.0]]);
        // 10 / √(10 · 18).
        let cosines = cosines(&rows);
        assert!((cosines[0][1] - 10.0 / 180f64.sqrt()).abs() < 1e-15 && cosines[0][1] == cosines[1][0]);
        assert_eq!((cosines[0][0], cosines[1][1]), (1.0, 1.0));
    }

    #[test]
    fn pairs_of_different_agents_are_counted_once() {
        let matrix = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]].map(Vec::from);
        assert_eq!(between_agents(&matrix), [2.0, 3.0, 6.0]);
    }
}
