//! Runs policies in environments on a device.
//!
//! Everything is a batch of *replicas*: one agent of one run, that is one parameter vector, one
//! environment and one stream of draws. The engine knows three operations on a block of them —
//! [`Engine::rollout`], [`Engine::scores`] with their gradients, [`Engine::tangents`] with
//! Hessian-vector products — and no algorithm.
//!
//! This is the reference path: environments step natively, networks are burn tensors with
//! automatic differentiation on any burn device. It defines what correct means.

mod device;
pub mod fused;
pub mod kernels;
mod matrix;
mod network;
mod pass;
mod rollout;
mod rows;
pub mod tabular;
mod trajectory;

use std::marker::PhantomData;

use burn::tensor::{Device, Element};
use fedrl_core::LANES;
use fedrl_envs::{Precision, Spec};
use fedrl_models::Policy;
use rayon::prelude::*;

use fused::{Fused, Lane, Outcome};

pub use device::{Adapter, DeviceChoice, DeviceError, Selection, adapters, select};
pub use matrix::Matrix;
pub use pass::Pass;
pub use rollout::{EpisodicReplica, Mode, Replica, reset_draws};
pub use rows::{Combine, Row, Rows, norm};
pub use trajectory::{Trajectories, Trajectory};

/// A scalar that the engine computes with: f32 on any device, f64 on the CPU.
pub trait Number: Precision + Element {}

impl<F: Precision + Element> Number for F {}

/// Runs blocks of replicas on one device.
#[derive(Debug, Clone)]
pub struct Engine<F> {
    placement: Placement<F>,
    parallel: bool,
    in_lanes: bool,
    kernels: Option<kernels::Kernels>,
}

impl Engine<f32> {
    /// The engine on a selected device.
    pub fn new(selection: &Selection) -> Self {
        let placement = Placement::new(selection.device.clone());
        Engine {
            placement,
            parallel: !selection.is_gpu(),
            in_lanes: selection.in_lanes(),
            kernels: selection.kernels(),
        }
    }

    /// The policy in the lanes of the processor's vectors, if the device has them and the policy is
    /// narrow enough.
    pub fn fused(&self, policy: &Policy) -> Option<Fused> {
        if self.in_lanes { Fused::new(policy) } else { None }
    }

    /// The policy in kernels that keep its parameters on the device, if that is a GPU that can live in the
    /// environment and the policy is narrow enough.
    pub fn resident(&self, policy: &Policy, spec: &'static Spec) -> Option<kernels::Resident> {
        kernels::Resident::new(self.kernels.as_ref()?, policy, spec)
    }

    /// What `episodes` episodes of every replica come to, at most `horizon` steps each.
    ///
    /// # Errors
    /// The device failed.
    pub fn episodes(
        &self,
        policy: &Policy,
        replicas: &[Replica<f32>],
        episodes: usize,
        horizon: usize,
        mode: Mode,
    ) -> Result<Vec<Vec<Outcome>>, EngineError> {
        let Some(spec) = replicas.first().map(|replica| replica.spec) else { return Ok(Vec::new()) };
        if let Some(fused) = self.fused(policy) {
            let lanes: Vec<Lane> =
                replicas.iter().flat_map(|replica| (0..episodes).map(|number| Lane::new(replica, number))).collect();
            let outcomes = fused.episodes(&lanes, spec, horizon, mode);
            return Ok(outcomes.chunks(episodes.max(1)).map(<[Outcome]>::to_vec).collect());
        }
        if let Some(kernels) = &self.kernels
            && let Some(outcomes) = kernels.episodes(policy, replicas, episodes, horizon, mode)?
        {
            return Ok(outcomes);
        }
        for_blocks(replicas, self.block_size(), |block| {
            let lived = self.rollout(policy, block, episodes, horizon, mode)?;
            let outcomes = |lived: &Vec<Trajectory<f32>>| lived.iter().map(Trajectory::outcome).collect();
            Ok(lived.replicas.iter().map(outcomes).collect())
        })
    }

    /// The states of what [`Engine::episode`] gave for a replica, the last one included.
    pub fn states(
        &self,
        policy: &Policy,
        replica: &Replica<f32>,
        number: usize,
        lived: &Trajectory<f32>,
    ) -> Vec<Vec<f32>> {
        // By the arithmetic that lived: a pole that stands by a hair falls by another's rounding.
        match self.fused(policy) {
            Some(_) => fused::states(replica, number, lived),
            None => rollout::states(replica, number, lived),
        }
    }

    /// The episode of every replica that has this number among those of [`Engine::episodes`].
    ///
    /// # Errors
    /// The device failed.
    pub fn episode(
        &self,
        policy: &Policy,
        replicas: &[Replica<f32>],
        number: usize,
        horizon: usize,
        mode: Mode,
    ) -> Result<Vec<Trajectory<f32>>, EngineError> {
        let Some(fused) = self.fused(policy) else {
            return for_blocks(replicas, self.block_size(), |block| {
                let lived = self.rollout(policy, block, number + 1, horizon, mode)?;
                Ok(lived.replicas.into_iter().filter_map(|mut replica| replica.pop()).collect())
            });
        };
        let of_block = |block: &[Replica<f32>]| {
            let lanes: Vec<Lane> = block.iter().map(|replica| Lane::new(replica, number)).collect();
            let (lived, _) = fused.rollout(&lanes, block[0].spec, horizon, mode);
            (0..lanes.len()).map(move |lane| lived.trajectory(lane)).collect::<Vec<_>>()
        };
        Ok(replicas.chunks(LANES).flat_map(of_block).collect())
    }
}

impl Engine<f64> {
    /// The engine on the CPU in f64, for what has to be exact.
    pub fn double() -> Self {
        Engine { placement: Placement::new(Device::flex()), parallel: true, in_lanes: false, kernels: None }
    }
}

impl<F: Number> Engine<F> {
    /// How many replicas are worked on at once: one on a CPU, where blocks are worked on in parallel, all
    /// of them on a GPU. A replica's numbers do not depend on its block.
    pub fn block_size(&self) -> usize {
        if self.parallel { 1 } else { usize::MAX }
    }

    /// Lets every replica act for `batch` trajectories of at most `horizon` steps.
    ///
    /// # Errors
    /// The device failed.
    pub fn rollout(
        &self,
        policy: &Policy,
        replicas: &[Replica<F>],
        batch: usize,
        horizon: usize,
        mode: Mode,
    ) -> Result<Trajectories<F>, EngineError> {
        if let Some(kernels) = &self.kernels
            && let Some(lived) = kernels.rollout(policy, replicas, batch, horizon, mode)?
        {
            return Ok(lived);
        }
        rollout::rollout(&self.placement, policy, replicas, batch, horizon, mode)
    }

    /// The same in environments that are objects with a state of their own: equally many episodes for
    /// every replica, each lived through from a reset to its end, its own limit, or `horizon`.
    ///
    /// # Errors
    /// The device failed.
    pub fn rollout_episodes(
        &self,
        policy: &Policy,
        replicas: Vec<EpisodicReplica<F>>,
        horizon: usize,
        mode: Mode,
    ) -> Result<Trajectories<F>, EngineError> {
        rollout::rollout_episodes(&self.placement, policy, replicas, horizon, mode)
    }

    /// log π_θ(a_t|s_t) of every step of `trajectories`, differentiable; `theta` has a row per
    /// replica.
    pub fn scores(&self, policy: &Policy, theta: &Matrix<F>, trajectories: &Trajectories<F>) -> Pass<F> {
        Pass::scores(&self.tracked(), policy, theta, trajectories)
    }

    /// ⟨∇ log π_θ(a_t|s_t), v⟩ of every step of `trajectories`, differentiable: its gradient with
    /// weights Ψ is the Hessian of Σ_t Ψ_t log π_θ(a_t|s_t) times v. `along` is v, `theta` and it
    /// have a row per replica.
    pub fn tangents(
        &self,
        policy: &Policy,
        theta: &Matrix<F>,
        along: &Matrix<F>,
        trajectories: &Trajectories<F>,
    ) -> Pass<F> {
        Pass::tangents(&self.tracked(), policy, theta, along, trajectories)
    }

    /// The same place with automatic differentiation.
    fn tracked(&self) -> Placement<F> {
        Placement::new(self.placement.device.clone().autodiff())
    }
}

/// Applies `f` to `items` in blocks of this size, in parallel, and joins the results in order.
///
/// # Errors
/// The first error, in the order of the items.
pub fn for_blocks<T: Sync, U: Send, E: Send>(
    items: &[T],
    block_size: usize,
    f: impl Fn(&[T]) -> Result<Vec<U>, E> + Sync + Send,
) -> Result<Vec<U>, E> {
    if items.len() <= block_size {
        return f(items);
    }
    let blocks: Vec<Result<Vec<U>, E>> = items.par_chunks(block_size).map(f).collect();
    Ok(blocks.into_iter().collect::<Result<Vec<_>, E>>()?.into_iter().flatten().collect())
}

/// Where tensors live, and in which precision.
#[derive(Debug, Clone)]
struct Placement<F> {
    device: Device,
    precision: PhantomData<F>,
}

impl<F> Placement<F> {
    fn new(device: Device) -> Self {
        Placement { device, precision: PhantomData }
    }
}

/// Why the engine could not go on.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    /// Numbers could not be read back.
    #[error("the device failed: {0}")]
    Device(String),
}
