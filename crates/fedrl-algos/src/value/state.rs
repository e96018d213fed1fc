//! All that changes from round to round.

use std::collections::BTreeMap;
use std::ops::Range;

use fedrl_engine::Matrix;

use super::adam::Adam;
use super::messages::Shared;
use super::method::{Part, Widths};
use super::replay::Replay;
use crate::{Agent, ServerState};

/// What the server knows, and what stays with each agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueState {
    /// θ of the policy that stands for all: shared columns, and the mean of the agents' personal ones.
    pub(super) theta: Vec<f32>,
    /// θ of every agent's own policy, where they differ: `[agents, P]`.
    pub(super) policies: Option<Matrix<f32>>,
    /// Shared columns, as the server has them.
    pub(super) shared: Shared,
    /// t: iterations done.
    pub(super) iteration: u32,
    /// What stays with the agents.
    pub(super) agents: Agents,
}

/// What stays with the agents, a row each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Agents {
    /// Columns of the networks.
    theta: Matrix<f32>,
    /// Columns of the target networks.
    target: Matrix<f32>,
    /// Adam's first moments of the columns.
    first: Matrix<f32>,
    /// Adam's second moments.
    second: Matrix<f32>,
    /// The replay memory.
    replay: Matrix<f32>,
    /// The environment's state, and the return of the episode so far.
    environment: Matrix<f32>,
    counts: Vec<Counts>,
}

/// What an agent counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Environment steps, all of them stored.
    pub(super) steps: u32,
    /// Steps of the episode under way.
    pub(super) time: u32,
    /// Episodes that ended.
    pub(super) episodes: u32,
    /// Minibatches drawn.
    pub(super) batches: u32,
    /// Adam's steps of the heads.
    pub(super) head_steps: u32,
    /// Adam's steps of everything else.
    pub(super) body_steps: u32,
}

impl Counts {
    /// How many there are.
    pub(super) const NUMBER: usize = 6;

    fn to_array(self) -> [u32; Self::NUMBER] {
        [self.steps, self.time, self.episodes, self.batches, self.head_steps, self.body_steps]
    }

    fn from_array([steps, time, episodes, batches, head_steps, body_steps]: [u32; Self::NUMBER]) -> Self {
        Counts { steps, time, episodes, batches, head_steps, body_steps }
    }
}

/// One agent's rows.
pub(super) struct Learner<'a> {
    pub(super) theta: &'a mut [f32],
    pub(super) target: &'a mut [f32],
    pub(super) first: &'a mut [f32],
    pub(super) second: &'a mut [f32],
    pub(super) replay: Replay<'a>,
    /// The environment's state.
    pub(super) state: &'a mut [f32],
    /// Return of the episode so far.
    pub(super) episode_return: &'a mut f32,
    pub(super) counts: &'a mut Counts,
}

impl Learner<'_> {
    /// Whether every parameter and moment is finite.
    pub(super) fn is_finite(&self) -> bool {
        [&*self.theta, self.first, self.second].iter().all(|numbers| numbers.iter().all(|x| x.is_finite()))
    }

    /// Counts one more of Adam's steps of `part`.
    pub(super) fn count(&mut self, part: Part) {
        self.counts.head_steps += u32::from(part != Part::Body);
        self.counts.body_steps += u32::from(part != Part::Head);
    }

    /// One step of Adam of `columns` down the gradient, number `count` of theirs. Returns ‖g‖² of them.
    pub(super) fn step(&mut self, columns: Range<usize>, count: u32, gradient: &[f32], step_size: f64) -> f64 {
        let (theta, gradient) = (&mut self.theta[columns.clone()], &gradient[columns.clone()]);
        let (first, second) = (&mut self.first[columns.clone()], &mut self.second[columns]);
        Adam { theta, first, second, gradient }.step(count, step_size)
    }
}

impl Agents {
    /// Before anything has happened: agents with these `columns`, the target networks a copy of them.
    pub(super) fn new(columns: Vec<Vec<f32>>, widths: &Widths, agents: &[Agent<f32>], capacity: usize) -> Self {
        let rows = agents.len();
        let theta = Matrix::from_rows(columns);
        let zeros = |width: usize| Matrix::repeat(&vec![0.0; width], rows);
        let state = agents.iter().map(|agent| agent.spec.state_width).max().unwrap_or(0);
        Agents {
            target: theta.clone(),
            first: zeros(theta.columns()),
            second: zeros(theta.columns()),
            replay: zeros(capacity * Replay::width(widths.observation, widths.action)),
            environment: zeros(state + 1),
            counts: vec![Counts::default(); rows],
            theta,
        }
    }

    /// The columns of every agent, a row each.
    pub(super) fn theta(&self) -> &Matrix<f32> {
        &self.theta
    }

    /// Every agent's rows.
    pub(super) fn learners(&mut self, widths: &Widths) -> impl Iterator<Item = Learner<'_>> {
        let (observation, action) = (widths.observation, widths.action);
        let networks = self.theta.rows_mut().zip(self.target.rows_mut());
        let moments = self.first.rows_mut().zip(self.second.rows_mut());
        let lives = self.replay.rows_mut().zip(self.environment.rows_mut()).zip(&mut self.counts);
        networks.zip(moments).zip(lives).filter_map(move |(((theta, target), (first, second)), lived)| {
            let ((replay, environment), counts) = lived;
            let (episode_return, state) = environment.split_last_mut()?;
            let replay = Replay::new(replay, observation, action);
            Some(Learner { theta, target, first, second, replay, state, episode_return, counts })
        })
    }

    /// Takes an agent back to where it was in `before`.
    pub(super) fn restore(&mut self, agent: usize, before: &Agents) {
        let pairs = [
            (&mut self.theta, &before.theta),
            (&mut self.target, &before.target),
            (&mut self.first, &before.first),
            (&mut self.second, &before.second),
            (&mut self.replay, &before.replay),
            (&mut self.environment, &before.environment),
        ];
        pairs.into_iter().for_each(|(now, before)| now.row_mut(agent).copy_from_slice(before.row(agent)));
        self.counts[agent] = before.counts[agent];
    }
}

impl ServerState<f32> for ValueState {
    fn theta(&self) -> &[f32] {
        &self.theta
    }

    fn policies(&self) -> Option<&Matrix<f32>> {
        self.policies.as_ref()
    }

    fn vectors(&self) -> BTreeMap<&'static str, &[f32]> {
        let Agents { theta, target, first, second, replay, environment, .. } = &self.agents;
        let mut vectors = BTreeMap::from([
            ("theta", self.theta.as_slice()),
            ("shared.theta", &self.shared.theta),
            ("shared.first", &self.shared.first),
            ("shared.second", &self.shared.second),
            ("agents.theta", theta.as_slice()),
            ("agents.target", target.as_slice()),
            ("agents.first", first.as_slice()),
            ("agents.second", second.as_slice()),
            ("agents.replay", replay.as_slice()),
            ("agents.environment", environment.as_slice()),
        ]);
        vectors.extend(self.policies.as_ref().map(|policies| ("policies", policies.as_slice())));
        vectors
    }

    fn counts(&self) -> BTreeMap<&'static str, Vec<u32>> {
        let counts = self.agents.counts.iter().flat_map(|counts| counts.to_array()).collect();
        BTreeMap::from([("iteration", vec![self.iteration]), ("agents.counts", counts)])
    }

    fn restore(
        mut vectors: BTreeMap<String, Vec<f32>>,
        mut counts: BTreeMap<String, Vec<u32>>,
    ) -> Result<Self, &'static str> {
        let iteration = counts.remove("iteration").and_then(|count| count.first().copied()).ok_or("iteration")?;
        let (counts, _) = counts.get("agents.counts").ok_or("agents.counts")?.as_chunks();
        let counts: Vec<Counts> = counts.iter().map(|&counts| Counts::from_array(counts)).collect();
        let mut vector = |name| vectors.remove(name).ok_or(name);
        let rows = |numbers: Vec<f32>| {
            let columns = numbers.len().checked_div(counts.len()).unwrap_or(0);
            Matrix::from_rows(numbers.chunks_exact(columns.max(1)))
        };
        let shared =
            Shared { theta: vector("shared.theta")?, first: vector("shared.first")?, second: vector("shared.second")? };
        let agents = Agents {
            theta: rows(vector("agents.theta")?),
            target: rows(vector("agents.target")?),
            first: rows(vector("agents.first")?),
            second: rows(vector("agents.second")?),
            replay: rows(vector("agents.replay")?),
            environment: rows(vector("agents.environment")?),
            counts: counts.clone(),
        };
        Ok(ValueState {
            theta: vector("theta")?,
            policies: vector("policies").ok().map(rows),
            shared,
            iteration,
            agents,
        })
    }

    fn from_vectors(vectors: BTreeMap<String, Vec<f32>>) -> Result<Self, &'static str> {
        Self::restore(vectors, BTreeMap::new())
    }
}
