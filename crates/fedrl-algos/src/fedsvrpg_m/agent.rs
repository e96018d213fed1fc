//! The agents' half: K local steps.

use fedrl_core::random::Purpose;
use fedrl_engine::{EngineError, Matrix, Mode, Replica, Trajectories};
use fedrl_federation::{AgentHalf, Message, vector_bytes};

use super::server::{Broadcast, Momentum};
use super::{FedSvrpgMConfig, Step};
use crate::importance::importance_weights;
use crate::vector::{add_scaled, difference, norm};
use crate::{Agent, AgentMetrics, ImportanceMetrics, World};

/// What an agent answers: Δ_i = θ_{r,K} − θ_r.
#[derive(Debug, Clone)]
pub struct Delta {
    pub(super) delta: Vec<f32>,
}

impl Delta {
    pub(super) fn is_finite(&self) -> bool {
        self.delta.iter().all(|x| x.is_finite())
    }
}

impl Message for Delta {
    fn bytes(&self) -> u64 {
        vector_bytes(&self.delta)
    }
}

/// The agents' half of one round.
pub(super) struct LocalSteps<'a> {
    pub(super) world: &'a World,
    pub(super) config: &'a FedSvrpgMConfig,
    pub(super) round: u32,
}

impl AgentHalf<Agent> for LocalSteps<'_> {
    type Broadcast = Broadcast;
    type State = ();
    type Upload = Delta;
    type Metrics = AgentMetrics;
    type Error = EngineError;

    fn answer(
        &self,
        broadcast: &Broadcast,
        block: &[(&Agent, &())],
    ) -> Result<Vec<((), Delta, AgentMetrics)>, EngineError> {
        let agents: Vec<&Agent> = block.iter().map(|&(agent, ())| agent).collect();
        let mut theta = Matrix::repeat(&broadcast.theta, agents.len());
        let importance = broadcast.momentum.as_ref().map(|_| ImportanceMetrics::default());
        let mut metrics = vec![AgentMetrics { importance, ..Default::default() }; agents.len()];
        let mut steps = vec![StepSize::new(self.config); agents.len()];

        for k in 0..self.config.local_steps {
            let trajectories = self.sample(&agents, &theta, k)?;
            let directions = self.directions(broadcast, &theta, &trajectories, &mut metrics)?;
            for (index, Direction { u, gradient_norm }) in directions.into_iter().enumerate() {
                metrics[index].observe(&trajectories, index);
                metrics[index].gradient_norm_sum += gradient_norm;
                metrics[index].local_steps += 1;
                let eta = steps[index].next(gradient_norm);
                add_scaled(theta.row_mut(index), eta, &u);
            }
        }

        let answers = metrics.into_iter().enumerate().map(|(index, mut metrics)| {
            let delta = difference(theta.row(index), &broadcast.theta);
            metrics.drift = norm(&delta);
            ((), Delta { delta }, metrics)
        });
        Ok(answers.collect())
    }
}

/// A local direction u, and ‖g‖ of the fresh gradient in it.
struct Direction {
    u: Vec<f32>,
    gradient_norm: f64,
}

impl LocalSteps<'_> {
    /// τ ~ p_i(·|θ_{r,k}), a batch per agent.
    fn sample(&self, agents: &[&Agent], theta: &Matrix, k: usize) -> Result<Trajectories, EngineError> {
        let replicas: Vec<Replica> = agents
            .iter()
            .enumerate()
            .map(|(index, agent)| {
                let key = self.world.key(Purpose::Training, agent.id, self.round).child([k as u32, 0, 0, 0]);
                agent.replica(theta.row(index), key)
            })
            .collect();
        let horizon = self.config.horizon.min(self.world.max_episode_steps);
        self.world.engine.rollout(&self.world.policy, &replicas, self.config.batch, horizon, Mode::Sampled)
    }

    /// u = β g(τ|θ) + (1−β) [u_r + g(τ|θ) − w(τ|θ_{r−1},θ) g(τ|θ_{r−1})], a row per agent.
    fn directions(
        &self,
        broadcast: &Broadcast,
        theta: &Matrix,
        trajectories: &Trajectories,
        metrics: &mut [AgentMetrics],
    ) -> Result<Vec<Direction>, EngineError> {
        let World { engine, policy, .. } = self.world;
        let scores = engine.scores(policy, theta, trajectories);
        let mut corrections = None;
        if let Some(Momentum { previous, direction }) = &broadcast.momentum {
            let log_behaviour = scores.values()?;
            let previous = Matrix::repeat(previous, theta.rows());
            let previous = engine.scores(policy, &previous, trajectories);
            let log_target = previous.values()?;
            let weights = self.weights(&log_target, &log_behaviour, trajectories, metrics);
            let weighted = previous.gradient(&per_step(self.config, trajectories, |i, b| weights[i][b]))?;
            corrections = Some((direction, weighted));
        }
        let gradients = scores.gradient(&per_step(self.config, trajectories, |_, _| 1.0))?;

        let beta = self.config.beta as f32;
        let direction = |index: usize| {
            let g = gradients.row(index);
            let gradient_norm = norm(g);
            let mut u = match &corrections {
                None => g.to_vec(),
                Some((momentum, weighted)) => {
                    let correction = g.iter().zip(*momentum).zip(weighted.row(index));
                    correction.map(|((&g, &u_r), &wg)| beta * g + (1.0 - beta) * (u_r + g - wg)).collect()
                }
            };
            if let Some(clip) = self.config.direction_clip {
                let bound = gradient_norm.min(clip) as f32;
                u.iter_mut().for_each(|x| *x = x.clamp(-bound, bound));
            }
            Direction { u, gradient_norm }
        };
        Ok((0..theta.rows()).map(direction).collect())
    }

    /// w(τ|θ_{r−1}, θ_{r,k}) of every trajectory of every agent.
    fn weights(
        &self,
        log_target: &[Vec<f32>],
        log_behaviour: &[Vec<f32>],
        trajectories: &Trajectories,
        metrics: &mut [AgentMetrics],
    ) -> Vec<Vec<f32>> {
        let agents = log_target.iter().zip(log_behaviour).zip(&trajectories.replicas).zip(metrics);
        agents
            .map(|(((target, behaviour), lived), metrics)| {
                let seen = metrics.importance.get_or_insert_default();
                importance_weights(target, behaviour, lived, self.config.is_clip, seen)
            })
            .collect()
    }
}

/// Weights of every step's score: Ψ_t × `factor(agent, trajectory)` / B.
pub(super) fn per_step(
    config: &FedSvrpgMConfig,
    trajectories: &Trajectories,
    factor: impl Fn(usize, usize) -> f32,
) -> Vec<Vec<f32>> {
    let replica = |(index, lived): (usize, &Vec<fedrl_engine::Trajectory>)| {
        let share = 1.0 / lived.len() as f32;
        let trajectory = |(b, trajectory)| {
            let scale = share * factor(index, b);
            let psi = config.estimator.weights(trajectory, config.discount, config.advantage);
            psi.into_iter().map(move |psi| scale * psi)
        };
        lived.iter().enumerate().flat_map(trajectory).collect()
    };
    trajectories.replicas.iter().enumerate().map(replica).collect()
}

/// η of each local step.
#[derive(Debug, Clone)]
struct StepSize<'a> {
    config: &'a FedSvrpgMConfig,
    squares: f64,
}

impl<'a> StepSize<'a> {
    fn new(config: &'a FedSvrpgMConfig) -> Self {
        StepSize { config, squares: 0.0 }
    }

    /// η for the step whose fresh gradient has this norm.
    fn next(&mut self, gradient_norm: f64) -> f32 {
        self.squares += gradient_norm.powi(2);
        let eta = self.config.local_step_size;
        let eta = match self.config.step {
            Step::Constant => eta,
            Step::Adaptive { offset, scale } => eta / (offset + scale * self.squares).cbrt(),
        };
        eta as f32
    }
}
