//! The agents' half: iterations of 004 Alg. 4 between two exchanges.

use std::ops::Range;

use fedrl_core::Real;
use fedrl_core::random::{Block, Key, Purpose, high_mul};
use fedrl_federation::ResidentHalf;

use super::config::ValueConfig;
use super::messages::{Shared, Upload};
use super::network::QNetwork;
use super::replay::{Remembered, draw};
use super::state::Learner;
use super::strategy::Updates;
use super::update::{Part, Workspace};
use super::visits::{region, regions};
use crate::metrics::ValueMetrics;
use crate::{Agent, World};

/// An agent's half of iterations `span`.
pub(super) struct Iterations<'a> {
    pub(super) config: &'a ValueConfig,
    pub(super) network: &'a QNetwork,
    pub(super) max_episode_steps: usize,
    pub(super) span: Range<u32>,
    /// Whether the server hears of what came of them.
    pub(super) told: bool,
    /// Whether visits are counted.
    pub(super) counts_visits: bool,
}

/// An agent at work: what stays with it, and what helps it for the time being.
pub(super) struct Resident<'a> {
    pub(super) learner: Learner<'a>,
    pub(super) keys: Keys,
    pub(super) workspace: Workspace,
    pub(super) visits: Vec<u32>,
    /// What an observer of the simulation may look at. Never sent.
    pub(super) observed: ValueMetrics,
}

impl<'a> Resident<'a> {
    pub(super) fn new(world: &World<f32>, agent: &Agent<f32>, learner: Learner<'a>, half: &Iterations) -> Self {
        let Iterations { network, config, counts_visits, .. } = *half;
        let visits = if counts_visits { regions(network.observation(), network.actions()) } else { 0 };
        Resident {
            learner,
            keys: Keys::new(world, agent.id),
            workspace: Workspace::new(network, config.batch),
            visits: vec![0; visits],
            observed: ValueMetrics { exploration: config.exploration, ..ValueMetrics::default() },
        }
    }
}

/// The keys of an agent's draws.
pub(super) struct Keys {
    environment: Key,
    exploration: Key,
    replay: Key,
}

const RESET: u32 = 0;
const STEP: u32 = 1;

impl Keys {
    fn new(world: &World<f32>, agent: usize) -> Self {
        let of = |purpose| world.key(purpose, agent, 0);
        let (environment, exploration) = (of(Purpose::Training), of(Purpose::Exploration));
        Keys { environment, exploration, replay: of(Purpose::Replay) }
    }
}

impl<'a> ResidentHalf<Agent<f32>> for Iterations<'a> {
    /// Nothing, between exchanges.
    type Broadcast = Shared;
    type State = Resident<'a>;
    type Upload<'s>
        = Upload<'s>
    where
        Self: 's;

    fn work(&self, broadcast: &Shared, agent: &Agent<f32>, resident: &mut Resident<'a>) {
        broadcast.write(&mut resident.learner);
        resident.visits.fill(0);
        for t in self.span.clone() {
            self.iteration(t, agent, resident);
        }
    }

    fn upload<'s>(&'s self, resident: &'s Resident<'a>) -> Upload<'s> {
        if !self.told {
            return Upload::default();
        }
        Upload::of(&resident.learner, self.network.shared(), self.config.moments, &resident.visits)
    }
}

impl Iterations<'_> {
    /// Lines 5 to 13 and 17 to 19 of 004 Alg. 4.
    fn iteration(&self, t: u32, agent: &Agent<f32>, resident: &mut Resident) {
        if t.is_multiple_of(self.config.target_period) {
            resident.learner.target.copy_from_slice(resident.learner.theta);
        }
        let updates = self.config.updates.unwrap_or(Updates::Joint);
        for _ in 0..self.config.local_steps {
            self.live(agent, resident);
            self.learn(resident, if updates == Updates::Joint { Part::All } else { Part::Head });
        }
        if updates == Updates::Alternating {
            self.learn(resident, Part::Body);
        }
    }

    /// A step in the environment by an ε-greedy action, remembered; a new episode where one ended.
    fn live(&self, agent: &Agent<f32>, resident: &mut Resident) {
        let Resident { learner, keys, workspace, visits, observed } = resident;
        let Workspace { observation, next, greedy, .. } = workspace;
        if learner.counts.steps == 0 {
            reset(agent, keys, learner);
        }
        let steps = learner.counts.steps;
        agent.simulator.observe(learner.state, observation);

        let Block { a, b, .. } = keys.exploration.block([steps, 0, 0, 0]);
        let action = if f64::from(f32::unit(a)) < self.config.exploration {
            high_mul(b, self.network.actions() as u32) as usize
        } else {
            let embedding = &learner.theta[self.network.embedded()];
            most(greedy.forward(learner.theta, observation.iter().chain(embedding).copied()))
        };
        if let Some(count) = (!visits.is_empty()).then(|| &mut visits[region(observation, action)]) {
            *count += 1;
        }

        let draws = uniform::<2>(keys.environment, [steps, 0, 0, STEP]);
        let moved = agent.simulator.step(&draws[..agent.spec.step_draws], learner.state, &[action as f32]);
        agent.simulator.observe(learner.state, next);
        let (reward, terminated) = (moved.reward, moved.terminated);
        learner.replay.store(steps, Remembered { observation, next, action, reward, terminated });
        learner.counts.steps += 1;
        learner.counts.time += 1;
        *learner.episode_return += reward;
        observed.env_steps += 1;

        if terminated || learner.counts.time as usize >= self.max_episode_steps {
            observed.ended(f64::from(*learner.episode_return), learner.counts.time, terminated);
            learner.counts.episodes += 1;
            reset(agent, keys, learner);
        }
    }

    /// An update of `part` from a fresh minibatch, once there is enough to learn from.
    fn learn(&self, resident: &mut Resident, part: Part) {
        let Resident { learner, keys, workspace, observed, .. } = resident;
        let stored = learner.counts.steps;
        if stored < self.config.learning_starts {
            return;
        }
        draw(keys.replay, learner.counts.batches, learner.replay.len(stored), &mut workspace.places);
        learner.counts.batches += 1;
        let step_size = self.config.step_size(learner.counts.episodes);
        let done = workspace.update(self.network, learner, part, self.config.discount as f32, step_size);
        observed.learned(done.loss, done.gradient_norm, step_size);
    }
}

/// Begins an episode.
fn reset(agent: &Agent<f32>, keys: &Keys, learner: &mut Learner) {
    let Learner { state, counts, episode_return, .. } = learner;
    let place = |group: usize| [counts.episodes, group as u32, 0, RESET];
    let groups = 0..agent.spec.reset_draws.div_ceil(4);
    let draws: Vec<f32> = groups.flat_map(|group| uniform::<4>(keys.environment, place(group))).collect();
    agent.simulator.reset(&draws[..agent.spec.reset_draws], state);
    counts.time = 0;
    **episode_return = 0.0;
}

/// The first numbers of the block at `place`.
fn uniform<const N: usize>(key: Key, place: [u32; 4]) -> [f32; N] {
    let Block { a, b, c, d } = key.block(place);
    let words = [a, b, c, d];
    std::array::from_fn(|i| f32::unit(words[i]))
}

/// The place of the greatest number, the first of equals.
fn most(values: &[f32]) -> usize {
    let better = |best: usize, (place, &value): (usize, &f32)| if value > values[best] { place } else { best };
    values.iter().enumerate().fold(0, better)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_greatest_wins() {
        assert_eq!(most(&[1.0, 3.0, 3.0, 2.0]), 1);
        assert_eq!(most(&[f32::NAN, 1.0]), 0);
    }
}
