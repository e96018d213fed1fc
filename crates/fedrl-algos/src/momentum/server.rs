//! The server's half.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use fedrl_core::Scalar;
use fedrl_engine::EngineError;
use fedrl_federation::{Message, ServerHalf, all_finite, vector_bytes};

use super::MomentumConfig;
use crate::vector::add_scaled;
use crate::{ServerState, Upload};

/// What the server remembers between rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct MomentumState<F> {
    theta: Vec<F>,
    memory: Option<Memory<F>>,
}

/// What a momentum term needs; absent where there is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Memory<F> {
    /// θ_{r−1}.
    pub(crate) previous: Vec<F>,
    /// u_r.
    pub(crate) direction: Vec<F>,
}

impl<F: Clone> MomentumState<F> {
    /// The state before the first round: θ_{-1} = θ_0, and u_0 where it is needed.
    pub(super) fn new(theta: Vec<F>, direction: Option<Vec<F>>) -> Self {
        let memory = direction.map(|direction| Memory { previous: theta.clone(), direction });
        MomentumState { theta, memory }
    }
}

impl<F> ServerState<F> for MomentumState<F> {
    fn theta(&self) -> &[F] {
        &self.theta
    }

    fn vectors(&self) -> BTreeMap<&'static str, &[F]> {
        let mut vectors = BTreeMap::from([("theta", self.theta.as_slice())]);
        if let Some(memory) = &self.memory {
            vectors.insert("theta_previous", &memory.previous);
            vectors.insert("direction", &memory.direction);
        }
        vectors
    }

    fn from_vectors(mut vectors: BTreeMap<String, Vec<F>>) -> Result<Self, &'static str> {
        let theta = vectors.remove("theta").ok_or("theta")?;
        let memory = match (vectors.remove("theta_previous"), vectors.remove("direction")) {
            (None, None) => None,
            (Some(previous), Some(direction)) => Some(Memory { previous, direction }),
            (None, _) => return Err("theta_previous"),
            (_, None) => return Err("direction"),
        };
        Ok(MomentumState { theta, memory })
    }
}

/// What the server tells the agents: θ_r, and θ_{r−1} and u_r where they are needed.
#[derive(Debug, Clone)]
pub struct Broadcast<F> {
    pub(super) theta: Vec<F>,
    pub(super) memory: Option<Memory<F>>,
}

impl<F: Scalar> Message for Broadcast<F> {
    fn bytes(&self) -> u64 {
        let memory = self.memory.as_ref();
        vector_bytes(&self.theta) + memory.map_or(0, |m| vector_bytes(&m.previous) + vector_bytes(&m.direction))
    }

    fn is_finite(&self) -> bool {
        let memory = self.memory.iter().all(|m| all_finite(&m.previous) && all_finite(&m.direction));
        memory && all_finite(&self.theta)
    }
}

pub(super) struct Server<'a, F> {
    pub(super) config: &'a MomentumConfig,
    pub(super) remembers: bool,
    pub(super) scalar: PhantomData<F>,
}

impl<F: Scalar> ServerHalf for Server<'_, F> {
    type State = MomentumState<F>;
    type Broadcast = Broadcast<F>;
    /// Δ_i.
    type Upload = Upload<F>;
    type Error = EngineError;

    fn broadcast(&self, state: &MomentumState<F>) -> Broadcast<F> {
        Broadcast { theta: state.theta.clone(), memory: state.memory.clone() }
    }

    /// u_{r+1} = (1/(ηNK)) Σ Δ_i and θ_{r+1} = θ_r + λ u_{r+1}, N being those who answered.
    fn aggregate(&self, state: &MomentumState<F>, uploads: &[Upload<F>]) -> Result<MomentumState<F>, EngineError> {
        let scale = F::from_f64(1.0 / (self.config.local_step_size * self.config.local_steps as f64));
        let mut direction = Upload::mean(uploads)?;
        direction.iter_mut().for_each(|u| *u *= scale);
        let mut theta = state.theta.clone();
        add_scaled(&mut theta, F::from_f64(self.config.global_step_size), &direction);
        let memory = self.remembers.then(|| Memory { previous: state.theta.clone(), direction });
        Ok(MomentumState { theta, memory })
    }
}
