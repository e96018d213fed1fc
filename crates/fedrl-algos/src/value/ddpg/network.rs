//! An actor and its critic as columns of an agent's parameters.
//!
//! An agent's columns are `[actor's body | critic's body | actor's head | critic's head]`: every layer but the
//! last of either network, then the last ones. Shared columns come first.

use std::ops::Range;

use fedrl_core::random::Key;
use fedrl_models::{Mlp, Policy};

use crate::value::method::Part;
use crate::value::{Shares, method::Widths};

/// μ(s) and Q(s, a).
#[derive(Debug)]
pub(super) struct ActorCritic {
    /// From observations to actions, not bounded; in its places of the columns.
    pub(super) actor: Mlp,
    /// From observations and actions to a value; in its places of the columns.
    pub(super) critic: Mlp,
    /// The policy that the actor is the mean of, its parameters in one piece.
    policy: Policy,
    /// The critic in one piece.
    whole_critic: Mlp,
    shares: Shares,
}

impl ActorCritic {
    /// Actors of the form of `policy`, critics with the same hidden layers.
    pub(super) fn new(policy: &Policy, shares: Shares) -> Self {
        let mut widths = policy.widths();
        let last = widths.len() - 1;
        widths[0] += widths[last];
        widths[last] = 1;
        let biased = policy.network.layers().iter().any(|layer| !layer.bias.is_empty());
        let critic = Mlp::new(&widths, policy.network.activation(), biased);
        let (actor_body, critic_body) = (policy.network.body().len(), critic.body().len());
        let heads = actor_body + critic_body;
        ActorCritic {
            actor: policy.network.clone().placed(0, heads),
            critic: critic.clone().placed(actor_body, heads + policy.network.head().len()),
            policy: policy.clone(),
            whole_critic: critic,
            shares,
        }
    }

    /// How wide an agent's rows are.
    pub(super) fn widths(&self) -> Widths {
        let columns = self.critic.head().end;
        let shared = match self.shares {
            Shares::Nothing => 0,
            Shares::Representation => self.columns(Part::Body).end,
            Shares::Network => columns,
        };
        Widths { columns, shared, observation: self.policy.inputs(), action: self.policy.head.action_width() }
    }

    /// The columns of a part of both networks.
    pub(super) fn columns(&self, part: Part) -> Range<usize> {
        let (heads, end) = (self.actor.head().start, self.critic.head().end);
        match part {
            Part::Body => 0..heads,
            Part::Head => heads..end,
            Part::All => 0..end,
        }
    }

    /// An actor of the policy's parameters `theta`, and a critic drawn with `key`.
    pub(super) fn initial(&self, theta: &[f32], key: Key) -> Vec<f32> {
        let critic = self.policy.draw(&self.whole_critic, key);
        let (actor, whole) = (&self.policy.network, &self.whole_critic);
        [&theta[actor.body()], &critic[whole.body()], &theta[actor.head()], &critic[whole.head()]].concat()
    }

    /// The policy's parameters: the actor's, and the logarithm of the noise's deviation `exploration`.
    pub(super) fn policy(&self, columns: &[f32], exploration: f64) -> Vec<f32> {
        let mut theta = [&columns[self.actor.body()], &columns[self.actor.head()]].concat();
        theta.resize(self.policy.parameter_count(), exploration.max(1e-6).ln() as f32);
        theta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedrl_core::Space;
    use fedrl_models::PolicyConfig;

    const KEY: Key = Key { low: 1, high: 2 };

    fn policy() -> Policy {
        let boxed = |n: usize| Space::Box { low: vec![-1.0; n], high: vec![1.0; n] };
        let config = PolicyConfig { hidden: vec![6, 5], ..PolicyConfig::default() };
        Policy::new(&config, &boxed(3), &boxed(2)).unwrap()
    }

    /// The actor has 3·6+6 + 6·5+5 = 59 parameters before its head of 5·2+2 = 12, the critic 5·6+6 + 35 = 71
    /// before its head of 5+1 = 6.
    #[test]
    fn bodies_are_shared_and_come_first() {
        let shared = |shares| ActorCritic::new(&policy(), shares).widths();
        assert_eq!(shared(Shares::Representation), Widths { columns: 148, shared: 130, observation: 3, action: 2 });
        assert_eq!((shared(Shares::Nothing).shared, shared(Shares::Network).shared), (0, 148));
        let network = ActorCritic::new(&policy(), Shares::Representation);
        let places = [network.actor.body(), network.critic.body(), network.actor.head(), network.critic.head()];
        assert_eq!(places, [0..59, 59..130, 130..142, 142..148]);
    }

    #[test]
    fn columns_hold_the_actor_and_give_it_back() {
        let (policy, network) = (policy(), ActorCritic::new(&policy(), Shares::Representation));
        let theta = policy.initial(KEY);
        let columns = network.initial(&theta, KEY.child([1, 0, 0, 0]));
        assert_eq!(columns.len(), 148);
        let back = network.policy(&columns, 0.5);
        assert_eq!(back[..71], theta[..71]);
        assert_eq!(back[71..], [0.5f32.ln(); 2]);
        let seen = [0.3, -0.7, 0.9];
        assert_eq!(network.actor.forward(&columns, &seen), policy.network.forward(&theta, &seen));
        let other = network.initial(&theta, KEY.child([2, 0, 0, 0]));
        assert_ne!(other[network.critic.head()], columns[network.critic.head()]);
        assert_eq!(other[network.actor.body()], columns[network.actor.body()]);
    }
}
