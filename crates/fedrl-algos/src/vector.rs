//! Vector arithmetic on rows of θ, so that updates read like the papers'.

use fedrl_core::Scalar;

/// `y ← y + a x`.
pub(crate) fn add_scaled<F: Scalar>(y: &mut [F], a: F, x: &[F]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y += a * x);
}

/// `x − y`.
pub(crate) fn difference<F: Scalar>(x: &[F], y: &[F]) -> Vec<F> {
    x.iter().zip(y).map(|(&x, &y)| x - y).collect()
}

/// Euclidean norm, in f64.
pub(crate) fn norm<F: Scalar>(x: &[F]) -> f64 {
    // Four sums, since one would wait for itself.
    let mut sums = [0.0; 4];
    for four in x.chunks(4) {
        sums.iter_mut().zip(four).for_each(|(sum, x)| *sum += x.as_double().powi(2));
    }
    sums.iter().sum::<f64>().sqrt()
}
