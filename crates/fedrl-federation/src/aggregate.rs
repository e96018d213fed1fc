//! Averaging.

use fedrl_core::Scalar;

/// The mean of equally long vectors, added in their order in f64, so that it is the same whoever
/// computed them and whenever they arrived. Empty for no vectors.
pub fn mean<'a, F: Scalar>(vectors: impl IntoIterator<Item = &'a [F]>) -> Vec<F> {
    let mut sum: Vec<f64> = Vec::new();
    let mut count = 0.0;
    for vector in vectors {
        sum.resize(vector.len(), 0.0);
        sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x.as_double());
        count += 1.0;
    }
    sum.into_iter().map(|sum| F::from_f64(sum / count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_mean() {
        assert_eq!(mean([[1.0f32, 2.0].as_slice(), &[3.0, -4.0]]), [2.0, -1.0]);
        assert_eq!(mean([[0.1f32; 3].as_slice(); 7]), [0.1f32; 3]);
        assert!(mean(std::iter::empty::<&[f32]>()).is_empty());
    }
}
