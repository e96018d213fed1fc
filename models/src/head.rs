//! Distributions over actions.

use fedrl_core::Real;
use fedrl_core::random::Block;

/// How a network's outputs become a distribution over actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        match self {
            Head::Categorical { .. } => {
                let (choice, margin) = choose(outputs, F::unit(random[0].a));
                action[0] = choice;
                Sampled { margin }
            }
            Head::DiagonalGaussian { .. } => {
                for (i, action) in action.iter_mut().enumerate() {
                    let (first, second) = normals::<F>(random[i / 2]);
                    let normal = if i % 2 == 0 { first } else { second };
                    *action = outputs[i] + F::exponential(log_std[i]) * normal;
                }
                Sampled { margin: F::INFINITY }
            }
        }
    }

    /// The most probable action.
    pub fn mode<F: Real>(self, outputs: &[F], action: &mut [F]) {
        match self {
            Head::Categorical { .. } => {
                let mut best = 0;
                for i in 1..outputs.len() {
                    if outputs[i] > outputs[best] {
                        best = i;
                    }
                }
                action[0] = F::new(best as f32);
            }
            Head::DiagonalGaussian { .. } => action.copy_from_slice(outputs),
        }
    }

    /// log π(action). Categorical: the log-softmax of the chosen logit.
    pub fn log_probability<F: Real>(self, outputs: &[F], log_std: &[F], action: &[F]) -> F {
        match self {
            Head::Categorical { .. } => {
                let mut logit = outputs[0];
                for (i, &output) in outputs.iter().enumerate() {
                    if F::new(i as f32) == action[0] {
                        logit = output;
                    }
                }
                logit - log_sum_exp(outputs)
            }
            Head::DiagonalGaussian { .. } => {
                let half_log_two_pi = F::natural_log(F::two_pi()) / F::new(2.0);
                let mut sum = F::new(0.0);
                for i in 0..outputs.len() {
                    let z = (action[i] - outputs[i]) * F::exponential(-log_std[i]);
                    sum = sum - z * z / F::new(2.0) - log_std[i] - half_log_two_pi;
                }
                sum
            }
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
                let each = (F::natural_log(F::two_pi()) + F::new(1.0)) / F::new(2.0);
                log_std.iter().fold(F::new(0.0), |sum, &log_std| sum + log_std + each)
            }
        }
    }
}

/// log Σ exp, shifted by the maximum so that it cannot overflow.
fn log_sum_exp<F: Real>(x: &[F]) -> F {
    let max = x.iter().fold(F::NEG_INFINITY, |max, &x| if x > max { x } else { max });
    max + F::natural_log(x.iter().fold(F::new(0.0), |sum, &x| sum + F::exponential(x - max)))
}

/// The choice that `uniform` names under softmax(`logits`), and its margin.
fn choose<F: Real>(logits: &[F], uniform: F) -> (F, F) {
    let normaliser = log_sum_exp(logits);
    let mut cumulative = F::new(0.0);
    let mut choice = None;
    let mut margin = F::INFINITY;
    for (i, &logit) in logits.iter().enumerate().take(logits.len() - 1) {
        cumulative += F::exponential(logit - normaliser);
        let distance = if uniform < cumulative { cumulative - uniform } else { uniform - cumulative };
        if distance < margin {
            margin = distance;
        }
        if choice.is_none() && uniform < cumulative {
            choice = Some(F::new(i as f32));
        }
    }
    (choice.unwrap_or(F::new((logits.len() - 1) as f32)), margin)
}

/// Two standard normals from one block (Box & Muller 1958). The first uniform is taken from
/// (0, 1], so that its logarithm is finite.
fn normals<F: Real>(block: Block) -> (F, F) {
    let radius = F::square_root(-F::new(2.0) * F::natural_log(F::new(1.0) - F::unit(block.a)));
    let angle = F::two_pi() * F::unit(block.b);
    (radius * F::cosine(angle), radius * F::sine(angle))
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
        let choose = |uniform| choose(&logits, uniform);
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
