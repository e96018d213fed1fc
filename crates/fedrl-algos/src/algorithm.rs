//! What an algorithm is to the training loop: a start and a round.

use std::collections::BTreeMap;

use fedrl_engine::{EngineError, Matrix};

use crate::{AgentReport, World};

/// What one round did.
#[derive(Debug)]
pub struct Round<S> {
    /// The server's state afterwards.
    pub state: S,
    /// What the participating agents did.
    pub reports: Vec<AgentReport>,
}

/// A federated algorithm in the scalar `F`: f32 for training, f64 for what has to be exact.
pub trait Algorithm<F> {
    /// All that changes from round to round.
    type State: ServerState<F> + Clone;

    /// The state before the first round, from initial parameters `theta`.
    ///
    /// # Errors
    /// See [`AlgorithmError`].
    fn start(&self, world: &World<F>, theta: Vec<F>) -> Result<Round<Self::State>, AlgorithmError>;

    /// One round among `participants`.
    ///
    /// # Errors
    /// See [`AlgorithmError`].
    fn round(
        &self,
        world: &World<F>,
        state: &Self::State,
        round: u32,
        participants: &[usize],
    ) -> Result<Round<Self::State>, AlgorithmError>;
}

/// A server's state, as vectors by name: what a checkpoint holds.
pub trait ServerState<F>: Sized {
    /// Parameters θ of the policy that the state stands for.
    fn theta(&self) -> &[F];

    /// θ of every agent's own policy, `[agents, P]`, where they have their own.
    fn policies(&self) -> Option<&Matrix<F>> {
        None
    }

    /// Every vector.
    fn vectors(&self) -> BTreeMap<&'static str, &[F]>;

    /// The state made of these vectors.
    ///
    /// # Errors
    /// The name of the vector that is missing.
    fn from_vectors(vectors: BTreeMap<String, Vec<F>>) -> Result<Self, &'static str>;

    /// Every list of counts, where there are any.
    fn counts(&self) -> BTreeMap<&'static str, Vec<u32>> {
        BTreeMap::new()
    }

    /// The state made of these vectors and counts.
    ///
    /// # Errors
    /// The name of what is missing.
    fn restore(vectors: BTreeMap<String, Vec<F>>, _counts: BTreeMap<String, Vec<u32>>) -> Result<Self, &'static str> {
        Self::from_vectors(vectors)
    }
}

/// Why an algorithm could not go on.
#[derive(Debug, thiserror::Error)]
pub enum AlgorithmError {
    /// An agent's parameters are no longer finite.
    #[error("agent {agent} diverged: its parameters are no longer finite")]
    Diverged {
        /// Which agent.
        agent: usize,
    },
    /// The device failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
