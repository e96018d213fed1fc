//! Estimates from trajectories, sixteen at a time in the lanes of the processor's vectors: simulators,
//! narrow networks, f32.

mod batch;

use batch::Batch;
use fedrl_core::LANES;
use fedrl_engine::fused::Fused as Policy;
use fedrl_engine::{EngineError, Matrix, Rows};

use super::{Corrected, Estimated, Estimates, Request};
use crate::Agent;
use crate::vector::difference;

/// Lets a policy act and differentiates its log-probabilities in lanes.
pub struct Fused {
    policy: Policy,
    agents_together: usize,
}

impl Fused {
    /// Estimates for `agents` with `batch` trajectories each as a rule.
    pub fn new(policy: Policy, agents: &[Agent<f32>], batch: usize) -> Self {
        let full = LANES / batch.clamp(1, LANES);
        // Lanes that cost nothing are filled up; others are shared out among the threads. Numbers do not
        // depend on it.
        let at_once = agents.first().is_some_and(|agent| agent.simulator.lanes_at_once());
        let share = agents.len().div_ceil(rayon::current_num_threads());
        Fused { policy, agents_together: if at_once { full } else { share.clamp(1, full) } }
    }
}

impl Estimates<f32> for Fused {
    fn gradients(&self, request: &Request<f32>, theta: &Rows<f32>) -> Result<Estimated<f32>, EngineError> {
        // The batch of u_0 may be much greater than that of local steps: no more agents at once than fill
        // the lanes.
        let theta = theta.host()?;
        let together = (LANES / request.batch.max(1)).max(1);
        let mut blocks = Vec::new();
        for (index, agents) in request.agents.chunks(together).enumerate() {
            let first = index * together;
            let keys = &request.keys[first..first + agents.len()];
            let theta = Matrix::from_rows((first..first + agents.len()).map(|row| theta.row(row)));
            let request = Request { agents, keys, ..*request };
            let batch = Batch::live(&self.policy, &request, &theta);
            let logs = if request.weighing.entropy > 0.0 { batch.logs(&batch.own) } else { Vec::new() };
            let gradients = batch.gradients(&batch.own, &batch.psi(&logs));
            let gradients = batch.mean(&gradients, |_| 1.0).into();
            blocks.push(Estimated { gradients, lived: batch.lived(), importance: None });
        }
        Ok(Estimated::join(blocks))
    }

    fn importance_corrected(
        &self,
        request: &Request<f32>,
        theta: &Rows<f32>,
        previous: &Rows<f32>,
    ) -> Result<Corrected<f32>, EngineError> {
        let batch = Batch::live(&self.policy, request, &*theta.host()?);
        let logs = batch.logs(&batch.own);
        let psi = batch.psi(&logs);
        let gradients = batch.gradients(&batch.own, &psi);
        let shared = previous.rows() == 1;
        let previous = previous.host()?;
        let of_agent = |agent: usize| previous.row(if shared { 0 } else { agent });
        let (other_logs, corrections) = if request.weighing.entropy > 0.0 {
            let others = batch.passes(of_agent);
            let other_logs = batch.logs(&others);
            let corrections = batch.gradients(&others, &batch.psi(&other_logs));
            (other_logs, corrections)
        } else {
            batch.logs_and_gradients(of_agent, &psi)
        };
        // w(τ|θ′, θ) is the same at every step, so that it multiplies a trajectory's whole gradient.
        let (weights, seen) = batch.weights(&other_logs, &logs);
        let gradients = batch.mean(&gradients, |_| 1.0).into();
        let fresh = Estimated { gradients, lived: batch.lived(), importance: Some(seen) };
        Ok(Corrected { fresh, corrections: batch.mean(&corrections, |lane| weights[lane]).into() })
    }

    fn hessian_corrected(
        &self,
        request: &Request<f32>,
        theta: &Rows<f32>,
        between: &Rows<f32>,
        previous: &Rows<f32>,
    ) -> Result<Corrected<f32>, EngineError> {
        let theta = theta.host()?;
        let batch = Batch::live(&self.policy, request, &*between.host()?);
        let previous = previous.spread(theta.rows());
        let previous = previous.host()?;
        let along: Vec<Vec<f32>> =
            (0..theta.rows()).map(|agent| difference(theta.row(agent), previous.row(agent))).collect();
        let current = batch.passes(|agent| theta.row(agent));
        let (logs, current_logs) = (batch.logs(&batch.own), batch.logs(&current));
        let (weights, seen) = batch.weights(&current_logs, &logs);

        // ⟨Σ_t S_t, v⟩ g + ∇⟨g, v⟩: the second term is Σ_t Ψ_t ∇²log π v, and what Ψ itself changes.
        let psi = batch.psi(&logs);
        let (hessian, slopes) = batch.hessian_products(&along, &psi);
        let sums = batch.lane_sums(|block| block.lived.sums(&slopes[block.index]));
        let mut outer = batch.scaled(psi, |lane| sums[lane]);
        if request.weighing.entropy > 0.0 {
            batch.add_slopes(&mut outer, &slopes);
        }
        let mut corrections = Rows::Host(batch.mean(&batch.gradients(&batch.own, &outer), |_| 1.0));
        corrections.add_scaled(&vec![1.0; theta.rows()], &batch.mean(&hessian, |_| 1.0).into());

        // w(τ|θ, θ(α)) g(τ|θ)
        let gradients = batch.gradients(&current, &batch.psi(&current_logs));
        let gradients = batch.mean(&gradients, |lane| weights[lane]).into();
        Ok(Corrected { fresh: Estimated { gradients, lived: batch.lived(), importance: Some(seen) }, corrections })
    }

    fn block_size(&self) -> usize {
        self.agents_together
    }
}
