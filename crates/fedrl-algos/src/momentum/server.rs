//! The server's half.

use std::collections::BTreeMap;

use fedrl_federation::{Message, ServerHalf, Vector, mean, vector_bytes};

use super::MomentumConfig;
use crate::ServerState;
use crate::vector::add_scaled;

/// What the server remembers between rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct MomentumState {
    theta: Vec<f32>,
    memory: Option<Memory>,
}

/// What a momentum term needs; absent where there is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Memory {
    /// θ_{r−1}.
    pub(crate) previous: Vec<f32>,
    /// u_r.
    pub(crate) direction: Vec<f32>,
}

impl MomentumState {
    /// The state before the first round: θ_{-1} = θ_0, and u_0 where it is needed.
    pub(super) fn new(theta: Vec<f32>, direction: Option<Vec<f32>>) -> Self {
        let memory = direction.map(|direction| Memory { previous: theta.clone(), direction });
        MomentumState { theta, memory }
    }
}

impl ServerState for MomentumState {
    fn theta(&self) -> &[f32] {
        &self.theta
    }

    fn vectors(&self) -> BTreeMap<&'static str, &[f32]> {
        let mut vectors = BTreeMap::from([("theta", self.theta.as_slice())]);
        if let Some(memory) = &self.memory {
            vectors.insert("theta_previous", &memory.previous);
            vectors.insert("direction", &memory.direction);
        }
        vectors
    }

    fn from_vectors(mut vectors: BTreeMap<String, Vec<f32>>) -> Result<Self, &'static str> {
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
pub struct Broadcast {
    pub(super) theta: Vec<f32>,
    pub(super) memory: Option<Memory>,
}

impl Message for Broadcast {
    fn bytes(&self) -> u64 {
        let memory = self.memory.as_ref();
        vector_bytes(&self.theta) + memory.map_or(0, |m| vector_bytes(&m.previous) + vector_bytes(&m.direction))
    }

    fn is_finite(&self) -> bool {
        let memory = self.memory.iter().flat_map(|m| m.previous.iter().chain(&m.direction));
        self.theta.iter().chain(memory).all(|x| x.is_finite())
    }
}

pub(super) struct Server<'a> {
    pub(super) config: &'a MomentumConfig,
    pub(super) remembers: bool,
}

impl ServerHalf for Server<'_> {
    type State = MomentumState;
    type Broadcast = Broadcast;
    /// Δ_i.
    type Upload = Vector;

    fn broadcast(&self, state: &MomentumState) -> Broadcast {
        Broadcast { theta: state.theta.clone(), memory: state.memory.clone() }
    }

    /// u_{r+1} = (1/(ηNK)) Σ Δ_i and θ_{r+1} = θ_r + λ u_{r+1}, N being those who answered.
    fn aggregate(&self, state: &MomentumState, uploads: &[Vector]) -> MomentumState {
        let scale = (1.0 / (self.config.local_step_size * self.config.local_steps as f64)) as f32;
        let mut direction = mean(uploads.iter().map(|Vector(delta)| delta.as_slice()));
        direction.iter_mut().for_each(|u| *u *= scale);
        let mut theta = state.theta.clone();
        add_scaled(&mut theta, self.config.global_step_size as f32, &direction);
        let memory = self.remembers.then(|| Memory { previous: state.theta.clone(), direction });
        MomentumState { theta, memory }
    }
}
