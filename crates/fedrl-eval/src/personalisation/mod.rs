//! How well policies are fitted to the agents whose they are (004 G.3, G.5): how far each agent's action values are
//! from what its policy earns at home, and whether heads are alike where environments are.

mod life;
mod similarity;
mod value_error;

use fedrl_core::random::{Key, Purpose};
use fedrl_envs::{Instance, Simulator};
use fedrl_models::{Head, Policy};
use rayon::prelude::*;
use serde::Serialize;

use crate::{Actors, Protocol};
use life::Resident;
pub use similarity::Similarity;
use value_error::{Sums, sums, value_error, worst_error};
pub use value_error::{ValueError, WorstError, tail};

/// What is measured, and how.
#[derive(Debug, Clone, Copy)]
pub struct Measure<'a> {
    /// The form of the policies; their outputs are action values.
    pub policy: &'a Policy,
    /// Whose they are: in each of `instances` its own, or the same in all.
    pub actors: Actors<'a>,
    /// The agents' environments.
    pub instances: &'a [Instance],
    /// γ of the action values.
    pub discount: f64,
    /// ε of the episodes from which states and actions for the comparison of environments come.
    pub exploration: f64,
    /// Episodes; they are greedy, and the same as an evaluation's but for rounding.
    pub protocol: Protocol,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Personalisation {
    /// The greatest error of any agent: 004 Eq. 56.
    pub worst: WorstError,
    /// Agent by agent.
    pub agents: Vec<ValueError>,
    /// How alike they are.
    pub similarity: Similarity,
}

/// Why nothing can be measured.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PersonalisationError {
    /// No action values.
    #[error("the actions of {environment} are vectors, expected choices, each with a value")]
    Vectors {
        /// The environment.
        environment: &'static str,
    },
    /// Returns that no single episode tells.
    #[error("the steps of {environment} are random, expected an environment where one episode tells a state's value")]
    Random {
        /// The environment.
        environment: &'static str,
    },
    /// Nobody to be compared with.
    #[error("has {0} agent, expected two at least: personalisation is in what differs between agents")]
    Alone(usize),
    /// Values without end.
    #[error("the discount is 1, expected less: the value of a state has to be known after finitely many steps")]
    Undiscounted,
}

impl Measure<'_> {
    /// Says whether it can be measured, without doing so.
    ///
    /// # Errors
    /// See [`PersonalisationError`].
    pub fn check(&self) -> Result<(), PersonalisationError> {
        let first = self.instances.first().filter(|_| self.instances.len() > 1);
        let spec = first.ok_or(PersonalisationError::Alone(self.instances.len()))?.spec();
        if !matches!(self.policy.head, Head::Categorical { .. }) {
            return Err(PersonalisationError::Vectors { environment: spec.id });
        }
        if spec.step_draws > 0 {
            return Err(PersonalisationError::Random { environment: spec.id });
        }
        if self.discount >= 1.0 { Err(PersonalisationError::Undiscounted) } else { Ok(()) }
    }

    /// Measures. Agents are worked on side by side; the result does not depend on threads.
    ///
    /// # Errors
    /// See [`PersonalisationError`].
    pub fn measure(&self) -> Result<Personalisation, PersonalisationError> {
        self.check()?;
        let Measure { policy, instances, discount, exploration, protocol, .. } = *self;
        let simulators: Vec<Simulator<f32>> = instances.iter().map(Instance::simulator).collect();
        let greedy = self.residents(&simulators, 0);
        let lived: Vec<Vec<Sums>> = greedy.par_iter().map(|resident| sums(resident, discount, &protocol)).collect();
        let agents =
            lived.par_iter().zip(instances).enumerate().map(|(agent, (episodes, instance))| {
                value_error(agent, instance.given().clone(), episodes, protocol.seed)
            });

        let exploring = self.residents(&simulators, 1);
        let changes = similarity::changes(&exploring, protocol.max_episode_steps, exploration);
        Ok(Personalisation {
            worst: worst_error(&lived, protocol.seed),
            agents: agents.collect(),
            similarity: Similarity::new(policy, &exploring, &changes),
        })
    }

    /// Every agent at home. Draws number 0 are those of an evaluation.
    fn residents<'s>(&'s self, simulators: &'s [Simulator<f32>], draws: u32) -> Vec<Resident<'s>> {
        let key = Key::new(self.protocol.seed, Purpose::Evaluation);
        let at_home = |(agent, (instance, simulator)): (usize, (&'s Instance, &'s Simulator<f32>))| Resident {
            policy: self.policy,
            theta: self.actors.theta(agent, instance),
            simulator,
            spec: instance.spec(),
            key: key.child([agent as u32, draws, 0, 0]),
        };
        self.instances.iter().zip(simulators).enumerate().map(at_home).collect()
    }
}

#[cfg(test)]
mod tests;
