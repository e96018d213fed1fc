//! All that changes from round to round.

use std::collections::BTreeMap;

use fedrl_core::Scalar;
use fedrl_engine::Matrix;
use fedrl_federation::{Message, all_finite, mean, vector_bytes};

use super::MomentumConfig;
use crate::ServerState;
use crate::vector::add_scaled;

/// Some columns of θ, and what momentum remembers of them: what the server has of those that are shared, and an
/// agent of those that it keeps to itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns<F> {
    pub(crate) theta: Vec<F>,
    /// Absent where there is no momentum.
    pub(crate) memory: Option<Memory<F>>,
}

/// What a momentum term needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Memory<F> {
    /// θ_{r−1}.
    pub(crate) previous: Vec<F>,
    /// u_r.
    pub(crate) direction: Vec<F>,
}

impl<F: Scalar> Columns<F> {
    /// Before the first round: θ_{−1} = θ_0, and u_0 where it is needed.
    pub(super) fn new(theta: Vec<F>, direction: Option<Vec<F>>) -> Self {
        let memory = direction.map(|direction| Memory { previous: theta.clone(), direction });
        Columns { theta, memory }
    }

    /// u_{r+1} = (1/(ηK)) Δ and θ_{r+1} = θ_r + λ u_{r+1}, Δ being the mean over the agents that these columns
    /// belong to.
    pub(super) fn advanced(&self, mut delta: Vec<F>, config: &MomentumConfig) -> Self {
        let scale = F::from_f64(1.0 / (config.local_step_size * config.local_steps as f64));
        delta.iter_mut().for_each(|u| *u *= scale);
        let direction = delta;
        let mut theta = self.theta.clone();
        add_scaled(&mut theta, F::from_f64(config.global_step_size), &direction);
        let memory = self.memory.as_ref().map(|_| Memory { previous: self.theta.clone(), direction });
        Columns { theta, memory }
    }

    fn each(&self) -> impl Iterator<Item = &[F]> {
        let memory = self.memory.iter().flat_map(|memory| [memory.previous.as_slice(), &memory.direction]);
        std::iter::once(self.theta.as_slice()).chain(memory)
    }
}

/// What the server tells the agents: θ_r, and θ_{r−1} and u_r where they are needed.
impl<F: Scalar> Message for Columns<F> {
    fn bytes(&self) -> u64 {
        self.each().map(vector_bytes).sum()
    }

    fn is_finite(&self) -> bool {
        self.each().all(all_finite)
    }
}

/// The server's columns and the agents' own.
#[derive(Debug, Clone, PartialEq)]
pub struct MomentumState<F> {
    /// What the server has.
    pub(super) shared: Columns<F>,
    /// What every agent keeps to itself, where there is anything.
    pub(super) personal: Option<Personal<F>>,
}

/// What stays with the agents, a row each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Personal<F> {
    theta: Matrix<F>,
    /// Rows of θ_{r−1} and u_r.
    memory: Option<[Matrix<F>; 2]>,
    /// θ of every agent's policy.
    policies: Matrix<F>,
    /// The shared columns, and the mean of the personal ones: the policy that stands for all.
    common: Vec<F>,
}

impl<F: Scalar> MomentumState<F> {
    /// The server's columns, and of every agent its own, if there are any.
    pub(super) fn new(shared: Columns<F>, own: &[Columns<F>]) -> Self {
        let personal = (!own.is_empty()).then(|| Personal::new(&shared.theta, own));
        MomentumState { shared, personal }
    }

    /// An agent's own columns; none where all are shared.
    pub(super) fn own(&self, agent: usize) -> Columns<F> {
        let Some(Personal { theta, memory, .. }) = &self.personal else {
            return Columns { theta: Vec::new(), memory: None };
        };
        let row = |matrix: &Matrix<F>| matrix.row(agent).to_vec();
        let memory =
            memory.as_ref().map(|[previous, direction]| Memory { previous: row(previous), direction: row(direction) });
        Columns { theta: row(theta), memory }
    }

    /// The state with these `shared` columns, and with what those agents keep who `answered`.
    pub(super) fn next(&self, shared: Columns<F>, answered: impl Iterator<Item = (usize, Columns<F>)>) -> Self {
        let owners = self.personal.as_ref().map_or(0, |personal| personal.theta.rows());
        let mut own: Vec<Columns<F>> = (0..owners).map(|agent| self.own(agent)).collect();
        answered.filter(|&(agent, _)| agent < owners).for_each(|(agent, columns)| own[agent] = columns);
        MomentumState::new(shared, &own)
    }
}

impl<F: Scalar> Personal<F> {
    fn new(shared: &[F], own: &[Columns<F>]) -> Self {
        let memories: Option<Vec<&Memory<F>>> = own.iter().map(|own| own.memory.as_ref()).collect();
        let memory = memories.map(|memories| {
            [
                Matrix::from_rows(memories.iter().map(|memory| &memory.previous)),
                Matrix::from_rows(memories.iter().map(|memory| &memory.direction)),
            ]
        });
        let heads = mean(own.iter().map(|own| own.theta.as_slice()));
        Personal {
            theta: Matrix::from_rows(own.iter().map(|own| &own.theta)),
            memory,
            policies: Matrix::from_rows(own.iter().map(|own| [shared, &own.theta].concat())),
            common: [shared, &heads].concat(),
        }
    }
}

impl<F: Scalar> ServerState<F> for MomentumState<F> {
    fn theta(&self) -> &[F] {
        self.personal.as_ref().map_or(&self.shared.theta, |personal| &personal.common)
    }

    fn policies(&self) -> Option<&Matrix<F>> {
        self.personal.as_ref().map(|personal| &personal.policies)
    }

    fn vectors(&self) -> BTreeMap<&'static str, &[F]> {
        let mut vectors = BTreeMap::from([("theta", self.theta())]);
        if let Some(memory) = &self.shared.memory {
            vectors.insert("theta_previous", &memory.previous);
            vectors.insert("direction", &memory.direction);
        }
        if let Some(Personal { theta, memory, policies, .. }) = &self.personal {
            vectors.insert("shared", &self.shared.theta);
            vectors.insert("policies", policies.as_slice());
            vectors.insert("agents.theta", theta.as_slice());
            if let Some([previous, direction]) = memory {
                vectors.insert("agents.theta_previous", previous.as_slice());
                vectors.insert("agents.direction", direction.as_slice());
            }
        }
        vectors
    }

    fn from_vectors(mut vectors: BTreeMap<String, Vec<F>>) -> Result<Self, &'static str> {
        let common = vectors.remove("theta").ok_or("theta")?;
        let memory = remembered(&mut vectors, ["theta_previous", "direction"])?;
        let Some(own) = vectors.remove("agents.theta") else {
            return Ok(MomentumState { shared: Columns { theta: common, memory }, personal: None });
        };
        let theta = vectors.remove("shared").ok_or("shared")?;
        let width = (common.len() - theta.len().min(common.len())).max(1);
        let shared = Columns { theta, memory };
        let memory = remembered(&mut vectors, ["agents.theta_previous", "agents.direction"])?;
        let row = |(agent, theta): (usize, &[F])| {
            let of = |numbers: &Vec<F>| numbers[agent * width..][..width].to_vec();
            let memory = memory
                .as_ref()
                .map(|Memory { previous, direction }| Memory { previous: of(previous), direction: of(direction) });
            Columns { theta: theta.to_vec(), memory }
        };
        let lengths = memory.iter().flat_map(|memory| [memory.previous.len(), memory.direction.len()]);
        if lengths.into_iter().any(|length| length != own.len()) {
            return Err("agents.theta_previous");
        }
        let own: Vec<Columns<F>> = own.chunks_exact(width).enumerate().map(row).collect();
        Ok(MomentumState::new(shared, &own))
    }
}

/// The memory under these names: both or none.
fn remembered<F>(
    vectors: &mut BTreeMap<String, Vec<F>>,
    [previous, direction]: [&'static str; 2],
) -> Result<Option<Memory<F>>, &'static str> {
    match (vectors.remove(previous), vectors.remove(direction)) {
        (None, None) => Ok(None),
        (Some(previous), Some(direction)) => Ok(Some(Memory { previous, direction })),
        (None, _) => Err(previous),
        (_, None) => Err(direction),
    }
}
