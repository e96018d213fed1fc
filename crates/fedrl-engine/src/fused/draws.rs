//! The draws of sixteen trajectories.

use fedrl_core::LANES;
use fedrl_core::random::{LaneWords, philox_lanes};
use fedrl_core::wide::{Machine, Pack};

use super::Lane;
use crate::rollout::{ACTION, RESET};

/// Whose draws each lane takes.
#[derive(Debug, Clone)]
pub(super) struct Draws {
    low: LaneWords,
    high: LaneWords,
    trajectory: LaneWords,
}

impl Draws {
    pub(super) fn new() -> Self {
        Draws { low: [0; LANES], high: [0; LANES], trajectory: [0; LANES] }
    }

    pub(super) fn set(&mut self, lane: usize, of: &Lane) {
        self.low[lane] = of.key.low;
        self.high[lane] = of.key.high;
        self.trajectory[lane] = of.trajectory as u32;
    }

    /// Block number `index` of the lanes' actions at their own times, and of what environments draw.
    #[inline(always)]
    pub(super) fn action<M: Machine>(&self, time: LaneWords, index: usize) -> [LaneWords; 4] {
        let counters = [self.trajectory, time, [index as u32; LANES], [ACTION; LANES]];
        M::philox(counters, self.low, self.high)
    }
}

/// The draws of the resets of a queue of trajectories, sixteen of them made at a time.
pub(super) struct Resets {
    /// The first of the sixteen, and their draws.
    made: Option<(usize, Vec<Pack>)>,
    count: usize,
}

impl Resets {
    /// Of `count` numbers each.
    pub(super) fn new(count: usize) -> Self {
        Resets { made: None, count }
    }

    /// Writes the draws of the trajectory that has this number in the queue.
    pub(super) fn write(&mut self, queue: &[Lane], number: usize, draws: &mut Vec<f32>) {
        let there = self.made.as_ref().filter(|(first, _)| (*first..first + LANES).contains(&number));
        if there.is_none() {
            self.made = Some((number, Self::make(&queue[number..], self.count)));
        }
        draws.clear();
        if let Some((first, packs)) = &self.made {
            draws.extend(packs.iter().map(|pack| pack.0[number - first]));
        }
    }

    fn make(queue: &[Lane], count: usize) -> Vec<Pack> {
        let mut next = Draws::new();
        queue.iter().take(LANES).enumerate().for_each(|(lane, of)| next.set(lane, of));
        let block = |index: usize| {
            let counters = [next.trajectory, [0; LANES], [index as u32; LANES], [RESET; LANES]];
            philox_lanes(counters, next.low, next.high)
        };
        (0..count.div_ceil(4)).flat_map(block).map(|words| units(&words)).take(count).collect()
    }
}

/// `Real::unit` in every lane.
#[inline(always)]
pub(super) fn units(words: &LaneWords) -> Pack {
    let mut units = [0.0; LANES];
    for lane in 0..LANES {
        // Below 2²⁴, so that the signed conversion, which all processors have, is right.
        units[lane] = (words[lane] >> 8) as i32 as f32 * 5.960_464_5e-8;
    }
    Pack(units)
}
