//! Gradients and Hessian-vector products in f64: against central differences of the native
//! forward pass, and against burn's own modules.

use super::*;
use crate::{Engine, Mode, Replica};
use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{DType, Device, Int, TensorData, activation};
use fedrl_core::Space;
use fedrl_core::random::Key;
use fedrl_envs::{CartPole, Environment, Instance};
use fedrl_models::{Activation, PolicyConfig};

const KEY: Key = Key { low: 21, high: 22 };

fn policy_of(hidden: &[usize], activation: Activation, action: &Space) -> Policy {
    let config = PolicyConfig { hidden: hidden.to_vec(), activation, ..PolicyConfig::default() };
    Policy::new(&config, &CartPole.spec().observation, action).unwrap()
}

/// Parameters near the initial ones, biases moved off zero.
fn parameters(policy: &Policy) -> Vec<f64> {
    policy.initial(KEY).iter().enumerate().map(|(i, &x)| f64::from(x) + 0.05 * (i as f64).sin()).collect()
}

/// A policy of either head with trajectories, weights of their steps, parameters and a direction.
struct Case {
    policy: Policy,
    lived: Trajectories<f64>,
    weights: Vec<f64>,
    theta: Vec<f64>,
    v: Vec<f64>,
}

impl Case {
    /// Three CartPole trajectories, their choices replaced by vectors for a Gaussian policy.
    fn new(hidden: &[usize], activation: Activation, action: &Space) -> Self {
        let acting = policy_of(&[8, 8], Activation::Tanh, &Space::Discrete { n: 2 });
        let simulator = Instance::new(&CartPole, Default::default()).unwrap().simulator();
        let replica = Replica { theta: &parameters(&acting), simulator: &simulator, spec: CartPole.spec(), key: KEY };
        let mut lived = Engine::double().rollout(&acting, &[replica], 3, 40, Mode::Sampled).unwrap();
        if let Space::Box { low, .. } = action {
            for trajectory in &mut lived.replicas[0] {
                trajectory.actions = (0..trajectory.len() * low.len()).map(|i| (i as f64 * 1.3).cos()).collect();
            }
        }
        let policy = policy_of(hidden, activation, action);
        let weights = (0..lived.steps(0)).map(|t| (t as f64 * 0.7).sin() + 0.25).collect();
        let v = (0..policy.parameter_count()).map(|i| (2.1 * i as f64).cos()).collect();
        Case { theta: parameters(&policy), policy, lived, weights, v }
    }

    fn scores(&self) -> Pass<f64> {
        Engine::double().scores(&self.policy, &Matrix::from_rows([&self.theta]), &self.lived)
    }

    fn tangents(&self, scale: f64) -> Pass<f64> {
        let v: Vec<f64> = self.v.iter().map(|v| scale * v).collect();
        let (theta, v) = (Matrix::from_rows([&self.theta]), Matrix::from_rows([v]));
        Engine::double().tangents(&self.policy, &theta, &v, &self.lived)
    }

    fn gradient(&self) -> Vec<f64> {
        self.scores().gradient(std::slice::from_ref(&self.weights)).unwrap().row(0).to_vec()
    }

    /// Σ_t w_t log π_θ(a_t|s_t) through the native forward pass.
    fn objective(&self, theta: &[f64]) -> f64 {
        let (inputs, width) = (self.policy.inputs(), self.policy.head.action_width());
        let steps = self.lived.replicas[0]
            .iter()
            .flat_map(|t| t.observations.chunks_exact(inputs).zip(t.actions.chunks_exact(width)));
        steps.zip(&self.weights).map(|((o, a), w)| w * self.policy.log_probability(theta, o, a)).sum()
    }

    /// Central differences of the objective at `theta`.
    fn differences(&self, theta: &[f64], h: f64) -> Vec<f64> {
        let shifted = |i: usize, h: f64| {
            let mut theta = theta.to_vec();
            theta[i] += h;
            self.objective(&theta)
        };
        (0..theta.len()).map(|i| (shifted(i, h) - shifted(i, -h)) / (2.0 * h)).collect()
    }
}

fn cases() -> [Case; 4] {
    let vector = Space::Box { low: vec![-1.0; 3], high: vec![1.0; 3] };
    let two = Space::Discrete { n: 2 };
    [
        Case::new(&[8, 8], Activation::Tanh, &two),
        Case::new(&[], Activation::Tanh, &two),
        Case::new(&[5], Activation::Relu, &two),
        Case::new(&[6, 4], Activation::Tanh, &vector),
    ]
}

#[test]
fn gradients_equal_central_differences() {
    for case in cases() {
        let numeric = case.differences(&case.theta, 1e-6);
        for (i, (numeric, analytic)) in numeric.iter().zip(case.gradient()).enumerate() {
            assert!((numeric - analytic).abs() < 1e-7 * (1.0 + numeric.abs()), "{i}: {numeric} {analytic}");
        }
    }
}

#[test]
fn tangents_are_inner_products_of_gradients_and_linear_in_the_direction() {
    for case in cases() {
        let expected: f64 = case.gradient().iter().zip(&case.v).map(|(g, v)| g * v).sum();
        let along = |scale: f64| -> f64 {
            case.tangents(scale).values().unwrap()[0].iter().zip(&case.weights).map(|(x, w)| x * w).sum()
        };
        assert!((along(1.0) - expected).abs() < 1e-11 * (1.0 + expected.abs()), "{} {expected}", along(1.0));
        assert!((along(-4.0) + 4.0 * expected).abs() < 1e-11 * (1.0 + expected.abs()));
    }
}

#[test]
fn hessian_vector_products_equal_central_differences_of_gradients() {
    for mut case in cases() {
        let product = case.tangents(1.0).gradient(std::slice::from_ref(&case.weights)).unwrap();
        let theta = case.theta.clone();
        let h = 1e-5;
        let mut at = |step: f64| {
            case.theta = theta.iter().zip(&case.v).map(|(x, v)| x + step * v).collect();
            case.gradient()
        };
        for (i, (ahead, behind)) in at(h).iter().zip(at(-h)).enumerate() {
            let (numeric, exact) = ((ahead - behind) / (2.0 * h), product.row(0)[i]);
            assert!((numeric - exact).abs() < 1e-7 * (1.0 + numeric.abs()), "{i}: {numeric} {exact}");
        }
    }
}

#[derive(Module, Debug)]
struct Reference {
    layers: Vec<Linear>,
}

impl Reference {
    /// burn's modules with the parameters of a case.
    fn new(case: &Case, device: &Device) -> Self {
        let layers = case.policy.network.layers().iter().map(|layer| {
            let place = |range: std::ops::Range<usize>| case.theta[range].to_vec();
            let weight = TensorData::new(place(layer.weight.clone()), [layer.outputs, layer.inputs]);
            let bias = TensorData::new(place(layer.bias.clone()), [layer.outputs]);
            let mut linear = LinearConfig::new(layer.inputs, layer.outputs).init(device);
            // burn keeps weights as [inputs, outputs].
            linear.weight = Param::from_tensor(Tensor::<2>::from_data(weight, (device, DType::F64)).transpose());
            linear.bias = Some(Param::from_tensor(Tensor::<1>::from_data(bias, (device, DType::F64))));
            linear
        });
        Reference { layers: layers.collect() }
    }

    fn forward(&self, mut x: Tensor<2>) -> Tensor<2> {
        for (index, layer) in self.layers.iter().enumerate() {
            x = layer.forward(x);
            if index + 1 < self.layers.len() {
                x = x.tanh();
            }
        }
        x
    }
}

#[test]
fn gradients_equal_autodiff_through_linear_modules() {
    let case = Case::new(&[8, 8], Activation::Tanh, &Space::Discrete { n: 2 });
    let steps = case.weights.len();
    let device = Device::flex().autodiff();
    let double =
        |data: Vec<f64>, shape: [usize; 2]| Tensor::<2>::from_data(TensorData::new(data, shape), (&device, DType::F64));
    let reference = Reference::new(&case, &device);
    let outputs = reference.forward(double(case.lived.padded(4, |t| &t.observations), [steps, 4]));
    let actions: Vec<i32> = case.lived.padded(1, |t| &t.actions).iter().map(|&a| a as i32).collect();
    let actions = Tensor::<2, Int>::from_data(TensorData::new(actions, [steps, 1]), &device);
    let chosen = activation::log_softmax(outputs, 1).gather(1, actions);
    let gradients = (chosen * double(case.weights.clone(), [steps, 1])).sum().backward();
    let mut expected: Vec<f64> = Vec::new();
    for layer in &reference.layers {
        let weight = layer.weight.val().grad(&gradients).unwrap().transpose();
        expected.extend(weight.try_into_vec_as::<f64>().unwrap());
        let bias = layer.bias.as_ref().unwrap().val().grad(&gradients).unwrap();
        expected.extend(bias.try_into_vec_as::<f64>().unwrap());
    }
    for (ours, theirs) in case.gradient().iter().zip(&expected) {
        assert!((ours - theirs).abs() < 1e-12 * (1.0 + theirs.abs()), "{ours} {theirs}");
    }
}
