//! Columns that stay with their agents: the last layer of a policy (004 Fig. 7b).
//!
//! What is personal is served by a server of the agent's own: the lines of the server with N = 1.

use fedrl_core::Scalar;
use fedrl_core::random::Purpose;
use fedrl_engine::{EngineError, Matrix, Rows};
use fedrl_models::Policy;
use serde::{Deserialize, Serialize};

use super::state::Columns;
use crate::{Agent, Estimates, Upload, World};

/// What stays with the agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PersonalPart {
    /// The last layer, and the standard deviations of actions that are vectors.
    Head,
}

/// Where heads begin, and where they come from.
#[derive(Debug, Clone)]
pub(super) struct Heads {
    /// The first column that is not shared.
    pub(super) start: usize,
    /// What agents draw their heads by. None where all begin with the parameters that are given.
    drawn: Option<Policy>,
}

impl Heads {
    /// The heads of policies of the form of `policy`; `drawn`: by each agent for itself (004 Alg. 1, line 1).
    pub(super) fn new(policy: &Policy, drawn: bool) -> Self {
        Heads { start: policy.network.body().end, drawn: drawn.then(|| policy.clone()) }
    }

    /// The head that an agent begins with, where θ_0 is `theta`.
    pub(super) fn initial<F: Scalar>(&self, world: &World<F>, agent: &Agent<F>, theta: &[F]) -> Vec<F> {
        match &self.drawn {
            None => theta[self.start..].to_vec(),
            Some(policy) => {
                let drawn = policy.initial(world.key(Purpose::Initialisation, agent.id, 0));
                drawn[self.start..].iter().map(|&x| F::from_f64(f64::from(x))).collect()
            }
        }
    }
}

/// A vector that all agents share, followed in each agent's by its own: row after row, or the shared one alone
/// where nothing is personal.
pub(super) fn joined<'a, F: Scalar>(shared: &[F], own: impl Iterator<Item = &'a [F]>) -> Vec<F> {
    let mut rows = Vec::new();
    for own in own {
        if own.is_empty() {
            return shared.to_vec();
        }
        rows.extend_from_slice(shared);
        rows.extend_from_slice(own);
    }
    rows
}

/// Rows of so many `columns` where estimates are made: those that there are, or `copies` of the only one.
pub(super) fn rows<F: Scalar>(estimates: &dyn Estimates<F>, numbers: &[F], columns: usize, copies: usize) -> Rows<F> {
    if numbers.len() == columns {
        return estimates.repeat(numbers, copies);
    }
    let rows: Vec<Rows<F>> = numbers.chunks_exact(columns).map(|row| estimates.repeat(row, 1)).collect();
    Rows::stack(&rows.iter().collect::<Vec<_>>())
}

/// What of an agent's row goes to the server, and what stays.
pub(super) struct Divided<F> {
    pub(super) upload: Upload<F>,
    pub(super) own: Vec<F>,
}

/// Every agent's row at the end of what is shared.
///
/// # Errors
/// The device failed.
pub(super) fn divided<F: Scalar>(all: Rows<F>, own: &[&Columns<F>]) -> Result<Vec<Divided<F>>, EngineError> {
    if own.iter().all(|own| own.theta.is_empty()) {
        return Ok(Upload::of(all)?.into_iter().map(|upload| Divided { upload, own: Vec::new() }).collect());
    }
    let host = all.host()?;
    let shared = host.columns() - own[0].theta.len();
    let uploads = Upload::of(Matrix::from_rows((0..host.rows()).map(|row| &host.row(row)[..shared])).into())?;
    let divide = |(row, upload): (usize, Upload<F>)| Divided { upload, own: host.row(row)[shared..].to_vec() };
    Ok(uploads.into_iter().enumerate().map(divide).collect())
}
