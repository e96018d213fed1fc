//! The server's half.

use std::collections::BTreeMap;

use fedrl_federation::{Message, ServerHalf, mean, vector_bytes};

use super::FedSvrpgMConfig;
use super::agent::Delta;
use crate::ServerState;
use crate::vector::add_scaled;

/// What the server remembers between rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct FedSvrpgMState {
    theta: Vec<f32>,
    momentum: Option<Momentum>,
}

/// What the momentum term needs; absent at β = 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Momentum {
    /// θ_{r−1}.
    pub(super) previous: Vec<f32>,
    /// u_r.
    pub(super) direction: Vec<f32>,
}

impl FedSvrpgMState {
    /// The state before the first round: θ_{-1} = θ_0, and u_0 when there is momentum.
    pub(super) fn new(theta: Vec<f32>, direction: Option<Vec<f32>>) -> Self {
        let momentum = direction.map(|direction| Momentum { previous: theta.clone(), direction });
        FedSvrpgMState { theta, momentum }
    }
}

impl ServerState for FedSvrpgMState {
    fn theta(&self) -> &[f32] {
        &self.theta
    }

    fn vectors(&self) -> BTreeMap<&'static str, &[f32]> {
        let mut vectors = BTreeMap::from([("theta", self.theta.as_slice())]);
        if let Some(momentum) = &self.momentum {
            vectors.insert("theta_previous", &momentum.previous);
            vectors.insert("direction", &momentum.direction);
        }
        vectors
    }

    fn from_vectors(mut vectors: BTreeMap<String, Vec<f32>>) -> Result<Self, &'static str> {
        let theta = vectors.remove("theta").ok_or("theta")?;
        let momentum = match (vectors.remove("theta_previous"), vectors.remove("direction")) {
            (None, None) => None,
            (Some(previous), Some(direction)) => Some(Momentum { previous, direction }),
            (None, _) => return Err("theta_previous"),
            (_, None) => return Err("direction"),
        };
        Ok(FedSvrpgMState { theta, momentum })
    }
}

/// What the server tells the agents: θ_r, and θ_{r−1} and u_r when there is momentum.
#[derive(Debug, Clone)]
pub struct Broadcast {
    pub(super) theta: Vec<f32>,
    pub(super) momentum: Option<Momentum>,
}

impl Message for Broadcast {
    fn bytes(&self) -> u64 {
        let momentum = self.momentum.as_ref();
        vector_bytes(&self.theta) + momentum.map_or(0, |m| vector_bytes(&m.previous) + vector_bytes(&m.direction))
    }
}

pub(super) struct Server<'a> {
    pub(super) config: &'a FedSvrpgMConfig,
}

impl ServerHalf for Server<'_> {
    type State = FedSvrpgMState;
    type Broadcast = Broadcast;
    type Upload = Delta;

    fn broadcast(&self, state: &FedSvrpgMState) -> Broadcast {
        Broadcast { theta: state.theta.clone(), momentum: state.momentum.clone() }
    }

    /// u_{r+1} = (1/(ηNK)) Σ Δ_i and θ_{r+1} = θ_r + λ u_{r+1}, N being those who answered.
    fn aggregate(&self, state: &FedSvrpgMState, uploads: &[Delta]) -> FedSvrpgMState {
        let scale = (1.0 / (self.config.local_step_size * self.config.local_steps as f64)) as f32;
        let mut direction = mean(uploads.iter().map(|upload| upload.delta.as_slice()));
        direction.iter_mut().for_each(|u| *u *= scale);
        let mut theta = state.theta.clone();
        add_scaled(&mut theta, self.config.global_step_size as f32, &direction);
        let momentum = self.config.momentum().then(|| Momentum { previous: state.theta.clone(), direction });
        FedSvrpgMState { theta, momentum }
    }
}
