//! What adaptation comes to over several runs of one experiment.

use fedrl_core::random::{Key, Purpose};
use fedrl_envs::Parameters;
use fedrl_stats::{bootstrap_interval, mean};
use serde::Serialize;

use super::{FewShot, Start, VariantAdaptation};
use crate::{CONFIDENCE, RESAMPLES};

/// A mean over runs, each of which counts once, however many of its lives are behind its number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RunMean {
    /// Runs that have a number; those without one are left out.
    pub runs: usize,
    /// The mean; not a number over no runs.
    pub mean: f64,
    /// Lower end of its 95 % bootstrap interval over runs; not a number over fewer than two, the range over two or
    /// three.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

/// How the learned policies do as they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ZeroShotOverRuns {
    /// The policy of the agent that lives nearest, or the one that all agents have.
    pub nearest: RunMean,
    /// The mean over every agent's policy.
    pub all: RunMean,
}

/// A point of a few-shot curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PointOverRuns {
    /// Environment steps.
    pub steps: u32,
    /// Mean over runs of [`super::Point::returns`].
    #[serde(flatten)]
    pub returns: RunMean,
}

/// What became of the new agents that began alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StartOverRuns {
    /// How they began.
    #[serde(flatten)]
    pub start: Start,
    /// Mean return against environment steps.
    pub curve: Vec<PointOverRuns>,
    /// Environment steps until they got there, over the runs in which one did.
    pub steps_to_threshold: RunMean,
    /// Episodes until they got there, over the runs in which one did.
    pub episodes_to_threshold: RunMean,
    /// Share of all lives of all runs that never got there. Without it the two before mean nothing.
    pub never: f64,
}

/// Adaptation to one variant, over runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantOverRuns {
    /// The parameters in which it differs.
    pub parameters: Parameters,
    /// The learned policies as they are.
    pub zero_shot: ZeroShotOverRuns,
    /// What became of new agents, start by start.
    pub few_shot: Vec<StartOverRuns>,
}

/// Puts together what runs came to that were adapted alike: to the same variants, from the same starts, with curves
/// of the same points.
pub fn over_runs(runs: &[Vec<VariantAdaptation>]) -> Vec<VariantOverRuns> {
    let variants = runs.first().map_or(0, Vec::len);
    (0..variants).map(|index| variant(index, &runs.iter().map(|run| &run[index]).collect::<Vec<_>>())).collect()
}

/// The variant of this index, as the runs came to it.
fn variant(index: usize, runs: &[&VariantAdaptation]) -> VariantOverRuns {
    let means = Means { key: Key::new(0, Purpose::Bootstrap).child([index as u32, 2, 0, 0]) };
    let nearest = |run: &VariantAdaptation| run.zero_shot[run.nearest_agent.unwrap_or(0)].mean;
    let all = |run: &VariantAdaptation| mean(&run.zero_shot.iter().map(|zero| zero.mean).collect::<Vec<_>>());
    let zero_shot = ZeroShotOverRuns {
        nearest: means.over(runs.iter().map(|run| nearest(run)), NEAREST),
        all: means.over(runs.iter().map(|run| all(run)), ALL),
    };
    let starts = runs.first().map_or(0, |run| run.few_shot.len());
    let few_shot = |start: usize| means.start(&runs.iter().map(|run| &run.few_shot[start]).collect::<Vec<_>>());
    let parameters = runs.first().map(|run| run.parameters.clone()).unwrap_or_default();
    VariantOverRuns { parameters, zero_shot, few_shot: (0..starts).filter_map(few_shot).collect() }
}

// What an interval is of names its draws; points of a curve come after these.
const NEAREST: u32 = 0;
const ALL: u32 = 1;
const STEPS: u32 = 2;
const EPISODES: u32 = 3;
const CURVE: u32 = 4;

/// Means of one variant.
struct Means {
    key: Key,
}

impl Means {
    /// What lives of all runs came to that began alike.
    fn start(&self, runs: &[&FewShot]) -> Option<StartOverRuns> {
        let first = runs.first()?;
        let point = |(index, steps): (usize, u32)| {
            let returns = runs.iter().map(|run| run.curve[index].returns.mean);
            PointOverRuns { steps, returns: self.over(returns, CURVE + index as u32) }
        };
        let steps = first.curve.iter().map(|point| point.steps);
        let lives = || runs.iter().flat_map(|run| &run.reached);
        Some(StartOverRuns {
            start: first.start,
            curve: steps.enumerate().map(point).collect(),
            steps_to_threshold: self.over(runs.iter().map(|run| run.steps_to_threshold.mean), STEPS),
            episodes_to_threshold: self.over(runs.iter().map(|run| run.episodes_to_threshold.mean), EPISODES),
            never: lives().filter(|reached| reached.is_none()).count() as f64 / lives().count() as f64,
        })
    }

    /// Over the runs that have a number.
    fn over(&self, numbers: impl Iterator<Item = f64>, statistic: u32) -> RunMean {
        let numbers: Vec<f64> = numbers.filter(|number| !number.is_nan()).collect();
        let (low, high) = match numbers[..] {
            [] | [_] => (f64::NAN, f64::NAN),
            _ => {
                let mut rng = self.key.child([statistic, 0, 0, 0]).rng();
                let interval = bootstrap_interval(&numbers, mean, RESAMPLES, CONFIDENCE, &mut rng);
                (interval.low, interval.high)
            }
        };
        RunMean { runs: numbers.len(), mean: mean(&numbers), low, high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapt::{Beginning, Point, Reached, SeedMean, ZeroShot};

    const START: Start = Start { beginning: Beginning::Fresh, frozen: true };

    fn seed_mean(mean: f64) -> SeedMean {
        SeedMean { mean, low: mean, high: mean }
    }

    /// A run of two heads, the nearer of which is the second, and of two lives, `reached` of which got there after
    /// so many steps each.
    fn run(heads: [f64; 2], end: f64, reached: usize, steps: f64) -> VariantAdaptation {
        let zero = |(agent, mean)| ZeroShot { agent, mean, low: mean, high: mean };
        let got_there = Some(Reached { steps: steps as u32, episodes: 10 });
        let few = FewShot {
            start: START,
            curve: vec![
                Point { steps: 100, returns: seed_mean(f64::NAN) },
                Point { steps: 200, returns: seed_mean(end) },
            ],
            steps_to_threshold: seed_mean(steps),
            episodes_to_threshold: seed_mean(steps / 10.0),
            never: 1.0 - reached as f64 / 2.0,
            reached: (0..2).map(|life| got_there.filter(|_| life < reached)).collect(),
        };
        VariantAdaptation {
            parameters: [("length".to_string(), 0.9)].into(),
            nearest_agent: Some(1),
            zero_shot: heads.into_iter().enumerate().map(zero).collect(),
            few_shot: vec![few],
        }
    }

    /// Of two or three numbers the interval is the range: all draws are the smallest with chance 1/27 at least, more
    /// than the tail of 1/40.
    #[test]
    fn every_run_counts_once_and_every_life_that_fails_is_counted() {
        let runs = [
            vec![run([10.0, 20.0], 1.0, 1, 30.0)],
            vec![run([30.0, 50.0], 4.0, 0, f64::NAN)],
            vec![run([0.0, 80.0], 10.0, 2, 50.0)],
        ];
        let found = over_runs(&runs);
        assert_eq!((found.len(), found[0].parameters["length"]), (1, 0.9));
        // (20 + 50 + 80) / 3, and (15 + 40 + 40) / 3 = 31.67.
        assert_eq!(found[0].zero_shot.nearest, RunMean { runs: 3, mean: 50.0, low: 20.0, high: 80.0 });
        assert_eq!(found[0].zero_shot.all, RunMean { runs: 3, mean: 95.0 / 3.0, low: 15.0, high: 40.0 });
        let few = &found[0].few_shot[0];
        assert_eq!(few.start, START);
        // The run of one life that got there counts as much as that of two.
        assert_eq!(few.steps_to_threshold, RunMean { runs: 2, mean: 40.0, low: 30.0, high: 50.0 });
        assert_eq!(few.episodes_to_threshold, RunMean { runs: 2, mean: 4.0, low: 3.0, high: 5.0 });
        assert_eq!(few.never, 0.5, "1 + 2 + 0 of 6 lives");
        assert_eq!((few.curve[0].steps, few.curve[0].returns.runs), (100, 0));
        assert!(few.curve[0].returns.mean.is_nan(), "no episode had ended in any run");
        let end = RunMean { runs: 3, mean: 5.0, low: 1.0, high: 10.0 };
        assert_eq!(few.curve[1], PointOverRuns { steps: 200, returns: end });
    }

    #[test]
    fn one_run_has_no_interval_and_no_run_no_variant() {
        let found = over_runs(&[vec![run([10.0, 20.0], 1.0, 2, 30.0)]]);
        let RunMean { runs, mean, low, high } = found[0].few_shot[0].steps_to_threshold;
        assert_eq!((runs, mean), (1, 30.0));
        assert!(low.is_nan() && high.is_nan());
        assert!(over_runs(&[]).is_empty());
    }
}
