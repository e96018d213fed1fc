//! What there is to see.

use fedrl_core::random::{Key, Purpose};
use fedrl_core::{Real, Space};
use fedrl_envs::Instance;

/// An episode, or the beginning of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Episode {
    /// The states, the last one included: one more than steps.
    pub states: Vec<Vec<f64>>,
    /// Undiscounted return.
    pub total_reward: f64,
    /// Whether it ended by itself.
    pub terminated: bool,
}

impl Episode {
    /// Its steps.
    pub fn len(&self) -> usize {
        self.states.len().saturating_sub(1)
    }

    /// Whether it has no step.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// At most `steps` steps of `instance` under uniformly random actions. `number` names the draws.
    pub fn random(instance: &Instance, number: u32, steps: usize) -> Episode {
        let (spec, simulator) = (instance.spec(), instance.simulator::<f64>());
        let key = Key::new(0, Purpose::Evaluation).child([number, 0, 0, 0]);
        let draws = |what: u32, time: usize, count: usize| -> Vec<f64> {
            (0..count).map(|i| f64::unit(key.block([what, time as u32, i as u32, 0]).a)).collect()
        };
        let mut state = vec![0.0; spec.state_width];
        simulator.reset(&draws(0, 0, spec.reset_draws), &mut state);
        let mut episode = Episode { states: vec![state.clone()], total_reward: 0.0, terminated: false };
        while episode.len() < steps && !episode.terminated {
            let time = episode.len();
            let action = action(&spec.action, &draws(1, time, spec.action.width()));
            let transition = simulator.step(&draws(2, time, spec.step_draws), &mut state, &action);
            episode.states.push(state.clone());
            episode.total_reward += transition.reward;
            episode.terminated = transition.terminated;
        }
        episode
    }
}

/// The action that uniform `draws` name.
fn action(space: &Space, draws: &[f64]) -> Vec<f64> {
    match space {
        Space::Discrete { n } => vec![(draws[0] * *n as f64).floor()],
        Space::Box { low, high } => {
            draws.iter().zip(low.iter().zip(high)).map(|(draw, (low, high))| low + (high - low) * draw).collect()
        }
    }
}
