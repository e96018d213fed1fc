//! Letting policies act.

use burn::tensor::Tensor;
use fedrl_core::random::{Block, Key};
use fedrl_envs::{Episode, Precision, STEP_DRAWS, Simulator, Spec};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Drawn from the policy's distribution.
    Sampled,
    /// The most probable one.
    Greedy,
}

/// Draws of a trajectory: block `(trajectory, time, index, what)` under the replica's key.
pub(crate) fn draw(key: Key, trajectory: usize, time: usize, index: usize, what: u32) -> Block {
    key.block([trajectory as u32, time as u32, index as u32, what])
}

pub(crate) const RESET: u32 = 0;
/// The head's draws come from the first words of these blocks, the environment's from the last words
/// of the first of them, which no head uses.
pub(crate) const ACTION: u32 = 1;

/// An agent whose environments are objects that keep their own state, one per trajectory.
pub struct EpisodicReplica<'a, F> {
    /// Parameters θ of the policy.
    pub theta: &'a [F],
    /// The environments.
    pub episodes: Vec<Box<dyn Episode<F> + 'a>>,
    /// Key of every draw of this rollout.
    pub key: Key,
}

/// Where one trajectory is lived.
enum Course<'a, F> {
    Simulated { replica: &'a Replica<'a, F>, state: Vec<F> },
    Episodic(Box<dyn Episode<F> + 'a>),
}

/// One environment of the batch, and what was lived through in it.
struct Lane<'a, F> {
    course: Course<'a, F>,
    theta: &'a [F],
    key: Key,
    /// What is seen now.
    observation: Vec<F>,
    lived: Trajectory<F>,
    done: bool,
}

impl<'a, F: Precision> Lane<'a, F> {
    fn simulated(replica: &'a Replica<F>, trajectory: usize, observations: usize) -> Self {
        let state = first_state(replica, trajectory);
        let mut observation = vec![F::default(); observations];
        replica.simulator.observe(&state, &mut observation);
        let course = Course::Simulated { replica, state };
        Lane { course, theta: replica.theta, key: replica.key, observation, lived: Trajectory::default(), done: false }
    }

    fn episodic(
        mut episode: Box<dyn Episode<F> + 'a>,
        (theta, key): (&'a [F], Key),
        trajectory: usize,
        observations: usize,
    ) -> Self {
        let mut observation = vec![F::default(); observations];
        episode.reset(&reset_draws(key, trajectory, episode.reset_draws()), &mut observation);
        let course = Course::Episodic(episode);
        Lane { course, theta, key, observation, lived: Trajectory::default(), done: false }
    }

    /// Acts on the network's `outputs`, moves on, and returns the draw's margin.
    fn advance(&mut self, policy: &Policy, mode: Mode, outputs: &[F], at: (usize, usize)) -> F {
        let head = policy.head;
        let start = self.lived.actions.len();
        self.lived.actions.resize(start + head.action_width(), F::default());
        let action = &mut self.lived.actions[start..];
        let random: Vec<Block> = (0..head.blocks()).map(|i| draw(self.key, at.0, at.1, i, ACTION)).collect();
        let margin = match mode {
            Mode::Greedy => {
                head.mode(outputs, action);
                F::INFINITY
            }
            Mode::Sampled => head.sample(outputs, &self.theta[policy.log_std()], &random, action).margin,
        };
        self.lived.observations.extend_from_slice(&self.observation);
        let draws = step_draws(random[0]);
        let (reward, terminated, truncated) = match &mut self.course {
            Course::Simulated { replica, state } => {
                let step = replica.simulator.step(&draws[..replica.spec.step_draws], state, action);
                replica.simulator.observe(state, &mut self.observation);
                (step.reward, step.terminated, false)
            }
            Course::Episodic(episode) => {
                let step = episode.step(&draws[..episode.step_draws()], action, &mut self.observation);
                (step.reward, step.terminated, step.truncated)
            }
        };
        self.lived.rewards.push(reward);
        self.lived.terminated = terminated;
        self.done = terminated || truncated;
        margin
    }
}

/// Uniform draws of the reset of trajectory number `trajectory` under a replica's key: what anybody begins with
/// who wants to live an episode of [`crate::Engine::episodes`] by other means.
pub fn reset_draws<F: Precision>(key: Key, trajectory: usize, count: usize) -> Vec<F> {
    let word = |i: usize| {
        let block = draw(key, trajectory, 0, i / 4, RESET);
        F::unit([block.a, block.b, block.c, block.d][i % 4])
    };
    (0..count).map(word).collect()
}

fn first_state<F: Precision>(replica: &Replica<F>, trajectory: usize) -> Vec<F> {
    let mut state = vec![F::default(); replica.spec.state_width];
    replica.simulator.reset(&reset_draws(replica.key, trajectory, replica.spec.reset_draws), &mut state);
    state
}

/// The environment's draws from the first block of a step.
pub(crate) fn step_draws<F: Precision>(random: Block) -> [F; STEP_DRAWS] {
    [F::unit(random.d), F::unit(random.c)]
}

/// The states of the trajectory number `trajectory` of a rollout of `replica`, the last one included:
/// made again from its draws and the actions that it `lived` through, as trajectories do not keep them.
pub(crate) fn states<F: Precision>(replica: &Replica<F>, trajectory: usize, lived: &Trajectory<F>) -> Vec<Vec<F>> {
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
    let theta = Matrix::from_rows(replicas.iter().map(|replica| replica.theta));
    let lane = |replica| (0..batch).map(move |trajectory| Lane::simulated(replica, trajectory, policy.inputs()));
    live(placement, policy, &theta, replicas.iter().flat_map(lane).collect(), batch, horizon, mode)
}

pub(crate) fn rollout_episodes<F: Number>(
    placement: &Placement<F>,
    policy: &Policy,
    replicas: Vec<EpisodicReplica<F>>,
    horizon: usize,
    mode: Mode,
) -> Result<Trajectories<F>, EngineError> {
    let theta = Matrix::from_rows(replicas.iter().map(|replica| replica.theta));
    let batch = replicas.first().map_or(0, |replica| replica.episodes.len());
    let mut lanes = Vec::new();
    for EpisodicReplica { theta, episodes, key } in replicas {
        let episodes = episodes.into_iter().enumerate();
        lanes.extend(episodes.map(|(number, one)| Lane::episodic(one, (theta, key), number, policy.inputs())));
    }
    live(placement, policy, &theta, lanes, batch, horizon, mode)
}

/// Lives through every lane, `batch` of which follow each row of `theta`.
fn live<F: Number>(
    placement: &Placement<F>,
    policy: &Policy,
    theta: &Matrix<F>,
    mut lanes: Vec<Lane<F>>,
    batch: usize,
    horizon: usize,
    mode: Mode,
) -> Result<Trajectories<F>, EngineError> {
    let (inputs, outputs) = (policy.inputs(), policy.head.outputs());
    let network = Network::new(policy, placement.matrix(theta));
    let mut margins = vec![F::INFINITY; theta.rows()];
    let mut seen = vec![F::default(); lanes.len() * inputs];
    for time in 0..horizon {
        if lanes.iter().all(|lane| lane.done) {
            break;
        }
        for (index, lane) in lanes.iter().enumerate().filter(|(_, lane)| !lane.done) {
            seen[index * inputs..][..inputs].copy_from_slice(&lane.observation);
        }
        let acting = read(network.forward(placement.tensor(seen.clone(), [theta.rows(), batch, inputs])))?;
        for (index, lane) in lanes.iter_mut().enumerate().filter(|(_, lane)| !lane.done) {
            let margin = lane.advance(policy, mode, &acting[index * outputs..][..outputs], (index % batch, time));
            if margin < margins[index / batch] {
                margins[index / batch] = margin;
            }
        }
    }
    let mut lived = lanes.into_iter().map(|lane| Trajectory { final_observation: lane.observation, ..lane.lived });
    let replicas = (0..theta.rows()).map(|_| lived.by_ref().take(batch).collect()).collect();
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
