//! A GPU that lives and learns: kernels in which every trajectory, or a piece of one, has a lane of its own,
//! from the functions that the CPU runs, too. Parameters, trajectories and gradients stay on the device.

mod buffer;
mod live;
mod network;
mod rows;
mod scores;
mod tape;
mod weigh;

use cubecl::prelude::*;
use fedrl_core::random::Key;
use fedrl_envs::{Simulator, Spec};
use fedrl_models::Policy;

use crate::fused::{Fused, Outcome, Shape};
use crate::{EngineError, Matrix, Mode, Number, Replica, Rows, Trajectories};
use buffer::Buffer;
use live::Plan;
use scores::Pieces;

pub use rows::DeviceRows;
pub use tape::{LaneGradients, Outcomes, StepNumbers, Tape};
pub use weigh::Credit;

/// A GPU, or what pretends to be one.
#[derive(Clone)]
pub(crate) struct Kernels {
    client: Client,
    software: bool,
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernels").field("software", &self.software).finish_non_exhaustive()
    }
}

/// Mesa's software driver ends a kernel without a word after 65,535 rounds of its loops.
const MOST_LOOPS: usize = 60_000;

/// Numbers of a state for which it comes to an end: robots have more, and one step of theirs is minutes.
const SMALL: usize = 8;

/// Steps of a trajectory that one launch lives through at most: desktop systems end a kernel that keeps
/// the screen waiting for seconds.
const CHUNK: usize = 256;

/// Steps of a piece whose scores have a lane of their own.
const PIECE: usize = 32;

/// Numbers that the units of a tile of steps may be, in a lane's own memory.
const TILE: usize = 64;

/// Bytes that the trajectories and gradients of agents worked on at once may take: on a GPU, and on a software
/// driver, which gains nothing from more.
const ROOM: [usize; 2] = [1 << 30, 1 << 22];

impl Kernels {
    pub(crate) fn new(client: Client, software: bool) -> Self {
        Kernels { client, software }
    }

    /// Whether trajectories of this environment can be lived through here.
    fn serves(&self, spec: &Spec) -> bool {
        !self.software || spec.state_width <= SMALL
    }

    /// Lets every replica act for `batch` trajectories of at most `horizon` steps. `None` where the device
    /// cannot.
    pub(crate) fn rollout<F: Number>(
        &self,
        policy: &Policy,
        replicas: &[Replica<F>],
        batch: usize,
        horizon: usize,
        mode: Mode,
    ) -> Result<Option<Trajectories<F>>, EngineError> {
        match self.tape(policy, replicas, batch, horizon, mode, true)? {
            Some(tape) => Ok(Some(tape.trajectories()?)),
            None => Ok(None),
        }
    }

    /// What `episodes` of every replica come to. `None` where the device cannot.
    pub(crate) fn episodes<F: Number>(
        &self,
        policy: &Policy,
        replicas: &[Replica<F>],
        episodes: usize,
        horizon: usize,
        mode: Mode,
    ) -> Result<Option<Vec<Vec<Outcome>>>, EngineError> {
        let Some(tape) = self.tape(policy, replicas, episodes, horizon, mode, false)? else { return Ok(None) };
        let (outcomes, _) = tape.outcomes(&[])?;
        let of_replica = |replica| outcomes.lanes(replica).map(|lane| outcomes.outcome(lane)).collect();
        Ok(Some((0..replicas.len()).map(of_replica).collect()))
    }

    fn tape<F: Number>(
        &self,
        policy: &Policy,
        replicas: &[Replica<F>],
        batch: usize,
        horizon: usize,
        mode: Mode,
        taped: bool,
    ) -> Result<Option<Tape>, EngineError> {
        let Some(first) = replicas.first() else { return Ok(None) };
        if horizon == 0 || batch == 0 || !self.serves(first.spec) {
            return Ok(None);
        }
        let theta: Vec<f32> = replicas.iter().flat_map(|replica| replica.theta).map(|x| x.as_double() as f32).collect();
        let plan = self.plan(&Shape::new(policy), first.simulator, first.spec, (batch, horizon), mode, taped);
        let places: Vec<Place<F>> = replicas.iter().map(|r| Place { simulator: r.simulator, key: r.key }).collect();
        Ok(self.live(plan, first.spec, &Buffer::numbers(&self.client, &theta), &places))
    }

    fn plan<F: Number>(
        &self,
        shape: &Shape,
        simulator: &Simulator<F>,
        spec: &Spec,
        (batch, horizon): (usize, usize),
        mode: Mode,
        taped: bool,
    ) -> Plan {
        let plan = Plan {
            shape: shape.clone(),
            state: spec.state_width,
            coefficients: simulator.coefficients().len(),
            reset_draws: spec.reset_draws,
            batch,
            horizon,
            mode,
            taped,
            chunk: horizon.min(CHUNK),
        };
        let possible = if self.software { (MOST_LOOPS / plan.loops()).max(1) } else { plan.chunk };
        Plan { chunk: plan.chunk.min(possible), ..plan }
    }

    /// The pieces that scores of trajectories are worked on in.
    fn pieces(&self, plan: &Plan) -> Pieces {
        let Plan { shape, batch, horizon, .. } = plan;
        let possible =
            if self.software { MOST_LOOPS.saturating_sub(shape.parameters) / score_loops(shape) } else { PIECE };
        let steps = PIECE.min(possible).clamp(1, *horizon);
        let tile = (TILE / shape.units).clamp(1, steps.min(8));
        Pieces { shape: shape.clone(), batch: *batch, horizon: *horizon, count: horizon.div_ceil(steps), steps, tile }
    }
}

/// Where an agent's trajectories are lived.
pub struct Place<'a, F> {
    /// The environment.
    pub simulator: &'a Simulator<F>,
    /// Key of every draw.
    pub key: Key,
}

/// A policy on a device that keeps parameters to itself.
#[derive(Debug, Clone)]
pub struct Resident {
    kernels: Kernels,
    shape: Shape,
    spec: &'static Spec,
}

impl Resident {
    /// The policy on the device, if its layers are narrow enough and the device can live in the environment.
    pub(crate) fn new(kernels: &Kernels, policy: &Policy, spec: &'static Spec) -> Option<Self> {
        // Wider networks' products are better off as tensors.
        let narrow = Fused::new(policy).is_some() && kernels.serves(spec);
        narrow.then(|| Resident { kernels: kernels.clone(), shape: Shape::new(policy), spec })
    }

    /// `rows` copies of a row.
    pub fn repeat<F: Number>(&self, row: &[F], rows: usize) -> Rows<F> {
        Rows::Device(self.rows(&Rows::Host(Matrix::repeat(row, rows))))
    }

    /// The rows on the device.
    pub fn rows<F: Number>(&self, rows: &Rows<F>) -> DeviceRows {
        match rows {
            Rows::Device(rows) => rows.clone(),
            Rows::Host(matrix) => {
                let numbers: Vec<f32> = matrix.as_slice().iter().map(|x| x.as_double() as f32).collect();
                let client = &self.kernels.client;
                DeviceRows::new(client, Buffer::numbers(client, &numbers), matrix.rows(), matrix.columns())
            }
        }
    }

    /// How many agents may be worked on at once, with `batch` trajectories of `horizon` steps each.
    pub fn agents_together<F: Number>(&self, simulator: &Simulator<F>, batch: usize, horizon: usize) -> usize {
        let plan = self.kernels.plan(&self.shape, simulator, self.spec, (batch, horizon), Mode::Sampled, true);
        let pieces = self.kernels.pieces(&plan);
        let step = self.shape.inputs + self.shape.action + 6;
        // Gradients at two places at a time.
        let numbers = batch * (horizon * step + 2 * pieces.count * self.shape.parameters);
        (ROOM[usize::from(self.kernels.software)] / size_of::<f32>() / numbers).max(1)
    }

    /// Lets every agent act, at its row of `theta`, for `batch` trajectories of at most `horizon` steps.
    /// There is at least one agent.
    ///
    /// # Errors
    /// There are no kernels for the environment.
    pub fn live<F: Number>(
        &self,
        places: &[Place<F>],
        theta: &DeviceRows,
        (batch, horizon): (usize, usize),
    ) -> Result<Tape, EngineError> {
        let simulator = places[0].simulator;
        let plan = self.kernels.plan(&self.shape, simulator, self.spec, (batch, horizon), Mode::Sampled, true);
        let tape = self.kernels.live(plan, self.spec, &theta.numbers, places);
        tape.ok_or_else(|| EngineError::Device(format!("there are no kernels for {}", self.spec.id)))
    }
}

impl Plan {
    /// Rounds of loops of one step of one lane, about.
    fn loops(&self) -> usize {
        forward_loops(&self.shape) + 10 * (1 + self.shape.action) + 8 * self.shape.outputs + 20 + self.state
    }
}

fn forward_loops(shape: &Shape) -> usize {
    let layers = shape.layers.iter().map(|layer| {
        let rows = layer.outputs / 4 + layer.outputs % 4;
        rows * (layer.inputs + 1) + 3 * layer.outputs + layer.inputs
    });
    layers.sum()
}

/// The same for the scores of a step, or for its Hessian-vector product.
fn score_loops(shape: &Shape) -> usize {
    let layers = shape.layers.iter().map(|layer| {
        let rows = layer.outputs / 4 + layer.outputs % 4;
        rows * (layer.inputs / 2 + layer.inputs % 2 * 4 + 2) + 4 * layer.outputs
    });
    8 * forward_loops(shape) + 2 * layers.sum::<usize>() + 20 * (1 + shape.outputs)
}

#[cfg(all(test, feature = "wgpu"))]
mod tests {
    use super::*;
    use fedrl_envs::{Instance, find};
    use fedrl_models::PolicyConfig;

    /// A software driver gets what it comes to the end of, however long or wide, and nothing else.
    #[test]
    fn a_software_driver_is_not_asked_for_more_than_it_does() {
        let kernels = Kernels::new(cubecl::device::Device::Wgpu(Default::default()).client(), true);
        let lived = |id: &str, hidden: Vec<usize>, horizon: usize| {
            let instance = Instance::new(find(id).unwrap(), Default::default()).unwrap();
            let spec = instance.spec();
            let config = PolicyConfig { hidden, ..PolicyConfig::default() };
            let policy = Policy::new(&config, &spec.observation, &spec.action).unwrap();
            let key = Key { low: 1, high: 2 };
            let theta = policy.initial(key);
            let replica = Replica { theta: &theta, simulator: &instance.simulator(), spec, key };
            kernels.rollout::<f32>(&policy, &[replica], 1, horizon, Mode::Sampled).unwrap().is_some()
        };
        assert!(lived("CartPole-v1", vec![8, 8], 200));
        assert!(lived("CartPole-v1", vec![64, 64], 500));
        assert!(!lived("HalfCheetah-v5", vec![8], 5));
    }
}
