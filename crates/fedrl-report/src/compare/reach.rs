//! How soon runs, and their agents, reach a return.

use fedrl_stats::mean;
use serde::Serialize;

use super::estimate::{Estimate, Of};
use super::{Comparison, Group, Member};
use crate::run::Round;

/// Rounds over which a training return is averaged before it is compared with a threshold, for algorithms that do
/// not record episodes.
pub const SMOOTHED: usize = 5;
/// Episodes of each agent, its last ones so far, over which returns are averaged for those that do.
pub const NEWEST_EPISODES: usize = 10;

/// How soon the runs of a group reach a return.
#[derive(Debug, Clone, Serialize)]
pub struct Reach {
    /// The group's label.
    pub label: String,
    /// Runs of the group.
    pub runs: usize,
    /// Of which reach it at all.
    pub reached: usize,
    /// Rounds until then, over those that do.
    pub rounds: Estimate,
    /// Environment steps of all agents until then, over those that do.
    pub env_steps: Estimate,
    /// Processor seconds until then, over those that do.
    pub process_seconds: Estimate,
    /// How soon agents do, each by itself, where their episodes are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<OwnReach>,
}

/// How soon agents reach a return, each by its own last [`NEWEST_EPISODES`]. Unlike a mean over agents, which
/// fluctuates less the more there are and meets a high return by chance later, it can be compared between runs of
/// few and of many.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct OwnReach {
    /// Agents of all runs.
    pub agents: usize,
    /// Of which reach it at all.
    pub reached: usize,
    /// Environment steps of an agent until it does, averaged over those of a run that do.
    pub steps: Estimate,
    /// Its episodes until then.
    pub episodes: Estimate,
}

/// Where a run stands after a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// Counted from 1.
    round: u64,
    /// What is compared with a threshold; NaN where there is nothing to compare.
    measure: f64,
    /// Environment steps of all agents so far.
    env_steps: f64,
    /// Processor seconds so far.
    process_seconds: f64,
}

/// Where an agent stands after a round.
#[derive(Debug, Clone, Copy)]
struct OwnStanding {
    /// The mean of its newest episodes; NaN while it has too few.
    measure: f64,
    /// Its environment steps so far.
    steps: f64,
    /// Its episodes so far.
    episodes: usize,
}

/// Where a run and its agents stand, round by round.
#[derive(Debug, Clone)]
pub(super) struct Course {
    run: Vec<Standing>,
    /// By agent; empty where episodes are not recorded.
    agents: Vec<Vec<OwnStanding>>,
}

impl Course {
    /// The course of a run of so many `agents`.
    ///
    /// Rounds of agents that record episodes may be shorter than an episode, so that their returns say little: of
    /// every agent its newest episodes count, whatever rounds they ended in.
    pub(super) fn new(rounds: &[Round], agents: usize) -> Self {
        let recorded = rounds.iter().any(|round| !round.episode_returns.is_empty());
        let agents: Vec<_> = (0..if recorded { agents } else { 0 }).map(|agent| of_agent(rounds, agent)).collect();
        let mut process_seconds = 0.0;
        let standing = |(index, round): (usize, &Round)| {
            process_seconds += round.process_seconds.unwrap_or(f64::NAN);
            let own = || agents.iter().map(|agent| agent[index].measure).collect::<Vec<_>>();
            let measure = if recorded { mean(&own()) } else { smoothed(&rounds[..=index]) };
            let env_steps = round.env_steps.unwrap_or(f64::NAN);
            Standing { round: round.round, measure, env_steps, process_seconds }
        };
        Course { run: rounds.iter().enumerate().map(standing).collect(), agents }
    }
}

fn of_agent(rounds: &[Round], agent: usize) -> Vec<OwnStanding> {
    let (mut returns, mut steps) = (Vec::new(), 0.0);
    let standing = |round: &Round| {
        let ended = round.episode_returns.get(agent).into_iter().flatten().flatten();
        returns.extend(ended.map(|value| value.unwrap_or(f64::NAN)));
        steps += round.agent_steps.get(agent).copied().flatten().unwrap_or(0.0);
        let first = returns.len().checked_sub(NEWEST_EPISODES);
        let measure = first.map_or(f64::NAN, |first| mean(&returns[first..]));
        OwnStanding { measure, steps, episodes: returns.len() }
    };
    rounds.iter().map(standing).collect()
}

/// The training return averaged over the last rounds; NaN while there are too few.
fn smoothed(rounds: &[Round]) -> f64 {
    let last = rounds.len().checked_sub(SMOOTHED).map_or(&[][..], |first| &rounds[first..]);
    mean(&last.iter().map(|round| round.return_mean.unwrap_or(f64::NAN)).collect::<Vec<_>>())
}

impl Comparison {
    /// How soon each group reaches `threshold`: the first round at whose end the mean over agents of their last
    /// [`NEWEST_EPISODES`] episodes is at least that; where episodes are not recorded, the training return averaged
    /// over the last [`SMOOTHED`] rounds.
    pub fn reach(&self, threshold: f64) -> Vec<Reach> {
        self.groups.iter().map(|group| Reach::new(group, threshold)).collect()
    }
}

impl Reach {
    fn new(group: &Group, threshold: f64) -> Self {
        let first = |run: &Member| run.course.run.iter().find(|standing| standing.measure >= threshold).copied();
        let reached: Vec<Standing> = group.runs.iter().filter_map(first).collect();
        let over = |value: fn(&Standing) -> f64, of| Estimate::new(&reached.iter().map(value).collect::<Vec<_>>(), of);
        let recorded = group.runs.iter().all(|run| !run.course.agents.is_empty());
        Reach {
            label: group.label.clone(),
            runs: group.runs.len(),
            reached: reached.len(),
            rounds: over(|standing| standing.round as f64, Of::Rounds),
            env_steps: over(|standing| standing.env_steps, Of::EnvSteps),
            process_seconds: over(|standing| standing.process_seconds, Of::ProcessSecondsUntil),
            agents: recorded.then(|| OwnReach::new(&group.runs, threshold)),
        }
    }
}

impl OwnReach {
    fn new(runs: &[Member], threshold: f64) -> Self {
        let first = |agent: &Vec<OwnStanding>| agent.iter().find(|standing| standing.measure >= threshold).copied();
        let arrivals = |run: &Member| run.course.agents.iter().filter_map(first).collect::<Vec<_>>();
        let runs_agents = runs.iter().map(|run| run.course.agents.len()).sum();
        let reached: Vec<Vec<OwnStanding>> = runs.iter().map(arrivals).collect();
        let over = |value: fn(&OwnStanding) -> f64, of| {
            let somebody = reached.iter().filter(|run| !run.is_empty());
            let means = somebody.map(|run| mean(&run.iter().map(value).collect::<Vec<_>>()));
            Estimate::new(&means.collect::<Vec<_>>(), of)
        };
        OwnReach {
            agents: runs_agents,
            reached: reached.iter().map(Vec::len).sum(),
            steps: over(|standing| standing.steps, Of::OwnSteps),
            episodes: over(|standing| standing.episodes as f64, Of::OwnEpisodes),
        }
    }
}
