//! Personalised value learning: PFedDQN-Rep (004 Alg. 4) and its rivals, one loop for all of them.
//!
//! ```text
//! for t = 0, 1, ..:  every agent i, Φ_t heard, Q_i⁻ ← Q_i if T_target divides t:
//!   K times:  act ε-greedily, step, store;  θ_i ← θ_i − Adam(∇_θ loss)      the head, Φ_t held fixed
//!   Φ_{t+1/2}^i = Φ_t − Adam(∇_Φ loss)                                      the representation, θ_i held fixed
//!   server:  Φ_{t+1} = (1/N) Σ_i Φ_{t+1/2}^i
//! loss = mean over a minibatch of (Q_i(s, a) − r − γ max Q_i⁻(s′, ·))²
//! ```
//!
//! A round is `iterations` of t. The loop knows no networks: what columns mean, how an agent acts by them and
//! how it learns is a `method`'s, deep Q-learning (`q`) or an actor and its critic (`ddpg`). The agents' half is
//! `agent`, the server's is `server`; what they say to each other is in `messages`, which has no place for
//! anything else.

mod adam;
mod agent;
mod ddpg;
mod messages;
mod method;
mod q;
mod replay;
mod server;
mod state;

pub use ddpg::{DdpgConfig, DdpgExperiment, DdpgName};
pub use messages::{Moments, Shared, Upload};
pub use method::{Shares, Updates};
pub use q::{Aggregation, Fusion, Strategy, ValueConfig, ValueExperiment, ValueName};
pub use state::ValueState;

use std::sync::Arc;
use std::time::Instant;

use fedrl_core::random::{Key, Purpose};
use fedrl_engine::{Matrix, norm};
use fedrl_federation::{Message, ResidentHalf, ServerHalf, mean};
use fedrl_models::Policy;
use rayon::prelude::*;

use crate::vector::difference;
use crate::{Agent, AgentReport, Algorithm, AlgorithmError, Divergence, Round, World};
use agent::{Iterations, Resident};
use ddpg::Ddpg;
use method::{Method, Schedule, Widths};
use q::DeepQ;
use replay::Replay;
use state::{Agents, Counts};

/// One of the algorithms with its numbers set.
#[derive(Debug, Clone)]
pub struct ValueLearning {
    method: Arc<dyn Method>,
    schedule: Schedule,
    widths: Widths,
    /// What agents draw their personal columns by. None where all begin with the parameters that are given.
    drawn: Option<Policy>,
}

/// An agent in a round: at work, and counted.
struct Participant<'a> {
    resident: Resident<'a>,
    report: AgentReport,
}

impl ValueLearning {
    /// Deep Q-learning: what `strategy` makes of the loop, for policies of the form of `policy`, among so many
    /// `agents`.
    pub fn new(config: ValueConfig, strategy: Strategy, policy: &Policy, agents: usize) -> Self {
        Self::of(Arc::new(DeepQ::new(config, strategy, policy, agents)))
    }

    /// DDPG with what is shared, for actors of the form of `policy`: PFedDDPG-Rep (004 App. G.1) or one of its
    /// rivals.
    pub fn ddpg(config: DdpgConfig, shares: Shares, policy: &Policy) -> Self {
        Self::of(Arc::new(Ddpg::new(config, shares, policy)))
    }

    fn of(method: Arc<dyn Method>) -> Self {
        ValueLearning { schedule: method.schedule(), widths: method.widths(), method, drawn: None }
    }

    /// The same in which every agent draws its personal columns for itself (004 Alg. 1, line 1), as `policy`
    /// says. Without it all begin with the parameters that are given.
    pub fn with_heads_drawn(self, policy: &Policy) -> Self {
        ValueLearning { drawn: Some(policy.clone()), ..self }
    }

    /// How many parameters are shared.
    pub fn shared(&self) -> usize {
        self.widths.shared
    }

    /// Numbers that stay with an agent, its environment's state aside: networks, targets, two moments of each,
    /// what it remembers, the return of the episode under way and counts.
    pub fn kept_by_agent(&self) -> usize {
        let Widths { columns, observation, action, .. } = self.widths;
        4 * columns + self.schedule.replay * Replay::width(observation, action) + 1 + Counts::NUMBER
    }

    /// The state's policies: those of the agents, and the one that stands for all.
    fn summarise(&self, state: &mut ValueState) {
        let theta = state.agents.theta();
        let personal = |row: &[f32]| [&state.shared.theta, &row[state.shared.theta.len()..]].concat();
        let columns: Vec<Vec<f32>> = (0..theta.rows()).map(|agent| personal(theta.row(agent))).collect();
        state.theta = self.method.policy(&mean(columns.iter().map(Vec::as_slice)));
        let alike = self.widths.personal().is_empty() && self.schedule.period == 1;
        state.policies = (!alike).then(|| Matrix::from_rows(columns.iter().map(|columns| self.method.policy(columns))));
    }
}

impl Algorithm<f32> for ValueLearning {
    type State = ValueState;

    /// Every agent begins with the same shared columns.
    fn start(&self, world: &World<f32>, theta: Vec<f32>) -> Result<Round<ValueState>, AlgorithmError> {
        let common = Key::new(world.seed, Purpose::Initialisation).child([u32::MAX, 0, 0, 0]);
        let columns_of = |agent: &Agent<f32>| {
            let drawn = world.key(Purpose::Initialisation, agent.id, 0);
            let own = drawn.child([u32::MAX, 0, 0, 0]);
            let mut columns = self.method.initial(&theta, common, own);
            if let Some(policy) = &self.drawn {
                let personal = self.widths.personal();
                let all = self.method.initial(&policy.initial(drawn), own, own);
                columns[personal.clone()].copy_from_slice(&all[personal]);
            }
            columns
        };
        let columns: Vec<Vec<f32>> = world.agents.iter().map(columns_of).collect();
        let shared = columns[0][..self.widths.shared].to_vec();
        let moments = if self.schedule.moments == Moments::Averaged { vec![0.0; shared.len()] } else { Vec::new() };
        let agents = Agents::new(columns, &self.widths, &world.agents, self.schedule.replay);
        let shared = Shared { theta: shared, first: moments.clone(), second: moments };
        let mut state = ValueState { theta, policies: None, shared, iteration: 0, agents };
        self.summarise(&mut state);
        Ok(Round { state, reports: Vec::new() })
    }

    fn round(
        &self,
        world: &World<f32>,
        state: &ValueState,
        _round: u32,
        participants: &[usize],
    ) -> Result<Round<ValueState>, AlgorithmError> {
        // Within the threads that share the work, so that they are called once and not for every t.
        rayon::scope(|_| self.iterations(world, state, participants))
    }
}

/// Every participant hears `broadcast`, works, and says something.
fn work<'a>(world: &World<f32>, half: &Iterations<'a>, broadcast: &Shared, present: &mut [Participant<'a>]) {
    let one = |Participant { resident, report }: &mut Participant<'a>| {
        let started = Instant::now();
        half.work(broadcast, &world.agents[report.agent], resident);
        let upload = half.upload(resident);
        report.bytes_down += broadcast.bytes();
        report.bytes_up += upload.bytes();
        report.diverged = !upload.is_finite();
        report.metrics.seconds += started.elapsed().as_secs_f64();
    };
    present.par_iter_mut().with_max_len(1).for_each(one);
}

/// Leaves out agents that diverged, or ends the run.
fn leave_out(
    on_divergence: Divergence,
    present: &mut Vec<Participant>,
    reports: &mut Vec<AgentReport>,
) -> Result<(), AlgorithmError> {
    let Some(lost) = present.iter().find(|participant| participant.report.diverged) else { return Ok(()) };
    if on_divergence == Divergence::Stop {
        return Err(AlgorithmError::Diverged { agent: lost.report.agent });
    }
    reports.extend(present.extract_if(.., |participant| participant.report.diverged).map(Participant::report));
    Ok(())
}

impl<'a> Participant<'a> {
    /// How far what it says is from what the server has.
    fn drift(&mut self, half: &Iterations<'a>, shared: &Shared) {
        self.report.metrics.drift = norm(&difference(half.upload(&self.resident).theta, &shared.theta));
    }

    /// What is told of it at the end.
    fn report(mut self) -> AgentReport {
        self.report.metrics.learned(self.resident.observed);
        self.report
    }
}

impl ValueLearning {
    fn iterations(
        &self,
        world: &World<f32>,
        state: &ValueState,
        participants: &[usize],
    ) -> Result<Round<ValueState>, AlgorithmError> {
        let mut next = state.clone();
        let Schedule { period, iterations, .. } = self.schedule;
        let end = state.iteration + iterations;
        let mut half = Iterations {
            schedule: &self.schedule,
            widths: &self.widths,
            max_episode_steps: world.max_episode_steps,
            span: 0..0,
            told: false,
        };
        let learners = next.agents.learners(&self.widths).enumerate();
        let taking_part = learners.filter(|(agent, _)| participants.contains(agent));
        let mut present: Vec<Participant> = taking_part
            .map(|(agent, learner)| Participant {
                resident: Resident::new(world, &world.agents[agent], learner, &*self.method, &half),
                report: AgentReport::new(agent),
            })
            .collect();
        let mut reports = Vec::new();
        while next.iteration < end {
            let t = next.iteration;
            let until = (t + 1).next_multiple_of(period).min(end);
            half.span = t..until;
            half.told = until.is_multiple_of(period) && self.widths.shared > 0;
            let broadcast = if t.is_multiple_of(period) { next.shared.clone() } else { Shared::default() };
            work(world, &half, &broadcast, &mut present);
            leave_out(world.on_divergence, &mut present, &mut reports)?;
            if half.told && !present.is_empty() {
                if until == end {
                    present.iter_mut().for_each(|participant| participant.drift(&half, &next.shared));
                }
                let uploads: Vec<Upload> = present.iter().map(|agent| half.upload(&agent.resident)).collect();
                let Ok(shared) = self.method.server(world, until).aggregate(&next.shared, &uploads);
                next.shared = shared;
            }
            next.iteration = until;
        }
        // What is personal was not looked at on its way.
        present.iter_mut().for_each(|agent| agent.report.diverged = !agent.resident.learner.is_finite());
        leave_out(world.on_divergence, &mut present, &mut reports)?;
        reports.extend(present.into_iter().map(Participant::report));
        reports.sort_by_key(|report| report.agent);
        for report in reports.iter().filter(|report| report.diverged) {
            next.agents.restore(report.agent, &state.agents);
        }
        self.summarise(&mut next);
        Ok(Round { state: next, reports })
    }
}
