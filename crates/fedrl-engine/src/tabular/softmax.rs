//! π and log π as tables.

use fedrl_core::Scalar;

use super::walk::Thresholds;

/// The policy π(a|s) = exp θ(a, s) / Σ_b exp θ(b, s).
#[derive(Debug, Clone, PartialEq)]
pub struct Softmax {
    states: usize,
    actions: usize,
    /// π(a|s) of every pair.
    pub probability: Vec<f64>,
    /// log π(a|s) of every pair.
    pub log_probability: Vec<f64>,
}

impl Softmax {
    /// The policy with logits `theta`, `[actions, states]`.
    pub fn new<F: Scalar>(theta: &[F], states: usize, actions: usize) -> Self {
        let mut log_probability = vec![0.0; states * actions];
        let mut probability = vec![0.0; states * actions];
        for state in 0..states {
            let own = state * actions..(state + 1) * actions;
            let (log, p) = (&mut log_probability[own.clone()], &mut probability[own]);
            for (action, log) in log.iter_mut().enumerate() {
                *log = theta[action * states + state].as_double();
            }
            let greatest = log.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut sum = 0.0;
            for (log, p) in log.iter_mut().zip(p.iter_mut()) {
                *log -= greatest;
                *p = log.exp();
                sum += *p;
            }
            let normaliser = sum.ln();
            log.iter_mut().for_each(|log| *log -= normaliser);
            p.iter_mut().for_each(|p| *p /= sum);
        }
        Softmax { states, actions, probability, log_probability }
    }

    /// Each state's entropy, in nats.
    pub fn entropy(&self) -> Vec<f64> {
        let rows = self.probability.chunks_exact(self.actions).zip(self.log_probability.chunks_exact(self.actions));
        rows.map(|(p, log)| p.iter().zip(log).filter(|(p, _)| **p > 0.0).map(|(p, log)| -p * log).sum()).collect()
    }

    /// A table of pairs from a vector in the layout of θ.
    pub fn table<F: Scalar>(&self, vector: &[F]) -> Vec<f64> {
        let pair = |pair: usize| vector[pair % self.actions * self.states + pair / self.actions].as_double();
        (0..self.states * self.actions).map(pair).collect()
    }

    /// A vector in the layout of θ from a table of pairs.
    pub fn vector<F: Scalar>(&self, table: &[f64]) -> Vec<F> {
        let place = |place: usize| F::from_f64(table[place % self.states * self.actions + place / self.states]);
        (0..self.states * self.actions).map(place).collect()
    }

    /// x(s, a) − Σ_b π(b|s) x(s, b) of every pair: ⟨∇ log π(a|s), x⟩.
    pub fn centred(&self, table: &[f64]) -> Vec<f64> {
        let rows = table.chunks_exact(self.actions).zip(self.probability.chunks_exact(self.actions));
        let centred = rows.flat_map(|(x, p)| {
            let mean: f64 = x.iter().zip(p).map(|(x, p)| p * x).sum();
            x.iter().map(move |x| x - mean)
        });
        centred.collect()
    }

    /// Σ_(s,a) w(s, a) ∇ log π(a|s), as a table of pairs.
    pub fn score_sum(&self, weights: &[f64]) -> Vec<f64> {
        let rows = weights.chunks_exact(self.actions).zip(self.probability.chunks_exact(self.actions));
        let sums = rows.flat_map(|(w, p)| {
            let total: f64 = w.iter().sum();
            w.iter().zip(p).map(move |(w, p)| w - p * total)
        });
        sums.collect()
    }

    /// Σ_(s,a) w(s, a) ∇² log π(a|s) v, as a table of pairs; `along` is v [centred](Self::centred).
    pub fn hessian_sum(&self, weights: &[f64], along: &[f64]) -> Vec<f64> {
        let policy = self.probability.chunks_exact(self.actions).zip(along.chunks_exact(self.actions));
        let rows = weights.chunks_exact(self.actions).zip(policy);
        let sums = rows.flat_map(|(w, (p, along))| {
            let total: f64 = w.iter().sum();
            p.iter().zip(along).map(move |(p, along)| -total * p * along)
        });
        sums.collect()
    }

    /// What uniform draws are compared with to choose actions.
    pub(super) fn thresholds(&self) -> Thresholds {
        Thresholds::new(&self.probability, self.actions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THETA: [f64; 6] = [0.3, -0.5, 1.2, 0.7, -1.1, 0.4];
    const V: [f64; 6] = [0.9, 0.1, -0.4, 0.6, 0.2, -0.8];
    const WEIGHTS: [f64; 6] = [0.5, -1.0, 2.0, 0.25, 0.75, -0.3];

    /// Two states, three actions, parameters moved along V.
    fn at(step: f64) -> Softmax {
        let theta: Vec<f64> = THETA.iter().zip(V).map(|(x, v)| x + step * v).collect();
        Softmax::new(&theta, 2, 3)
    }

    #[test]
    fn layouts_are_each_others_inverse_and_rows_are_distributions() {
        let policy = at(0.0);
        assert_eq!(policy.vector::<f64>(&policy.table(&THETA)), THETA);
        // State 1 has the logits θ(0, 1), θ(1, 1), θ(2, 1) = −0.5, 0.7, 0.4.
        let expected = 0.7f64.exp() / ((-0.5f64).exp() + 0.7f64.exp() + 0.4f64.exp());
        assert!((policy.probability[4] - expected).abs() < 1e-15);
        assert!((policy.log_probability[4] - expected.ln()).abs() < 1e-15);
        for row in policy.probability.chunks_exact(3) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        }
        assert!((Softmax::new(&[0.0f32; 6], 2, 3).entropy()[0] - 3f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn derivatives_equal_central_differences() {
        let policy = at(0.0);
        let h = 1e-5;
        let along = policy.centred(&policy.table(&V));
        let hessian = policy.hessian_sum(&WEIGHTS, &along);
        for pair in 0..6 {
            let slope = (at(h).log_probability[pair] - at(-h).log_probability[pair]) / (2.0 * h);
            assert!((along[pair] - slope).abs() < 1e-9);
            let slope = (at(h).score_sum(&WEIGHTS)[pair] - at(-h).score_sum(&WEIGHTS)[pair]) / (2.0 * h);
            assert!((hessian[pair] - slope).abs() < 1e-9);
        }
    }

    #[test]
    fn a_deterministic_policy_is_finite() {
        let policy = Softmax::new(&[1e4, 0.0, -1e4, 0.0, 0.0, 0.0], 2, 3);
        assert!(policy.entropy().iter().all(|entropy| entropy.is_finite()));
        assert!(policy.log_probability.iter().all(|log| log.is_finite()));
    }
}
