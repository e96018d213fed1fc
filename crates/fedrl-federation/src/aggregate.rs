//! Averaging.

use fedrl_core::Scalar;
use fedrl_core::wide::{Machine, Task, run_on_widest};

/// The mean of equally long vectors, added in their order in f64, so that it is the same whoever
/// computed them and whenever they arrived. Empty for no vectors.
pub fn mean<'a, F: Scalar>(vectors: impl IntoIterator<Item = &'a [F]>) -> Vec<F> {
    let mut sum: Vec<f64> = Vec::new();
    let mut count = 0.0;
    for vector in vectors {
        sum.resize(vector.len(), 0.0);
        run_on_widest(Add(&mut sum, vector));
        count += 1.0;
    }
    sum.into_iter().map(|sum| F::from_f64(sum / count)).collect()
}

/// The mean of equally long vectors of which each counts by its weight, in f64. Weights add up to 1.
pub fn weighted_mean<'a, F: Scalar>(vectors: impl IntoIterator<Item = (f64, &'a [F])>) -> Vec<F> {
    let mut sum: Vec<f64> = Vec::new();
    for (weight, vector) in vectors {
        sum.resize(vector.len(), 0.0);
        sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += weight * x.as_double());
    }
    sum.into_iter().map(F::from_f64).collect()
}

/// A vector to be added to a sum.
struct Add<'a, F>(&'a mut [f64], &'a [F]);

impl<F: Scalar> Task for Add<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        for (sum, x) in self.0.iter_mut().zip(self.1) {
            *sum += x.as_double();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_mean() {
        assert_eq!(mean([[1.0f32, 2.0].as_slice(), &[3.0, -4.0]]), [2.0, -1.0]);
        assert_eq!(mean([[0.1f32; 3].as_slice(); 7]), [0.1f32; 3]);
        assert_eq!(weighted_mean([(0.25, [1.0f32, 2.0].as_slice()), (0.75, &[3.0, -4.0])]), [2.5, -2.5]);
        assert!(mean(std::iter::empty::<&[f32]>()).is_empty());
    }
}
