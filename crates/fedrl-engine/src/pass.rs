//! A number for every step of some trajectories, differentiable in the policy's parameters.

use burn::tensor::Tensor;
use fedrl_models::{Head, Policy};

use crate::network::Network;
use crate::rollout::read;
use crate::{EngineError, Matrix, Number, Placement, Trajectories};

/// One pass of trajectories through policies: a number for every step — log π_θ(a_t|s_t), or its
/// derivative along a direction — and the graph that its gradient with respect to θ needs.
pub struct Pass<F> {
    placement: Placement<F>,
    theta: Tensor<2>,
    /// `[replicas, longest]`, meaningless after each replica's own steps.
    values: Tensor<2>,
    steps: Vec<usize>,
}

impl<F: Number> Pass<F> {
    /// log π_θ(a_t|s_t).
    pub(crate) fn scores(
        placement: &Placement<F>,
        policy: &Policy,
        theta: &Matrix<F>,
        lived: &Trajectories<F>,
    ) -> Self {
        Self::new(placement, policy, theta, lived, |network, observations, actions| {
            network.log_probability(observations, actions)
        })
    }

    /// ⟨∇ log π_θ(a_t|s_t), v⟩, v a row per replica like θ.
    pub(crate) fn tangents(
        placement: &Placement<F>,
        policy: &Policy,
        theta: &Matrix<F>,
        along: &Matrix<F>,
        lived: &Trajectories<F>,
    ) -> Self {
        let along = Network::new(policy, placement.matrix(along));
        Self::new(placement, policy, theta, lived, |network, observations, actions| {
            network.tangent(&along, observations, actions)
        })
    }

    fn new(
        placement: &Placement<F>,
        policy: &Policy,
        theta: &Matrix<F>,
        lived: &Trajectories<F>,
        value: impl Fn(&Network, Tensor<3>, Tensor<3>) -> Tensor<2>,
    ) -> Self {
        let (replicas, longest) = (lived.replicas.len(), lived.longest());
        let theta = placement.matrix(theta).require_grad();
        let observations = lived.padded(policy.inputs(), |t| &t.observations);
        let actions = match policy.head {
            Head::Categorical { actions } => one_hot(&lived.padded(1, |t| &t.actions), actions),
            Head::DiagonalGaussian { actions } => lived.padded(actions, |t| &t.actions),
        };
        let values = value(
            &Network::new(policy, theta.clone()),
            placement.tensor(observations, [replicas, longest, policy.inputs()]),
            placement.tensor(actions, [replicas, longest, policy.head.outputs()]),
        );
        let steps = (0..replicas).map(|index| lived.steps(index)).collect();
        Pass { placement: placement.clone(), theta, values, steps }
    }

    /// The number of each step, per replica, over the steps of its trajectories one after the other.
    ///
    /// # Errors
    /// The device failed.
    pub fn values(&self) -> Result<Vec<Vec<F>>, EngineError> {
        let longest = self.values.dims()[1];
        let padded: Vec<F> = read(self.values.clone())?;
        Ok(self.steps.iter().enumerate().map(|(i, &steps)| padded[i * longest..][..steps].to_vec()).collect())
    }

    /// ∇_θ Σ_t `weights`_t value_t, a row per replica. `weights` run over the steps of a replica's
    /// trajectories one after the other and are constants.
    ///
    /// # Errors
    /// The device failed.
    pub fn gradient(self, weights: &[Vec<F>]) -> Result<Matrix<F>, EngineError> {
        let [replicas, longest] = self.values.dims();
        let mut padded = Vec::with_capacity(replicas * longest);
        for (index, row) in weights.iter().enumerate() {
            padded.extend_from_slice(row);
            padded.resize((index + 1) * longest, F::default());
        }
        let columns = self.theta.dims()[1];
        let rows: Vec<F> = read(self.pull_back(padded)?)?;
        Ok(Matrix::from_rows(rows.chunks_exact(columns)))
    }

    /// The weighted gradient as a tensor, from weights padded to `[replicas, longest]`.
    fn pull_back(self, weights: Vec<F>) -> Result<Tensor<2>, EngineError> {
        let weights = self.placement.tensor(weights, self.values.dims());
        let mut gradients = (self.values * weights).sum().backward();
        let reached = self.theta.grad_remove(&mut gradients);
        reached.ok_or_else(|| EngineError::Device("no gradient reached the parameters".into()))
    }
}

/// Choices as rows of zeros with a one.
fn one_hot<F: Number>(choices: &[F], actions: usize) -> Vec<F> {
    let mut rows = vec![F::default(); choices.len() * actions];
    for (row, &choice) in rows.chunks_exact_mut(actions).zip(choices) {
        row[choice.as_double() as usize] = F::from_f64(1.0);
    }
    rows
}

#[cfg(test)]
mod tests;
