//! Whether two samples come from one distribution.

/// The p-value of the two-sample Kolmogorov–Smirnov test, in the asymptotic form with Stephens's
/// correction for finite samples (Press et al., "Numerical Recipes", §14.3.3): the chance of a
/// distance as great as the one observed if both samples come from one distribution. NaN for an
/// empty sample or a NaN in either.
pub fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|x| x.is_nan()) {
        return f64::NAN;
    }
    let size = (a.len() as f64 * b.len() as f64 / (a.len() + b.len()) as f64).sqrt();
    let lambda = (size + 0.12 + 0.11 / size) * distance(a, b);
    if lambda < 0.2 {
        // The series converges slowly there, towards 1.
        return 1.0;
    }
    let term = |k: i32| (-1f64).powi(k - 1) * (-2.0 * (f64::from(k) * lambda).powi(2)).exp();
    (2.0 * (1..=100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// The greatest difference between the two empirical distribution functions.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let sorted = |x: &[f64]| {
        let mut x = x.to_vec();
        x.sort_by(f64::total_cmp);
        x
    };
    let (a, b) = (sorted(a), sorted(b));
    let share = |x: &[f64], at: f64| x.partition_point(|&x| x <= at) as f64 / x.len() as f64;
    a.iter().chain(&b).map(|&at| (share(&a, at) - share(&b, at)).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        // At 2: 2/4 of a, 0 of b; at 4: 4/4 and 1/2.
        assert_eq!(distance(&[1.0, 2.0, 3.0, 4.0], &[3.5, 9.0]), 0.75);
        assert_eq!(distance(&[1.0, 2.0], &[2.0, 1.0]), 0.0);
    }

    #[test]
    fn the_published_quantile() {
        // 5 % of the limiting distribution lies beyond 1.358: two samples of 10,000 at that distance.
        let n = 10_000;
        let size = (n as f64 / 2.0).sqrt();
        let shift = (1.358 / (size + 0.12 + 0.11 / size) * n as f64).round() as usize;
        let a: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let b: Vec<f64> = (0..n).map(|i| (i + shift) as f64).collect();
        let p = kolmogorov_smirnov(&a, &b);
        assert!((p - 0.05).abs() < 0.001, "{p}");
    }

    #[test]
    fn one_sample_twice_is_certain_and_what_has_no_answer_is_nan() {
        assert_eq!(kolmogorov_smirnov(&[1.0, 2.0], &[1.0, 2.0]), 1.0);
        assert!(kolmogorov_smirnov(&[], &[1.0]).is_nan() && kolmogorov_smirnov(&[f64::NAN], &[1.0]).is_nan());
    }
}
