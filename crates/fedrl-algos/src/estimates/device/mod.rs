//! Estimates from trajectories on a GPU that keeps parameters, trajectories and gradients to itself: what
//! comes back are a few numbers per trajectory.

mod credit;

use std::ops::Range;

use credit::Weights;
use fedrl_engine::kernels::{DeviceRows, LaneGradients, Outcomes, Place, Resident, StepNumbers, Tape};
use fedrl_engine::{EngineError, Rows};

use super::{Corrected, Estimated, Estimates, Experience, Request};
use crate::ImportanceMetrics;
use crate::importance::importance_weight;

/// Lets a policy act and differentiates its log-probabilities in kernels.
pub struct OnDevice {
    policy: Resident,
}

impl OnDevice {
    /// Estimates of this policy's gradients.
    pub fn new(policy: Resident) -> Self {
        OnDevice { policy }
    }

    /// Works through the agents in blocks for which the device has room.
    fn blocks<T>(
        &self,
        request: &Request<f32>,
        f: impl Fn(Range<usize>) -> Result<T, EngineError>,
    ) -> Result<Vec<T>, EngineError> {
        let agents = request.agents.len();
        let simulator = &request.agents[0].simulator;
        let together = self.policy.agents_together(simulator, request.batch, request.horizon);
        (0..agents).step_by(together).map(|first| f(first..agents.min(first + together))).collect()
    }
}

impl Estimates<f32> for OnDevice {
    fn repeat(&self, row: &[f32], rows: usize) -> Rows<f32> {
        self.policy.repeat(row, rows)
    }

    fn gradients(&self, request: &Request<f32>, theta: &Rows<f32>) -> Result<Estimated<f32>, EngineError> {
        let theta = self.policy.rows(theta);
        let estimates = self.blocks(request, |block| {
            let theta = theta.part(block.clone());
            Block::live(&self.policy, request, block, &theta)?.gradients(&theta)
        })?;
        Ok(Estimated::join(estimates))
    }

    fn importance_corrected(
        &self,
        request: &Request<f32>,
        theta: &Rows<f32>,
        previous: &Rows<f32>,
    ) -> Result<Corrected<f32>, EngineError> {
        let (theta, previous) = (self.policy.rows(theta), self.policy.rows(previous));
        let corrected = self.blocks(request, |block| {
            let shared = previous.rows() == 1;
            let previous = if shared { previous.clone() } else { previous.part(block.clone()) };
            let theta = theta.part(block.clone());
            Block::live(&self.policy, request, block, &theta)?.importance_corrected(&theta, &previous)
        })?;
        Ok(join(corrected))
    }

    fn hessian_corrected(
        &self,
        request: &Request<f32>,
        theta: &Rows<f32>,
        between: &Rows<f32>,
        previous: &Rows<f32>,
    ) -> Result<Corrected<f32>, EngineError> {
        let along = self.policy.rows(&theta.minus(&previous.spread(theta.rows())));
        let (theta, between) = (self.policy.rows(theta), self.policy.rows(between));
        let corrected = self.blocks(request, |block| {
            let (theta, between, along) =
                (theta.part(block.clone()), between.part(block.clone()), along.part(block.clone()));
            Block::live(&self.policy, request, block, &between)?.hessian_corrected(&theta, &between, &along)
        })?;
        Ok(join(corrected))
    }

    fn block_size(&self) -> usize {
        usize::MAX
    }
}

/// What agents for which the device has room lived through.
struct Block<'a> {
    request: &'a Request<'a, f32>,
    agents: usize,
    tape: Tape,
    weights: Weights,
}

impl<'a> Block<'a> {
    /// τ ~ p_i(·|θ), a batch per agent.
    fn live(
        policy: &Resident,
        request: &'a Request<'a, f32>,
        agents: Range<usize>,
        theta: &DeviceRows,
    ) -> Result<Self, EngineError> {
        let pairs = request.agents[agents.clone()].iter().zip(&request.keys[agents.clone()]);
        let places: Vec<Place<f32>> = pairs.map(|(agent, &key)| Place { simulator: &agent.simulator, key }).collect();
        let tape = policy.live(&places, theta, (request.batch, request.horizon))?;
        let weights = Weights::new(request.weighing, request.horizon);
        Ok(Block { request, agents: agents.len(), tape, weights })
    }

    fn gradients(&self, theta: &DeviceRows) -> Result<Estimated<f32>, EngineError> {
        let psi = self.weights.psi(&self.tape, self.tape.logs());
        let (_, gradients) = self.tape.scores(theta, &psi);
        let (outcomes, _) = self.tape.outcomes(&[])?;
        Ok(self.estimated(self.mean(&gradients), &outcomes, None))
    }

    fn importance_corrected(&self, theta: &DeviceRows, previous: &DeviceRows) -> Result<Corrected<f32>, EngineError> {
        let psi = self.weights.psi(&self.tape, self.tape.logs());
        let (_, gradients) = self.tape.scores(theta, &psi);
        let (others, corrections) = self.scores_elsewhere(previous, &psi);
        let (outcomes, sums) = self.tape.outcomes(&[(&others, Some(self.tape.logs()))])?;
        // w(τ|θ′, θ) is the same at every step, so that it multiplies a trajectory's whole gradient.
        let (weights, seen) = self.importance(&sums[0]);
        let fresh = self.estimated(self.mean(&gradients), &outcomes, Some(seen));
        Ok(Corrected { fresh, corrections: Rows::Device(self.tape.mean(&corrections, &weights)) })
    }

    fn hessian_corrected(
        &self,
        theta: &DeviceRows,
        between: &DeviceRows,
        along: &DeviceRows,
    ) -> Result<Corrected<f32>, EngineError> {
        let psi = self.weights.psi(&self.tape, self.tape.logs());
        let (_, own) = self.tape.scores(between, &psi);
        let (slopes, hessian) = self.tape.curvature(between, along, &psi);
        let (current, gradients) = self.scores_elsewhere(theta, &psi);
        let (outcomes, sums) = self.tape.outcomes(&[(&current, Some(self.tape.logs())), (&slopes, None)])?;
        let (weights, seen) = self.importance(&sums[0]);

        // ⟨Σ_t S_t, v⟩ g + ∇⟨g, v⟩: the second term is Σ_t Ψ_t ∇²log π v, and what Ψ itself changes.
        let mut corrections = Rows::Device(self.tape.mean(&own, &sums[1]));
        let ones = vec![1.0; self.agents];
        corrections.add_scaled(&ones, &self.mean(&hessian));
        if self.weights.regularised() {
            let (_, slope) = self.tape.scores(between, &self.weights.slope(&self.tape, &slopes));
            corrections.add_scaled(&ones, &self.mean(&slope));
        }
        // w(τ|θ, θ(α)) g(τ|θ)
        let gradients = Rows::Device(self.tape.mean(&gradients, &weights));
        Ok(Corrected { fresh: self.estimated(gradients, &outcomes, Some(seen)), corrections })
    }

    /// log π and the gradients at parameters that did not act; `psi` is right unless Ψ depends on them.
    fn scores_elsewhere(&self, theta: &DeviceRows, psi: &StepNumbers) -> (StepNumbers, LaneGradients) {
        let (logs, gradients) = self.tape.scores(theta, psi);
        if self.weights.regularised() {
            return self.tape.scores(theta, &self.weights.psi(&self.tape, &logs));
        }
        (logs, gradients)
    }

    fn mean(&self, gradients: &LaneGradients) -> Rows<f32> {
        Rows::Device(self.tape.mean(gradients, &vec![1.0; self.agents * self.request.batch]))
    }

    /// The weight of every trajectory, from Σ_t of the log-probabilities' differences, and what every agent's
    /// were like.
    fn importance(&self, log_ratios: &[f32]) -> (Vec<f32>, Vec<ImportanceMetrics>) {
        let mut seen = vec![ImportanceMetrics::default(); self.agents];
        let weight = |(lane, &log_ratio): (usize, &f32)| {
            importance_weight(f64::from(log_ratio), self.request.is_clip, &mut seen[lane / self.request.batch])
        };
        (log_ratios.iter().enumerate().map(weight).collect(), seen)
    }

    fn estimated(
        &self,
        gradients: Rows<f32>,
        outcomes: &Outcomes,
        importance: Option<Vec<ImportanceMetrics>>,
    ) -> Estimated<f32> {
        let lived = |agent| {
            let mut lived = Experience::default();
            for lane in outcomes.lanes(agent) {
                lived.merge(&Experience {
                    trajectories: 1,
                    terminated: usize::from(outcomes.terminated(lane)),
                    env_steps: outcomes.steps(lane) as u64,
                    return_sum: outcomes.total_reward(lane),
                    margin: outcomes.margin(lane),
                });
            }
            lived
        };
        Estimated { gradients, lived: (0..self.agents).map(lived).collect(), importance }
    }
}

fn join(blocks: Vec<Corrected<f32>>) -> Corrected<f32> {
    let corrections = Rows::stack(&blocks.iter().map(|block| &block.corrections).collect::<Vec<_>>());
    Corrected { fresh: Estimated::join(blocks.into_iter().map(|block| block.fresh).collect()), corrections }
}
