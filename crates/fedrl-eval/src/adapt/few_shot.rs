//! What new agents' lives come to, over seeds.

use fedrl_core::random::Key;
use fedrl_stats::{bootstrap_interval, mean};
use serde::Serialize;

use super::Start;
use crate::{CONFIDENCE, RESAMPLES};

/// Episodes over which returns are averaged: the curve's, and those that have to reach the threshold.
pub const LAST_EPISODES: usize = 10;

/// Points of a curve.
const POINTS: u32 = 20;

/// The life of one new agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Life {
    /// Undiscounted returns of its episodes, in their order.
    pub(super) returns: Vec<f64>,
    /// Their lengths, in environment steps.
    pub(super) lengths: Vec<u32>,
    /// Its parameters in the end.
    pub(super) theta: Vec<f32>,
}

/// A mean over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeedMean {
    /// The mean; not a number over no seeds.
    pub mean: f64,
    /// Lower end of its 95 % bootstrap interval.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

/// A point of a few-shot curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Environment steps.
    pub steps: u32,
    /// Mean return of the last [`LAST_EPISODES`] episodes that had ended by then, or of all if they are fewer;
    /// over the seeds in which one had.
    #[serde(flatten)]
    pub returns: SeedMean,
}

/// When a new agent got there: when for the first time the mean return of its last [`LAST_EPISODES`] episodes
/// was at the threshold or above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reached {
    /// Environment steps until then.
    pub steps: u32,
    /// Episodes until then.
    pub episodes: usize,
}

/// What became of the new agents that began alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FewShot {
    /// How they began.
    #[serde(flatten)]
    pub start: Start,
    /// Mean return against environment steps.
    pub curve: Vec<Point>,
    /// Environment steps until they got there, over those that did.
    pub steps_to_threshold: SeedMean,
    /// Episodes until they got there, over those that did.
    pub episodes_to_threshold: SeedMean,
    /// Share of the seeds that never got there. Without it the two before mean nothing.
    pub never: f64,
    /// Seed by seed; null where it never got there.
    pub reached: Vec<Option<Reached>>,
}

impl Life {
    /// Environment steps at the end of every episode: one begins where another ends.
    fn ends(&self) -> impl Iterator<Item = u32> {
        self.lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        })
    }

    /// Mean return of the last episodes that had ended after so many steps; none where none had.
    fn recent(&self, steps: u32) -> Option<f64> {
        let ended = self.ends().take_while(|&end| end <= steps).count();
        (ended > 0).then(|| mean(&self.returns[ended.saturating_sub(LAST_EPISODES)..ended]))
    }

    /// When it got to `threshold` within so many steps.
    fn reached(&self, threshold: f64, steps: u32) -> Option<Reached> {
        let ends = self.ends().skip(LAST_EPISODES - 1).take_while(|&end| end <= steps);
        let means = self.returns.windows(LAST_EPISODES).map(mean);
        let (before, (steps, _)) = ends.zip(means).enumerate().find(|(_, (_, mean))| *mean >= threshold)?;
        Some(Reached { steps, episodes: before + LAST_EPISODES })
    }
}

/// How lives are measured.
pub(super) struct Measure {
    /// Steps that count.
    pub(super) steps: u32,
    /// Return from which on the environment counts as learned.
    pub(super) threshold: f64,
    /// Root of the bootstrap's draws.
    pub(super) key: Key,
}

impl Measure {
    /// What the lives of all seeds come to.
    pub(super) fn few_shot(&self, start: Start, lives: &[Life]) -> FewShot {
        let point = |index: u32| {
            let steps = (u64::from(self.steps) * u64::from(index) / u64::from(POINTS)) as u32;
            let returns: Vec<f64> = lives.iter().filter_map(|life| life.recent(steps)).collect();
            Point { steps, returns: self.over_seeds(&returns, index) }
        };
        let reached: Vec<Option<Reached>> = lives.iter().map(|life| life.reached(self.threshold, self.steps)).collect();
        let got_there: Vec<Reached> = reached.iter().copied().flatten().collect();
        let steps: Vec<f64> = got_there.iter().map(|reached| f64::from(reached.steps)).collect();
        let episodes: Vec<f64> = got_there.iter().map(|reached| reached.episodes as f64).collect();
        FewShot {
            start,
            curve: (1..=POINTS).map(point).collect(),
            steps_to_threshold: self.over_seeds(&steps, POINTS + 1),
            episodes_to_threshold: self.over_seeds(&episodes, POINTS + 2),
            never: (lives.len() - got_there.len()) as f64 / lives.len() as f64,
            reached,
        }
    }

    /// Mean and interval; `statistic` names the draws.
    fn over_seeds(&self, values: &[f64], statistic: u32) -> SeedMean {
        let mut rng = self.key.child([statistic, 0, 0, 0]).rng();
        let interval = bootstrap_interval(values, mean, RESAMPLES, CONFIDENCE, &mut rng);
        SeedMean { mean: mean(values), low: interval.low, high: interval.high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapt::Beginning;

    const START: Start = Start { beginning: Beginning::Scratch, frozen: false };

    fn life(returns: &[f64], length: u32) -> Life {
        Life { returns: returns.to_vec(), lengths: vec![length; returns.len()], theta: Vec::new() }
    }

    /// Five episodes of 0 and twenty of 10, each of 4 steps: the last ten have a mean of 7 or more from the twelfth
    /// episode on, at 48 steps, and of 10 from the fifteenth.
    #[test]
    fn the_first_ten_episodes_that_are_good_enough() {
        let life = life(&[vec![0.0; 5], vec![10.0; 20]].concat(), 4);
        assert_eq!(life.reached(7.0, 100), Some(Reached { steps: 48, episodes: 12 }));
        assert_eq!(life.reached(10.0, 100), Some(Reached { steps: 60, episodes: 15 }));
        assert_eq!(life.reached(10.0, 60), Some(Reached { steps: 60, episodes: 15 }));
        assert_eq!(life.reached(10.0, 59), None, "not within the steps that count");
        assert_eq!(life.reached(10.1, 100), None);
        assert_eq!(life.reached(0.0, 39), None, "nine episodes are not ten");
        assert_eq!(life.recent(3), None);
        assert_eq!(life.recent(4), Some(0.0));
        assert_eq!(life.recent(24), Some(10.0 / 6.0));
        assert_eq!(life.recent(48), Some(7.0));
    }

    #[test]
    fn means_are_over_those_that_got_there_and_the_others_are_counted() {
        let lives = [life(&[5.0; 12], 2), life(&[5.0; 12], 4), life(&[1.0; 12], 2), life(&[], 2)];
        let measure = Measure { steps: 40, threshold: 5.0, key: Key { low: 1, high: 2 } };
        let found = measure.few_shot(START, &lives);
        assert_eq!(found.never, 0.5);
        assert_eq!(found.reached[0], Some(Reached { steps: 20, episodes: 10 }));
        assert_eq!(found.reached[1], Some(Reached { steps: 40, episodes: 10 }));
        assert_eq!(found.reached[2..], [None, None]);
        assert_eq!(found.steps_to_threshold, SeedMean { mean: 30.0, low: 20.0, high: 40.0 });
        assert_eq!(found.episodes_to_threshold, SeedMean { mean: 10.0, low: 10.0, high: 10.0 });
        assert_eq!(found.curve.len(), 20);
        assert_eq!((found.curve[0].steps, found.curve[19].steps), (2, 40));
        // After two steps one of the first and one of the third had ended.
        assert_eq!(found.curve[0].returns.mean, 3.0);
        assert!(measure.few_shot(START, &lives[2..]).steps_to_threshold.mean.is_nan());
    }
}
