//! Sixteen simulations side by side.

use std::marker::PhantomData;

use fedrl_core::LANES;
use fedrl_core::wide::{Lanes, Machine, Pack, Task, Wide, run_on_widest};

use crate::environment::STEP_DRAWS;
use crate::instance::Simulator;
use crate::{Dynamics, Smooth};

/// Sixteen variants of one environment, an episode in each. States live with the caller, a [`Pack`]
/// for every number of a state.
pub struct Simulators {
    dynamics: &'static dyn LaneDynamics,
    table: Table,
}

/// The coefficients of sixteen variants.
pub struct Table {
    /// Coefficient by coefficient.
    columns: Vec<Pack>,
    /// Variant by variant.
    rows: Vec<f32>,
    /// What rewards are multiplied with.
    reward_scale: Pack,
    /// What is then added.
    reward_shift: Pack,
}

impl Table {
    fn row(&self, lane: usize) -> &[f32] {
        &self.rows[lane * self.columns.len()..][..self.columns.len()]
    }

    fn row_mut(&mut self, lane: usize) -> &mut [f32] {
        &mut self.rows[lane * self.columns.len()..][..self.columns.len()]
    }
}

/// What a step did in every lane.
#[derive(Debug, Clone, Copy)]
pub struct LaneStep {
    /// Rewards; 0 where the episode was over.
    pub reward: Pack,
    /// 1 where the episode goes on, 0 where it is over.
    pub alive: Pack,
}

impl Simulators {
    /// At most sixteen `variants` of one environment; further lanes are copies of the first.
    pub fn new(variants: &[&Simulator<f32>]) -> Self {
        let lane = |lane: usize| variants.get(lane).unwrap_or(&variants[0]);
        let width = variants[0].coefficients().len();
        let mut rows = Vec::with_capacity(LANES * width);
        (0..LANES).for_each(|i| rows.extend_from_slice(lane(i).coefficients()));
        let columns = (0..width).map(|i| Pack(std::array::from_fn(|lane| rows[lane * width + i]))).collect();
        Simulators {
            dynamics: variants[0].environment().lanes(),
            table: Table {
                columns,
                rows,
                reward_scale: Pack(std::array::from_fn(|i| lane(i).reward().0)),
                reward_shift: Pack(std::array::from_fn(|i| lane(i).reward().1)),
            },
        }
    }

    /// Puts another variant of the same environment into a lane.
    pub fn set(&mut self, lane: usize, variant: &Simulator<f32>) {
        self.table.row_mut(lane).copy_from_slice(variant.coefficients());
        self.table.columns.iter_mut().zip(variant.coefficients()).for_each(|(column, &x)| column.0[lane] = x);
        (self.table.reward_scale.0[lane], self.table.reward_shift.0[lane]) = variant.reward();
    }

    /// Writes the initial state of one lane, made of its uniform `draws`.
    pub fn reset(&self, lane: usize, draws: &[f32], state: &mut [Pack]) {
        self.dynamics.reset(self.table.row(lane), draws, lane, state);
    }

    /// Writes what the agents see; zeros where the episode is over.
    pub fn observe(&self, state: &[Pack], alive: &Pack, observation: &mut [Pack]) {
        self.dynamics.observe(&self.table, state, alive, observation);
    }

    /// Moves the states one step on. Those of episodes that are over are not to be looked at any more.
    pub fn step(&self, draws: &[Pack; STEP_DRAWS], state: &mut [Pack], action: &[Pack], alive: &Pack) -> LaneStep {
        self.dynamics.step(&self.table, draws, state, action, alive)
    }
}

/// [`Dynamics`] in sixteen lanes.
pub trait LaneDynamics: Send + Sync {
    /// Whether lanes are worked on at once, so that sixteen cost about as much as one.
    fn at_once(&self) -> bool;
    /// See [`Simulators::reset`]; `row` has the lane's coefficients.
    fn reset(&self, row: &[f32], draws: &[f32], lane: usize, state: &mut [Pack]);
    /// See [`Simulators::observe`].
    fn observe(&self, table: &Table, state: &[Pack], alive: &Pack, observation: &mut [Pack]);
    /// See [`Simulators::step`].
    fn step(
        &self,
        table: &Table,
        draws: &[Pack; STEP_DRAWS],
        state: &mut [Pack],
        action: &[Pack],
        alive: &Pack,
    ) -> LaneStep;
}

/// All lanes at once.
pub struct AtOnce<D>(pub D);

impl<D: Smooth + Dynamics> LaneDynamics for AtOnce<D> {
    fn at_once(&self) -> bool {
        true
    }

    fn reset(&self, row: &[f32], draws: &[f32], lane: usize, state: &mut [Pack]) {
        reset::<D>(row, draws, lane, state);
    }

    fn observe(&self, table: &Table, state: &[Pack], alive: &Pack, observation: &mut [Pack]) {
        run_on_widest(Observe::<D> { dynamics: PhantomData, table, state, alive, observation });
    }

    fn step(
        &self,
        table: &Table,
        draws: &[Pack; STEP_DRAWS],
        state: &mut [Pack],
        action: &[Pack],
        alive: &Pack,
    ) -> LaneStep {
        run_on_widest(Step::<D> { dynamics: PhantomData, table, draws, state, action, alive })
    }
}

struct Observe<'a, D> {
    dynamics: PhantomData<D>,
    table: &'a Table,
    state: &'a [Pack],
    alive: &'a Pack,
    observation: &'a mut [Pack],
}

impl<D: Smooth> Task for Observe<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        let observation = Lanes::<M>::of_mut(self.observation);
        D::observe(Lanes::of(&self.table.columns), Lanes::of(self.state), observation);
        let (alive, zero) = (Lanes::one_of(self.alive), Lanes::constant(0.0));
        for x in observation {
            *x = Wide::choose_less(zero, alive, *x, zero);
        }
    }
}

struct Step<'a, D> {
    dynamics: PhantomData<D>,
    table: &'a Table,
    draws: &'a [Pack; STEP_DRAWS],
    state: &'a mut [Pack],
    action: &'a [Pack],
    alive: &'a Pack,
}

impl<D: Smooth> Task for Step<'_, D> {
    type Output = LaneStep;

    /// Episodes that are over go on unseen.
    #[inline(always)]
    fn run<M: Machine>(self) -> LaneStep {
        let (columns, state) = (Lanes::<M>::of(&self.table.columns), Lanes::of_mut(self.state));
        let reward = D::step(columns, Lanes::of(self.draws), state, Lanes::of(self.action));
        let shaped = reward * Lanes::one_of(&self.table.reward_scale) + Lanes::one_of(&self.table.reward_shift);
        let (alive, zero) = (Lanes::one_of(self.alive), Lanes::constant(0.0));
        LaneStep {
            reward: Pack(Wide::choose_less(zero, alive, shaped, zero).to_array()),
            alive: Pack(Wide::choose_less(zero, alive, D::alive(columns, state), zero).to_array()),
        }
    }
}

/// One lane after the other: dynamics in which every lane goes its own way.
pub struct OneByOne<D>(pub D);

/// The most numbers of a state, an observation or an action.
const MOST: usize = 64;

impl<D: Dynamics> LaneDynamics for OneByOne<D> {
    fn at_once(&self) -> bool {
        false
    }

    fn reset(&self, row: &[f32], draws: &[f32], lane: usize, state: &mut [Pack]) {
        reset::<D>(row, draws, lane, state);
    }

    fn observe(&self, table: &Table, state: &[Pack], alive: &Pack, observation: &mut [Pack]) {
        let (mut one, mut seen) = ([0.0; MOST], [0.0; MOST]);
        observation.fill(Pack::ZERO);
        for lane in (0..LANES).filter(|&lane| alive.0[lane] > 0.0) {
            read(state, lane, &mut one);
            D::observe::<f32>(table.row(lane), &one[..state.len()], &mut seen[..observation.len()]);
            write(&seen, lane, observation);
        }
    }

    fn step(
        &self,
        table: &Table,
        draws: &[Pack; STEP_DRAWS],
        state: &mut [Pack],
        action: &[Pack],
        alive: &Pack,
    ) -> LaneStep {
        let (mut one, mut acted) = ([0.0; MOST], [0.0; MOST]);
        let mut step = LaneStep { reward: Pack::ZERO, alive: Pack::ZERO };
        for lane in (0..LANES).filter(|&lane| alive.0[lane] > 0.0) {
            read(state, lane, &mut one);
            read(action, lane, &mut acted);
            let own = &mut one[..state.len()];
            let draws = draws.map(|draw| draw.0[lane]);
            let reward = D::step::<f32>(table.row(lane), &draws, own, &acted[..action.len()]);
            step.reward.0[lane] = reward * table.reward_scale.0[lane] + table.reward_shift.0[lane];
            step.alive.0[lane] = if D::terminated::<f32>(table.row(lane), own) { 0.0 } else { 1.0 };
            write(&one, lane, state);
        }
        step
    }
}

fn reset<D: Dynamics>(row: &[f32], draws: &[f32], lane: usize, state: &mut [Pack]) {
    let mut one = [0.0; MOST];
    D::reset::<f32>(row, draws, &mut one[..state.len()]);
    write(&one, lane, state);
}

fn read(packs: &[Pack], lane: usize, one: &mut [f32; MOST]) {
    one.iter_mut().zip(packs).for_each(|(x, pack)| *x = pack.0[lane]);
}

fn write(one: &[f32; MOST], lane: usize, packs: &mut [Pack]) {
    packs.iter_mut().zip(one).for_each(|(pack, &x)| pack.0[lane] = x);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ENVIRONMENTS;

    #[test]
    fn every_environment_fits() {
        for spec in ENVIRONMENTS.map(|environment| environment.spec()) {
            let widths = [spec.state_width, spec.observation.width(), spec.action.width()];
            assert!(widths.iter().all(|&width| width <= MOST), "{}", spec.id);
        }
    }
}
