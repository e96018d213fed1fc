//! The server's half.

use fedrl_federation::{ServerHalf, mean, weighted_mean};

use super::fusion::Teacher;
use super::messages::{Shared, Upload};
use super::visits::weights;

/// What the server does with uploads.
pub(super) enum Server<'a> {
    /// Φ_{t+1} = (1/N) Σ_i Φ_{t+1/2}^i, N being those who answered; moments likewise.
    Mean,
    /// The same, weighted by visits; with the step size α.
    ByVisits(f64),
    /// A network taught by all of theirs.
    Fusion(Teacher<'a>),
}

impl ServerHalf for Server<'_> {
    type State = Shared;
    type Broadcast = Shared;
    type Upload = Upload;

    fn broadcast(&self, state: &Shared) -> Shared {
        state.clone()
    }

    fn aggregate(&self, state: &Shared, uploads: &[Upload]) -> Shared {
        let column = |of: fn(&Shared) -> &Vec<f32>| uploads.iter().map(move |upload| of(&upload.shared).as_slice());
        match self {
            Server::Mean => Shared {
                theta: mean(column(|shared| &shared.theta)),
                first: mean(column(|shared| &shared.first)),
                second: mean(column(|shared| &shared.second)),
            },
            Server::ByVisits(step_size) => {
                let visits: Vec<&[u32]> = uploads.iter().map(|upload| upload.visits.as_slice()).collect();
                let weights = weights(&visits, *step_size);
                let mean = |of| weighted_mean(weights.iter().copied().zip(column(of)));
                Shared {
                    theta: mean(|shared| &shared.theta),
                    first: mean(|shared| &shared.first),
                    second: mean(|shared| &shared.second),
                }
            }
            Server::Fusion(teacher) => {
                let networks: Vec<&[f32]> = column(|shared| &shared.theta).collect();
                let theta = teacher.fuse(&state.theta, &networks);
                // Moments of other parameters mean nothing to these.
                let zeros = vec![0.0; state.first.len()];
                Shared { theta, first: zeros.clone(), second: zeros }
            }
        }
    }
}
