//! Letting policies act.

use burn::tensor::Tensor;
use fedrl_core::random::{Block, Key};
use fedrl_envs::{Precision, STEP_DRAWS, Simulator, Spec};
use fedrl_models::Policy;

use crate::network::Network;
use crate::{EngineError, Matrix, Number, Placement, Trajectories, Trajectory};

/// One replica: a policy's parameters, an environment, and the key of its draws.
#[derive(Clone)]
pub struct Replica<'a, F> {
    /// Parameters θ of the policy.
    pub theta: &'a [F],
    /// The environment.
    pub simulator: &'a Simulator<F>,
    /// What the environment looks like.
    pub spec: &'static Spec,
    /// Key of every draw of this rollout.
    pub key: Key,
}

/// How actions are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Drawn from the policy's distribution.
    Sampled,
    /// The most probable one.
    Greedy,
}

/// Draws of a trajectory: block `(trajectory, time, index, what)` under the replica's key.
fn draw(key: Key, trajectory: usize, time: usize, index: usize, what: u32) -> Block {
    key.block([trajectory as u32, time as u32, index as u32, what])
}

pub(crate) const RESET: u32 = 0;
/// The head's draws come from the first words of these blocks, the environment's from the last words
/// of the first of them, which no head uses.
pub(crate) const ACTION: u32 = 1;

/// One environment of the batch: its state and what it has lived through.
struct Lane<F> {
    state: Vec<F>,
    observation: Vec<F>,
    lived: Trajectory<F>,
    done: bool,
}

impl<F: Precision> Lane<F> {
    fn new(replica: &Replica<F>, trajectory: usize, observations: usize) -> Self {
        let state = first_state(replica, trajectory);
        Lane { state, observation: vec![F::default(); observations], lived: Trajectory::default(), done: false }
    }

    /// Acts on the network's `outputs`, moves on, and returns the draw's margin.
    fn advance(&mut self, replica: &Replica<F>, policy: &Policy, mode: Mode, outputs: &[F], at: (usize, usize)) -> F {
        let head = policy.head;
        let start = self.lived.actions.len();
        self.lived.actions.resize(start + head.action_width(), F::default());
        let action = &mut self.lived.actions[start..];
        let random: Vec<Block> = (0..head.blocks()).map(|i| draw(replica.key, at.0, at.1, i, ACTION)).collect();
        let margin = match mode {
            Mode::Greedy => {
                head.mode(outputs, action);
                F::INFINITY
            }
            Mode::Sampled => head.sample(outputs, &replica.theta[policy.log_std()], &random, action).margin,
        };
        let draws = step_draws(random[0]);
        let transition = replica.simulator.step(&draws[..replica.spec.step_draws], &mut self.state, action);
        self.lived.observations.extend_from_slice(&self.observation);
        self.lived.rewards.push(transition.reward);
        self.lived.terminated = transition.terminated;
        self.done = transition.terminated;
        margin
    }
}

fn first_state<F: Precision>(replica: &Replica<F>, trajectory: usize) -> Vec<F> {
    let draws: Vec<F> = (0..replica.spec.reset_draws)
        .map(|i| {
            let block = draw(replica.key, trajectory, 0, i / 4, RESET);
            F::unit([block.a, block.b, block.c, block.d][i % 4])
        })
        .collect();
    let mut state = vec![F::default(); replica.spec.state_width];
    replica.simulator.reset(&draws, &mut state);
    state
}

/// The environment's draws from the first block of a step.
fn step_draws<F: Precision>(random: Block) -> [F; STEP_DRAWS] {
    [F::unit(random.d), F::unit(random.c)]
}

/// The states of the trajectory number `trajectory` of a rollout of `replica`, the last one included:
/// made again from its draws and the actions that it `lived` through, as trajectories do not keep them.
pub fn states<F: Precision>(replica: &Replica<F>, trajectory: usize, lived: &Trajectory<F>) -> Vec<Vec<F>> {
    let mut state = first_state(replica, trajectory);
    let mut states = vec![state.clone()];
    for (time, action) in lived.actions.chunks(replica.spec.action.width()).enumerate() {
        let draws = step_draws(draw(replica.key, trajectory, time, 0, ACTION));
        replica.simulator.step(&draws[..replica.spec.step_draws], &mut state, action);
        states.push(state.clone());
    }
    states
}

pub(crate) fn rollout<F: Number>(
    placement: &Placement<F>,
    policy: &Policy,
    replicas: &[Replica<F>],
    batch: usize,
    horizon: usize,
    mode: Mode,
) -> Result<Trajectories<F>, EngineError> {
    let (inputs, outputs) = (policy.inputs(), policy.head.outputs());
    let theta = Matrix::from_rows(replicas.iter().map(|replica| replica.theta));
    let network = Network::new(policy, placement.matrix(&theta));

    let mut lanes: Vec<Lane<F>> = replicas
        .iter()
        .flat_map(|replica| (0..batch).map(move |trajectory| Lane::new(replica, trajectory, inputs)))
        .collect();
    let mut margins = vec![F::INFINITY; replicas.len()];
    let mut seen = vec![F::default(); lanes.len() * inputs];
    for time in 0..horizon {
        if lanes.iter().all(|lane| lane.done) {
            break;
        }
        for (index, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| !lane.done) {
            replicas[index / batch].simulator.observe(&lane.state, &mut lane.observation);
            seen[index * inputs..][..inputs].copy_from_slice(&lane.observation);
        }
        let acting = read(network.forward(placement.tensor(seen.clone(), [replicas.len(), batch, inputs])))?;
        for (index, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| !lane.done) {
            let (replica, at) = (index / batch, (index % batch, time));
            let margin = lane.advance(&replicas[replica], policy, mode, &acting[index * outputs..][..outputs], at);
            if margin < margins[replica] {
                margins[replica] = margin;
            }
        }
    }
    for (index, lane) in lanes.iter_mut().enumerate() {
        replicas[index / batch].simulator.observe(&lane.state, &mut lane.observation);
        lane.lived.final_observation.clone_from(&lane.observation);
    }
    let mut lived = lanes.into_iter().map(|lane| lane.lived);
    let replicas = replicas.iter().map(|_| lived.by_ref().take(batch).collect()).collect();
    Ok(Trajectories { replicas, margins })
}

/// A tensor's numbers on the host.
pub(crate) fn read<F: Number, const D: usize>(tensor: Tensor<D>) -> Result<Vec<F>, EngineError> {
    tensor.try_into_vec_as::<F>().map_err(|error| EngineError::Device(error.to_string()))
}

#[cfg(test)]
mod tests {
    use fedrl_core::random::Key;
    use fedrl_envs::{CartPole, Environment, Instance};
    use fedrl_models::{Policy, PolicyConfig};

    use super::*;
    use crate::Engine;

    /// Twenty trajectories of at most `horizon` steps, always the same ones.
    fn lived(horizon: usize) -> Vec<Trajectory<f64>> {
        let spec = CartPole.spec();
        let policy = Policy::new(&PolicyConfig::default(), &spec.observation, &spec.action).unwrap();
        let key = Key { low: 1, high: 2 };
        let theta: Vec<f64> = policy.initial(key).into_iter().map(f64::from).collect();
        let simulator = Instance::new(&CartPole, Default::default()).unwrap().simulator();
        let replica = Replica { theta: &theta, simulator: &simulator, spec, key };
        Engine::double().rollout(&policy, &[replica], 20, horizon, Mode::Sampled).unwrap().replicas.remove(0)
    }

    #[test]
    fn truncation_is_not_termination_and_the_final_observation_is_kept() {
        let (short, long) = (lived(15), lived(200));
        for (short, long) in short.iter().zip(&long) {
            assert_eq!(short.len(), long.len().min(15));
            assert_eq!(short.terminated, long.len() <= 15);
            if !short.terminated {
                assert_eq!(short.final_observation, long.observations[15 * 4..16 * 4]);
            }
            assert!(long.terminated, "a random policy falls within 200 steps");
            let [x, _, angle, _] = long.final_observation[..] else { panic!("four numbers") };
            assert!(x.abs() > 2.4 || angle.abs() > 12f64.to_radians(), "{:?}", long.final_observation);
        }
        assert!(short.iter().any(|tau| tau.terminated) && short.iter().any(|tau| !tau.terminated));
    }
}
