//! Estimates from trajectories, through tables: tabular softmax policies on finite decision
//! processes. The numbers are those of [`Sampled`](super::Sampled) on the same draws; the time is a
//! hundredth.
//!
//! A trajectory enters an estimate only through how often it visits each pair, n(s, a), and through
//! the sums C(s, a) of Ψ_t over those visits:
//!
//! ```text
//! g(τ|θ) = Σ C ∇log π,  log w(τ|θ′, θ) = Σ n (log π′ − log π),  ⟨Σ_t S_t, v⟩ = Σ n ⟨∇log π, v⟩
//! ```
//!
//! the sums running over pairs.

use fedrl_core::Scalar;
use fedrl_engine::tabular::{Softmax, Tables, Walk, walk};
use fedrl_engine::{EngineError, Matrix};

use super::{Corrected, Estimate, Estimates, Experience, Request};
use crate::ImportanceMetrics;
use crate::importance::clipped;
use crate::vector::{add_scaled, difference};

/// Walks through tables.
#[derive(Debug, Clone)]
pub struct Tabular {
    /// The agents' environments, by the agents' numbers.
    pub tables: Vec<Tables>,
}

impl<F: Scalar> Estimates<F> for Tabular {
    fn gradients(&self, request: &Request<F>, theta: &Matrix<F>) -> Result<Vec<Estimate<F>>, EngineError> {
        let estimate = |agent: Agent| {
            let rewards = agent.regularised(agent.policy, request.weighing.entropy);
            let mut sum = agent.zeros();
            for path in agent.paths() {
                add_scaled(&mut sum, 1.0, &agent.visit_weights(request, path, &rewards));
            }
            agent.estimate(agent.policy, &sum, None)
        };
        Ok(Block::walk(self, request, theta).agents().map(estimate).collect())
    }

    fn importance_corrected(
        &self,
        request: &Request<F>,
        theta: &Matrix<F>,
        previous: &[F],
    ) -> Result<Vec<Corrected<F>>, EngineError> {
        let correct = |agent: Agent| {
            let other = agent.softmax(previous);
            let ratio = log_ratio(&other, agent.policy);
            let rewards = agent.regularised(agent.policy, request.weighing.entropy);
            let others = agent.regularised(&other, request.weighing.entropy);
            let (mut sum, mut weighted) = (agent.zeros(), agent.zeros());
            let mut seen = ImportanceMetrics::default();
            for path in agent.paths() {
                let own = agent.visit_weights(request, path, &rewards);
                let weight = clipped(total(path, &ratio).exp(), request.is_clip, &mut seen);
                add_scaled(&mut sum, 1.0, &own);
                if rewards == others {
                    add_scaled(&mut weighted, weight, &own);
                } else {
                    add_scaled(&mut weighted, weight, &agent.visit_weights(request, path, &others));
                }
            }
            let correction = other.vector(&other.score_sum(&agent.mean(&weighted)));
            Corrected { fresh: agent.estimate(agent.policy, &sum, Some(seen)), correction }
        };
        Ok(Block::walk(self, request, theta).agents().map(correct).collect())
    }

    fn hessian_corrected(
        &self,
        request: &Request<F>,
        theta: &Matrix<F>,
        between: &Matrix<F>,
        previous: &[F],
    ) -> Result<Vec<Corrected<F>>, EngineError> {
        let entropy = request.weighing.entropy;
        let correct = |agent: Agent| {
            let current = agent.softmax(theta.row(agent.index));
            let ratio = log_ratio(&current, agent.policy);
            let v = difference(theta.row(agent.index), previous);
            let along = agent.policy.centred(&agent.policy.table(&v));
            // What −τ log π changes along v.
            let slopes: Vec<f64> = along.iter().map(|along| -entropy * along).collect();
            let rewards = agent.regularised(agent.policy, entropy);
            let at_current = agent.regularised(&current, entropy);
            let (mut weighted, mut inner, mut outer) = (agent.zeros(), agent.zeros(), agent.zeros());
            let mut seen = ImportanceMetrics::default();
            for path in agent.paths() {
                let own = agent.visit_weights(request, path, &rewards);
                add_scaled(&mut inner, 1.0, &own);
                add_scaled(&mut outer, total(path, &along), &own);
                if entropy > 0.0 {
                    add_scaled(&mut outer, 1.0, &agent.visit_weights(request, path, &slopes));
                }
                let weight = clipped(total(path, &ratio).exp(), request.is_clip, &mut seen);
                add_scaled(&mut weighted, weight, &agent.visit_weights(request, path, &at_current));
            }
            // Λ = ⟨Σ_t S_t, v⟩ g + ∇⟨g, v⟩
            let mut curvature = agent.policy.score_sum(&agent.mean(&outer));
            add_scaled(&mut curvature, 1.0, &agent.policy.hessian_sum(&agent.mean(&inner), &along));
            let fresh = agent.estimate(&current, &weighted, Some(seen));
            Corrected { fresh, correction: agent.policy.vector(&curvature) }
        };
        Ok(Block::walk(self, request, between).agents().map(correct).collect())
    }

    fn one_by_one(&self) -> bool {
        false
    }
}

/// The trajectories of a block of agents.
struct Block<'a> {
    tables: Vec<&'a Tables>,
    policies: Vec<Softmax>,
    /// Pairs, `[agents, batch, horizon]`.
    pairs: Vec<u16>,
    batch: usize,
    horizon: usize,
}

impl<'a> Block<'a> {
    /// τ ~ p_i(·|θ), a batch per agent.
    fn walk<F: Scalar>(tabular: &'a Tabular, request: &Request<F>, theta: &Matrix<F>) -> Self {
        let tables: Vec<&Tables> = request.agents.iter().map(|agent| &tabular.tables[agent.id]).collect();
        let softmax =
            |(index, tables): (usize, &&Tables)| Softmax::new(theta.row(index), tables.mdp.states, tables.mdp.actions);
        let policies: Vec<Softmax> = tables.iter().enumerate().map(softmax).collect();
        let walks = tables.iter().zip(request.keys).enumerate().flat_map(|(policy, (&tables, &key))| {
            (0..request.batch as u32).map(move |trajectory| Walk { tables, policy, key, trajectory })
        });
        let pairs = walk(&walks.collect::<Vec<_>>(), &policies, request.horizon);
        Block { tables, policies, pairs, batch: request.batch, horizon: request.horizon }
    }

    fn agents(&self) -> impl Iterator<Item = Agent<'_>> {
        let pairs = self.pairs.chunks_exact(self.batch * self.horizon);
        let agents = self.tables.iter().zip(&self.policies).zip(pairs).enumerate();
        let batch = self.batch;
        agents.map(move |(index, ((tables, policy), pairs))| Agent { index, tables, policy, pairs, batch })
    }
}

/// One agent's trajectories.
struct Agent<'a> {
    index: usize,
    tables: &'a Tables,
    /// The policy that acted.
    policy: &'a Softmax,
    pairs: &'a [u16],
    batch: usize,
}

impl Agent<'_> {
    fn paths(&self) -> impl Iterator<Item = &[u16]> {
        self.pairs.chunks_exact(self.pairs.len() / self.batch)
    }

    fn zeros(&self) -> Vec<f64> {
        vec![0.0; self.tables.mdp.reward.len()]
    }

    fn softmax<F: Scalar>(&self, theta: &[F]) -> Softmax {
        Softmax::new(theta, self.tables.mdp.states, self.tables.mdp.actions)
    }

    /// R − τ log π of every pair.
    fn regularised(&self, policy: &Softmax, entropy: f64) -> Vec<f64> {
        if entropy == 0.0 {
            return self.tables.mdp.reward.clone();
        }
        let pairs = self.tables.mdp.reward.iter().zip(&policy.log_probability);
        pairs.map(|(reward, log)| reward - entropy * log).collect()
    }

    /// C(s, a) = Σ Ψ_t over the path's visits to (s, a), with these rewards of pairs.
    fn visit_weights<F>(&self, request: &Request<F>, path: &[u16], rewards: &[f64]) -> Vec<f64> {
        let mut weights = self.zeros();
        let psi = request.weighing.psi(path.iter().map(|&pair| rewards[usize::from(pair)]));
        path.iter().zip(psi).for_each(|(&pair, psi)| weights[usize::from(pair)] += psi);
        weights
    }

    /// The mean over the batch, from the sum.
    fn mean(&self, sum: &[f64]) -> Vec<f64> {
        sum.iter().map(|x| x / self.batch as f64).collect()
    }

    /// The mean over the batch of Σ C ∇log π, C summed over the batch.
    fn estimate<F: Scalar>(&self, policy: &Softmax, sum: &[f64], importance: Option<ImportanceMetrics>) -> Estimate<F> {
        let gradient = policy.vector(&policy.score_sum(&self.mean(sum)));
        Estimate { gradient, lived: self.experience(), importance }
    }

    fn experience(&self) -> Experience {
        let rewards = &self.tables.mdp.reward;
        Experience {
            trajectories: self.batch,
            env_steps: self.pairs.len() as u64,
            return_sum: total(self.pairs, rewards),
            ..Experience::default()
        }
    }
}

/// log π′ − log π of every pair.
fn log_ratio(target: &Softmax, behaviour: &Softmax) -> Vec<f64> {
    difference(&target.log_probability, &behaviour.log_probability)
}

/// The sum of a table's entries along a path.
fn total(path: &[u16], table: &[f64]) -> f64 {
    path.iter().map(|&pair| table[usize::from(pair)]).sum()
}
