//! Gradients against central differences and against burn's own modules.

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

fn policy_of(hidden: &[usize], activation: Activation, action: &Space) -> Policy {
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
        (policy_of(&[8, 8], Activation::Tanh, &Space::Discrete { n: 2 }), false),
        (policy_of(&[], Activation::Tanh, &Space::Discrete { n: 2 }), false),
        (policy_of(&[5], Activation::Relu, &Space::Discrete { n: 2 }), false),
        (policy_of(&[6, 4], Activation::Tanh, &vector), true),
    ];
    for (policy, gaussian) in cases {
        let acting = policy_of(&[8, 8], Activation::Tanh, &Space::Discrete { n: 2 });
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
    let policy = policy_of(&[8, 8], Activation::Tanh, &Space::Discrete { n: 2 });
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

fn tangents_f64(policy: &Policy, theta: &[f32], v: &[f32], trajectories: &Trajectories) -> Pass {
    Engine::double().tangents(policy, &Matrix::from_rows([theta]), &Matrix::from_rows([v]), trajectories)
}

/// A policy of either head with trajectories, weights of their steps, parameters and a direction.
struct Case {
    policy: Policy,
    lived: Trajectories,
    weights: Vec<f32>,
    theta: Vec<f32>,
    v: Vec<f32>,
}

fn cases() -> Vec<Case> {
    let acting = policy_of(&[8, 8], Activation::Tanh, &Space::Discrete { n: 2 });
    let vector = Space::Box { low: vec![-1.0; 3], high: vec![1.0; 3] };
    let kinds = [
        (policy_of(&[8, 8], Activation::Tanh, &Space::Discrete { n: 2 }), false),
        (policy_of(&[], Activation::Tanh, &Space::Discrete { n: 2 }), false),
        (policy_of(&[5], Activation::Relu, &Space::Discrete { n: 2 }), false),
        (policy_of(&[6, 4], Activation::Tanh, &vector), true),
    ];
    let case = |(policy, gaussian): (Policy, bool)| {
        let (lived, weights) = lived(&acting, &acting.initial(KEY));
        let lived = if gaussian { with_vectors(lived, 3) } else { lived };
        let theta = policy.initial(KEY).iter().enumerate().map(|(i, x)| x + 0.05 * (i as f32).sin()).collect();
        let v = (0..policy.parameter_count()).map(|i| (2.1 * i as f32).cos()).collect();
        Case { policy, lived, weights, theta, v }
    };
    kinds.into_iter().map(case).collect()
}

#[test]
fn tangents_are_inner_products_of_gradients_and_linear_in_the_direction() {
    for Case { policy, lived, weights, theta, v } in cases() {
        let gradient = gradient_f64(&policy, &theta, &lived, &weights);
        let expected: f64 = gradient.iter().zip(&v).map(|(g, &v)| g * f64::from(v)).sum();
        let along = |scale: f32| -> f64 {
            let v: Vec<f32> = v.iter().map(|v| scale * v).collect();
            let values = tangents_f64(&policy, &theta, &v, &lived).values.try_into_vec_as::<f64>().unwrap();
            values.iter().zip(&weights).map(|(x, &w)| x * f64::from(w)).sum()
        };
        assert!((along(1.0) - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{} {expected}", along(1.0));
        assert!((along(-4.0) + 4.0 * expected).abs() < 1e-10 * (1.0 + expected.abs()));
    }
}

#[test]
fn hessian_vector_products_equal_central_differences_of_gradients() {
    for Case { policy, lived, weights, theta, v } in cases() {
        let pass = tangents_f64(&policy, &theta, &v, &lived);
        let product = pass.pull_back(weights.clone()).unwrap().try_into_vec_as::<f64>().unwrap();
        // Exact in f32: steps of 2^-12 along v leave parameters that f32 holds to 2^-24 only, so
        // the difference quotient is taken of the native objective in f64 instead.
        let theta: Vec<f64> = theta.iter().map(|&x| f64::from(x)).collect();
        let gradient = |step: f64| -> Vec<f64> {
            let h = 1e-4;
            let at: Vec<f64> = theta.iter().zip(&v).map(|(x, &v)| x + step * f64::from(v)).collect();
            let shifted = |i: usize, h: f64| {
                let mut at = at.clone();
                at[i] += h;
                objective(&policy, &at, &lived, &weights)
            };
            (0..at.len()).map(|i| (shifted(i, h) - shifted(i, -h)) / (2.0 * h)).collect()
        };
        let step = 1e-4;
        for (i, (ahead, behind)) in gradient(step).iter().zip(gradient(-step)).enumerate() {
            let numeric = (ahead - behind) / (2.0 * step);
            assert!((numeric - product[i]).abs() < 1e-4 * (1.0 + numeric.abs()), "{i}: {numeric} {}", product[i]);
        }
    }
}
