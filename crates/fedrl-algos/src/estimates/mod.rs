//! What an algorithm asks of its agents' environments: estimates of gradients. How they are made —
//! from trajectories in lanes or through tensors or tables, or exactly — is no concern
//! of an algorithm's.

mod exact;
mod experience;
mod fused;
mod sampled;
mod tabular;

pub use exact::Exact;
pub use experience::Experience;
pub use fused::Fused;
pub use sampled::{Foreign, Sampled};
pub use tabular::Tabular;

use fedrl_core::random::Key;
use fedrl_engine::{EngineError, Matrix};

use crate::estimator::Weighing;
use crate::{Agent, ImportanceMetrics};

/// What is asked for a block of agents.
#[derive(Clone, Copy)]
pub struct Request<'a, F> {
    /// The agents.
    pub agents: &'a [&'a Agent<F>],
    /// The keys of their draws.
    pub keys: &'a [Key],
    /// B: trajectories of each agent.
    pub batch: usize,
    /// H: steps after which a trajectory is cut.
    pub horizon: usize,
    /// What weighs the scores.
    pub weighing: Weighing,
    /// Greatest importance weight.
    pub is_clip: Option<f64>,
}

/// An agent's estimate of a gradient, the mean over its batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate<F> {
    /// The fresh gradient.
    pub gradient: Vec<F>,
    /// What was lived through for it.
    pub lived: Experience,
    /// Importance weights used, if any.
    pub importance: Option<ImportanceMetrics>,
}

/// A fresh gradient and what corrects it, from the same trajectories.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected<F> {
    /// The fresh gradient.
    pub fresh: Estimate<F>,
    /// The other vector.
    pub correction: Vec<F>,
}

/// A source of estimates. Matrices have a row per agent of the block.
pub trait Estimates<F>: Send + Sync {
    /// g(τ|θ), τ ~ p(·|θ).
    ///
    /// # Errors
    /// The device failed.
    fn gradients(&self, request: &Request<F>, theta: &Matrix<F>) -> Result<Vec<Estimate<F>>, EngineError>;

    /// g(τ|θ), and w(τ|θ′, θ) g(τ|θ′) as its correction, τ ~ p(·|θ). θ′ is `previous`.
    ///
    /// # Errors
    /// The device failed.
    fn importance_corrected(
        &self,
        request: &Request<F>,
        theta: &Matrix<F>,
        previous: &[F],
    ) -> Result<Vec<Corrected<F>>, EngineError>;

    /// w(τ|θ, θ(α)) g(τ|θ), and Λ = ⟨Σ_t S_t(θ(α)), θ − θ′⟩ g(τ|θ(α)) + ∇⟨g(τ|θ(α)), θ − θ′⟩ as its
    /// correction, τ ~ p(·|θ(α)). θ(α) is `between`, θ′ is `previous`.
    ///
    /// # Errors
    /// The device failed.
    fn hessian_corrected(
        &self,
        request: &Request<F>,
        theta: &Matrix<F>,
        between: &Matrix<F>,
        previous: &[F],
    ) -> Result<Vec<Corrected<F>>, EngineError>;

    /// How many agents are worked on at once; such blocks are worked on in parallel.
    fn block_size(&self) -> usize;
}
