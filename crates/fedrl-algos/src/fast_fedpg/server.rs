//! The server's half.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use fedrl_core::Scalar;
use fedrl_engine::EngineError;
use fedrl_federation::{Message, ServerHalf, Vector, all_finite, vector_bytes};

use super::FastFedPgConfig;
use crate::vector::add_scaled;
use crate::{ServerState, Upload};

/// What the server remembers between rounds: θ̄.
#[derive(Debug, Clone, PartialEq)]
pub struct FastFedPgState<F> {
    pub(super) theta: Vec<F>,
}

impl<F> ServerState<F> for FastFedPgState<F> {
    fn theta(&self) -> &[F] {
        &self.theta
    }

    fn vectors(&self) -> BTreeMap<&'static str, &[F]> {
        BTreeMap::from([("theta", self.theta.as_slice())])
    }

    fn from_vectors(mut vectors: BTreeMap<String, Vec<F>>) -> Result<Self, &'static str> {
        Ok(FastFedPgState { theta: vectors.remove("theta").ok_or("theta")? })
    }
}

/// What the server says before the local steps: ĝ(θ̄_r). The agents have θ̄_r from the exchange
/// before, so only the gradient is counted as sent.
#[derive(Debug, Clone)]
pub struct Common<F> {
    pub(super) theta: Vec<F>,
    pub(super) gradient: Vec<F>,
}

impl<F: Scalar> Message for Common<F> {
    fn bytes(&self) -> u64 {
        vector_bytes(&self.gradient)
    }

    fn is_finite(&self) -> bool {
        all_finite(&self.theta) && all_finite(&self.gradient)
    }
}

pub(super) struct Server<'a, F> {
    pub(super) config: &'a FastFedPgConfig,
    pub(super) scalar: PhantomData<F>,
}

impl<F: Scalar> ServerHalf for Server<'_, F> {
    type State = FastFedPgState<F>;
    type Broadcast = Vector<F>;
    /// θ_{i,K} − θ̄_r.
    type Upload = Upload<F>;
    type Error = EngineError;

    fn broadcast(&self, state: &FastFedPgState<F>) -> Vector<F> {
        Vector(state.theta.clone())
    }

    /// θ̄_{r+1} = θ̄_r + (α_g/N) Σ_i (θ_{i,K} − θ̄_r), N being those who answered.
    fn aggregate(&self, state: &FastFedPgState<F>, uploads: &[Upload<F>]) -> Result<FastFedPgState<F>, EngineError> {
        let step = Upload::mean(uploads)?;
        let mut theta = state.theta.clone();
        add_scaled(&mut theta, F::from_f64(self.config.global_step_size), &step);
        Ok(FastFedPgState { theta })
    }
}
