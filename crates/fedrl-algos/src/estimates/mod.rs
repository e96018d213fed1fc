//! What an algorithm asks of its agents' environments: estimates of gradients. How they are made —
//! from trajectories in lanes, in kernels, through tensors or tables, or exactly — is no concern of an
//! algorithm's.

mod device;
mod exact;
mod experience;
mod fused;
mod sampled;
mod tabular;
mod together;

pub use device::OnDevice;
pub use exact::Exact;
pub use experience::Experience;
pub use fused::Fused;
pub use sampled::{Foreign, Sampled};
pub use tabular::Tabular;
pub use together::Together;

use fedrl_core::Scalar;
use fedrl_core::random::Key;
use fedrl_engine::{EngineError, Matrix, Rows};

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

/// An agent's estimate of a gradient, the mean over its batch, in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate<F> {
    /// The fresh gradient.
    pub gradient: Vec<F>,
    /// What was lived through for it.
    pub lived: Experience,
    /// Importance weights used, if any.
    pub importance: Option<ImportanceMetrics>,
}

/// The estimates of a block of agents.
#[derive(Debug, Clone)]
pub struct Estimated<F> {
    /// The fresh gradients.
    pub gradients: Rows<F>,
    /// What each agent lived through for its own.
    pub lived: Vec<Experience>,
    /// Importance weights that each of them used, if any.
    pub importance: Option<Vec<ImportanceMetrics>>,
}

/// Fresh gradients and what corrects them, from the same trajectories.
#[derive(Debug, Clone)]
pub struct Corrected<F> {
    /// The fresh gradients.
    pub fresh: Estimated<F>,
    /// The other vectors.
    pub corrections: Rows<F>,
}

impl<F: Scalar> Estimated<F> {
    /// The estimates of all agents, from those of blocks, of which there is at least one.
    fn join(mut blocks: Vec<Self>) -> Self {
        if blocks.len() == 1 {
            return blocks.remove(0);
        }
        let importance: Option<Vec<_>> = blocks.iter().map(|block| block.importance.clone()).collect();
        Estimated {
            gradients: Rows::stack(&blocks.iter().map(|block| &block.gradients).collect::<Vec<_>>()),
            lived: blocks.iter().flat_map(|block| block.lived.clone()).collect(),
            importance: importance.map(|importance| importance.concat()),
        }
    }
}

impl<F: Scalar> FromIterator<Estimate<F>> for Estimated<F> {
    fn from_iter<I: IntoIterator<Item = Estimate<F>>>(estimates: I) -> Self {
        let estimates: Vec<Estimate<F>> = estimates.into_iter().collect();
        Estimated {
            gradients: Matrix::from_rows(estimates.iter().map(|estimate| &estimate.gradient)).into(),
            lived: estimates.iter().map(|estimate| estimate.lived).collect(),
            importance: estimates.iter().map(|estimate| estimate.importance).collect(),
        }
    }
}

impl<F: Scalar> FromIterator<(Estimate<F>, Vec<F>)> for Corrected<F> {
    fn from_iter<I: IntoIterator<Item = (Estimate<F>, Vec<F>)>>(corrected: I) -> Self {
        let (fresh, corrections): (Vec<Estimate<F>>, Vec<Vec<F>>) = corrected.into_iter().unzip();
        Corrected { fresh: fresh.into_iter().collect(), corrections: Matrix::from_rows(corrections).into() }
    }
}

/// A source of estimates. Rows are those of the agents of the block, and lie where [`Estimates::repeat`] puts
/// them; θ′ may be one row that all of them share.
pub trait Estimates<F>: Send + Sync {
    /// `rows` copies of a row, where estimates are made.
    fn repeat(&self, row: &[F], rows: usize) -> Rows<F>
    where
        F: Copy,
    {
        Matrix::repeat(row, rows).into()
    }

    /// g(τ|θ), τ ~ p(·|θ).
    ///
    /// # Errors
    /// The device failed.
    fn gradients(&self, request: &Request<F>, theta: &Rows<F>) -> Result<Estimated<F>, EngineError>;

    /// g(τ|θ), and w(τ|θ′, θ) g(τ|θ′) as its correction, τ ~ p(·|θ). θ′ is `previous`.
    ///
    /// # Errors
    /// The device failed.
    fn importance_corrected(
        &self,
        request: &Request<F>,
        theta: &Rows<F>,
        previous: &Rows<F>,
    ) -> Result<Corrected<F>, EngineError>;

    /// w(τ|θ, θ(α)) g(τ|θ), and Λ = ⟨Σ_t S_t(θ(α)), θ − θ′⟩ g(τ|θ(α)) + ∇⟨g(τ|θ(α)), θ − θ′⟩ as its
    /// correction, τ ~ p(·|θ(α)). θ(α) is `between`, θ′ is `previous`.
    ///
    /// # Errors
    /// The device failed.
    fn hessian_corrected(
        &self,
        request: &Request<F>,
        theta: &Rows<F>,
        between: &Rows<F>,
        previous: &Rows<F>,
    ) -> Result<Corrected<F>, EngineError>;

    /// How many agents are worked on at once; such blocks are worked on in parallel.
    fn block_size(&self) -> usize;
}
