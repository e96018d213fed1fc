//! Averaging.

use fedrl_core::Scalar;
use fedrl_core::wide::{Machine, Task, run_on_widest};

/// The mean of equally long vectors, added in their order in f64, so that it is the same whoever
/// computed them and whenever they arrived. Empty for no vectors.
pub fn mean<'a, F: Scalar>(vectors: impl IntoIterator<Item = &'a [F]>) -> Vec<F> {
    let vectors: Vec<&[F]> = vectors.into_iter().collect();
    run_on_widest(Sum { weights: &vec![1.0; vectors.len()], vectors: &vectors, divisor: vectors.len() as f64 })
}

/// The same of vectors that count by their weights, which add up to 1.
pub fn weighted_mean<'a, F: Scalar>(weights: &[f64], vectors: impl IntoIterator<Item = &'a [F]>) -> Vec<F> {
    let vectors: Vec<&[F]> = vectors.into_iter().collect();
    run_on_widest(Sum { weights, vectors: &vectors, divisor: 1.0 })
}

/// Columns that are added up at a time: their sums stay in the nearest memory.
const COLUMNS: usize = 512;

/// Σ w_i x_i / d.
struct Sum<'a, F> {
    weights: &'a [f64],
    vectors: &'a [&'a [F]],
    divisor: f64,
}

impl<F: Scalar> Task for Sum<'_, F> {
    type Output = Vec<F>;

    #[inline(always)]
    fn run<M: Machine>(self) -> Vec<F> {
        let width = self.vectors.first().map_or(0, |vector| vector.len());
        let mut mean = vec![F::default(); width];
        let mut sums = [0.0; COLUMNS];
        for (block, out) in mean.chunks_mut(COLUMNS).enumerate() {
            let sums = &mut sums[..out.len()];
            sums.fill(0.0);
            for (vector, &weight) in self.vectors.iter().zip(self.weights) {
                let columns = &vector[block * COLUMNS..][..out.len()];
                for (sum, x) in sums.iter_mut().zip(columns) {
                    *sum += weight * x.as_double();
                }
            }
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = F::from_f64(*sum / self.divisor);
            }
        }
        mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_mean() {
        assert_eq!(mean([[1.0f32, 2.0].as_slice(), &[3.0, -4.0]]), [2.0, -1.0]);
        assert_eq!(mean([[0.1f32; 3].as_slice(); 7]), [0.1f32; 3]);
        assert_eq!(weighted_mean(&[0.25, 0.75], [[1.0f32, 2.0].as_slice(), &[3.0, -4.0]]), [2.5, -2.5]);
        // Wider than what is added up at a time.
        let (x, y): (Vec<f64>, Vec<f64>) = (0..1300).map(|i| (f64::from(i), f64::from(1 - i))).unzip();
        assert_eq!(mean([x.as_slice(), &y]), [0.5; 1300]);
        assert!(mean(std::iter::empty::<&[f32]>()).is_empty());
    }
}
