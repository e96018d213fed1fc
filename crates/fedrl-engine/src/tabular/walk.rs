//! Trajectories through tables, with the draws of [`Engine::rollout`](crate::Engine::rollout).

use fedrl_core::random::{Key, LANES, philox_lanes};
use fedrl_envs::Mdp;

use super::{Softmax, Tables};
use crate::rollout::{ACTION, RESET};

/// One trajectory to be walked: whose process, whose policy, and the place of its draws.
#[derive(Clone, Copy)]
pub struct Walk<'a> {
    /// The decision process.
    pub tables: &'a Tables,
    /// Which of the policies.
    pub policy: usize,
    /// Key of the agent's draws.
    pub key: Key,
    /// Number of the trajectory under that key.
    pub trajectory: u32,
}

/// Distributions for integer draws of 24 bits: the entry that a draw names is the number of
/// thresholds it reaches. Rows are padded with thresholds that no draw reaches.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Thresholds {
    chunks: usize,
    rows: Vec<[u32; CHUNK]>,
}

const CHUNK: usize = 4;

impl Thresholds {
    /// The thresholds of rows of `width` probabilities.
    pub(super) fn new(rows: &[f64], width: usize) -> Self {
        let chunks = (width - 1).div_ceil(CHUNK).max(1);
        let mut padded = vec![[u32::MAX; CHUNK]; rows.len() / width * chunks];
        // An integer draw is below t · 2^24 exactly when it is below the next integer from there.
        let scaled = |sum: f64| (sum * f64::from(1 << 24)).ceil() as u32;
        for (row, sums) in Mdp::thresholds(rows, width).chunks_exact((width - 1).max(1)).enumerate() {
            for (index, &sum) in sums.iter().enumerate() {
                padded[row * chunks + index / CHUNK][index % CHUNK] = scaled(sum);
            }
        }
        Thresholds { chunks, rows: padded }
    }

    /// The entry of `row` that the high 24 bits of `word` name.
    #[inline(always)]
    fn pick(&self, row: usize, word: u32) -> usize {
        let draw = word >> 8;
        let chunks = &self.rows[row * self.chunks..][..self.chunks];
        chunks.iter().map(|chunk| chunk.iter().map(|&threshold| usize::from(draw >= threshold)).sum::<usize>()).sum()
    }
}

/// How many trajectories are walked side by side: their steps depend on each other only within a
/// trajectory, so the processor works on all of them at once.
const ABREAST: usize = 8;

/// Walks every trajectory for `horizon` steps: the pairs it goes through, `[walks, horizon]`.
pub fn walk(walks: &[Walk], policies: &[Softmax], horizon: usize) -> Vec<u16> {
    let actions: Vec<Thresholds> = policies.iter().map(Softmax::thresholds).collect();
    let mut pairs = vec![0; walks.len() * horizon];
    let mut words = Words::default();
    for (walks, pairs) in walks.chunks(ABREAST).zip(pairs.chunks_mut(ABREAST * horizon)) {
        words.draw(walks, horizon);
        let mut states = [0; ABREAST];
        for (state, walk) in states.iter_mut().zip(walks) {
            *state = walk.tables.first.pick(0, walk.key.block([walk.trajectory, 0, 0, RESET]).a);
        }
        for time in 0..horizon {
            for (lane, walk) in walks.iter().enumerate() {
                let place = lane * horizon + time;
                let [for_action, for_state] = words.0[lane * words.stride(horizon) + time];
                let state = states[lane];
                let pair = state * walk.tables.mdp.actions + actions[walk.policy].pick(state, for_action);
                pairs[place] = pair as u16;
                states[lane] = walk.tables.next.pick(pair, for_state);
            }
        }
    }
    pairs
}

/// The random words of a few trajectories: of every step, the one for the action and the one for
/// the next state.
#[derive(Default)]
struct Words(Vec<[u32; 2]>);

impl Words {
    fn stride(&self, horizon: usize) -> usize {
        horizon.next_multiple_of(LANES)
    }

    fn draw(&mut self, walks: &[Walk], horizon: usize) {
        self.0.clear();
        for walk in walks {
            for start in (0..horizon).step_by(LANES) {
                let times: [u32; LANES] = std::array::from_fn(|lane| (start + lane) as u32);
                let [a, _, _, d] = philox_lanes(
                    [[walk.trajectory; LANES], times, [0; LANES], [ACTION; LANES]],
                    walk.key.low,
                    walk.key.high,
                );
                self.0.extend(a.into_iter().zip(d).map(|(a, d)| [a, d]));
            }
        }
    }
}
