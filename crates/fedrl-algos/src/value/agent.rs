//! The agents' half: iterations of 004 Alg. 4 between two exchanges.

use std::ops::Range;

use fedrl_core::Real;
use fedrl_core::random::{Block, Key, Purpose};
use fedrl_federation::ResidentHalf;

use super::messages::{Shared, Upload};
use super::method::{Method, Part, Schedule, Updates, Widths, Worker};
use super::replay::{Remembered, draw};
use super::state::Learner;
use crate::metrics::ValueMetrics;
use crate::{Agent, World};

/// An agent's half of iterations `span`.
pub(super) struct Iterations<'a> {
    pub(super) schedule: &'a Schedule,
    pub(super) widths: &'a Widths,
    pub(super) max_episode_steps: usize,
    pub(super) span: Range<u32>,
    /// Whether the server hears of what came of them.
    pub(super) told: bool,
}

/// An agent at work: what stays with it, and what helps it for the time being.
pub(super) struct Resident<'a> {
    pub(super) learner: Learner<'a>,
    worker: Box<dyn Worker + 'a>,
    keys: Keys,
    /// What it sees, what it sees after its step, and what it did.
    observation: Vec<f32>,
    next: Vec<f32>,
    action: Vec<f32>,
    /// Places of the minibatch in the replay memory.
    places: Vec<usize>,
    /// What an observer of the simulation may look at. Never sent.
    pub(super) observed: ValueMetrics,
}

impl<'a> Resident<'a> {
    pub(super) fn new(
        world: &World<f32>,
        agent: &Agent<f32>,
        learner: Learner<'a>,
        method: &'a dyn Method,
        half: &Iterations,
    ) -> Self {
        let Iterations { schedule, widths, .. } = half;
        Resident {
            learner,
            worker: method.worker(agent),
            keys: Keys::new(world, agent.id),
            observation: vec![0.0; widths.observation],
            next: vec![0.0; widths.observation],
            action: vec![0.0; widths.action],
            places: vec![0; schedule.batch],
            observed: ValueMetrics { exploration: schedule.exploration, ..ValueMetrics::default() },
        }
    }
}

/// The keys of an agent's draws.
struct Keys {
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
        resident.worker.forget();
        for t in self.span.clone() {
            self.iteration(t, agent, resident);
        }
    }

    fn upload<'s>(&'s self, resident: &'s Resident<'a>) -> Upload<'s> {
        if !self.told {
            return Upload::default();
        }
        Upload::of(&resident.learner, self.widths.shared, self.schedule.moments, resident.worker.visits())
    }
}

impl Iterations<'_> {
    /// Lines 5 to 13 and 17 to 19 of 004 Alg. 4.
    fn iteration(&self, t: u32, agent: &Agent<f32>, resident: &mut Resident) {
        resident.worker.begin(t, &mut resident.learner);
        let updates = self.schedule.updates;
        for _ in 0..self.schedule.local_steps {
            self.live(agent, resident);
            self.learn(resident, if updates == Updates::Joint { Part::All } else { Part::Head });
        }
        if updates == Updates::Alternating {
            self.learn(resident, Part::Body);
        }
    }

    /// A step in the environment, remembered; a new episode where one ended.
    fn live(&self, agent: &Agent<f32>, resident: &mut Resident) {
        let Resident { learner, worker, keys, observation, next, action, observed, .. } = resident;
        if learner.counts.steps == 0 {
            reset(agent, keys, learner);
        }
        let steps = learner.counts.steps;
        agent.simulator.observe(learner.state, observation);
        worker.act(learner, observation, keys.exploration, action);

        let draws = uniform::<2>(keys.environment, [steps, 0, 0, STEP]);
        let moved = agent.simulator.step(&draws[..agent.spec.step_draws], learner.state, action);
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
        let Resident { learner, worker, keys, places, observed, .. } = resident;
        let stored = learner.counts.steps;
        if stored < self.schedule.learning_starts {
            return;
        }
        draw(keys.replay, learner.counts.batches, learner.replay.len(stored), places);
        learner.counts.batches += 1;
        let done = worker.learn(learner, part, places);
        observed.learned(done.loss, done.gradient_norm, done.step_size);
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
