use crate::quantile;
use rand::{Rng, RngExt};

/// A confidence interval, in the unit of the statistic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end; not below `low`.
    pub high: f64,
}

/// The percentile bootstrap interval of `statistic` at level `confidence`, say 0.95 (Efron and
/// Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13): the
/// `(1 ∓ confidence) / 2` quantiles of the statistic over `resamples` samples of the same size
/// drawn from `values` with replacement.
///
/// The draws of `rng` decide the result, and nothing else does. One value, or equal values, give
/// an interval of no width. Both ends are NaN for an empty sample, for no resamples, for a
/// `confidence` outside `[0, 1]`, and where the statistic of a resample is NaN.
pub fn bootstrap_interval(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    resamples: usize,
    confidence: f64,
    rng: &mut impl Rng,
) -> Interval {
    if values.is_empty() {
        return Interval { low: f64::NAN, high: f64::NAN };
    }
    let mut sample = values.to_vec();
    let statistics: Vec<f64> = (0..resamples)
        .map(|_| {
            sample.fill_with(|| values[rng.random_range(0..values.len())]);
            statistic(&sample)
        })
        .collect();
    let tail = (1.0 - confidence) / 2.0;
    Interval { low: quantile(&statistics, tail), high: quantile(&statistics, 1.0 - tail) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cvar, mean};
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;

    fn rng(seed: u64) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(seed)
    }

    /// A standard normal draw (Box and Muller, 1958).
    fn normal(rng: &mut impl Rng) -> f64 {
        let (u, v): (f64, f64) = (rng.random(), rng.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    #[test]
    fn a_95_percent_interval_covers_the_mean_of_normals_about_that_often() {
        let mut rng = rng(1);
        let covered = (0..1000)
            .filter(|_| {
                let values: Vec<f64> = (0..30).map(|_| 3.0 + 2.0 * normal(&mut rng)).collect();
                let interval = bootstrap_interval(&values, mean, 500, 0.95, &mut rng);
                interval.low <= 3.0 && 3.0 <= interval.high
            })
            .count();
        // The percentile bootstrap is known to be a little narrow at n = 30.
        assert!((900..=970).contains(&covered), "{covered} of 1000");
    }

    #[test]
    fn two_values_by_hand() {
        // The mean of a resample of (0, 1) is 0, 0.5 or 1 with chances 1/4, 1/2, 1/4: the outer
        // 2.5 % are certain to be 0 and 1, the outer 35 % (confidence 0.3) to be 0.5.
        let mut rng = rng(2);
        assert_eq!(bootstrap_interval(&[0.0, 1.0], mean, 2000, 0.95, &mut rng), Interval { low: 0.0, high: 1.0 });
        assert_eq!(bootstrap_interval(&[0.0, 1.0], mean, 2000, 0.3, &mut rng), Interval { low: 0.5, high: 0.5 });
    }

    #[test]
    fn the_same_generator_gives_the_same_interval() {
        let values = [1.0, 5.0, 2.0, 8.0];
        let worst_half = |sample: &[f64]| cvar(sample, 0.5);
        let draw = |seed| bootstrap_interval(&values, worst_half, 200, 0.9, &mut rng(seed));
        assert_eq!(draw(7), draw(7));
    }

    #[test]
    fn one_value_or_equal_values_have_no_width() {
        let point = Interval { low: 4.0, high: 4.0 };
        assert_eq!(bootstrap_interval(&[4.0], mean, 100, 0.95, &mut rng(1)), point);
        assert_eq!(bootstrap_interval(&[4.0; 9], mean, 100, 0.95, &mut rng(1)), point);
    }

    #[test]
    fn no_answer_is_nan() {
        for interval in [
            bootstrap_interval(&[], mean, 100, 0.95, &mut rng(1)),
            bootstrap_interval(&[1.0], mean, 0, 0.95, &mut rng(1)),
            bootstrap_interval(&[1.0], mean, 100, 1.5, &mut rng(1)),
            bootstrap_interval(&[f64::NAN], mean, 100, 0.95, &mut rng(1)),
        ] {
            assert!(interval.low.is_nan() && interval.high.is_nan());
        }
    }

    proptest! {
        #[test]
        fn more_confidence_is_a_wider_interval_within_the_sample(
            values in prop::collection::vec(-100.0f64..100.0, 1..20), seed: u64,
            a in 0.0f64..=1.0, b in 0.0f64..=1.0,
        ) {
            let narrow = bootstrap_interval(&values, |x| quantile(x, 0.5), 50, a.min(b), &mut rng(seed));
            let wide = bootstrap_interval(&values, |x| quantile(x, 0.5), 50, a.max(b), &mut rng(seed));
            prop_assert!(narrow.low <= narrow.high);
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
            prop_assert!(quantile(&values, 0.0) <= wide.low && wide.high <= quantile(&values, 1.0));
        }
    }
}
