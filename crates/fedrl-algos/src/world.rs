//! Everything that stays the same during a training, and the exchange of messages in it.

use std::time::Instant;

use fedrl_core::Scalar;
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{EngineError, for_blocks};
use fedrl_envs::{Simulator, Spec};
use fedrl_federation::{AgentHalf, Answer, Message};

use crate::{AgentMetrics, AgentReport, AlgorithmError, Estimates};

/// One agent: its number and its environment.
#[derive(Clone)]
pub struct Agent<F> {
    /// Its number, from 0.
    pub id: usize,
    /// Its environment.
    pub simulator: Simulator<F>,
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
pub struct World<F> {
    /// Where estimates of gradients come from.
    pub estimates: Box<dyn Estimates<F>>,
    /// The agents.
    pub agents: Vec<Agent<F>>,
    /// Seed of every draw.
    pub seed: u64,
    /// Steps after which an episode is truncated.
    pub max_episode_steps: usize,
    /// What a diverged agent does to the run.
    pub on_divergence: Divergence,
}

impl<F: Scalar> World<F> {
    /// The key of an agent's draws for `purpose` in a round.
    pub fn key(&self, purpose: Purpose, agent: usize, round: u32) -> Key {
        Key::new(self.seed, purpose).child([agent as u32, round, 0, 0])
    }

    /// One exchange: every one of `participants` hears `broadcast` and answers; `states` is what
    /// each of them remembers. Answers that are not finite are left out or end the run, as
    /// [`World::on_divergence`] says; none may be left.
    ///
    /// # Errors
    /// The device failed, or an agent diverged and the run is to stop.
    pub fn exchange<H>(
        &self,
        half: &H,
        broadcast: &H::Broadcast,
        participants: &[usize],
        states: &[H::State],
    ) -> Result<Exchange<H::State, H::Upload>, AlgorithmError>
    where
        H: AgentHalf<Agent<F>, Metrics = AgentMetrics, Error = EngineError> + Sync,
        H::Broadcast: Sync,
        H::State: Send + Sync,
        H::Upload: Send,
    {
        let agents: Vec<(&Agent<F>, &H::State)> = participants.iter().map(|&id| &self.agents[id]).zip(states).collect();
        let answers = for_blocks(&agents, self.estimates.block_size(), |block| {
            let started = Instant::now();
            let mut answers = half.answer(broadcast, block)?;
            let seconds = started.elapsed().as_secs_f64() / block.len() as f64;
            answers.iter_mut().for_each(|answer| answer.metrics.seconds = seconds);
            Ok::<_, EngineError>(answers)
        })?;

        let mut exchange =
            Exchange { answered: Vec::new(), states: Vec::new(), uploads: Vec::new(), reports: Vec::new() };
        for (&agent, Answer { state, upload, metrics }) in participants.iter().zip(answers) {
            let diverged = !upload.is_finite();
            if diverged && self.on_divergence == Divergence::Stop {
                return Err(AlgorithmError::Diverged { agent });
            }
            let (bytes_up, bytes_down) = (upload.bytes(), broadcast.bytes());
            exchange.reports.push(AgentReport { agent, metrics, bytes_up, bytes_down, diverged });
            if !diverged {
                exchange.answered.push(agent);
                exchange.states.push(state);
                exchange.uploads.push(upload);
            }
        }
        Ok(exchange)
    }
}

/// What an exchange came to: the agents whose answers count, what they remember now, what they
/// said; and reports of all who took part.
pub struct Exchange<S, U> {
    /// The agents whose answers are finite, ascending.
    pub answered: Vec<usize>,
    /// What each of them remembers.
    pub states: Vec<S>,
    /// What each of them said.
    pub uploads: Vec<U>,
    /// What every participant did.
    pub reports: Vec<AgentReport>,
}
