//! The server's half.

use std::collections::BTreeMap;

use fedrl_federation::{Message, ServerHalf, Vector, mean, vector_bytes};

use super::FastFedPgConfig;
use crate::ServerState;
use crate::vector::add_scaled;

/// What the server remembers between rounds: θ̄.
#[derive(Debug, Clone, PartialEq)]
pub struct FastFedPgState {
    pub(super) theta: Vec<f32>,
}

impl ServerState for FastFedPgState {
    fn theta(&self) -> &[f32] {
        &self.theta
    }

    fn vectors(&self) -> BTreeMap<&'static str, &[f32]> {
        BTreeMap::from([("theta", self.theta.as_slice())])
    }

    fn from_vectors(mut vectors: BTreeMap<String, Vec<f32>>) -> Result<Self, &'static str> {
        Ok(FastFedPgState { theta: vectors.remove("theta").ok_or("theta")? })
    }
}

/// What the server says before the local steps: ĝ(θ̄_r). The agents have θ̄_r from the exchange
/// before, so only the gradient is counted as sent.
#[derive(Debug, Clone)]
pub struct Common {
    pub(super) theta: Vec<f32>,
    pub(super) gradient: Vec<f32>,
}

impl Message for Common {
    fn bytes(&self) -> u64 {
        vector_bytes(&self.gradient)
    }

    fn is_finite(&self) -> bool {
        self.theta.iter().chain(&self.gradient).all(|x| x.is_finite())
    }
}

pub(super) struct Server<'a> {
    pub(super) config: &'a FastFedPgConfig,
}

impl ServerHalf for Server<'_> {
    type State = FastFedPgState;
    type Broadcast = Vector;
    /// θ_{i,K} − θ̄_r.
    type Upload = Vector;

    fn broadcast(&self, state: &FastFedPgState) -> Vector {
        Vector(state.theta.clone())
    }

    /// θ̄_{r+1} = θ̄_r + (α_g/N) Σ_i (θ_{i,K} − θ̄_r), N being those who answered.
    fn aggregate(&self, state: &FastFedPgState, uploads: &[Vector]) -> FastFedPgState {
        let step = mean(uploads.iter().map(|Vector(delta)| delta.as_slice()));
        let mut theta = state.theta.clone();
        add_scaled(&mut theta, self.config.global_step_size as f32, &step);
        FastFedPgState { theta }
    }
}
