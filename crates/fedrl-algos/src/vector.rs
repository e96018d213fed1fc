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
