//! Trajectories through tables, with the draws of [`Engine::rollout`](crate::Engine::rollout).

use fedrl_core::LANES;
use fedrl_core::random::{Key, philox_lanes};
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
        let reached = |[a, b, c, d]: [u32; CHUNK]| {
            usize::from(draw >= a) + usize::from(draw >= b) + usize::from(draw >= c) + usize::from(draw >= d)
        };
        if self.chunks == 1 {
            return reached(self.rows[row]);
        }
        self.rows[row * self.chunks..][..self.chunks].iter().map(|&chunk| reached(chunk)).sum()
    }
}

/// How many trajectories are walked side by side: their steps depend on each other only within a
/// trajectory, so the processor works on all of them at once.
const ABREAST: usize = 8;

/// Trajectories that were walked.
#[derive(Debug, Clone, PartialEq)]
pub struct Walked {
    /// The pairs that each goes through, `[walks, horizon]`.
    pub pairs: Vec<u16>,
    /// How often it goes through each, `[walks, pairs]`.
    pub counts: Vec<u32>,
}

/// Walks every trajectory for `horizon` steps. The processes have equally many pairs.
pub fn walk(walks: &[Walk], policies: &[Softmax], horizon: usize) -> Walked {
    let actions: Vec<Thresholds> = policies.iter().map(Softmax::thresholds).collect();
    let width = walks.first().map_or(0, |walk| walk.tables.mdp.reward.len());
    let mut walked = Walked { pairs: vec![0; walks.len() * horizon], counts: vec![0; walks.len() * width] };
    let mut words = Vec::new();
    let abreast = walks.chunks(ABREAST).zip(walked.pairs.chunks_mut(ABREAST * horizon));
    for ((walks, pairs), counts) in abreast.zip(walked.counts.chunks_mut(ABREAST * width)) {
        let stride = draw(walks, horizon, &mut words);
        let places = pairs.chunks_exact_mut(horizon).zip(counts.chunks_exact_mut(width));
        let lane = |((walk, words), (pairs, counts))| Lane::new(walk, &actions[walk.policy], words, pairs, counts);
        let mut lanes: Vec<Lane> = walks.iter().zip(words.chunks_exact(stride)).zip(places).map(lane).collect();
        for time in 0..horizon {
            lanes.iter_mut().for_each(|lane| lane.step(time));
        }
    }
    walked
}

/// One trajectory on its way.
struct Lane<'a> {
    actions: &'a Thresholds,
    next: &'a Thresholds,
    /// |A|.
    width: usize,
    words: &'a [[u32; 2]],
    pairs: &'a mut [u16],
    counts: &'a mut [u32],
    state: usize,
}

impl<'a> Lane<'a> {
    fn new(
        walk: &Walk<'a>,
        actions: &'a Thresholds,
        words: &'a [[u32; 2]],
        pairs: &'a mut [u16],
        counts: &'a mut [u32],
    ) -> Self {
        let Tables { mdp, first, next } = walk.tables;
        let state = first.pick(0, walk.key.block([walk.trajectory, 0, 0, RESET]).a);
        Lane { actions, next, width: mdp.actions, words, pairs, counts, state }
    }

    #[inline(always)]
    fn step(&mut self, time: usize) {
        let [for_action, for_state] = self.words[time];
        let pair = self.state * self.width + self.actions.pick(self.state, for_action);
        self.pairs[time] = pair as u16;
        self.counts[pair] += 1;
        self.state = self.next.pick(pair, for_state);
    }
}

/// Draws the words of every step of these trajectories, the one for the action and the one for the
/// next state, and returns how many there are per trajectory.
fn draw(walks: &[Walk], horizon: usize, words: &mut Vec<[u32; 2]>) -> usize {
    let stride = horizon.next_multiple_of(LANES);
    words.resize(walks.len() * stride, [0; 2]);
    for (walk, words) in walks.iter().zip(words.chunks_exact_mut(stride)) {
        for (block, words) in words.chunks_exact_mut(LANES).enumerate() {
            let times: [u32; LANES] = std::array::from_fn(|lane| (block * LANES + lane) as u32);
            let counters = [[walk.trajectory; LANES], times, [0; LANES], [ACTION; LANES]];
            let [a, _, _, d] = philox_lanes(counters, [walk.key.low; LANES], [walk.key.high; LANES]);
            words.iter_mut().zip(a).zip(d).for_each(|((word, a), d)| *word = [a, d]);
        }
    }
    stride
}
