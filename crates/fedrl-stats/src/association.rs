//! How far two lists of numbers go together.

use crate::mean;

/// The cosine of the angle between `a` and `b`, in [−1, 1]: exactly 1 for a vector with itself. NaN for vectors of
/// different lengths, and where one of them is zero or not finite.
pub fn cosine(a: &[f64], b: &[f64]) -> f64 {
    if a.len() != b.len() {
        return f64::NAN;
    }
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    (product(a, b) / (product(a, a) * product(b, b)).sqrt()).clamp(-1.0, 1.0)
}

/// Spearman's rank correlation ("The proof and measurement of association between two things", 1904): Pearson's
/// correlation of the ranks, equal values sharing the mean of their ranks. NaN for lists of different lengths, a NaN
/// among the values, and a list that does not vary.
pub fn spearman(a: &[f64], b: &[f64]) -> f64 {
    if a.iter().chain(b).any(|x| x.is_nan()) {
        return f64::NAN;
    }
    let centred = |values: &[f64]| {
        let ranks = ranks(values);
        let centre = mean(&ranks);
        ranks.into_iter().map(|rank| rank - centre).collect::<Vec<_>>()
    };
    cosine(&centred(a), &centred(b))
}

/// The rank of every value, from 1; equal values have the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|&i, &j| values[i] == values[j]) {
        let shared = before as f64 + (equal.len() + 1) as f64 / 2.0;
        equal.iter().for_each(|&i| ranks[i] = shared);
        before += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cosines_by_hand() {
        // (3, 4)·(4, 3) = 24, lengths 5 and 5.
        assert_eq!(cosine(&[3.0, 4.0], &[4.0, 3.0]), 24.0 / 25.0);
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 7.0]), 0.0);
        assert_eq!(cosine(&[0.1, 0.2], &[-0.2, -0.4]), -1.0);
        assert!(cosine(&[0.0, 0.0], &[1.0, 2.0]).is_nan() && cosine(&[1.0], &[1.0, 2.0]).is_nan());
        assert!(cosine(&[], &[]).is_nan() && cosine(&[f64::NAN], &[1.0]).is_nan());
    }

    #[test]
    fn ranks_are_shared_by_equal_values() {
        // 5 is first; the two 7s share ranks 2 and 3; 9 is fourth.
        assert_eq!(ranks(&[7.0, 9.0, 5.0, 7.0]), [2.5, 4.0, 1.0, 2.5]);
        // 0 and −0 are equal.
        assert_eq!(ranks(&[0.0, -0.0]), [1.5, 1.5]);
    }

    #[test]
    fn rank_correlations_by_hand() {
        assert_eq!(spearman(&[1.0, 10.0, 100.0], &[0.1, 0.2, 0.9]), 1.0);
        assert_eq!(spearman(&[1.0, 10.0, 100.0], &[3.0, 2.0, 1.0]), -1.0);
        // Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4, less 2.5: (−1.5)² + 0 + 0 + 1.5² = 4.5 over √(4.5 · 5).
        let tied = spearman(&[1.0, 2.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]);
        assert!((tied - 4.5 / 22.5f64.sqrt()).abs() < 1e-15, "{tied}");
        for (a, b) in [(vec![1.0, 1.0], vec![1.0, 2.0]), (vec![1.0], vec![1.0]), (vec![], vec![])] {
            assert!(spearman(&a, &b).is_nan());
        }
        assert!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]).is_nan() && spearman(&[1.0, 2.0], &[1.0]).is_nan());
    }

    proptest! {
        #[test]
        fn what_is_itself_has_1_and_only_the_order_counts_for_ranks(whole in prop::collection::vec(-50i32..50, 2..20)) {
            let values: Vec<f64> = whole.into_iter().map(f64::from).collect();
            prop_assume!(values.iter().any(|x| *x != values[0]));
            prop_assert_eq!(cosine(&values, &values), 1.0);
            let cubes: Vec<f64> = values.iter().map(|x| x.powi(3) + 5.0).collect();
            prop_assert_eq!(spearman(&values, &cubes), 1.0);
        }
    }
}
