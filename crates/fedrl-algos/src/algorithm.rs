//! What an algorithm is to the training loop: a start and a round.

use std::collections::BTreeMap;
use std::time::Instant;

use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{Engine, EngineError, Replica};
use fedrl_envs::{Simulator, Spec};
use fedrl_federation::{AgentHalf, Message};
use fedrl_models::Policy;

use crate::{AgentMetrics, AgentReport};

/// One agent: its number and its environment.
#[derive(Clone)]
pub struct Agent {
    /// Its number, from 0.
    pub id: usize,
    /// Its environment.
    pub simulator: Simulator<f32>,
    /// What the environment looks like.
    pub spec: &'static Spec,
}

/// What an agent whose parameters are no longer finite does to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Divergence {
    /// Ends it with an error.
    #[default]
    Stop,
    /// Leaves the agent out from then on.
    DropAgent,
}

/// Everything that stays the same during a training.
pub struct World {
    /// What runs policies in environments.
    pub engine: Engine,
    /// The policy all agents share.
    pub policy: Policy,
    /// The agents.
    pub agents: Vec<Agent>,
    /// Seed of every draw.
    pub seed: u64,
    /// Steps after which an episode is truncated.
    pub max_episode_steps: usize,
    /// What a diverged agent does to the run.
    pub on_divergence: Divergence,
}

impl World {
    /// The key of an agent's draws for `purpose` in a round.
    pub fn key(&self, purpose: Purpose, agent: usize, round: u32) -> Key {
        Key::new(self.seed, purpose).child([agent as u32, round, 0, 0])
    }

    /// One exchange: every one of `participants` hears `broadcast` and answers. Answers that are
    /// not finite are left out or end the run, as [`World::on_divergence`] says; none may be left.
    ///
    /// # Errors
    /// The device failed, or an agent diverged and the run is to stop.
    pub fn exchange<H>(
        &self,
        half: &H,
        broadcast: &H::Broadcast,
        participants: &[usize],
        finite: impl Fn(&H::Upload) -> bool,
    ) -> Result<(Vec<H::Upload>, Vec<AgentReport>), AlgorithmError>
    where
        H: AgentHalf<Agent, State = (), Metrics = AgentMetrics, Error = EngineError> + Sync,
        H::Broadcast: Sync,
        H::Upload: Send,
    {
        let agents: Vec<&Agent> = participants.iter().map(|&id| &self.agents[id]).collect();
        let answers = self.engine.for_blocks(&agents, |block| {
            let started = Instant::now();
            let block: Vec<(&Agent, &())> = block.iter().map(|&agent| (agent, &())).collect();
            let mut answers = half.answer(broadcast, &block)?;
            let seconds = started.elapsed().as_secs_f64() / block.len() as f64;
            answers.iter_mut().for_each(|(_, _, metrics)| metrics.seconds = seconds);
            Ok::<_, EngineError>(answers)
        })?;

        let (mut uploads, mut reports) = (Vec::new(), Vec::new());
        for (&agent, ((), upload, metrics)) in participants.iter().zip(answers) {
            let diverged = !finite(&upload);
            let (bytes_up, bytes_down) = (upload.bytes(), broadcast.bytes());
            reports.push(AgentReport { agent, metrics, bytes_up, bytes_down, diverged });
            match (diverged, self.on_divergence) {
                (false, _) => uploads.push(upload),
                (true, Divergence::DropAgent) => {}
                (true, Divergence::Stop) => return Err(AlgorithmError::Diverged { agent }),
            }
        }
        Ok((uploads, reports))
    }
}

impl Agent {
    /// The replica that acts with `theta` under draws from `key`.
    pub fn replica<'a>(&'a self, theta: &'a [f32], key: Key) -> Replica<'a> {
        Replica { theta, simulator: &self.simulator, spec: self.spec, key }
    }
}

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
