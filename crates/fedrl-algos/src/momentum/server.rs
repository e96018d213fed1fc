//! The server's half.

use std::marker::PhantomData;

use fedrl_core::Scalar;
use fedrl_engine::EngineError;
use fedrl_federation::ServerHalf;

use super::MomentumConfig;
use super::state::Columns;
use crate::Upload;

pub(super) struct Server<'a, F> {
    pub(super) config: &'a MomentumConfig,
    pub(super) scalar: PhantomData<F>,
}

impl<F: Scalar> ServerHalf for Server<'_, F> {
    /// What is shared.
    type State = Columns<F>;
    type Broadcast = Columns<F>;
    /// Δ_i.
    type Upload = Upload<F>;
    type Error = EngineError;

    fn broadcast(&self, state: &Columns<F>) -> Columns<F> {
        state.clone()
    }

    /// u_{r+1} = (1/(ηNK)) Σ Δ_i and θ_{r+1} = θ_r + λ u_{r+1}, N being those who answered.
    fn aggregate(&self, state: &Columns<F>, uploads: &[Upload<F>]) -> Result<Columns<F>, EngineError> {
        Ok(state.advanced(Upload::mean(uploads)?, self.config))
    }
}
