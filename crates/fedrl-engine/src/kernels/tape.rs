//! What a block of agents lived through on a device, and what follows from it there.

use cubecl::prelude::*;
use fedrl_core::Scalar;
use fedrl_envs::{Dynamics, Spec, Visitor, visit};

use super::buffer::{Buffer, cubes};
use super::live::{MARGIN, OUTCOME, Plan, RETURN, STEPS, TERMINATED, trajectories};
use super::rows::DeviceRows;
use super::scores::{Pieces, batch_means, curvature, scores, step_sums};
use super::weigh::{Credit, less_others, weights};
use super::{Kernels, Place};
use crate::fused::Outcome;
use crate::{EngineError, Number, Trajectories, Trajectory};

/// The trajectories of a block of agents, agent after agent, a batch each.
pub struct Tape {
    client: Client,
    plan: Plan,
    pieces: Pieces,
    agents: usize,
    observations: Buffer,
    actions: Buffer,
    rewards: Buffer,
    logs: StepNumbers,
    outcomes: Buffer,
}

/// A number for every step of every trajectory.
#[derive(Debug, Clone)]
pub struct StepNumbers(Buffer);

/// A gradient for every trajectory, in pieces.
pub struct LaneGradients(Buffer);

/// What trajectories came to, read back.
pub struct Outcomes {
    told: usize,
    batch: usize,
    numbers: Vec<f32>,
}

/// The launch for the dynamics that an environment's name stands for.
struct Live<'a> {
    client: &'a Client,
    plan: &'a Plan,
    theta: &'a Buffer,
    coefficients: Buffer,
    scales: Buffer,
    keys: Buffer,
    states: Buffer,
    tape: [&'a Buffer; 5],
    lanes: usize,
}

impl Visitor for Live<'_> {
    type Output = ();

    fn visit<D: Dynamics>(self) {
        let [observations, actions, rewards, logs, outcomes] = self.tape;
        for first in (0..self.plan.horizon).step_by(self.plan.chunk) {
            let (count, dim) = cubes(self.lanes);
            trajectories::launch::<D>(
                self.client,
                count,
                dim,
                self.theta.arg(),
                self.coefficients.arg(),
                self.scales.arg(),
                self.keys.arg(),
                observations.arg(),
                actions.arg(),
                rewards.arg(),
                logs.arg(),
                self.states.arg(),
                outcomes.arg(),
                first as u32,
                self.plan.clone(),
            );
        }
    }
}

impl Kernels {
    /// Lets the policies `theta` live. `None` where there are no dynamics for kernels.
    pub(super) fn live<F: Number>(&self, plan: Plan, spec: &Spec, theta: &Buffer, places: &[Place<F>]) -> Option<Tape> {
        let client = &self.client;
        let single = |x: F| x.as_double() as f32;
        let coefficients: Vec<f32> =
            places.iter().flat_map(|place| place.simulator.coefficients()).map(|&x| single(x)).collect();
        let scales: Vec<f32> =
            places.iter().flat_map(|place| <[F; 2]>::from(place.simulator.reward()).map(single)).collect();
        let keys: Vec<u32> = places.iter().flat_map(|place| [place.key.low, place.key.high]).collect();
        let lanes = places.len() * plan.batch;
        let steps = if plan.taped { lanes * plan.horizon } else { 0 };
        let room = |len: usize| Buffer::room(client, len);
        let tape = Tape {
            client: client.clone(),
            pieces: self.pieces(&plan),
            agents: places.len(),
            observations: room(steps * plan.shape.inputs),
            actions: room(steps * plan.shape.action),
            rewards: room(steps),
            logs: StepNumbers(room(steps)),
            outcomes: room(lanes * (OUTCOME + plan.shape.inputs)),
            plan,
        };
        let launch = Live {
            client,
            plan: &tape.plan,
            theta,
            coefficients: Buffer::numbers(client, &coefficients),
            scales: Buffer::numbers(client, &scales),
            keys: Buffer::words(client, &keys),
            states: room(lanes * tape.plan.state),
            tape: [&tape.observations, &tape.actions, &tape.rewards, &tape.logs.0, &tape.outcomes],
            lanes,
        };
        visit(spec.id, launch)?;
        Some(tape)
    }
}

impl Tape {
    fn lanes(&self) -> usize {
        self.agents * self.plan.batch
    }

    fn steps(&self) -> StepNumbers {
        StepNumbers(Buffer::room(&self.client, self.lanes() * self.plan.horizon))
    }

    fn lane_gradients(&self) -> LaneGradients {
        let numbers = self.lanes() * self.pieces.count * self.plan.shape.parameters;
        LaneGradients(Buffer::room(&self.client, numbers))
    }

    /// log π(a_t|s_t) at the parameters that acted.
    pub fn logs(&self) -> &StepNumbers {
        &self.logs
    }

    /// Ψ_t of the rewards R_t − `temperature` · `logs`_t by `C`; `discounts` has γ^t.
    pub fn credit<C: Credit>(
        &self,
        discounts: &[f64],
        (temperature, logs): (f64, &StepNumbers),
        standardised: bool,
    ) -> StepNumbers {
        self.weights::<C>(&self.rewards, discounts, 1.0, (temperature, logs), standardised)
    }

    /// Ψ_t of `numbers` times a factor in the place of rewards.
    pub fn credit_of<C: Credit>(&self, numbers: &StepNumbers, factor: f64, discounts: &[f64]) -> StepNumbers {
        self.weights::<C>(&numbers.0, discounts, factor, (0.0, numbers), false)
    }

    fn weights<C: Credit>(
        &self,
        rewards: &Buffer,
        discounts: &[f64],
        scale: f64,
        (temperature, logs): (f64, &StepNumbers),
        standardised: bool,
    ) -> StepNumbers {
        let psi = self.steps();
        let discounts: Vec<f32> = discounts.iter().map(|&x| x as f32).collect();
        let (count, dim) = cubes(self.lanes());
        weights::launch::<C>(
            &self.client,
            count,
            dim,
            rewards.arg(),
            logs.0.arg(),
            self.outcomes.arg(),
            Buffer::numbers(&self.client, &discounts).arg(),
            psi.0.arg(),
            scale as f32,
            temperature as f32,
            self.pieces.clone(),
            standardised,
        );
        psi
    }

    /// Ψ_t less the mean of the other trajectories' Ψ_t, as far as there are any.
    pub fn less_others(&self, psi: &StepNumbers) -> StepNumbers {
        let less = self.steps();
        let (count, dim) = cubes(self.lanes() * self.plan.horizon);
        let (psi, outcomes) = (psi.0.arg(), self.outcomes.arg());
        less_others::launch(&self.client, count, dim, psi, outcomes, less.0.arg(), self.pieces.clone());
        less
    }

    /// log π_θ(a_t|s_t) of every step, and ∇_θ Σ_t `weights`_t log π_θ(a_t|s_t) of every trajectory. `theta`
    /// has a row per agent, or one that all of them share.
    pub fn scores(&self, theta: &DeviceRows, weights: &StepNumbers) -> (StepNumbers, LaneGradients) {
        let (logs, gradients) = (self.steps(), self.lane_gradients());
        let (count, dim) = cubes(self.lanes() * self.pieces.count);
        scores::launch(
            &self.client,
            count,
            dim,
            theta.numbers.arg(),
            self.observations.arg(),
            self.actions.arg(),
            self.outcomes.arg(),
            weights.0.arg(),
            logs.0.arg(),
            gradients.0.arg(),
            self.pieces.clone(),
            theta.rows() == 1,
        );
        (logs, gradients)
    }

    /// ⟨∇ log π_θ(a_t|s_t), v⟩ of every step, and (Σ_t `weights`_t ∇² log π_θ(a_t|s_t)) v of every trajectory;
    /// `along` is v.
    pub fn curvature(
        &self,
        theta: &DeviceRows,
        along: &DeviceRows,
        weights: &StepNumbers,
    ) -> (StepNumbers, LaneGradients) {
        let (slopes, products) = (self.steps(), self.lane_gradients());
        let (count, dim) = cubes(self.lanes() * self.pieces.count);
        curvature::launch(
            &self.client,
            count,
            dim,
            theta.numbers.arg(),
            along.numbers.arg(),
            self.observations.arg(),
            self.actions.arg(),
            self.outcomes.arg(),
            weights.0.arg(),
            slopes.0.arg(),
            products.0.arg(),
            self.pieces.clone(),
        );
        (slopes, products)
    }

    /// The mean over each agent's batch of trajectories' gradients, each times its factor.
    pub fn mean(&self, gradients: &LaneGradients, factors: &[f32]) -> DeviceRows {
        let parameters = self.plan.shape.parameters;
        let means = Buffer::room(&self.client, self.agents * parameters);
        let (count, dim) = cubes(self.agents * parameters);
        batch_means::launch(
            &self.client,
            count,
            dim,
            gradients.0.arg(),
            Buffer::numbers(&self.client, factors).arg(),
            means.arg(),
            1.0 / self.plan.batch as f32,
            self.pieces.clone(),
        );
        DeviceRows::new(&self.client, means, self.agents, parameters)
    }

    /// What the trajectories came to, and Σ_t x_t, or Σ_t (x_t − y_t), of each for all of `sums`, at the price
    /// of one wait.
    ///
    /// # Errors
    /// The device failed.
    pub fn outcomes(
        &self,
        sums: &[(&StepNumbers, Option<&StepNumbers>)],
    ) -> Result<(Outcomes, Vec<Vec<f32>>), EngineError> {
        let of_steps = |&(x, y): &(&StepNumbers, Option<&StepNumbers>)| {
            let sums = Buffer::room(&self.client, self.lanes());
            let (count, dim) = cubes(self.lanes());
            let (pieces, less) = (self.pieces.clone(), y.is_some());
            let (x, y, outcomes) = (x.0.arg(), y.unwrap_or(x).0.arg(), self.outcomes.arg());
            step_sums::launch(&self.client, count, dim, x, y, outcomes, sums.arg(), pieces, less);
            sums
        };
        let sums: Vec<Buffer> = sums.iter().map(of_steps).collect();
        let all: Vec<&Buffer> = std::iter::once(&self.outcomes).chain(&sums).collect();
        let mut read = Buffer::read(&self.client, &all)?;
        let sums = read.split_off(1);
        let told = OUTCOME + self.plan.shape.inputs;
        Ok((Outcomes { told, batch: self.plan.batch, numbers: read.remove(0) }, sums))
    }

    /// Every step, read back.
    pub(super) fn trajectories<F: Number>(&self) -> Result<Trajectories<F>, EngineError> {
        let Plan { shape, batch, horizon, .. } = &self.plan;
        let buffers = [&self.outcomes, &self.observations, &self.actions, &self.rewards];
        let read = Buffer::read(&self.client, &buffers)?;
        let outcomes = Outcomes { told: OUTCOME + shape.inputs, batch: *batch, numbers: read[0].clone() };
        let trajectory = |lane: usize| {
            let steps = outcomes.steps(lane);
            let own = |all: &[f32], width: usize| numbers(&all[lane * horizon * width..][..steps * width]);
            Trajectory {
                observations: own(&read[1], shape.inputs),
                actions: own(&read[2], shape.action),
                rewards: own(&read[3], 1),
                final_observation: numbers(&outcomes.of(lane)[OUTCOME..]),
                terminated: outcomes.terminated(lane),
            }
        };
        let agents = 0..self.agents;
        let replicas = agents.clone().map(|agent| outcomes.lanes(agent).map(trajectory).collect()).collect();
        let margin = |agent| outcomes.lanes(agent).map(|lane| outcomes.margin(lane)).fold(f64::INFINITY, f64::min);
        Ok(Trajectories { replicas, margins: agents.map(margin).map(F::from_f64).collect() })
    }
}

impl Outcomes {
    fn of(&self, lane: usize) -> &[f32] {
        &self.numbers[lane * self.told..][..self.told]
    }

    /// All of it but the margin.
    pub(super) fn outcome(&self, lane: usize) -> Outcome {
        let (total_reward, steps) = (self.total_reward(lane), self.steps(lane));
        Outcome { total_reward, steps, terminated: self.terminated(lane) }
    }

    /// The trajectories of an agent.
    pub fn lanes(&self, agent: usize) -> std::ops::Range<usize> {
        agent * self.batch..(agent + 1) * self.batch
    }

    /// Its steps.
    pub fn steps(&self, lane: usize) -> usize {
        self.of(lane)[STEPS] as usize
    }

    /// Whether it ended by itself.
    pub fn terminated(&self, lane: usize) -> bool {
        self.of(lane)[TERMINATED] > 0.0
    }

    /// Its closest draw; infinite where nothing was drawn.
    pub fn margin(&self, lane: usize) -> f64 {
        let margin = self.of(lane)[MARGIN];
        // No draw, no threshold.
        if margin > 1e38 { f64::INFINITY } else { f64::from(margin) }
    }

    /// Its undiscounted return.
    pub fn total_reward(&self, lane: usize) -> f64 {
        f64::from(self.of(lane)[RETURN])
    }
}

fn numbers<F: Scalar>(singles: &[f32]) -> Vec<F> {
    singles.iter().map(|&x| F::from_f64(f64::from(x))).collect()
}
