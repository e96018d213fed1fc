//! Distributions over actions.

use fedrl_core::Real;
use fedrl_core::random::Block;

use crate::distribution;

/// How a network's outputs become a distribution over actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Head {
    /// A choice among `actions`; the outputs are its logits.
    Categorical {
        /// Number of choices.
        actions: usize,
    },
    /// Independent normal components; the outputs are the means, the logarithms of the standard
    /// deviations are parameters that do not depend on the state.
    DiagonalGaussian {
        /// Dimension of the action.
        actions: usize,
    },
}

/// A sampled action's side information.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampled<F> {
    /// How far the uniform draw lay from the nearest threshold at which another action would have
    /// been taken; infinite where there is no threshold.
    pub margin: F,
}

impl Head {
    /// Outputs that the network must have.
    pub fn outputs(self) -> usize {
        match self {
            Head::Categorical { actions } | Head::DiagonalGaussian { actions } => actions,
        }
    }

    /// Numbers in an action: 1 for a choice, the dimension for a vector.
    pub fn action_width(self) -> usize {
        match self {
            Head::Categorical { .. } => 1,
            Head::DiagonalGaussian { actions } => actions,
        }
    }

    /// Parameters of the head itself: the log standard deviations.
    pub fn parameter_count(self) -> usize {
        match self {
            Head::Categorical { .. } => 0,
            Head::DiagonalGaussian { actions } => actions,
        }
    }

    /// Blocks of random words that a sample consumes.
    pub fn blocks(self) -> usize {
        match self {
            Head::Categorical { .. } => 1,
            Head::DiagonalGaussian { actions } => actions.div_ceil(2),
        }
    }

    /// Draws an action. Categorical: the first whose cumulative probability exceeds the uniform
    /// draw. Gaussian: mean + deviation × Box–Muller normals, two from every block.
    pub fn sample<F: Real>(self, outputs: &[F], log_std: &[F], random: &[Block], action: &mut [F]) -> Sampled<F> {
        let mut margin = [F::INFINITY];
        match self {
            Head::Categorical { actions } => {
                let mut probabilities = vec![F::new(0.0); actions];
                distribution::softmax(outputs, &mut probabilities, actions);
                action[0] = distribution::choose(&probabilities, F::unit(random[0].a), &mut margin, actions);
            }
            Head::DiagonalGaussian { .. } => {
                let mut normals = [F::new(0.0); 2];
                for (i, action) in action.iter_mut().enumerate() {
                    if i % 2 == 0 {
                        let block = random[i / 2];
                        distribution::normals(F::unit(block.a), F::unit(block.b), &mut normals);
                    }
                    *action = outputs[i] + F::exponential(log_std[i]) * normals[i % 2];
                }
            }
        }
        Sampled { margin: margin[0] }
    }

    /// The most probable action.
    pub fn mode<F: Real>(self, outputs: &[F], action: &mut [F]) {
        match self {
            Head::Categorical { actions } => action[0] = distribution::likeliest(outputs, actions),
            Head::DiagonalGaussian { .. } => action.copy_from_slice(outputs),
        }
    }

    /// log π(action). Categorical: the log-softmax of the chosen logit.
    pub fn log_probability<F: Real>(self, outputs: &[F], log_std: &[F], action: &[F]) -> F {
        match self {
            Head::Categorical { actions } => {
                distribution::of_choice(outputs, action[0], actions) - log_sum_exp(outputs)
            }
            Head::DiagonalGaussian { actions } => (0..actions).fold(F::new(0.0), |sum, i| {
                let z = (action[i] - outputs[i]) * F::exponential(-log_std[i]);
                sum + distribution::normal_log_density(z, log_std[i])
            }),
        }
    }

    /// Entropy of the distribution, in nats (differential for the Gaussian).
    pub fn entropy<F: Real>(self, outputs: &[F], log_std: &[F]) -> F {
        match self {
            Head::Categorical { .. } => {
                let normaliser = log_sum_exp(outputs);
                outputs.iter().fold(F::new(0.0), |sum, &logit| {
                    let log_p = logit - normaliser;
                    sum - F::exponential(log_p) * log_p
                })
            }
            Head::DiagonalGaussian { .. } => {
                let each = F::half_log_two_pi() + F::new(0.5);
                log_std.iter().fold(F::new(0.0), |sum, &log_std| sum + log_std + each)
            }
        }
    }
}

/// log Σ exp.
fn log_sum_exp<F: Real>(logits: &[F]) -> F {
    distribution::softmax(logits, &mut vec![F::new(0.0); logits.len()], logits.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedrl_core::random::Key;

    const CHOICE: Head = Head::Categorical { actions: 3 };
    const VECTOR: Head = Head::DiagonalGaussian { actions: 3 };
    const KEY: Key = Key { low: 11, high: 0 };

    #[test]
    fn categorical_probabilities_by_hand() {
        // softmax(0, ln 2, ln 5) = (1, 2, 5) / 8.
        let logits = [0.0f64, 2.0f64.ln(), 5.0f64.ln()];
        for (action, p) in [(0.0, 0.125), (1.0, 0.25), (2.0, 0.625f64)] {
            assert!((CHOICE.log_probability(&logits, &[], &[action]) - p.ln()).abs() < 1e-15);
        }
        let entropy = -(0.125f64 * 0.125f64.ln() + 0.25 * 0.25f64.ln() + 0.625 * 0.625f64.ln());
        assert!((CHOICE.entropy(&logits, &[]) - entropy).abs() < 1e-15);
        let mut mode = [0.0];
        CHOICE.mode(&logits, &mut mode);
        assert_eq!(mode, [2.0]);
    }

    #[test]
    fn a_uniform_draw_names_its_action_and_its_margin() {
        let logits = [0.0f64, 2.0f64.ln(), 5.0f64.ln()];
        let choose = |uniform| {
            let (mut probabilities, mut margin) = ([0.0; 3], [f64::INFINITY]);
            distribution::softmax(&logits, &mut probabilities, 3);
            (distribution::choose(&probabilities, uniform, &mut margin, 3), margin[0])
        };
        assert_eq!(choose(0.0).0, 0.0);
        assert_eq!(choose(0.2).0, 1.0);
        assert_eq!(choose(0.375 + 1e-9).0, 2.0);
        assert_eq!(choose(0.999).0, 2.0);
        assert!((choose(0.2).1 - 0.075).abs() < 1e-12);
        assert!((choose(0.9).1 - 0.525).abs() < 1e-12);
    }

    #[test]
    fn extreme_logits_stay_finite() {
        for logits in [[1e4f32, -1e4, 0.0], [-1e30, -1e30, -1e30]] {
            assert!(CHOICE.entropy(&logits, &[]).is_finite());
            assert!(CHOICE.log_probability(&logits, &[], &[0.0]).is_finite());
        }
    }

    #[test]
    fn gaussian_density_by_hand() {
        // Components N(1, 1) at 2, N(0, 2) at 0, N(0, 1) at 0.
        let (mean, log_std) = ([1.0f64, 0.0, 0.0], [0.0, 2.0f64.ln(), 0.0]);
        let expected = -0.5 - 2.0f64.ln() - 1.5 * std::f64::consts::TAU.ln();
        assert!((VECTOR.log_probability(&mean, &log_std, &[2.0, 0.0, 0.0]) - expected).abs() < 1e-14);
        let entropy = 1.5 * (std::f64::consts::TAU.ln() + 1.0) + 2.0f64.ln();
        assert!((VECTOR.entropy(&mean, &log_std) - entropy).abs() < 1e-14);
    }

    #[test]
    fn samples_have_the_distribution_they_claim() {
        let n = 40_000;
        let logits = [0.0f64, 2.0f64.ln(), 5.0f64.ln()];
        let mut counts = [0.0; 3];
        let (mean, log_std) = ([1.0f64, -2.0, 0.0], [0.0, 0.5f64.ln(), 1.0]);
        let (mut sum, mut square) = ([0.0; 3], [0.0; 3]);
        for i in 0..n {
            let random = [KEY.block([i, 0, 0, 0]), KEY.block([i, 1, 0, 0])];
            let (mut choice, mut vector) = ([0.0], [0.0; 3]);
            CHOICE.sample(&logits, &[], &random, &mut choice);
            counts[choice[0] as usize] += 1.0;
            VECTOR.sample(&mean, &log_std, &random, &mut vector);
            for j in 0..3 {
                sum[j] += vector[j];
                square[j] += (vector[j] - mean[j]).powi(2);
            }
        }
        let n = f64::from(n);
        for (count, p) in counts.iter().zip([0.125, 0.25, 0.625f64]) {
            assert!((count / n - p).abs() < 5.0 * (p * (1.0 - p) / n).sqrt());
        }
        for j in 0..3 {
            let deviation = log_std[j].exp();
            assert!((sum[j] / n - mean[j]).abs() < 5.0 * deviation / n.sqrt());
            assert!(((square[j] / n).sqrt() / deviation - 1.0).abs() < 5.0 / (2.0 * n).sqrt());
        }
    }
}
