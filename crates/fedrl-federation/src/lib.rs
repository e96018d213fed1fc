//! Who may see what.
//!
//! A federated algorithm is two halves that meet only in two message types: the server sends a
//! `Broadcast`, every participating agent answers with an `Upload`. An agent's trajectories,
//! rewards and personal state can reach nobody because no message has a field for them. The
//! simulator runs the agents' halves side by side; a deployment runs each in a process of its own.

mod aggregate;
mod participation;

use fedrl_core::Scalar;

pub use aggregate::{mean, weighted_mean};
pub use participation::Participation;

/// What is sent between server and agents, and how much of the network it takes.
pub trait Message {
    /// Bytes on the wire.
    fn bytes(&self) -> u64;

    /// Whether every number in it is finite. A server leaves out what is not.
    fn is_finite(&self) -> bool;
}

/// A message of one vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector<F>(pub Vec<F>);

impl<F: Scalar> Message for Vector<F> {
    fn bytes(&self) -> u64 {
        vector_bytes(&self.0)
    }

    fn is_finite(&self) -> bool {
        all_finite(&self.0)
    }
}

/// An agent's answer: what it remembers, what it says, and what an observer of the simulation
/// may look at.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<State, Upload, Metrics> {
    /// Stays with the agent.
    pub state: State,
    /// Goes to the server.
    pub upload: Upload,
    /// Never sent.
    pub metrics: Metrics,
}

/// Bytes of one vector on the wire, where numbers are f32.
pub fn vector_bytes<F>(vector: &[F]) -> u64 {
    4 * vector.len() as u64
}

/// Whether every number of a vector is finite.
pub fn all_finite<F: Scalar>(vector: &[F]) -> bool {
    vector.iter().all(|x| x.as_double().is_finite())
}

/// An agent's half: `(Broadcast, State, Environment) → (State, Upload)`, for a block of agents at
/// once. A deployment calls it with a block of one.
pub trait AgentHalf<Agent> {
    /// What the server said.
    type Broadcast: Message;
    /// What stays with the agent from round to round.
    type State;
    /// What the agent answers.
    type Upload: Message;
    /// What an observer of the simulation may look at. Never sent.
    type Metrics;
    /// Why it failed.
    type Error;

    /// Works through one exchange for each agent of the block.
    ///
    /// # Errors
    /// Whatever stops an agent from answering.
    fn answer(
        &self,
        broadcast: &Self::Broadcast,
        block: &[(&Agent, &Self::State)],
    ) -> Result<Answers<Self, Agent>, Self::Error>;
}

/// The answers of a block of agents.
pub type Answers<H, Agent> =
    Vec<Answer<<H as AgentHalf<Agent>>::State, <H as AgentHalf<Agent>>::Upload, <H as AgentHalf<Agent>>::Metrics>>;

/// An agent's half whose state is too much to be handed around, such as a memory of what it lived
/// through: `(Broadcast, &mut State, Environment) → Upload`.
pub trait ResidentHalf<Agent> {
    /// What the server said.
    type Broadcast: Message;
    /// What stays with the agent from round to round, where it is.
    type State;
    /// What the agent answers: a view of the part of its state that it shares.
    type Upload<'s>: Message
    where
        Self: 's;

    /// Hears the server and works.
    fn work(&self, broadcast: &Self::Broadcast, agent: &Agent, state: &mut Self::State);

    /// What it says then.
    fn upload<'s>(&'s self, state: &'s Self::State) -> Self::Upload<'s>;
}

/// The server's half: `(State, Uploads) → State`, and what it says of a state.
pub trait ServerHalf {
    /// What the server remembers.
    type State;
    /// What it says.
    type Broadcast: Message;
    /// What it hears.
    type Upload: Message;
    /// Why it failed.
    type Error;

    /// What every participating agent is told in `state`.
    fn broadcast(&self, state: &Self::State) -> Self::Broadcast;

    /// The state after hearing `uploads`, of which there is at least one.
    ///
    /// # Errors
    /// Whatever stops the server from adding them up.
    fn aggregate(&self, state: &Self::State, uploads: &[Self::Upload]) -> Result<Self::State, Self::Error>;
}
