//! J and ∇J by linear solves.

use fedrl_envs::Mdp;

use super::{Softmax, Tables};

/// What a policy is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// J = E Σ_t γ^t (R_t + τ H(π(·|s_t))), over infinitely many steps.
    pub objective: f64,
    /// ∇J, a table of pairs.
    pub gradient: Vec<f64>,
}

impl Tables {
    /// J and ∇J of `policy` with discount γ < 1 and entropy temperature τ, by the policy-gradient
    /// theorem: ∇J(s, a) = d(s) π(a|s) A(s, a), where d = (I − γ P_πᵀ)⁻¹ ρ counts discounted visits
    /// and A(s, a) = R + γ P V − τ log π − V with V = (I − γ P_π)⁻¹ (R_π + τ H).
    pub fn evaluate(&self, policy: &Softmax, discount: f64, entropy: f64) -> Evaluation {
        let Mdp { states, actions, ref initial, ref reward, .. } = self.mdp;
        let mut to_go = vec![0.0; states * states];
        let mut visits = vec![0.0; states * states];
        let mut value: Vec<f64> = policy.entropy().iter().map(|bonus| entropy * bonus).collect();
        for state in 0..states {
            for action in 0..actions {
                let pair = state * actions + action;
                let p = policy.probability[pair];
                value[state] += p * reward[pair];
                for (next, likely) in self.mdp.next(pair).iter().enumerate() {
                    to_go[state * states + next] -= discount * p * likely;
                    visits[next * states + state] -= discount * p * likely;
                }
            }
            to_go[state * states + state] += 1.0;
            visits[state * states + state] += 1.0;
        }
        solve(&mut to_go, &mut value);
        let mut visited = initial.clone();
        solve(&mut visits, &mut visited);

        let advantage = |pair: usize| {
            let ahead: f64 = self.mdp.next(pair).iter().zip(&value).map(|(likely, value)| likely * value).sum();
            reward[pair] + discount * ahead - entropy * policy.log_probability[pair] - value[pair / actions]
        };
        let gradient = |pair: usize| match policy.probability[pair] {
            // A policy that never takes the action: τ log π is infinite there, their product is not.
            0.0 => 0.0,
            p => visited[pair / actions] * p * advantage(pair),
        };
        Evaluation {
            objective: initial.iter().zip(&value).map(|(first, value)| first * value).sum(),
            gradient: (0..states * actions).map(gradient).collect(),
        }
    }
}

/// Solves `matrix · x = right` in place by Gaussian elimination with partial pivoting. The matrices
/// here are I − γP with γ < 1, which are never singular.
fn solve(matrix: &mut [f64], right: &mut [f64]) {
    let n = right.len();
    for column in 0..n {
        let size = |row: usize| matrix[row * n + column].abs();
        let pivot = (column..n).max_by(|&a, &b| size(a).total_cmp(&size(b))).unwrap_or(column);
        if pivot != column {
            (0..n).for_each(|j| matrix.swap(column * n + j, pivot * n + j));
            right.swap(column, pivot);
        }
        for row in column + 1..n {
            let factor = matrix[row * n + column] / matrix[column * n + column];
            (column..n).for_each(|j| matrix[row * n + j] -= factor * matrix[column * n + j]);
            right[row] -= factor * right[column];
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|j| matrix[row * n + j] * right[j]).sum();
        right[row] = (right[row] - known) / matrix[row * n + row];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedrl_envs::{Instance, RandomMdp};

    fn tables() -> Tables {
        let given = [("kappa", 0.5), ("reward_kappa", 0.5), ("own", 3.0), ("mdp", 8.0)];
        let given = given.map(|(name, value)| (name.to_string(), value)).into();
        Tables::new(Instance::new(&RandomMdp, given).unwrap().mdp().unwrap())
    }

    fn theta() -> Vec<f64> {
        (0..25).map(|i| (1.7 * f64::from(i)).sin()).collect()
    }

    /// J by summing 2,000 steps of the forward equation.
    fn forward(tables: &Tables, theta: &[f64], discount: f64, entropy: f64) -> f64 {
        let policy = Softmax::new(theta, 5, 5);
        let bonus = policy.entropy();
        let (mut at, mut factor, mut sum) = (tables.mdp.initial.clone(), 1.0, 0.0);
        for _ in 0..2000 {
            let mut next = vec![0.0; 5];
            for state in 0..5 {
                sum += factor * at[state] * entropy * bonus[state];
                for pair in state * 5..state * 5 + 5 {
                    let p = at[state] * policy.probability[pair];
                    sum += factor * p * tables.mdp.reward[pair];
                    next.iter_mut().zip(tables.mdp.next(pair)).for_each(|(next, likely)| *next += p * likely);
                }
            }
            (at, factor) = (next, factor * discount);
        }
        sum
    }

    #[test]
    fn the_objective_is_the_discounted_sum() {
        for entropy in [0.0, 0.1] {
            let exact = tables().evaluate(&Softmax::new(&theta(), 5, 5), 0.9, entropy).objective;
            let summed = forward(&tables(), &theta(), 0.9, entropy);
            assert!((exact - summed).abs() < 1e-12, "{exact} {summed}");
        }
    }

    #[test]
    fn the_gradient_equals_central_differences() {
        let (tables, theta, h) = (tables(), theta(), 1e-5);
        for entropy in [0.0, 0.1] {
            let policy = Softmax::new(&theta, 5, 5);
            let gradient: Vec<f64> = policy.vector(&tables.evaluate(&policy, 0.9, entropy).gradient);
            for (place, gradient) in gradient.iter().enumerate() {
                let at = |h: f64| {
                    let mut theta = theta.clone();
                    theta[place] += h;
                    tables.evaluate(&Softmax::new(&theta, 5, 5), 0.9, entropy).objective
                };
                let slope = (at(h) - at(-h)) / (2.0 * h);
                assert!((gradient - slope).abs() < 1e-9, "{place}: {gradient} {slope}");
            }
        }
    }

    #[test]
    fn a_system_that_needs_pivoting_is_solved() {
        // 2y = 4, x + y = 5.
        let mut x = [4.0, 5.0];
        solve(&mut [0.0, 2.0, 1.0, 1.0], &mut x);
        assert_eq!(x, [3.0, 2.0]);
    }
}
