/// The performance profile: for each threshold `τ`, the fraction of scores strictly above it
/// (Dolan and Moré, "Benchmarking optimization software with performance profiles", 2002; as
/// used for returns by Agarwal et al., NeurIPS 2021).
///
/// One entry per threshold. A NaN score is above nothing; without scores every entry is NaN.
pub fn performance_profile(scores: &[f64], thresholds: &[f64]) -> Vec<f64> {
    let n = scores.len() as f64;
    let fraction_above = |threshold: &f64| scores.iter().filter(|score| *score > threshold).count() as f64 / n;
    thresholds.iter().map(fraction_above).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fractions_by_hand() {
        // Above 0: all four. Above 1: 2, 2, 3 (strictly). Above 2: 3 alone. Above 3: none.
        assert_eq!(performance_profile(&[2.0, 1.0, 3.0, 2.0], &[0.0, 1.0, 2.0, 3.0]), [1.0, 0.75, 0.25, 0.0]);
        assert_eq!(performance_profile(&[f64::NAN, 1.0], &[0.0]), [0.5]);
        assert!(performance_profile(&[], &[0.0])[0].is_nan());
        assert!(performance_profile(&[1.0], &[]).is_empty());
    }

    proptest! {
        #[test]
        fn the_profile_falls_with_the_threshold(
            scores in prop::collection::vec(-10.0f64..10.0, 1..20), a in -12.0f64..12.0, b in -12.0f64..12.0,
        ) {
            let profile = performance_profile(&scores, &[a.min(b), a.max(b)]);
            prop_assert!(1.0 >= profile[0] && profile[0] >= profile[1] && profile[1] >= 0.0);
        }
    }
}
