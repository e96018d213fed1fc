//! Estimates from trajectories, through the engine: any environment, any network, any device.

use fedrl_core::random::Key;
use fedrl_engine::{
    Engine, EngineError, EpisodicReplica, Matrix, Mode, Number, Pass, Replica, Rows, Trajectories, Trajectory,
};
use fedrl_envs::Episode;
use fedrl_models::Policy;

use super::{Corrected, Estimated, Estimates, Experience, Request};
use crate::importance::importance_weights;
use crate::vector::difference;
use crate::{Agent, ImportanceMetrics};

/// Lets a policy act and differentiates its log-probabilities.
pub struct Sampled<F> {
    /// What runs policies in environments.
    pub engine: Engine<F>,
    /// The policy all agents share.
    pub policy: Policy,
    /// Where an agent's episodes come from, by its number, if not from its simulator.
    pub foreign: Option<Foreign<F>>,
}

/// Makes an environment of agent number so and so, to live one episode in.
pub type Foreign<F> = Box<dyn Fn(usize) -> Box<dyn Episode<F>> + Send + Sync>;

impl<F: Number> Estimates<F> for Sampled<F> {
    fn gradients(&self, request: &Request<F>, theta: &Rows<F>) -> Result<Estimated<F>, EngineError> {
        let theta = theta.host()?;
        self.gradients_of(request, &self.sample(request, &theta)?, &theta)
    }

    fn importance_corrected(
        &self,
        request: &Request<F>,
        theta: &Rows<F>,
        previous: &Rows<F>,
    ) -> Result<Corrected<F>, EngineError> {
        let theta = theta.host()?;
        let previous = previous.spread(theta.rows());
        self.importance_corrected_of(request, &self.sample(request, &theta)?, &theta, &*previous.host()?)
    }

    fn hessian_corrected(
        &self,
        request: &Request<F>,
        theta: &Rows<F>,
        between: &Rows<F>,
        previous: &Rows<F>,
    ) -> Result<Corrected<F>, EngineError> {
        let (theta, between, previous) = (theta.host()?, between.host()?, previous.spread(theta.rows()));
        let tau = self.sample(request, &between)?;
        self.hessian_corrected_of(request, &tau, &theta, &between, &*previous.host()?)
    }

    fn block_size(&self) -> usize {
        self.engine.block_size()
    }
}

impl<F: Number> Sampled<F> {
    /// τ ~ p_i(·|θ), a batch per agent.
    fn sample(&self, request: &Request<F>, theta: &Matrix<F>) -> Result<Trajectories<F>, EngineError> {
        let agents = request.agents.iter().zip(request.keys).enumerate();
        if let Some(episode) = &self.foreign {
            let replica = |(index, (agent, &key)): (usize, (&&Agent<F>, &Key))| {
                let episodes = (0..request.batch).map(|_| episode(agent.id)).collect();
                EpisodicReplica { theta: theta.row(index), episodes, key }
            };
            let replicas = agents.map(replica).collect();
            return self.engine.rollout_episodes(&self.policy, replicas, request.horizon, Mode::Sampled);
        }
        let replicas: Vec<Replica<F>> = agents
            .map(|(index, (agent, &key))| Replica {
                theta: theta.row(index),
                simulator: &agent.simulator,
                spec: agent.spec,
                key,
            })
            .collect();
        self.engine.rollout(&self.policy, &replicas, request.batch, request.horizon, Mode::Sampled)
    }

    /// [`Estimates::gradients`] on given trajectories.
    ///
    /// # Errors
    /// The device failed.
    pub fn gradients_of(
        &self,
        request: &Request<F>,
        tau: &Trajectories<F>,
        theta: &Matrix<F>,
    ) -> Result<Estimated<F>, EngineError> {
        let scores = self.engine.scores(&self.policy, theta, tau);
        let psi = psi(request, tau, &scores)?;
        let gradients = scores.gradient(&averaged(tau, &psi, |_, _| F::from_f64(1.0)))?;
        Ok(estimated(tau, gradients, None))
    }

    /// [`Estimates::importance_corrected`] on given trajectories.
    ///
    /// # Errors
    /// The device failed.
    pub fn importance_corrected_of(
        &self,
        request: &Request<F>,
        tau: &Trajectories<F>,
        theta: &Matrix<F>,
        previous: &Matrix<F>,
    ) -> Result<Corrected<F>, EngineError> {
        let scores = self.engine.scores(&self.policy, theta, tau);
        let others = self.engine.scores(&self.policy, previous, tau);

        let (weights, seen) = weights(request, &others, &scores, tau)?;
        let psi_other = psi(request, tau, &others)?;
        let corrections = others.gradient(&averaged(tau, &psi_other, |i, b| weights[i][b]))?;
        let psi = psi(request, tau, &scores)?;
        let gradients = scores.gradient(&averaged(tau, &psi, |_, _| F::from_f64(1.0)))?;
        Ok(Corrected { fresh: estimated(tau, gradients, Some(seen)), corrections: corrections.into() })
    }

    /// [`Estimates::hessian_corrected`] on given trajectories.
    ///
    /// # Errors
    /// The device failed.
    pub fn hessian_corrected_of(
        &self,
        request: &Request<F>,
        tau: &Trajectories<F>,
        theta: &Matrix<F>,
        between: &Matrix<F>,
        previous: &Matrix<F>,
    ) -> Result<Corrected<F>, EngineError> {
        let v = Matrix::from_rows((0..theta.rows()).map(|index| difference(theta.row(index), previous.row(index))));
        let scores = self.engine.scores(&self.policy, between, tau);
        let tangents = self.engine.tangents(&self.policy, between, &v, tau);

        // ⟨Σ_t S_t, v⟩ g + ∇⟨g, v⟩: the second term is Σ_t Ψ_t ∇²log π v, and what Ψ itself changes.
        let along = tangents.values()?;
        let sums = trajectory_sums(&along, tau);
        let psi_between = psi(request, tau, &scores)?;
        let hessian = tangents.gradient(&averaged(tau, &psi_between, |_, _| F::from_f64(1.0)))?;
        let mut outer = averaged(tau, &psi_between, |i, b| sums[i][b]);
        if request.weighing.entropy > 0.0 {
            let slopes = per_trajectory(tau, &along, |along| request.weighing.slope(along));
            add(&mut outer, &averaged(tau, &slopes, |_, _| F::from_f64(1.0)));
        }
        let current = self.engine.scores(&self.policy, theta, tau);
        let (weights, seen) = weights(request, &current, &scores, tau)?;
        let outer = scores.gradient(&outer)?;

        // w(τ|θ, θ(α)) g(τ|θ)
        let psi = psi(request, tau, &current)?;
        let gradients = current.gradient(&averaged(tau, &psi, |i, b| weights[i][b]))?;
        let corrections = Matrix::from_rows((0..theta.rows()).map(|index| {
            let terms = outer.row(index).iter().zip(hessian.row(index));
            terms.map(|(&outer, &hessian)| outer + hessian).collect::<Vec<F>>()
        }));
        Ok(Corrected { fresh: estimated(tau, gradients, Some(seen)), corrections: corrections.into() })
    }
}

/// Ψ_t of every step of every agent, over the steps of its trajectories one after the other.
fn psi<F: Number>(request: &Request<F>, tau: &Trajectories<F>, scores: &Pass<F>) -> Result<Vec<Vec<F>>, EngineError> {
    let weighing = &request.weighing;
    let log_pi = if weighing.entropy > 0.0 { Some(scores.values()?) } else { None };
    let agents = tau.replicas.iter().enumerate();
    let of_agent = |(index, lived): (usize, &Vec<Trajectory<F>>)| {
        let mut steps = log_pi.iter().flat_map(|log_pi| &log_pi[index]);
        // R − τ log π, in the order of the steps.
        let rewards: Vec<Vec<f64>> = lived
            .iter()
            .map(|tau| {
                let regularised = |reward: &F| {
                    reward.as_double() - steps.next().map_or(0.0, |log| weighing.entropy * log.as_double())
                };
                tau.rewards.iter().map(regularised).collect()
            })
            .collect();
        let psi = weighing.batch(rewards.iter().map(|rewards| rewards.iter().copied()));
        psi.into_iter().flatten().map(F::from_f64).collect()
    };
    Ok(agents.map(of_agent).collect())
}

/// `f` of each trajectory's share of per-step `values`.
fn per_trajectory<F: Number>(tau: &Trajectories<F>, values: &[Vec<F>], f: impl Fn(&[F]) -> Vec<f64>) -> Vec<Vec<F>> {
    let agents = tau.replicas.iter().zip(values);
    agents
        .map(|(lived, values)| {
            let mut rest = values.as_slice();
            let own = |tau: &Trajectory<F>| {
                let (own, after) = rest.split_at(tau.len());
                rest = after;
                f(own)
            };
            lived.iter().flat_map(own).map(F::from_f64).collect()
        })
        .collect()
}

/// Per-step weights × `factor(agent, trajectory)` / B.
fn averaged<F: Number>(tau: &Trajectories<F>, weights: &[Vec<F>], factor: impl Fn(usize, usize) -> F) -> Vec<Vec<F>> {
    let agent = |(index, (lived, weights)): (usize, (&Vec<Trajectory<F>>, &Vec<F>))| {
        let share = F::from_f64(1.0 / lived.len() as f64);
        let scales = lived.iter().enumerate().flat_map(|(b, tau)| {
            let scale = share * factor(index, b);
            std::iter::repeat_n(scale, tau.len())
        });
        scales.zip(weights).map(|(scale, &weight)| scale * weight).collect()
    };
    tau.replicas.iter().zip(weights).enumerate().map(agent).collect()
}

fn add<F: Number>(sums: &mut [Vec<F>], terms: &[Vec<F>]) {
    for (sums, terms) in sums.iter_mut().zip(terms) {
        sums.iter_mut().zip(terms).for_each(|(sum, &term)| *sum += term);
    }
}

/// w(τ|target, behaviour) of every trajectory of every agent.
fn weights<F: Number>(
    request: &Request<F>,
    target: &Pass<F>,
    behaviour: &Pass<F>,
    tau: &Trajectories<F>,
) -> Result<(Vec<Vec<F>>, Vec<ImportanceMetrics>), EngineError> {
    let (target, behaviour) = (target.values()?, behaviour.values()?);
    let agents = target.iter().zip(&behaviour).zip(&tau.replicas);
    let weights =
        agents.map(|((target, behaviour), lived)| importance_weights(target, behaviour, lived, request.is_clip));
    Ok(weights.unzip())
}

/// Sums of per-step numbers over each trajectory of each agent.
fn trajectory_sums<F: Number>(values: &[Vec<F>], tau: &Trajectories<F>) -> Vec<Vec<F>> {
    let agents = values.iter().zip(&tau.replicas);
    agents
        .map(|(values, lived)| {
            let mut rest = values.as_slice();
            let sum = |trajectory: &Trajectory<F>| {
                let (own, after) = rest.split_at(trajectory.len());
                rest = after;
                F::from_f64(own.iter().map(|x| x.as_double()).sum())
            };
            lived.iter().map(sum).collect()
        })
        .collect()
}

fn estimated<F: Number>(
    tau: &Trajectories<F>,
    gradients: Matrix<F>,
    importance: Option<Vec<ImportanceMetrics>>,
) -> Estimated<F> {
    let agents = tau.replicas.iter().zip(&tau.margins);
    let lived = agents.map(|(lived, &margin)| Experience::of(lived, margin)).collect();
    Estimated { gradients: gradients.into(), lived, importance }
}
