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
use fedrl_engine::tabular::{Softmax, Tables, Walk, Walked, walk};
use fedrl_engine::{EngineError, Matrix, Rows};

use super::{Corrected, Estimate, Estimated, Estimates, Experience, Request};
use crate::importance::clipped;
use crate::vector::{add_scaled, difference};
use crate::{Advantage, Estimator, ImportanceMetrics};

/// Walks through tables.
#[derive(Debug, Clone)]
pub struct Tabular {
    /// The agents' environments, by the agents' numbers.
    pub tables: Vec<Tables>,
}

impl<F: Scalar> Estimates<F> for Tabular {
    fn gradients(&self, request: &Request<F>, theta: &Rows<F>) -> Result<Estimated<F>, EngineError> {
        let estimate = |agent: Agent| {
            let rewards = agent.regularised(agent.policy, request.weighing.entropy);
            let mut sum = agent.zeros();
            agent.weights(request, &rewards).iter().for_each(|weights| add_scaled(&mut sum, 1.0, weights));
            agent.estimate(agent.policy, &sum, None)
        };
        Ok(Block::walk(self, request, &*theta.host()?).agents().map(estimate).collect())
    }

    fn importance_corrected(
        &self,
        request: &Request<F>,
        theta: &Rows<F>,
        previous: &Rows<F>,
    ) -> Result<Corrected<F>, EngineError> {
        let previous = previous.spread(theta.rows());
        let previous = previous.host()?;
        let correct = |agent: Agent| {
            let other = agent.softmax(previous.row(agent.index));
            let ratio = log_ratio(&other, agent.policy);
            let rewards = agent.regularised(agent.policy, request.weighing.entropy);
            let others = agent.regularised(&other, request.weighing.entropy);
            let (mut sum, mut weighted) = (agent.zeros(), agent.zeros());
            let mut seen = ImportanceMetrics::default();
            let own = agent.weights(request, &rewards);
            let at_other = (request.weighing.entropy > 0.0).then(|| agent.weights(request, &others));
            for ((path, own), other) in agent.paths().zip(&own).zip(at_other.as_ref().unwrap_or(&own)) {
                let weight = clipped(path.total(&ratio).exp(), request.is_clip, &mut seen);
                add_scaled(&mut sum, 1.0, own);
                add_scaled(&mut weighted, weight, other);
            }
            let correction = other.vector(&other.score_sum(&agent.mean(&weighted)));
            (agent.estimate(agent.policy, &sum, Some(seen)), correction)
        };
        Ok(Block::walk(self, request, &*theta.host()?).agents().map(correct).collect())
    }

    fn hessian_corrected(
        &self,
        request: &Request<F>,
        theta: &Rows<F>,
        between: &Rows<F>,
        previous: &Rows<F>,
    ) -> Result<Corrected<F>, EngineError> {
        let entropy = request.weighing.entropy;
        let (theta, previous) = (theta.host()?, previous.spread(theta.rows()));
        let previous = previous.host()?;
        let correct = |agent: Agent| {
            let current = agent.softmax(theta.row(agent.index));
            let ratio = log_ratio(&current, agent.policy);
            let v = difference(theta.row(agent.index), previous.row(agent.index));
            let along = agent.policy.centred(&agent.policy.table(&v));
            // What −τ log π changes along v.
            let slopes: Vec<f64> = along.iter().map(|along| -entropy * along).collect();
            let rewards = agent.regularised(agent.policy, entropy);
            let at_current = agent.regularised(&current, entropy);
            let (mut weighted, mut inner, mut outer) = (agent.zeros(), agent.zeros(), agent.zeros());
            let mut seen = ImportanceMetrics::default();
            let (own, current_own) = (agent.weights(request, &rewards), agent.weights(request, &at_current));
            for ((path, own), at_current) in agent.paths().zip(&own).zip(&current_own) {
                add_scaled(&mut inner, 1.0, own);
                add_scaled(&mut outer, path.total(&along), own);
                let weight = clipped(path.total(&ratio).exp(), request.is_clip, &mut seen);
                add_scaled(&mut weighted, weight, at_current);
            }
            if entropy > 0.0 {
                agent.paths().for_each(|path| path.add_weights(request, &slopes, &mut outer));
            }
            // Λ = ⟨Σ_t S_t, v⟩ g + ∇⟨g, v⟩
            let mut curvature = agent.policy.score_sum(&agent.mean(&outer));
            add_scaled(&mut curvature, 1.0, &agent.policy.hessian_sum(&agent.mean(&inner), &along));
            let fresh = agent.estimate(&current, &weighted, Some(seen));
            (fresh, agent.policy.vector(&curvature))
        };
        Ok(Block::walk(self, request, &*between.host()?).agents().map(correct).collect())
    }

    fn block_size(&self) -> usize {
        usize::MAX
    }
}

/// The trajectories of a block of agents.
struct Block<'a> {
    tables: Vec<&'a Tables>,
    policies: Vec<Softmax>,
    /// `[agents, batch]` of them.
    walked: Walked,
    batch: usize,
    /// γ^t.
    powers: Vec<f64>,
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
        let walked = walk(&walks.collect::<Vec<_>>(), &policies, request.horizon);
        let powers = std::iter::successors(Some(1.0), |power| Some(power * request.weighing.discount));
        let powers = powers.take(request.horizon).collect();
        Block { tables, policies, walked, batch: request.batch, powers }
    }

    fn agents(&self) -> impl Iterator<Item = Agent<'_>> {
        let share = |all: usize| all / self.tables.len();
        let pairs = self.walked.pairs.chunks_exact(share(self.walked.pairs.len()));
        let counts = self.walked.counts.chunks_exact(share(self.walked.counts.len()));
        let agents = self.tables.iter().zip(&self.policies).zip(pairs.zip(counts)).enumerate();
        let (batch, powers) = (self.batch, self.powers.as_slice());
        agents.map(move |(index, ((tables, policy), (pairs, counts)))| Agent {
            index,
            tables,
            policy,
            pairs,
            counts,
            powers,
            batch,
        })
    }
}

/// One agent's trajectories.
struct Agent<'a> {
    index: usize,
    tables: &'a Tables,
    /// The policy that acted.
    policy: &'a Softmax,
    pairs: &'a [u16],
    counts: &'a [u32],
    powers: &'a [f64],
    batch: usize,
}

impl Agent<'_> {
    fn paths(&self) -> impl Iterator<Item = Path<'_>> {
        let pairs = self.pairs.chunks_exact(self.pairs.len() / self.batch);
        let counts = self.counts.chunks_exact(self.counts.len() / self.batch);
        pairs.zip(counts).map(|(pairs, counts)| Path { pairs, counts, powers: self.powers })
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

    /// C(s, a) of each path: the sum of Ψ_t over its visits to (s, a), with these rewards of pairs.
    fn weights<F>(&self, request: &Request<F>, rewards: &[f64]) -> Vec<Vec<f64>> {
        let alone = |path: Path| {
            let mut weights = self.zeros();
            path.add_weights(request, rewards, &mut weights);
            weights
        };
        if request.weighing.advantage != Advantage::Baseline {
            return self.paths().map(alone).collect();
        }
        let along = |path: Path<'_>| path.pairs.iter().map(|&pair| rewards[usize::from(pair)]).collect::<Vec<f64>>();
        let lived: Vec<Vec<f64>> = self.paths().map(along).collect();
        let psi = request.weighing.batch(lived.iter().map(|rewards| rewards.iter().copied()));
        let scatter = |(path, psi): (Path, Vec<f64>)| {
            let mut weights = self.zeros();
            path.pairs.iter().zip(psi).for_each(|(&pair, psi)| weights[usize::from(pair)] += psi);
            weights
        };
        self.paths().zip(psi).map(scatter).collect()
    }

    /// The mean over the batch, from the sum.
    fn mean(&self, sum: &[f64]) -> Vec<f64> {
        sum.iter().map(|x| x / self.batch as f64).collect()
    }

    /// The mean over the batch of Σ C ∇log π, C summed over the batch.
    fn estimate<F: Scalar>(&self, policy: &Softmax, sum: &[f64], importance: Option<ImportanceMetrics>) -> Estimate<F> {
        let gradient = policy.vector(&policy.score_sum(&self.mean(sum)));
        let lived = Experience {
            trajectories: self.batch,
            env_steps: self.pairs.len() as u64,
            return_sum: self.paths().map(|path| path.total(&self.tables.mdp.reward)).sum(),
            ..Experience::default()
        };
        Estimate { gradient, lived, importance }
    }
}

/// One trajectory.
struct Path<'a> {
    pairs: &'a [u16],
    /// n(s, a).
    counts: &'a [u32],
    powers: &'a [f64],
}

impl Path<'_> {
    /// The sum of a table's entries along the path.
    fn total(&self, table: &[f64]) -> f64 {
        self.counts.iter().zip(table).map(|(&n, x)| f64::from(n) * x).sum()
    }

    /// Adds Ψ_t of this path alone to the pairs that it visits, with these rewards of pairs.
    fn add_weights<F>(&self, request: &Request<F>, rewards: &[f64], weights: &mut [f64]) {
        let weighing = &request.weighing;
        if (weighing.estimator, weighing.advantage) == (Estimator::Gpomdp, Advantage::None) {
            // Backwards, so that nothing is stored.
            let mut ahead = 0.0;
            for (&pair, power) in self.pairs.iter().zip(self.powers).rev() {
                ahead += power * rewards[usize::from(pair)];
                weights[usize::from(pair)] += ahead;
            }
            return;
        }
        let psi = weighing.psi(self.pairs.iter().map(|&pair| rewards[usize::from(pair)]));
        self.pairs.iter().zip(psi).for_each(|(&pair, psi)| weights[usize::from(pair)] += psi);
    }
}

/// log π′ − log π of every pair.
fn log_ratio(target: &Softmax, behaviour: &Softmax) -> Vec<f64> {
    difference(&target.log_probability, &behaviour.log_probability)
}
