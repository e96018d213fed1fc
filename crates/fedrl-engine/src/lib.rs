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
mod matrix;
mod network;
mod pass;
mod rollout;
pub mod tabular;
mod trajectory;

use std::marker::PhantomData;

use burn::tensor::{Device, Element};
use fedrl_envs::Precision;
use fedrl_models::Policy;
use rayon::prelude::*;

pub use device::{Adapter, DeviceChoice, DeviceError, Selection, adapters, select};
pub use matrix::Matrix;
pub use pass::Pass;
pub use rollout::{EpisodicReplica, Mode, Replica, states};
pub use trajectory::{Trajectories, Trajectory};

/// A scalar that the engine computes with: f32 on any device, f64 on the CPU.
pub trait Number: Precision + Element {}

impl<F: Precision + Element> Number for F {}

/// Runs blocks of replicas on one device.
#[derive(Debug, Clone)]
pub struct Engine<F> {
    placement: Placement<F>,
    parallel: bool,
}

impl Engine<f32> {
    /// The engine on a selected device.
    pub fn new(selection: &Selection) -> Self {
        Engine { placement: Placement::new(selection.device.clone()), parallel: !selection.is_gpu() }
    }
}

impl Engine<f64> {
    /// The engine on the CPU in f64, for what has to be exact.
    pub fn double() -> Self {
        Engine { placement: Placement::new(Device::flex()), parallel: true }
    }
}

impl<F: Number> Engine<F> {
    /// Whether replicas are worked on one by one, in parallel: on a CPU they are, on a GPU all of them
    /// at once are one block. A replica's numbers do not depend on its block.
    pub fn one_by_one(&self) -> bool {
        self.parallel
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

/// Applies `f` to `items` as one block, or one by one and in parallel, and joins the results in order.
///
/// # Errors
/// The first error, in the order of the items.
pub fn for_blocks<T: Sync, U: Send, E: Send>(
    items: &[T],
    one_by_one: bool,
    f: impl Fn(&[T]) -> Result<Vec<U>, E> + Sync + Send,
) -> Result<Vec<U>, E> {
    if !one_by_one {
        return f(items);
    }
    let blocks: Vec<Result<Vec<U>, E>> = items.par_chunks(1).map(f).collect();
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
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Numbers could not be read back.
    #[error("the device failed: {0}")]
    Device(String),
}
