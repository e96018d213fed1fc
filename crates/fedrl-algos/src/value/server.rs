//! The server's half.

use std::convert::Infallible;

use fedrl_federation::{ServerHalf, mean, weighted_mean};

use super::messages::{Shared, Upload};
use super::q::{Teacher, weights};

/// What the server does with uploads.
pub(super) enum Server<'a> {
    /// Φ_{t+1} = (1/N) Σ_i Φ_{t+1/2}^i, N being those who answered; moments likewise.
    Mean,
    /// The same, weighted by visits; with the step size α.
    ByVisits(f64),
    /// A network taught by all of theirs.
    Fusion(Teacher<'a>),
}

impl<'a> ServerHalf for Server<'a> {
    type State = Shared;
    type Broadcast = Shared;
    type Upload = Upload<'a>;
    type Error = Infallible;

    fn broadcast(&self, state: &Shared) -> Shared {
        state.clone()
    }

    fn aggregate(&self, state: &Shared, uploads: &[Upload<'a>]) -> Result<Shared, Infallible> {
        let theta = uploads.iter().map(|upload| upload.theta);
        let first = uploads.iter().map(|upload| upload.first);
        let second = uploads.iter().map(|upload| upload.second);
        Ok(match self {
            Server::Mean => Shared { theta: mean(theta), first: mean(first), second: mean(second) },
            Server::ByVisits(step_size) => {
                let visits: Vec<&[u32]> = uploads.iter().map(|upload| upload.visits).collect();
                let weights = weights(&visits, *step_size);
                Shared {
                    theta: weighted_mean(&weights, theta),
                    first: weighted_mean(&weights, first),
                    second: weighted_mean(&weights, second),
                }
            }
            Server::Fusion(teacher) => {
                let theta = teacher.fuse(&state.theta, &theta.collect::<Vec<_>>());
                Shared { theta, ..Shared::default() }
            }
        })
    }
}
