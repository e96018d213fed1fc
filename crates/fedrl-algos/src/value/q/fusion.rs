//! LFRL's knowledge fusion (Liu et al. 2019): a network is taught what confident networks say.
//!
//! The server has no one's observations. It lives in an environment of its own, with every parameter at
//! its default, by what the uploaded networks say together.

use fedrl_core::Real;
use fedrl_core::random::{Block, Key, high_mul};
use fedrl_envs::{Instance, Parameters};
use fedrl_models::minibatch::{Minibatch, Single};

use super::config::{Fusion, ValueConfig};
use super::network::QNetwork;
use crate::value::adam::Adam;
use crate::value::replay::draw;

/// How often the server explores while it collects observations.
const EXPLORATION: f32 = 0.1;

/// Observations and what the networks together say of them.
struct Lesson {
    observations: Vec<Vec<f32>>,
    labels: Vec<Vec<f32>>,
}

/// What the server needs to fuse.
pub(in crate::value) struct Teacher<'a> {
    pub(in crate::value) network: &'a QNetwork,
    pub(in crate::value) config: &'a ValueConfig,
    pub(in crate::value) fusion: Fusion,
    pub(in crate::value) environment: &'static str,
    pub(in crate::value) max_episode_steps: usize,
    /// This fusion's draws.
    pub(in crate::value) key: Key,
}

impl Teacher<'_> {
    /// `theta` taught by `networks`.
    pub(in crate::value) fn fuse(&self, theta: &[f32], networks: &[&[f32]]) -> Vec<f32> {
        let Some(lesson) = self.lesson(networks) else { return theta.to_vec() };
        let mut theta = theta.to_vec();
        let (mut first, mut second) = (vec![0.0; theta.len()], vec![0.0; theta.len()]);
        let mut gradient = vec![0.0; theta.len()];
        let mut batch = Minibatch::new(&self.network.network, self.config.batch);
        let mut places = vec![0; self.config.batch];
        let scale = 2.0 / self.config.batch as f32;
        for update in 0..self.fusion.updates {
            draw(self.key.child([1, 0, 0, 0]), update, lesson.observations.len() as u32, &mut places);
            for (sample, &place) in places.iter().enumerate() {
                batch.set_input(sample, lesson.observations[place].iter().copied());
            }
            batch.forward(&theta);
            for action in 0..self.network.actions() {
                let outputs = batch.output(action).iter().zip(&places);
                let slopes: Vec<f32> = outputs.map(|(q, &place)| scale * (q - lesson.labels[place][action])).collect();
                batch.slope_mut(action).copy_from_slice(&slopes);
            }
            batch.backward(&theta, 0..self.network.network.layers().len(), &mut gradient);
            let (theta, first, second) = (&mut theta, &mut first, &mut second);
            Adam { theta, first, second, gradient: &gradient }.step(update + 1, self.config.learning_rate);
        }
        theta
    }

    /// A life led ε-greedily by the fused action values. `None` where there is no such environment.
    fn lesson(&self, networks: &[&[f32]]) -> Option<Lesson> {
        let environment = fedrl_envs::find(self.environment).ok()?;
        let simulator = Instance::new(environment, Parameters::new()).ok()?.simulator::<f32>();
        let spec = environment.spec();
        let (mut state, mut observation) = (vec![0.0; spec.state_width], vec![0.0; self.network.observation()]);
        let mut single = Single::new(&self.network.network);
        let mut lesson = Lesson { observations: Vec::new(), labels: Vec::new() };
        let (mut time, mut ended) = (0, true);
        for sample in 0..self.fusion.samples as u32 {
            if ended {
                let mut rng = self.key.child([2, sample, 0, 0]).rng();
                let draws: Vec<f32> = (0..spec.reset_draws).map(|_| rand::RngExt::random(&mut rng)).collect();
                simulator.reset(&draws, &mut state);
                time = 0;
            }
            simulator.observe(&state, &mut observation);
            let says = |theta: &&[f32]| single.forward(theta, observation.iter().copied()).to_vec();
            let label = fused(&networks.iter().map(says).collect::<Vec<_>>());
            let Block { a, b, c, d } = self.key.child([3, 0, 0, 0]).block([sample, 0, 0, 0]);
            let explored = high_mul(b, label.len() as u32) as usize;
            let best = (0..label.len()).fold(0, |best, action| if label[action] > label[best] { action } else { best });
            let action = if f32::unit(a) < EXPLORATION { explored } else { best };
            lesson.observations.push(observation.clone());
            lesson.labels.push(label);
            let draws = [f32::unit(c), f32::unit(d)];
            let moved = simulator.step(&draws[..spec.step_draws], &mut state, &[action as f32]);
            time += 1;
            ended = moved.terminated || time >= self.max_episode_steps;
        }
        Some(lesson)
    }
}

/// Action values of several networks, each weighing by its confidence: 1 − H(softmax Q) / ln A.
fn fused(values: &[Vec<f32>]) -> Vec<f32> {
    let confidence: Vec<f64> = values.iter().map(|values| confidence(values)).collect();
    let sum: f64 = confidence.iter().sum();
    let weight = |agent: usize| if sum > 0.0 { confidence[agent] / sum } else { 1.0 / values.len() as f64 };
    let of = |action: usize| {
        values.iter().enumerate().map(|(agent, values)| weight(agent) * f64::from(values[action])).sum::<f64>() as f32
    };
    (0..values.first().map_or(0, Vec::len)).map(of).collect()
}

fn confidence(values: &[f32]) -> f64 {
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let shares: Vec<f64> = values.iter().map(|&q| f64::from(q - most).exp()).collect();
    let sum: f64 = shares.iter().sum();
    let entropy: f64 = shares.iter().map(|share| share / sum).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum();
    (1.0 - entropy / (values.len() as f64).ln()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Q = (ln 3, 0): p = (¾, ¼), H = ¾ ln(4/3) + ¼ ln 4 = 0.562335, confidence 1 − 0.562335/0.693147 = 0.188722.
    /// Q = (5, 5): no confidence, so it is not listened to.
    #[test]
    fn the_confident_are_listened_to() {
        assert!((confidence(&[3f32.ln(), 0.0]) - 0.188_722).abs() < 1e-6);
        assert_eq!(confidence(&[5.0, 5.0]), 0.0);
        assert_eq!(fused(&[vec![3f32.ln(), 0.0], vec![5.0, 5.0]]), [3f32.ln(), 0.0]);
        assert_eq!(fused(&[vec![5.0, 5.0], vec![1.0, 1.0]]), [3.0, 3.0]);
    }
}
