//! The draws of sixteen trajectories.

use fedrl_core::LANES;
use fedrl_core::random::LaneWords;
use fedrl_core::wide::{Machine, Pack};

use super::Lane;
use crate::rollout::ACTION;

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
