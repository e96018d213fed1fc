//! Deep Q-learning: a network of action values, ε-greedy actions, and in what PFedDQN-Rep and its rivals differ.

mod config;
mod fusion;
mod network;
mod strategy;
mod update;
mod visits;

pub use config::{Fusion, ValueConfig, ValueExperiment};
pub use strategy::{Aggregation, Strategy, ValueName};

pub(super) use fusion::Teacher;
pub(super) use visits::weights;

use fedrl_core::random::{Key, Purpose};
use fedrl_models::Policy;

use super::messages::Moments;
use super::method::{Method, Schedule, Updates, Widths, Worker};
use super::server::Server;
use crate::{Agent, World};
use network::QNetwork;
use update::QWorker;

/// Deep Q-learning by one of the strategies.
#[derive(Debug)]
pub(super) struct DeepQ {
    config: ValueConfig,
    strategy: Strategy,
    network: QNetwork,
}

impl DeepQ {
    /// What `strategy` learns for policies of the form of `policy`, among so many `agents`.
    pub(super) fn new(config: ValueConfig, strategy: Strategy, policy: &Policy, agents: usize) -> Self {
        let network = QNetwork::new(policy, strategy, agents);
        DeepQ { config: config.completed(strategy), strategy, network }
    }
}

impl Method for DeepQ {
    fn schedule(&self) -> Schedule {
        let config = &self.config;
        Schedule {
            iterations: config.iterations,
            period: config.period(self.strategy),
            local_steps: config.local_steps,
            updates: config.updates.unwrap_or(Updates::Joint),
            moments: config.moments.unwrap_or(Moments::Local),
            learning_starts: config.learning_starts,
            batch: config.batch,
            replay: config.replay,
            exploration: config.exploration,
        }
    }

    fn widths(&self) -> Widths {
        let (columns, shared) = (self.network.columns(), self.network.shared());
        Widths { columns, shared, observation: self.network.observation(), action: 1 }
    }

    fn initial(&self, theta: &[f32], network: Key, own: Key) -> Vec<f32> {
        self.network.initial(theta, network, own)
    }

    fn policy(&self, columns: &[f32]) -> Vec<f32> {
        self.network.policy(columns)
    }

    fn worker<'a>(&'a self, _agent: &Agent<f32>) -> Box<dyn Worker + 'a> {
        Box::new(QWorker::new(&self.network, &self.config, self.strategy.aggregation == Aggregation::ByVisits))
    }

    fn server<'a>(&'a self, world: &World<f32>, iteration: u32) -> Server<'a> {
        match (self.strategy.aggregation, self.config.fusion) {
            (Aggregation::ByVisits, _) => Server::ByVisits(self.config.learning_rate),
            (Aggregation::Fusion, Some(fusion)) => Server::Fusion(Teacher {
                network: &self.network,
                config: &self.config,
                fusion,
                environment: world.agents[0].spec.id,
                max_episode_steps: world.max_episode_steps,
                key: Key::new(world.seed, Purpose::Server).child([iteration, 0, 0, 0]),
            }),
            _ => Server::Mean,
        }
    }
}
