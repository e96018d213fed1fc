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
mod trajectory;

use burn::tensor::{DType, Device};
use fedrl_models::Policy;
use rayon::prelude::*;

pub use device::{Adapter, DeviceChoice, DeviceError, Selection, adapters, select};
pub use matrix::Matrix;
pub use pass::Pass;
pub use rollout::{Mode, Replica};
pub use trajectory::{Trajectories, Trajectory};

/// Runs blocks of replicas on one device.
#[derive(Debug, Clone)]
pub struct Engine {
    device: Device,
    dtype: DType,
    parallel: bool,
}

impl Engine {
    /// The engine on a selected device, in f32.
    pub fn new(selection: &Selection) -> Self {
        Engine { device: selection.device.clone(), dtype: DType::F32, parallel: !selection.is_gpu() }
    }

    /// The engine on the CPU with tensors in f64: the oracle of exactness tests.
    pub fn double() -> Self {
        Engine { device: Device::flex(), dtype: DType::F64, parallel: true }
    }

    /// Applies `f` to blocks of `items` and joins the results in order. On a CPU a block is one
    /// item and blocks run in parallel; on a GPU it is all of them. A replica's numbers do not
    /// depend on its block.
    ///
    /// # Errors
    /// The first error, in the order of the items.
    pub fn for_blocks<T: Sync, U: Send, E: Send>(
        &self,
        items: &[T],
        f: impl Fn(&[T]) -> Result<Vec<U>, E> + Sync + Send,
    ) -> Result<Vec<U>, E> {
        if !self.parallel {
            return f(items);
        }
        let blocks: Vec<Result<Vec<U>, E>> = items.par_chunks(1).map(f).collect();
        Ok(blocks.into_iter().collect::<Result<Vec<_>, E>>()?.into_iter().flatten().collect())
    }

    /// Lets every replica act for `batch` trajectories of at most `horizon` steps.
    ///
    /// # Errors
    /// The device failed.
    pub fn rollout(
        &self,
        policy: &Policy,
        replicas: &[Replica],
        batch: usize,
        horizon: usize,
        mode: Mode,
    ) -> Result<Trajectories, EngineError> {
        rollout::rollout(&self.plain(), policy, replicas, batch, horizon, mode)
    }

    /// log π_θ(a_t|s_t) of every step of `trajectories`, differentiable; `theta` has a row per
    /// replica.
    pub fn scores(&self, policy: &Policy, theta: &Matrix, trajectories: &Trajectories) -> Pass {
        Pass::scores(&self.tracked(), policy, theta, trajectories)
    }

    /// ⟨∇ log π_θ(a_t|s_t), v⟩ of every step of `trajectories`, differentiable: its gradient with
    /// weights Ψ is the Hessian of Σ_t Ψ_t log π_θ(a_t|s_t) times v. `along` is v, `theta` and it
    /// have a row per replica.
    pub fn tangents(&self, policy: &Policy, theta: &Matrix, along: &Matrix, trajectories: &Trajectories) -> Pass {
        Pass::tangents(&self.tracked(), policy, theta, along, trajectories)
    }

    fn plain(&self) -> Placement {
        Placement { device: self.device.clone(), dtype: self.dtype }
    }

    fn tracked(&self) -> Placement {
        Placement { device: self.device.clone().autodiff(), dtype: self.dtype }
    }
}

/// Where tensors live and in which precision.
#[derive(Debug, Clone)]
struct Placement {
    device: Device,
    dtype: DType,
}

/// Why the engine could not go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Numbers could not be read back.
    #[error("the device failed: {0}")]
    Device(String),
}
