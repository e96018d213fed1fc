//! Many episodes, of which only the outcome matters: a lane whose episode is over takes the next one.

use fedrl_core::LANES;
use fedrl_core::wide::{Lanes, Machine, Pack, Task, run_on_widest};
use fedrl_envs::{Simulators, Spec};
use rayon::prelude::*;

use super::draws::{Draws, Resets};
use super::rollout::Acting;
use super::shape::Shape;
use super::{Fused, Lane, pack};
use crate::Mode;

/// What an episode came to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Outcome {
    /// Undiscounted return.
    pub total_reward: f64,
    /// Steps.
    pub steps: usize,
    /// Whether it ended by itself.
    pub terminated: bool,
}

/// Episodes of a queue of one thread: enough that lanes seldom wait for the last ones.
const QUEUE: usize = 16 * LANES;

impl Fused {
    /// Lives through `episodes` of one environment, at most `horizon` steps each.
    pub fn episodes(&self, episodes: &[Lane], spec: &'static Spec, horizon: usize, mode: Mode) -> Vec<Outcome> {
        let share = episodes.len().div_ceil(rayon::current_num_threads()).next_multiple_of(LANES);
        let live = |queue: &[Lane]| run_on_widest(Queue { shape: &self.shape, episodes: queue, spec, horizon, mode });
        let outcomes: Vec<Vec<Outcome>> = episodes.par_chunks(share.clamp(1, QUEUE)).map(live).collect();
        outcomes.concat()
    }
}

struct Queue<'a> {
    shape: &'a Shape,
    episodes: &'a [Lane<'a>],
    spec: &'static Spec,
    horizon: usize,
    mode: Mode,
}

/// Where sixteen lanes stand.
struct Standing<'a> {
    queue: &'a Queue<'a>,
    /// The episode of each lane.
    episode: [usize; LANES],
    /// The first episode that nobody has begun.
    next: usize,
    theta: Vec<Pack>,
    simulators: Simulators,
    draws: Draws,
    resets: Resets,
    /// Room for the draws of one reset.
    reset_draws: Vec<f32>,
    state: Vec<Pack>,
    time: [u32; LANES],
    alive: Pack,
}

impl<'a> Standing<'a> {
    fn new(queue: &'a Queue) -> Self {
        let first = &queue.episodes[..LANES.min(queue.episodes.len())];
        let simulators: Vec<_> = first.iter().map(|episode| episode.simulator).collect();
        let mut draws = Draws::new();
        first.iter().enumerate().for_each(|(lane, episode)| draws.set(lane, episode));
        let mut standing = Standing {
            queue,
            episode: std::array::from_fn(|lane| lane),
            next: first.len(),
            theta: pack(first.iter().map(|episode| episode.theta)),
            simulators: Simulators::new(&simulators),
            draws,
            resets: Resets::new(queue.spec.reset_draws),
            reset_draws: Vec::new(),
            state: vec![Pack::ZERO; queue.spec.state_width],
            time: [0; LANES],
            alive: Pack(std::array::from_fn(|lane| if lane < first.len() { 1.0 } else { 0.0 })),
        };
        (0..first.len()).for_each(|lane| standing.reset(lane));
        standing
    }

    fn reset(&mut self, lane: usize) {
        self.resets.write(self.queue.episodes, self.episode[lane], &mut self.reset_draws);
        self.simulators.reset(lane, &self.reset_draws, &mut self.state);
    }

    /// Begins the next episode in a lane whose episode is over. Says whether parameters changed.
    fn refill(&mut self, lane: usize) -> bool {
        let Some(episode) = self.queue.episodes.get(self.next) else {
            self.alive.0[lane] = 0.0;
            return false;
        };
        let before = &self.queue.episodes[self.episode[lane]];
        let other_policy = !std::ptr::eq(before.theta, episode.theta);
        if other_policy {
            self.theta.iter_mut().zip(episode.theta).for_each(|(pack, &x)| pack.0[lane] = x);
        }
        if !std::ptr::eq(before.simulator, episode.simulator) {
            self.simulators.set(lane, episode.simulator);
        }
        self.draws.set(lane, episode);
        self.episode[lane] = self.next;
        self.reset(lane);
        self.next += 1;
        self.time[lane] = 0;
        self.alive.0[lane] = 1.0;
        other_policy
    }
}

impl Task for Queue<'_> {
    type Output = Vec<Outcome>;

    #[inline(always)]
    fn run<M: Machine>(self) -> Vec<Outcome> {
        let Queue { shape, episodes, spec, horizon, mode } = self;
        let mut outcomes = vec![Outcome::default(); episodes.len()];
        if horizon == 0 || episodes.is_empty() {
            return outcomes;
        }
        let mut at = Standing::new(&self);
        let mut acting = Acting::<M>::new(shape, Lanes::of(&at.theta), mode);
        let mut observation = vec![Pack::ZERO; spec.observation.width()];
        let mut hidden = vec![Lanes::<M>::default(); shape.hidden];
        let mut outputs = vec![Lanes::<M>::default(); shape.outputs];
        let mut action = vec![Pack::ZERO; shape.action];
        let mut total = [0.0f64; LANES];
        while at.alive != Pack::ZERO {
            at.simulators.observe(&at.state, &at.alive, &mut observation);
            shape.forward(Lanes::of(&at.theta), Lanes::of(&observation), &mut hidden, &mut outputs, 1);
            let acted = Lanes::<M>::of_mut(&mut action);
            let step_draws = acting.act(shape, &at.draws, at.time, &mut outputs, acted);
            let step = at.simulators.step(&step_draws, &mut at.state, &action, &at.alive);

            let mut over = [false; LANES];
            for lane in 0..LANES {
                let alive = at.alive.0[lane] > 0.0;
                total[lane] += f64::from(step.reward.0[lane]);
                at.time[lane] += u32::from(alive);
                over[lane] = alive && (step.alive.0[lane] == 0.0 || at.time[lane] as usize == horizon);
            }
            if over.contains(&true) {
                let mut other_policy = false;
                for lane in (0..LANES).filter(|&lane| over[lane]) {
                    outcomes[at.episode[lane]] = Outcome {
                        total_reward: std::mem::take(&mut total[lane]),
                        steps: at.time[lane] as usize,
                        terminated: step.alive.0[lane] == 0.0,
                    };
                    other_policy |= at.refill(lane);
                }
                if other_policy {
                    acting = Acting::new(shape, Lanes::of(&at.theta), mode);
                }
            }
        }
        outcomes
    }
}
