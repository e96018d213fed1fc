//! One number for a sample.

/// The arithmetic mean. NaN for an empty sample.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard error of the mean, `s / √n` with the unbiased variance
/// `s² = Σ (xᵢ − x̄)² / (n − 1)`. NaN for fewer than two values.
pub fn standard_error(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    let n = values.len() as f64;
    let centre = mean(values);
    let squares: f64 = values.iter().map(|x| (x - centre).powi(2)).sum();
    (squares / (n - 1.0) / n).sqrt()
}

/// The `q`-quantile, linear between order statistics: position `q · (n − 1)` in the sorted
/// sample, counted from 0. This is numpy's default (Hyndman and Fan, "Sample quantiles in
/// statistical packages", 1996, type 7).
///
/// NaN for an empty sample, for a sample with a NaN, and for `q` outside `[0, 1]`.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let sorted = match sorted(values) {
        Some(sorted) if (0.0..=1.0).contains(&q) => sorted,
        _ => return f64::NAN,
    };
    let position = q * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    // Equal neighbours stay exactly what they are, infinite ones included; the minimum keeps
    // rounding from passing the upper neighbour.
    if below == above { below } else { (below + (above - below) * position.fract()).min(above) }
}

/// The interquartile mean: the mean of the middle half of the sorted sample (Agarwal et al.,
/// "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021).
///
/// Exactly a quarter of the sample is dropped at each end. Where `n / 4` is not whole, the value
/// on the boundary counts by the fraction of it that lies inside; where it is whole, this is
/// `scipy.stats.trim_mean(values, 0.25)`.
///
/// NaN for an empty sample and for a sample with a NaN.
pub fn interquartile_mean(values: &[f64]) -> f64 {
    mean_between(values, 0.25, 0.75)
}

/// The conditional value at risk at level `alpha`: the mean of the lowest `alpha` of the sample,
/// `1/α ∫₀^α Q(u) du` with the empirical quantile function `Q` (Rockafellar and Uryasev,
/// "Optimization of conditional value-at-risk", 2000, for returns instead of losses).
///
/// The value on the boundary counts by the fraction of it that lies inside, so that `alpha = 1`
/// is the mean and any `alpha ≤ 1/n` is the minimum.
///
/// NaN for an empty sample, for a sample with a NaN, and for `alpha` outside `(0, 1]`.
pub fn cvar(values: &[f64], alpha: f64) -> f64 {
    if alpha > 0.0 && alpha <= 1.0 { mean_between(values, 0.0, alpha) } else { f64::NAN }
}

/// The mean of the part of the sorted sample between the fractions `from < to`, where the value
/// of rank `i` (from 0) occupies `[i/n, (i+1)/n]`.
fn mean_between(values: &[f64], from: f64, to: f64) -> f64 {
    let Some(sorted) = sorted(values) else { return f64::NAN };
    let n = sorted.len() as f64;
    let (mut total, mut weights) = (0.0, 0.0);
    for (rank, value) in sorted.iter().enumerate() {
        let rank = rank as f64;
        let weight = (rank + 1.0).min(to * n) - rank.max(from * n);
        // Left out rather than multiplied by zero: a dropped infinity must not become a NaN.
        if weight > 0.0 {
            total += weight * value;
            weights += weight;
        }
    }
    total / weights
}

/// The sample in ascending order; nothing if it is empty or has a NaN.
fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|x| x.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
    }

    #[test]
    fn mean_and_standard_error_by_hand() {
        // Mean 20 / 5 = 4. Squares 9 + 4 + 0 + 1 + 16 = 30, s² = 30 / 4 = 7.5, s²/n = 1.5.
        let values = [1.0, 2.0, 4.0, 5.0, 8.0];
        assert_eq!(mean(&values), 4.0);
        assert_eq!(standard_error(&values), 1.5f64.sqrt());
        assert!(standard_error(&[3.0]).is_nan());
    }

    #[test]
    fn quantile_by_hand() {
        // Positions in (10, 20, 30, 40): 0.25 · 3 = 0.75 gives 17.5; 0.5 · 3 = 1.5 gives 25;
        // 0.9 · 3 = 2.7 gives 37.
        let values = [40.0, 10.0, 30.0, 20.0];
        assert_eq!(quantile(&values, 0.0), 10.0);
        assert_eq!(quantile(&values, 0.25), 17.5);
        assert_eq!(quantile(&values, 0.5), 25.0);
        assert!(close(quantile(&values, 0.9), 37.0));
        assert_eq!(quantile(&values, 1.0), 40.0);
        assert_eq!(quantile(&[7.0], 0.3), 7.0);
    }

    #[test]
    fn interquartile_mean_by_hand() {
        // n = 8: two dropped at each end, (3 + 4 + 5 + 6) / 4 = 4.5 whatever the extremes are.
        assert_eq!(interquartile_mean(&[1.0, 1e9, 3.0, 6.0, 5.0, 4.0, -1e9, 7.0]), 4.5);
        // n = 5: 1.25 dropped at each end, so the weights are 0.75, 1, 0.75 on 2, 3, 10:
        // (1.5 + 3 + 7.5) / 2.5 = 4.8.
        assert!(close(interquartile_mean(&[1.0, 2.0, 3.0, 10.0, 20.0]), 4.8));
        assert_eq!(interquartile_mean(&[f64::NEG_INFINITY, 2.0, 4.0, f64::INFINITY]), 3.0);
    }

    #[test]
    fn cvar_by_hand() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        // 0.2 · 5 = 1 value: 1. 0.4 · 5 = 2 values: 1.5. 0.5 · 5 = 2.5 values:
        // (1 + 2 + 0.5 · 3) / 2.5 = 1.8. Everything: 3.
        assert_eq!(cvar(&values, 0.2), 1.0);
        assert_eq!(cvar(&values, 0.4), 1.5);
        assert!(close(cvar(&values, 0.5), 1.8));
        assert_eq!(cvar(&values, 1.0), 3.0);
        assert_eq!(cvar(&values, 0.01), 1.0);
    }

    #[test]
    fn no_answer_is_nan() {
        assert!(mean(&[]).is_nan() && standard_error(&[]).is_nan() && quantile(&[], 0.5).is_nan());
        assert!(interquartile_mean(&[]).is_nan() && cvar(&[], 0.2).is_nan());
        let holed = [1.0, f64::NAN, 3.0];
        assert!(mean(&holed).is_nan() && quantile(&holed, 0.0).is_nan() && cvar(&holed, 0.2).is_nan());
        let fine = [1.0, 2.0];
        assert!(quantile(&fine, 1.1).is_nan() && quantile(&fine, f64::NAN).is_nan());
        assert!(cvar(&fine, 0.0).is_nan() && cvar(&fine, 1.1).is_nan() && cvar(&fine, f64::NAN).is_nan());
    }

    proptest! {
        #[test]
        fn quantiles_rise_with_q_and_stay_within_the_sample(
            values in prop::collection::vec(-1e6f64..1e6, 1..40), a in 0.0f64..=1.0, b in 0.0f64..=1.0,
        ) {
            let (low, high) = (quantile(&values, a.min(b)), quantile(&values, a.max(b)));
            prop_assert!(low <= high);
            prop_assert!(quantile(&values, 0.0) <= low && high <= quantile(&values, 1.0));
        }

        #[test]
        fn cvar_rises_with_alpha_from_the_minimum_to_the_mean(
            values in prop::collection::vec(-1e6f64..1e6, 1..40), a in 0.001f64..=1.0, b in 0.001f64..=1.0,
        ) {
            let (low, high) = (cvar(&values, a.min(b)), cvar(&values, a.max(b)));
            prop_assert!(low <= high || close(low, high));
            prop_assert!(quantile(&values, 0.0) <= low || close(quantile(&values, 0.0), low));
            prop_assert!(close(cvar(&values, 1.0), mean(&values)));
        }

        #[test]
        fn summaries_do_not_depend_on_the_order_and_move_with_a_shift(
            values in prop::collection::vec(-1e3f64..1e3, 1..40), shift in -1e3f64..1e3,
        ) {
            let reversed: Vec<f64> = values.iter().rev().copied().collect();
            prop_assert_eq!(interquartile_mean(&values), interquartile_mean(&reversed));
            let shifted: Vec<f64> = values.iter().map(|x| x + shift).collect();
            prop_assert!(close(interquartile_mean(&shifted), interquartile_mean(&values) + shift));
            prop_assert!(close(cvar(&shifted, 0.3), cvar(&values, 0.3) + shift));
        }
    }
}
