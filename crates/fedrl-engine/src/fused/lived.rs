//! What sixteen lanes lived through.

#![allow(clippy::needless_range_loop, reason = "sums are taken lane by lane")]

use fedrl_core::LANES;
use fedrl_core::random::Key;
use fedrl_core::wide::{Machine, Pack, Task, run_on_widest};
use fedrl_envs::{Simulator, Simulators};

use super::pool::Room;
use crate::rollout::{ACTION, draw, reset_draws, step_draws};
use crate::{Replica, Trajectory};

/// One trajectory to be lived: whose policy, whose environment, whose draws.
#[derive(Clone, Copy)]
pub struct Lane<'a> {
    /// Parameters θ of the policy.
    pub theta: &'a [f32],
    /// The environment.
    pub simulator: &'a Simulator<f32>,
    /// Key of its replica's draws.
    pub key: Key,
    /// Its number in the batch of its replica.
    pub trajectory: usize,
}

impl<'a> Lane<'a> {
    /// The trajectory of a replica that has this number.
    pub fn new(replica: &Replica<'a, f32>, trajectory: usize) -> Self {
        Lane { theta: replica.theta, simulator: replica.simulator, key: replica.key, trajectory }
    }
}

/// The steps of up to sixteen trajectories. Step t of every lane lies side by side; a lane whose
/// trajectory is over has zeros.
#[derive(Debug)]
pub struct Lived {
    /// `[steps, observation width]`.
    pub(super) observations: Room,
    /// `[steps, action width]`.
    pub(super) actions: Room,
    pub(super) observation_width: usize,
    pub(super) action_width: usize,
    /// Rewards, `[steps]`.
    pub rewards: Vec<Pack>,
    /// Steps of each lane.
    pub lengths: [usize; LANES],
    /// Whether each lane's episode ended by itself.
    pub terminated: [bool; LANES],
    /// How close any draw of each lane came to choosing another action.
    pub margins: [f32; LANES],
}

impl Lived {
    /// Steps of the longest trajectory.
    pub fn steps(&self) -> usize {
        self.rewards.len()
    }

    /// What one lane lived through, without its final observation.
    pub fn trajectory(&self, lane: usize) -> Trajectory<f32> {
        let of_lane = |packs: &[Pack], width: usize| row(&packs[..self.lengths[lane] * width], lane).collect();
        Trajectory {
            observations: of_lane(&self.observations, self.observation_width),
            actions: of_lane(&self.actions, self.action_width),
            rewards: of_lane(&self.rewards, 1),
            final_observation: Vec::new(),
            terminated: self.terminated[lane],
        }
    }

    /// The sums over the steps of every lane of `packs`, one per step.
    pub fn sums(&self, packs: &[Pack]) -> [f64; LANES] {
        run_on_widest(Sums { packs, less: None, lengths: &self.lengths })
    }

    /// The sums over the steps of every lane of `packs` less `others`.
    pub fn difference_sums(&self, packs: &[Pack], others: &[Pack]) -> [f64; LANES] {
        run_on_widest(Sums { packs, less: Some(others), lengths: &self.lengths })
    }

    /// The numbers that `packs`, one per step, have for the steps of one lane.
    pub fn of_lane<'a>(&self, packs: &'a [Pack], lane: usize) -> impl Iterator<Item = f32> + use<'a> {
        packs[..self.lengths[lane]].iter().map(move |pack| pack.0[lane])
    }
}

/// The states of a trajectory that lanes lived through, the last one included: made again by the same
/// arithmetic from its draws and actions, as trajectories do not keep them.
pub(crate) fn states(replica: &Replica<f32>, trajectory: usize, lived: &Trajectory<f32>) -> Vec<Vec<f32>> {
    let spec = replica.spec;
    let simulators = Simulators::new(&[replica.simulator]);
    let mut state = vec![Pack::ZERO; spec.state_width];
    simulators.reset(0, &reset_draws(replica.key, trajectory, spec.reset_draws), &mut state);
    let alive = Pack(std::array::from_fn(|lane| if lane == 0 { 1.0 } else { 0.0 }));
    let mut states = vec![row(&state, 0).collect()];
    for (time, action) in lived.actions.chunks(spec.action.width()).enumerate() {
        let draws = step_draws::<f32>(draw(replica.key, trajectory, time, 0, ACTION)).map(|x| Pack([x; LANES]));
        simulators.step(&draws, &mut state, &pack([action]), &alive);
        states.push(row(&state, 0).collect());
    }
    states
}

struct Sums<'a> {
    packs: &'a [Pack],
    less: Option<&'a [Pack]>,
    lengths: &'a [usize; LANES],
}

impl Task for Sums<'_> {
    type Output = [f64; LANES];

    #[inline(always)]
    fn run<M: Machine>(self) -> [f64; LANES] {
        let mut sums = [0.0; LANES];
        for (step, pack) in self.packs.iter().enumerate() {
            let less = self.less.map_or(Pack::ZERO, |less| less[step]);
            for lane in 0..LANES {
                let number = f64::from(pack.0[lane]) - f64::from(less.0[lane]);
                sums[lane] += if step < self.lengths[lane] { number } else { 0.0 };
            }
        }
        sums
    }
}

/// Rows as packs: number i of every row is in pack i. Further lanes are copies of the first row.
pub fn pack<'a>(rows: impl IntoIterator<Item = &'a [f32]>) -> Vec<Pack> {
    let mut rows = rows.into_iter();
    let first = rows.next().unwrap_or(&[]);
    let mut packs: Vec<Pack> = first.iter().map(|&x| Pack([x; LANES])).collect();
    for (lane, row) in (1..LANES).zip(rows) {
        packs.iter_mut().zip(row).for_each(|(pack, &x)| pack.0[lane] = x);
    }
    packs
}

/// The numbers of one lane.
pub fn row(packs: &[Pack], lane: usize) -> impl Iterator<Item = f32> + '_ {
    packs.iter().map(move |pack| pack.0[lane])
}
