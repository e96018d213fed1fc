//! Episodes of one agent at home. They are lived natively: of every step its state and the value of its action are
//! wanted, which rollouts do not keep.

use fedrl_core::Real;
use fedrl_core::random::{Block, Key, high_mul};
use fedrl_engine::reset_draws;
use fedrl_envs::{Simulator, Spec};
use fedrl_models::Policy;

/// Draws of exploration; resets draw 0 as they do elsewhere.
const EXPLORATION: u32 = 2;

/// An agent that acts by the greatest of its action values, in an environment whose steps draw nothing.
pub(super) struct Resident<'a> {
    pub(super) policy: &'a Policy,
    pub(super) theta: &'a [f32],
    pub(super) simulator: &'a Simulator<f32>,
    pub(super) spec: &'static Spec,
    /// Key of every draw.
    pub(super) key: Key,
}

/// An episode, step by step.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Life {
    /// States s_t, `[steps, state width]`.
    pub(super) states: Vec<Vec<f32>>,
    /// Actions a_t, `[steps]`.
    pub(super) actions: Vec<f32>,
    /// max_a Q(s_t, a), `[steps]`.
    pub(super) values: Vec<f64>,
    /// Rewards, `[steps]`.
    pub(super) rewards: Vec<f64>,
    /// Whether it ended by itself.
    pub(super) terminated: bool,
}

impl Resident<'_> {
    /// Episode number `number`, of at most `limit` steps; at every step an action at random with probability
    /// `exploration`.
    pub(super) fn live(&self, number: usize, limit: usize, exploration: f64) -> Life {
        let mut state = vec![0.0; self.spec.state_width];
        self.simulator.reset(&reset_draws(self.key, number, self.spec.reset_draws), &mut state);
        let mut observation = vec![0.0; self.policy.inputs()];
        let mut life = Life::default();
        while life.rewards.len() < limit && !life.terminated {
            self.simulator.observe(&state, &mut observation);
            let values = self.policy.network.forward(self.theta, &observation);
            let mut action = [0.0];
            self.policy.head.mode(&values, &mut action);
            life.values.push(f64::from(values[action[0] as usize]));
            if let Some(other) = self.explored(number, life.rewards.len(), exploration) {
                action = [other];
            }
            life.states.push(state.clone());
            life.actions.push(action[0]);
            let step = self.simulator.step(&[], &mut state, &action);
            life.rewards.push(f64::from(step.reward));
            life.terminated = step.terminated;
        }
        life
    }

    /// The action at random that is taken at this time, if one is.
    fn explored(&self, number: usize, time: usize, exploration: f64) -> Option<f32> {
        let Block { a, b, .. } = self.key.block([number as u32, time as u32, 0, EXPLORATION]);
        let actions = self.policy.head.outputs() as u32;
        (f64::from(f32::unit(a)) < exploration).then(|| high_mul(b, actions) as f32)
    }
}
