//! Rollouts on a GPU: one kernel in which every trajectory has a lane of its own, from the functions that
//! the CPU runs, too.

mod live;
mod network;

use cubecl::device::{Device, WgpuDevice};
use cubecl::prelude::*;
use fedrl_envs::{Dynamics, Visitor, visit};
use fedrl_models::Policy;
use live::{OUTCOME, Plan, trajectories};

use crate::fused::Shape;
use crate::{EngineError, Mode, Number, Replica, Trajectories, Trajectory};

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

/// Lanes that are launched together.
const CUBE: u32 = 64;

impl Kernels {
    pub(crate) fn new(device: WgpuDevice, software: bool) -> Self {
        Kernels { client: Device::Wgpu(device).client(), software }
    }

    /// Lets every replica act for `batch` trajectories of at most `horizon` steps. `None` where the device
    /// would not come to the end of it.
    pub(crate) fn rollout<F: Number>(
        &self,
        policy: &Policy,
        replicas: &[Replica<F>],
        batch: usize,
        horizon: usize,
        mode: Mode,
    ) -> Result<Option<Trajectories<F>>, EngineError> {
        let Some(first) = replicas.first() else { return Ok(None) };
        let plan = Plan {
            shape: Shape::new(policy),
            state: first.spec.state_width,
            coefficients: first.simulator.coefficients().len(),
            reset_draws: first.spec.reset_draws,
            batch,
            horizon,
            mode,
        };
        let endless = !first.simulator.lanes_at_once() || plan.loops() > MOST_LOOPS;
        if horizon == 0 || batch == 0 || (self.software && endless) {
            return Ok(None);
        }
        let lived = visit(first.spec.id, Live { kernels: self, plan: &plan, replicas });
        let Some(lived) = lived.transpose()? else { return Ok(None) };
        let replicas = (0..replicas.len()).map(|agent| {
            let lanes = agent * batch..(agent + 1) * batch;
            lanes.map(|lane| lived.trajectory(lane, &plan)).collect()
        });
        let margins = lived.margins(&plan);
        Ok(Some(Trajectories { replicas: replicas.collect(), margins }))
    }

    fn numbers(&self, numbers: &[f32]) -> BufferArg {
        // SAFETY: the buffer is as long as the slice it is made from.
        #[allow(unsafe_code, reason = "a kernel launch hands raw buffers to the device")]
        unsafe {
            BufferArg::from_raw_parts(self.client.create_from_slice(f32::as_bytes(numbers)), numbers.len())
        }
    }
}

impl Plan {
    /// Rounds of loops of one lane, about.
    fn loops(&self) -> usize {
        let layers = self.shape.layers.iter().map(|layer| {
            let rows = layer.outputs / 4 + layer.outputs % 4;
            rows * (layer.inputs + 1) + 3 * layer.outputs + layer.inputs
        });
        self.horizon * (layers.sum::<usize>() + 10 * (1 + self.shape.action) + 5 * self.shape.outputs + 20)
    }
}

/// The launch for the dynamics that an environment's name stands for.
struct Live<'a, F> {
    kernels: &'a Kernels,
    plan: &'a Plan,
    replicas: &'a [Replica<'a, F>],
}

/// What came back.
struct Lived {
    observations: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    outcomes: Vec<f32>,
}

impl<F: Number> Visitor for Live<'_, F> {
    type Output = Result<Lived, EngineError>;

    fn visit<D: Dynamics>(self) -> Result<Lived, EngineError> {
        let Live { kernels, plan, replicas } = self;
        let single = |numbers: &[F]| numbers.iter().map(|x| x.as_double() as f32).collect::<Vec<f32>>();
        let theta: Vec<f32> = replicas.iter().flat_map(|replica| single(replica.theta)).collect();
        let coefficients: Vec<f32> =
            replicas.iter().flat_map(|replica| single(replica.simulator.coefficients())).collect();
        let scales: Vec<f32> = replicas
            .iter()
            .flat_map(|replica| <[F; 2]>::from(replica.simulator.reward()).map(|x| x.as_double() as f32))
            .collect();
        let keys: Vec<u32> = replicas.iter().flat_map(|replica| [replica.key.low, replica.key.high]).collect();

        let lanes = replicas.len() * plan.batch;
        let steps = lanes * plan.horizon;
        let sizes =
            [steps * plan.shape.inputs, steps * plan.shape.action, steps, lanes * (OUTCOME + plan.shape.inputs)];
        let client = &kernels.client;
        let handles = sizes.map(|size| client.empty(size * size_of::<f32>()));
        let cubes = (lanes as u32).div_ceil(CUBE);
        // SAFETY: the buffers are as long as the lengths given.
        #[allow(unsafe_code, reason = "a kernel launch hands raw buffers to the device")]
        unsafe {
            let out = |i: usize| BufferArg::from_raw_parts(handles[i].clone(), sizes[i]);
            trajectories::launch::<D>(
                client,
                CubeCount::Static(cubes.min(MOST_CUBES), cubes.div_ceil(MOST_CUBES), 1),
                CubeDim::new_1d(CUBE),
                kernels.numbers(&theta),
                kernels.numbers(&coefficients),
                kernels.numbers(&scales),
                BufferArg::from_raw_parts(client.create_from_slice(u32::as_bytes(&keys)), keys.len()),
                out(0),
                out(1),
                out(2),
                out(3),
                plan.clone(),
            );
        }
        let read = client.read(handles.to_vec()).map_err(|error| EngineError::Device(error.to_string()))?;
        let mut read = read.iter().map(|bytes| f32::from_bytes(bytes).to_vec());
        let mut next = || read.next().ok_or_else(|| EngineError::Device("a buffer did not come back".into()));
        Ok(Lived { observations: next()?, actions: next()?, rewards: next()?, outcomes: next()? })
    }
}

/// The most cubes in one direction that every device takes.
const MOST_CUBES: u32 = 65_535;

impl Lived {
    /// What is told of a lane.
    fn outcome(&self, lane: usize, plan: &Plan) -> &[f32] {
        let told = OUTCOME + plan.shape.inputs;
        &self.outcomes[lane * told..][..told]
    }

    fn trajectory<F: Number>(&self, lane: usize, plan: &Plan) -> Trajectory<F> {
        let outcome = self.outcome(lane, plan);
        let steps = outcome[0] as usize;
        let numbers = |all: &[f32], width: usize| {
            let own = &all[lane * plan.horizon * width..][..steps * width];
            own.iter().map(|&x| F::from_f64(f64::from(x))).collect::<Vec<F>>()
        };
        Trajectory {
            observations: numbers(&self.observations, plan.shape.inputs),
            actions: numbers(&self.actions, plan.shape.action),
            rewards: numbers(&self.rewards, 1),
            final_observation: outcome[OUTCOME..].iter().map(|&x| F::from_f64(f64::from(x))).collect(),
            terminated: outcome[1] > 0.0,
        }
    }

    /// The closest draw of every agent.
    fn margins<F: Number>(&self, plan: &Plan) -> Vec<F> {
        let told = OUTCOME + plan.shape.inputs;
        let agents = self.outcomes.chunks(plan.batch * told);
        let closest = |lanes: &[f32]| lanes.chunks(told).map(|lane| lane[2]).fold(f32::INFINITY, f32::min);
        // No draw, no threshold.
        agents.map(closest).map(|x| if x > 1e38 { F::INFINITY } else { F::from_f64(f64::from(x)) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedrl_core::random::Key;
    use fedrl_envs::{Instance, find};
    use fedrl_models::PolicyConfig;

    /// A software driver gets what it comes to the end of, and nothing else.
    #[test]
    fn a_software_driver_is_not_asked_for_more_than_it_does() {
        let kernels = Kernels::new(WgpuDevice::default(), true);
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
        assert!(!lived("CartPole-v1", vec![64, 64], 500));
        assert!(!lived("HalfCheetah-v5", vec![8], 5));
    }
}
