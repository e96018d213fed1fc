//! A mean over seeds and how sure it is.

use fedrl_core::random::{Key, Purpose};
use fedrl_stats::{bootstrap_interval, mean};
use serde::Serialize;

/// Samples drawn for an interval.
const RESAMPLES: usize = 2000;
/// Level of the intervals.
const CONFIDENCE: f64 = 0.95;

/// The mean of a measure over seeds with its 95 % percentile bootstrap interval. What is unknown
/// is NaN, `null` in JSON: the mean of nothing, the interval of fewer than two values, both where
/// a return was not finite.
///
/// The interval is a function of the values alone. Of two or three values it is the range from
/// the smallest to the largest; with so few it is narrower than an interval that holds the true
/// mean 95 % of the time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// How many values.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// The mean of `values`, which are in the order of their seeds.
    pub(super) fn new(values: &[f64], of: Of) -> Self {
        let (low, high) = match values {
            [] | [_] => (f64::NAN, f64::NAN),
            _ => {
                let mut rng = Key::new(0, Purpose::Bootstrap).child(of.path()).rng();
                let interval = bootstrap_interval(values, mean, RESAMPLES, CONFIDENCE, &mut rng);
                (interval.low, interval.high)
            }
        };
        Estimate { n: values.len(), mean: mean(values), low, high }
    }
}

/// What an estimate is of: each has draws of its own.
#[derive(Debug, Clone, Copy)]
pub(super) enum Of {
    Final,
    Area,
    FinalDifference,
    AreaDifference,
    Round(u64),
    Rounds,
    EnvSteps,
    OwnSteps,
    OwnEpisodes,
    ProcessSecondsUntil,
    WorstError,
    RankCorrelation,
    ProcessSeconds,
    LastEpisodes,
    LastEpisodesDifference,
}

impl Of {
    fn path(self) -> [u32; 4] {
        match self {
            Of::Final => [0; 4],
            Of::Area => [1, 0, 0, 0],
            Of::FinalDifference => [2, 0, 0, 0],
            Of::AreaDifference => [3, 0, 0, 0],
            Of::Rounds => [5, 0, 0, 0],
            Of::EnvSteps => [6, 0, 0, 0],
            Of::LastEpisodes => [7, 0, 0, 0],
            Of::LastEpisodesDifference => [8, 0, 0, 0],
            Of::OwnSteps => [9, 0, 0, 0],
            Of::OwnEpisodes => [10, 0, 0, 0],
            Of::ProcessSecondsUntil => [11, 0, 0, 0],
            Of::WorstError => [12, 0, 0, 0],
            Of::RankCorrelation => [13, 0, 0, 0],
            Of::ProcessSeconds => [14, 0, 0, 0],
            Of::Round(round) => [4, round as u32, (round >> 32) as u32, 0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_or_three_values_by_hand() {
        // All three draws are the smallest with chance 1/27 = 3.7 %, more than the tail of 2.5 %.
        let three = Estimate::new(&[4.0, 10.0, 1.0], Of::Final);
        assert_eq!((three.n, three.mean, three.low, three.high), (3, 5.0, 1.0, 10.0));
        let two = Estimate::new(&[4.0, 10.0], Of::Round(7));
        assert_eq!((two.n, two.mean, two.low, two.high), (2, 7.0, 4.0, 10.0));
    }

    #[test]
    fn many_values_have_a_narrower_interval_than_their_range() {
        let values: Vec<f64> = (0..20).map(f64::from).collect();
        let estimate = Estimate::new(&values, Of::Area);
        // The standard error is √(35 / 20) ≈ 1.32 (variance of 0..20 unbiased: 35), and 1.96 of
        // it to either side 6.9 to 12.1.
        assert!((6.4..7.4).contains(&estimate.low) && (11.6..12.6).contains(&estimate.high), "{estimate:?}");
        assert_eq!(estimate, Estimate::new(&values, Of::Area));
    }

    #[test]
    fn what_is_unknown_is_not_a_number() {
        let none = Estimate::new(&[], Of::Final);
        assert!(none.n == 0 && none.mean.is_nan() && none.low.is_nan() && none.high.is_nan());
        let one = Estimate::new(&[3.0], Of::Final);
        assert!(one.mean == 3.0 && one.low.is_nan() && one.high.is_nan());
        let diverged = Estimate::new(&[3.0, f64::NAN], Of::Final);
        assert!(diverged.n == 2 && diverged.mean.is_nan() && diverged.low.is_nan());
    }
}
