//! One agent at DDPG: noisy actions, and a gradient step of critic and actor on a minibatch.

use fedrl_core::random::{Block, Key};
use fedrl_core::{Real, Space};
use fedrl_models::minibatch::{Minibatch, Single};
use fedrl_models::{Head, Mlp};

use super::config::DdpgConfig;
use super::network::ActorCritic;
use crate::value::method::{Done, Part, Worker};
use crate::value::replay::Remembered;
use crate::value::state::Learner;

/// An agent's actor and critic at work.
pub(super) struct DdpgWorker<'a> {
    network: &'a ActorCritic,
    config: &'a DdpgConfig,
    /// Bounds of every component of an action.
    bounds: Vec<(f32, f32)>,
    actor: Minibatch,
    critic: Minibatch,
    target_actor: Minibatch,
    target_critic: Minibatch,
    pub(super) gradient: Vec<f32>,
    /// The actor for one observation.
    single: Single,
}

impl<'a> DdpgWorker<'a> {
    /// For actions in the box `space`.
    pub(super) fn new(network: &'a ActorCritic, config: &'a DdpgConfig, space: &Space) -> Self {
        let bounds = match space {
            Space::Box { low, high } => low.iter().zip(high).map(|(&low, &high)| (low as f32, high as f32)).collect(),
            Space::Discrete { .. } => Vec::new(),
        };
        let (actor, critic) = (&network.actor, &network.critic);
        DdpgWorker {
            network,
            config,
            bounds,
            actor: Minibatch::new(actor, config.batch),
            critic: Minibatch::new(critic, config.batch),
            target_actor: Minibatch::new(actor, config.batch),
            target_critic: Minibatch::new(critic, config.batch),
            gradient: vec![0.0; network.widths().columns],
            single: Single::new(actor),
        }
    }
}

impl Worker for DdpgWorker<'_> {
    /// Evenly among all actions until the agent learns; then μ(s) and normal noise, within the bounds.
    fn act(&mut self, learner: &Learner, observation: &[f32], key: Key, action: &mut [f32]) {
        let steps = learner.counts.steps;
        let block = |group: usize| key.block([steps, group as u32, 0, 0]);
        if steps < self.config.learning_starts {
            for (i, (action, &(low, high))) in action.iter_mut().zip(&self.bounds).enumerate() {
                let Block { a, b, .. } = block(i / 2);
                *action = low + (high - low) * f32::unit(if i % 2 == 0 { a } else { b });
            }
            return;
        }
        let outputs = self.single.forward(learner.theta, observation.iter().copied());
        let head = Head::DiagonalGaussian { actions: action.len() };
        let deviation = |&(low, high): &(f32, f32)| (self.config.exploration as f32 * 0.5 * (high - low)).ln();
        let log_std: Vec<f32> = self.bounds.iter().map(deviation).collect();
        let blocks: Vec<Block> = (0..head.blocks()).map(block).collect();
        head.sample(outputs, &log_std, &blocks, action);
        action.iter_mut().zip(&self.bounds).for_each(|(action, &(low, high))| *action = action.clamp(low, high));
    }

    fn learn(&mut self, learner: &mut Learner, part: Part, places: &[usize]) -> Done {
        let ActorCritic { actor, critic, .. } = self.network;
        let wanted = |network: &Mlp| {
            let layers = network.layers().len();
            match part {
                Part::Head => layers - 1..layers,
                Part::Body => 0..layers - 1,
                Part::All => 0..layers,
            }
        };
        learner.count(part);
        self.recall(learner, places);

        let loss = self.errors(learner, places);
        self.critic.backward(learner.theta, wanted(critic), &mut self.gradient);
        let mut square = self.step(learner, critic, part);

        self.ascend(learner);
        self.actor.backward(learner.theta, wanted(actor), &mut self.gradient);
        square += self.step(learner, actor, part);

        self.follow(learner, part);
        Done { loss, gradient_norm: square.sqrt(), step_size: self.config.learning_rate }
    }
}

impl DdpgWorker<'_> {
    /// Writes the transitions in `places` into the networks' inputs.
    fn recall(&mut self, learner: &Learner, places: &[usize]) {
        for (sample, &place) in places.iter().enumerate() {
            let Remembered { observation, next, action, .. } = learner.replay.get(place);
            self.actor.set_input(sample, observation.iter().copied());
            self.critic.set_input(sample, observation.iter().chain(action).copied());
            self.target_actor.set_input(sample, next.iter().copied());
            self.target_critic.set_input(sample, next.iter().copied());
        }
    }

    /// δ = Q(s, a) − (r + γ Q⁻(s′, μ⁻(s′))) of every transition, μ⁻(s′) within the bounds: writes dL/dQ = 2δ/B
    /// and returns the mean of δ².
    fn errors(&mut self, learner: &Learner, places: &[usize]) -> f64 {
        let seen = self.network.widths().observation;
        self.target_actor.forward(learner.target);
        for (i, &(low, high)) in self.bounds.iter().enumerate() {
            let actions = self.target_critic.input_mut(seen + i).iter_mut().zip(self.target_actor.output(i));
            actions.for_each(|(input, action)| *input = action.clamp(low, high));
        }
        self.target_critic.forward(learner.target);
        self.critic.forward(learner.theta);

        let (batch, discount) = (places.len(), self.config.discount as f32);
        let mut squares = 0.0;
        for (sample, &place) in places.iter().enumerate() {
            let Remembered { reward, terminated, .. } = learner.replay.get(place);
            let future = if terminated { 0.0 } else { discount * self.target_critic.output(0)[sample] };
            let error = self.critic.output(0)[sample] - (reward + future);
            self.critic.slope_mut(0)[sample] = 2.0 * error / batch as f32;
            squares += f64::from(error).powi(2);
        }
        squares / batch as f64
    }

    /// Writes dL/dμ of L = −mean Q(s, μ(s)), inverted at the bounds.
    fn ascend(&mut self, learner: &Learner) {
        let seen = self.network.widths().observation;
        self.actor.forward(learner.theta);
        for i in 0..self.bounds.len() {
            self.critic.input_mut(seen + i).copy_from_slice(self.actor.output(i));
        }
        self.critic.forward(learner.theta);
        self.critic.slope_mut(0).fill(-1.0 / self.config.batch as f32);
        self.critic.backward_to_inputs(learner.theta);
        for (i, &bounds) in self.bounds.iter().enumerate() {
            let actions = self.actor.output(i).iter().zip(self.critic.input_slope(seen + i));
            let slopes: Vec<f32> = actions.map(|(&action, &slope)| inverted(slope, action, bounds)).collect();
            self.actor.slope_mut(i).copy_from_slice(&slopes);
        }
    }

    /// A step of Adam of the network's columns of `part`; ‖gradient‖² of them.
    fn step(&self, learner: &mut Learner, network: &Mlp, part: Part) -> f64 {
        let (body_steps, head_steps) = (learner.counts.body_steps, learner.counts.head_steps);
        let step_size = self.config.learning_rate;
        let mut square = 0.0;
        if part != Part::Head {
            square += learner.step(network.body(), body_steps, &self.gradient, step_size);
        }
        if part != Part::Body {
            square += learner.step(network.head(), head_steps, &self.gradient, step_size);
        }
        square
    }

    /// θ⁻ ← θ⁻ + τ (θ − θ⁻), of the columns of `part`.
    fn follow(&self, learner: &mut Learner, part: Part) {
        let (columns, rate) = (self.network.columns(part), self.config.target_rate as f32);
        let pairs = learner.target[columns.clone()].iter_mut().zip(&learner.theta[columns]);
        pairs.for_each(|(target, theta)| *target += rate * (theta - *target));
    }
}

/// The slope at an action, smaller the nearer the action is to the bound that descent leads to, and turned round
/// beyond it: an actor without a bend at its end stays within its bounds (Hausknecht & Stone 2016, Eq. 11).
fn inverted(slope: f32, action: f32, (low, high): (f32, f32)) -> f32 {
    slope * if slope < 0.0 { high - action } else { action - low } / (high - low)
}

#[cfg(test)]
mod tests {
    use super::inverted;

    #[test]
    fn slopes_shrink_towards_bounds_and_turn_beyond() {
        let bounds = (-1.0, 3.0);
        assert_eq!(inverted(-2.0, 1.0, bounds), -1.0);
        assert_eq!(inverted(-2.0, 3.0, bounds), 0.0);
        assert_eq!(inverted(-2.0, 5.0, bounds), 1.0);
        assert_eq!(inverted(2.0, 0.0, bounds), 0.5);
        assert_eq!(inverted(2.0, -2.0, bounds), -0.5);
    }
}
