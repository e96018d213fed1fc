//! Importance weights of whole trajectories.

use fedrl_core::Scalar;
use fedrl_engine::Trajectory;

use crate::ImportanceMetrics;

/// w(τ|θ′, θ) = exp Σ_h [log π_θ′(a_h|s_h) − log π_θ(a_h|s_h)] of each trajectory (002 §3). The
/// log-probabilities run over the steps of the trajectories one after the other. Weights above
/// `clip` become `clip`.
pub(crate) fn importance_weights<F: Scalar>(
    log_target: &[F],
    log_behaviour: &[F],
    trajectories: &[Trajectory<F>],
    clip: Option<f64>,
) -> (Vec<F>, ImportanceMetrics) {
    let mut metrics = ImportanceMetrics::default();
    let mut start = 0;
    let weights = trajectories
        .iter()
        .map(|trajectory| {
            let steps = start..start + trajectory.len();
            start = steps.end;
            let pairs = log_target[steps.clone()].iter().zip(&log_behaviour[steps]);
            let log_weight: f64 = pairs.map(|(target, behaviour)| target.as_double() - behaviour.as_double()).sum();
            importance_weight(log_weight, clip, &mut metrics)
        })
        .collect();
    (weights, metrics)
}

/// The weight whose logarithm is this, clipped and counted.
pub(crate) fn importance_weight<F: Scalar>(log_weight: f64, clip: Option<f64>, metrics: &mut ImportanceMetrics) -> F {
    let weight = F::from_f64(log_weight.exp()).as_double();
    F::from_f64(clipped(weight, clip, metrics))
}

/// What clipping leaves of a weight, which is counted.
pub(crate) fn clipped(weight: f64, clip: Option<f64>, metrics: &mut ImportanceMetrics) -> f64 {
    let clipped = match clip {
        // Not `min`, which would turn NaN into the clip.
        Some(clip) if weight > clip => clip,
        _ => weight,
    };
    metrics.observe(weight, clipped);
    clipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_length(len: usize) -> Trajectory<f32> {
        Trajectory { rewards: vec![0.0; len], ..Trajectory::default() }
    }

    #[test]
    fn weights_are_ratios_of_probabilities_and_counted() {
        let trajectories = [of_length(2), of_length(1), of_length(1)];
        let ln = |x: f32| x.ln();
        // (0.5·0.25)/(0.25·0.25) = 2; 0.9/0.1 = 9; e^200 overflows f32.
        let target = [ln(0.5), ln(0.25), ln(0.9), 200.0];
        let behaviour = [ln(0.25), ln(0.25), ln(0.1), 0.0];
        let (weights, metrics) = importance_weights(&target, &behaviour, &trajectories, None);
        assert!((weights[0] - 2.0).abs() < 1e-6 && (weights[1] - 9.0).abs() < 1e-5 && weights[2].is_infinite());
        assert_eq!((metrics.count, metrics.non_finite, metrics.clipped), (3, 1, 0));
        let (weights, metrics) = importance_weights(&target, &behaviour, &trajectories, Some(5.0));
        assert_eq!(weights[1..], [5.0, 5.0]);
        assert_eq!((metrics.count, metrics.non_finite, metrics.clipped), (3, 1, 2));
    }
}
