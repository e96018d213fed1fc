//! The limit without noise: gradients of the expected return itself, from tables.

use fedrl_core::Scalar;
use fedrl_engine::tabular::{Softmax, Tables};
use fedrl_engine::{EngineError, Rows};

use super::{Corrected, Estimate, Estimated, Estimates, Experience, Request};

/// What the sampled estimates are the expectations of, over infinitely many steps: ∇J_i(θ) for a
/// gradient, ∇J_i(θ′) for an importance-weighted one, ∇J_i(θ) − ∇J_i(θ′) for a Hessian-aided
/// difference (over α, too).
#[derive(Debug, Clone)]
pub struct Exact {
    /// The agents' environments, by the agents' numbers.
    pub tables: Vec<Tables>,
}

impl<F: Scalar> Estimates<F> for Exact {
    fn gradients(&self, request: &Request<F>, theta: &Rows<F>) -> Result<Estimated<F>, EngineError> {
        let theta = theta.host()?;
        Ok((0..request.agents.len()).map(|index| self.gradient(request, index, theta.row(index))).collect())
    }

    fn importance_corrected(
        &self,
        request: &Request<F>,
        theta: &Rows<F>,
        previous: &Rows<F>,
    ) -> Result<Corrected<F>, EngineError> {
        let fresh = self.gradients(request, theta)?;
        let corrections = self.gradients(request, &previous.spread(theta.rows()))?.gradients;
        Ok(Corrected { fresh, corrections })
    }

    fn hessian_corrected(
        &self,
        request: &Request<F>,
        theta: &Rows<F>,
        _between: &Rows<F>,
        previous: &Rows<F>,
    ) -> Result<Corrected<F>, EngineError> {
        let Corrected { fresh, corrections: others } = self.importance_corrected(request, theta, previous)?;
        let corrections = fresh.gradients.minus(&others);
        Ok(Corrected { fresh, corrections })
    }

    fn block_size(&self) -> usize {
        usize::MAX
    }
}

impl Exact {
    /// ∇J_i(θ) of agent `index` of the block.
    fn gradient<F: Scalar>(&self, request: &Request<F>, index: usize, theta: &[F]) -> Estimate<F> {
        let tables = &self.tables[request.agents[index].id];
        let policy = Softmax::new(theta, tables.mdp.states, tables.mdp.actions);
        let exact = tables.evaluate(&policy, request.weighing.discount, request.weighing.entropy);
        let lived = Experience { trajectories: 1, return_sum: exact.objective, ..Experience::default() };
        Estimate { gradient: policy.vector(&exact.gradient), lived, importance: None }
    }
}
