//! Log-probabilities of what was done, and their weighted gradients.

use burn::tensor::Tensor;
use fedrl_models::{Head, Policy};

use crate::network::Network;
use crate::rollout::read;
use crate::{EngineError, Matrix, Placement, Trajectories};

/// One pass of trajectories through policies: log π_θ(a_t|s_t) of every step, and the graph that
/// its gradient with respect to θ needs.
pub struct Scores {
    placement: Placement,
    theta: Tensor<2>,
    /// `[replicas, longest]`, zero-padded steps after each replica's own.
    log_probability: Tensor<2>,
    steps: Vec<usize>,
}

impl Scores {
    pub(crate) fn new(placement: &Placement, policy: &Policy, theta: &Matrix, trajectories: &Trajectories) -> Self {
        let (replicas, longest) = (trajectories.replicas.len(), trajectories.longest());
        let theta = placement.tensor(theta.as_slice().to_vec(), [replicas, theta.columns()]).require_grad();
        let observations = trajectories.padded(policy.inputs(), |t| &t.observations);
        let actions = match policy.head {
            Head::Categorical { actions } => one_hot(&trajectories.padded(1, |t| &t.actions), actions),
            Head::DiagonalGaussian { actions } => trajectories.padded(actions, |t| &t.actions),
        };
        let log_probability = Network::new(policy, theta.clone()).log_probability(
            placement.tensor(observations, [replicas, longest, policy.inputs()]),
            placement.tensor(actions, [replicas, longest, policy.head.outputs()]),
        );
        let steps = (0..replicas).map(|index| trajectories.steps(index)).collect();
        Scores { placement: placement.clone(), theta, log_probability, steps }
    }

    /// log π_θ(a_t|s_t) per replica, over the steps of its trajectories one after the other.
    ///
    /// # Errors
    /// The device failed.
    pub fn log_probabilities(&self) -> Result<Vec<Vec<f32>>, EngineError> {
        let longest = self.log_probability.dims()[1];
        let padded = read(self.log_probability.clone())?;
        Ok(self.steps.iter().enumerate().map(|(i, &steps)| padded[i * longest..][..steps].to_vec()).collect())
    }

    /// Σ_t `weights`_t ∇ log π_θ(a_t|s_t), a row per replica. `weights` run over the steps of a
    /// replica's trajectories one after the other and are constants.
    ///
    /// # Errors
    /// The device failed.
    pub fn gradient(self, weights: &[Vec<f32>]) -> Result<Matrix, EngineError> {
        let [replicas, longest] = self.log_probability.dims();
        let mut padded = Vec::with_capacity(replicas * longest);
        for (index, row) in weights.iter().enumerate() {
            padded.extend_from_slice(row);
            padded.resize((index + 1) * longest, 0.0);
        }
        let columns = self.theta.dims()[1];
        let rows = read(self.pull_back(padded)?)?;
        Ok(Matrix::from_rows(rows.chunks_exact(columns)))
    }

    /// The weighted gradient as a tensor, from weights padded to `[replicas, longest]`.
    fn pull_back(self, weights: Vec<f32>) -> Result<Tensor<2>, EngineError> {
        let weights = self.placement.tensor(weights, self.log_probability.dims());
        let mut gradients = (self.log_probability * weights).sum().backward();
        let reached = self.theta.grad_remove(&mut gradients);
        reached.ok_or_else(|| EngineError::Device("no gradient reached the parameters".into()))
    }
}

/// Choices as rows of zeros with a one.
fn one_hot(choices: &[f32], actions: usize) -> Vec<f32> {
    let mut rows = vec![0.0; choices.len() * actions];
    for (row, &choice) in rows.chunks_exact_mut(actions).zip(choices) {
        row[choice as usize] = 1.0;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Mode, Replica};
    use burn::module::{Module, Param};
    use burn::nn::{Linear, LinearConfig};
    use burn::tensor::{Device, Int, TensorData, activation};
    use fedrl_core::Space;
    use fedrl_core::random::Key;
    use fedrl_envs::{CartPole, Environment, Instance};
    use fedrl_models::{Activation, PolicyConfig};

    const KEY: Key = Key { low: 21, high: 22 };

    fn policy(hidden: &[usize], activation: Activation, action: &Space) -> Policy {
        let config = PolicyConfig { hidden: hidden.to_vec(), activation, ..PolicyConfig::default() };
        Policy::new(&config, &CartPole.spec().observation, action).unwrap()
    }

    /// Three CartPole trajectories of a random policy, and arbitrary weights of their steps.
    fn lived(policy: &Policy, theta: &[f32]) -> (Trajectories, Vec<f32>) {
        let simulator = Instance::new(&CartPole, Default::default()).unwrap().simulator();
        let replica = Replica { theta, simulator: &simulator, spec: CartPole.spec(), key: KEY };
        let engine = Engine::double();
        let trajectories = engine.rollout(policy, &[replica], 3, 40, Mode::Sampled).unwrap();
        let weights = (0..trajectories.steps(0)).map(|t| (t as f32 * 0.7).sin() + 0.25).collect();
        (trajectories, weights)
    }

    /// Replaces the choices by vectors, so that the same trajectories suit a Gaussian policy.
    fn with_vectors(mut trajectories: Trajectories, width: usize) -> Trajectories {
        for trajectory in &mut trajectories.replicas[0] {
            let n = trajectory.len() * width;
            trajectory.actions = (0..n).map(|i| (i as f32 * 1.3).cos()).collect();
        }
        trajectories
    }

    fn gradient_f64(policy: &Policy, theta: &[f32], trajectories: &Trajectories, weights: &[f32]) -> Vec<f64> {
        let scores = Engine::double().scores(policy, &Matrix::from_rows([theta]), trajectories);
        scores.pull_back(weights.to_vec()).unwrap().try_into_vec_as::<f64>().unwrap()
    }

    /// Σ_t w_t log π(a_t|s_t) through the native forward pass.
    fn objective(policy: &Policy, theta: &[f64], trajectories: &Trajectories, weights: &[f32]) -> f64 {
        let double = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let (inputs, width) = (policy.inputs(), policy.head.action_width());
        let steps = trajectories.replicas[0].iter().flat_map(|t| {
            t.observations.chunks_exact(inputs).zip(t.actions.chunks_exact(width)).map(|(o, a)| (double(o), double(a)))
        });
        steps.zip(weights).map(|((o, a), &w)| f64::from(w) * policy.log_probability(theta, &o, &a)).sum()
    }

    #[test]
    fn gradient_equals_central_differences_in_f64() {
        let vector = Space::Box { low: vec![-1.0; 3], high: vec![1.0; 3] };
        let cases = [
            (policy(&[8, 8], Activation::Tanh, &Space::Discrete { n: 2 }), false),
            (policy(&[], Activation::Tanh, &Space::Discrete { n: 2 }), false),
            (policy(&[5], Activation::Relu, &Space::Discrete { n: 2 }), false),
            (policy(&[6, 4], Activation::Tanh, &vector), true),
        ];
        for (policy, gaussian) in cases {
            let acting = tests::policy(&[8, 8], Activation::Tanh, &Space::Discrete { n: 2 });
            let (mut trajectories, weights) = lived(&acting, &acting.initial(KEY));
            if gaussian {
                trajectories = with_vectors(trajectories, 3);
            }
            let mut theta = policy.initial(KEY);
            theta.iter_mut().enumerate().for_each(|(i, x)| *x += 0.01 * (i as f32).sin());
            let analytic = gradient_f64(&policy, &theta, &trajectories, &weights);
            let theta: Vec<f64> = theta.into_iter().map(f64::from).collect();
            let h = 1e-6;
            for i in 0..theta.len() {
                let shifted = |sign: f64| {
                    let mut theta = theta.clone();
                    theta[i] += sign * h;
                    objective(&policy, &theta, &trajectories, &weights)
                };
                let numeric = (shifted(1.0) - shifted(-1.0)) / (2.0 * h);
                assert!((numeric - analytic[i]).abs() < 1e-6 * (1.0 + numeric.abs()), "{i}: {numeric} {}", analytic[i]);
            }
        }
    }

    #[derive(Module, Debug)]
    struct Reference {
        layers: Vec<Linear>,
    }

    #[test]
    fn gradient_equals_autodiff_through_linear_modules() {
        let policy = policy(&[8, 8], Activation::Tanh, &Space::Discrete { n: 2 });
        let mut theta = policy.initial(KEY);
        theta.iter_mut().enumerate().for_each(|(i, x)| *x += 0.01 * (i as f32).sin());
        let (trajectories, weights) = lived(&policy, &theta);
        let steps = weights.len();

        let device = Device::flex().autodiff();
        let layers = policy.network.layers().iter().map(|layer| {
            let mut linear = LinearConfig::new(layer.inputs, layer.outputs).init(&device);
            let place = |range: std::ops::Range<usize>, shape: &[usize]| TensorData::new(theta[range].to_vec(), shape);
            let weight = place(layer.weight.clone(), &[layer.outputs, layer.inputs]);
            // burn keeps weights as [inputs, outputs].
            let weight = Tensor::<2>::from_data(weight, &device).transpose();
            linear.weight = Param::from_tensor(weight);
            linear.bias = Some(Param::from_data(place(layer.bias.clone(), &[layer.outputs]), &device));
            linear
        });
        let reference = Reference { layers: layers.collect() };
        let observations = TensorData::new(trajectories.padded(4, |t| &t.observations), [steps, 4]);
        let mut x = Tensor::<2>::from_data(observations, &device);
        for (index, layer) in reference.layers.iter().enumerate() {
            x = layer.forward(x);
            if index + 1 < reference.layers.len() {
                x = x.tanh();
            }
        }
        let actions: Vec<i32> = trajectories.padded(1, |t| &t.actions).iter().map(|&a| a as i32).collect();
        let actions = Tensor::<2, Int>::from_data(TensorData::new(actions, [steps, 1]), &device);
        let weighting = Tensor::<2>::from_data(TensorData::new(weights.clone(), [steps, 1]), &device);
        let loss = (activation::log_softmax(x, 1).gather(1, actions) * weighting).sum();
        let gradients = loss.backward();
        let mut expected = Vec::new();
        for layer in &reference.layers {
            let weight = layer.weight.val().grad(&gradients).unwrap().transpose();
            expected.extend(weight.try_into_vec_as::<f32>().unwrap());
            let bias = layer.bias.as_ref().unwrap().val().grad(&gradients).unwrap();
            expected.extend(bias.try_into_vec_as::<f32>().unwrap());
        }

        let engine = Engine::new(&crate::select(crate::DeviceChoice::Cpu, 0).unwrap());
        let scores = engine.scores(&policy, &Matrix::from_rows([&theta]), &trajectories);
        let gradient = scores.gradient(&[weights]).unwrap();
        for (ours, theirs) in gradient.row(0).iter().zip(&expected) {
            assert!((ours - theirs).abs() < 1e-4 * (1.0 + theirs.abs()), "{ours} {theirs}");
        }
    }
}
