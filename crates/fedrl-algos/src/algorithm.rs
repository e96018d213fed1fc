//! What an algorithm is to the training loop: a start and a round.

use std::collections::BTreeMap;

use fedrl_engine::EngineError;

use crate::{AgentReport, World};

/// What one round did.
#[derive(Debug)]
pub struct Round<S> {
    /// The server's state afterwards.
    pub state: S,
    /// What the participating agents did.
    pub reports: Vec<AgentReport>,
}

/// A federated algorithm.
pub trait Algorithm {
    /// All that changes from round to round.
    type State: ServerState;

    /// The state before the first round, from initial parameters `theta`.
    ///
    /// # Errors
    /// See [`AlgorithmError`].
    fn start(&self, world: &World, theta: Vec<f32>) -> Result<Round<Self::State>, AlgorithmError>;

    /// One round among `participants`.
    ///
    /// # Errors
    /// See [`AlgorithmError`].
    fn round(
        &self,
        world: &World,
        state: &Self::State,
        round: u32,
        participants: &[usize],
    ) -> Result<Round<Self::State>, AlgorithmError>;
}

/// A server's state, as vectors by name: what a checkpoint holds.
pub trait ServerState: Sized {
    /// Parameters θ of the policy that the state stands for.
    fn theta(&self) -> &[f32];

    /// Every vector.
    fn vectors(&self) -> BTreeMap<&'static str, &[f32]>;

    /// The state made of these vectors.
    ///
    /// # Errors
    /// The name of the vector that is missing.
    fn from_vectors(vectors: BTreeMap<String, Vec<f32>>) -> Result<Self, &'static str>;
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
