//! Vector arithmetic on rows of θ, so that updates read like the papers'.

/// `y ← y + a x`.
pub(crate) fn add_scaled(y: &mut [f32], a: f32, x: &[f32]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y += a * x);
}

/// `x − y`.
pub(crate) fn difference(x: &[f32], y: &[f32]) -> Vec<f32> {
    x.iter().zip(y).map(|(&x, &y)| x - y).collect()
}

/// Euclidean norm, in f64.
pub(crate) fn norm(x: &[f32]) -> f64 {
    x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()
}
