//! How soon runs reach a return.

use fedrl_stats::mean;
use serde::Serialize;

use super::estimate::{Estimate, Of};
use super::{Comparison, Member};
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
    /// The same of one agent: those of all over the number of agents.
    pub own_steps: Estimate,
    /// Episodes of one agent until then; unknown for algorithms that do not record them.
    pub own_episodes: Estimate,
    /// Processor seconds until then.
    pub process_seconds: Estimate,
}

/// Where a run stands at the end of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// Counted from 1.
    round: u64,
    /// What is compared with a threshold; NaN where there is nothing to compare.
    measure: f64,
    /// Environment steps of all agents so far.
    env_steps: f64,
    /// The same of one agent.
    own_steps: f64,
    /// Episodes of one agent so far; NaN where they are not recorded.
    own_episodes: f64,
    /// Processor seconds so far.
    process_seconds: f64,
}

/// Where a run of so many `agents` stands after each of `rounds`.
///
/// Rounds of agents that record episodes may be shorter than an episode, so that their returns say little: of every
/// agent its [`NEWEST_EPISODES`] count, whatever rounds they ended in, once it has so many.
pub(super) fn standings(rounds: &[Round], agents: usize) -> Vec<Standing> {
    let recorded = rounds.iter().any(|round| !round.episode_returns.is_empty());
    let mut episodes = vec![Vec::new(); if recorded { agents } else { 0 }];
    let mut seconds = 0.0;
    let mut standings = Vec::with_capacity(rounds.len());
    for (index, round) in rounds.iter().enumerate() {
        for (all, ended) in episodes.iter_mut().zip(&round.episode_returns) {
            all.extend(ended.iter().flatten().map(|value| value.unwrap_or(f64::NAN)));
        }
        seconds += round.process_seconds.unwrap_or(f64::NAN);
        let env_steps = round.env_steps.unwrap_or(f64::NAN);
        let lived: Vec<f64> = episodes.iter().map(|all| all.len() as f64).collect();
        standings.push(Standing {
            round: round.round,
            measure: if recorded { newest(&episodes) } else { smoothed(&rounds[..=index]) },
            env_steps,
            own_steps: env_steps / agents as f64,
            own_episodes: mean(&lived),
            process_seconds: seconds,
        });
    }
    standings
}

/// The mean over agents of the mean of each one's newest episodes; NaN while one of them has too few.
fn newest(episodes: &[Vec<f64>]) -> f64 {
    let of = |all: &Vec<f64>| all.len().checked_sub(NEWEST_EPISODES).map_or(f64::NAN, |first| mean(&all[first..]));
    mean(&episodes.iter().map(of).collect::<Vec<_>>())
}

/// The training return averaged over the last rounds; NaN while there are too few.
fn smoothed(rounds: &[Round]) -> f64 {
    let returns =
        |rounds: &[Round]| rounds.iter().map(|round| round.return_mean.unwrap_or(f64::NAN)).collect::<Vec<_>>();
    rounds.len().checked_sub(SMOOTHED).map_or(f64::NAN, |first| mean(&returns(&rounds[first..])))
}

impl Comparison {
    /// How soon each group reaches `threshold`: the first round at whose end the mean over agents of their last
    /// [`NEWEST_EPISODES`] episodes is at least that; where episodes are not recorded, the training return averaged
    /// over the last [`SMOOTHED`] rounds.
    pub fn reach(&self, threshold: f64) -> Vec<Reach> {
        let group = |group: &super::Group| {
            let first = |run: &Member| run.standings.iter().find(|standing| standing.measure >= threshold).copied();
            let reached: Vec<Standing> = group.runs.iter().filter_map(first).collect();
            let over =
                |value: fn(&Standing) -> f64, of| Estimate::new(&reached.iter().map(value).collect::<Vec<_>>(), of);
            Reach {
                label: group.label.clone(),
                runs: group.runs.len(),
                reached: reached.len(),
                rounds: over(|standing| standing.round as f64, Of::Rounds),
                env_steps: over(|standing| standing.env_steps, Of::EnvSteps),
                own_steps: over(|standing| standing.own_steps, Of::OwnSteps),
                own_episodes: over(|standing| standing.own_episodes, Of::OwnEpisodes),
                process_seconds: over(|standing| standing.process_seconds, Of::ProcessSecondsUntil),
            }
        };
        self.groups.iter().map(group).collect()
    }
}
