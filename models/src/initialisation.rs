//! Initial parameters.

use fedrl_core::random::Key;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::Mlp;

/// How weights start. Biases start at zero unless it is said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initialisation {
    /// U(±√(6 / (inputs + outputs))) (Glorot & Bengio 2010).
    #[default]
    XavierUniform,
    /// U(±√(6 / inputs)) (He et al. 2015, for ReLU).
    KaimingUniform,
    /// U(±√(1 / inputs)), biases too: what PyTorch's linear layers start with.
    UniformFanIn,
    /// All zero: the uniform policy, for policies without hidden layers.
    Zeros,
}

impl Initialisation {
    /// The network's parameters, drawn from `key`.
    pub fn draw(self, network: &Mlp, key: Key) -> Vec<f32> {
        let mut theta = vec![0.0; network.parameter_count()];
        for (index, layer) in network.layers().iter().enumerate() {
            let square = match self {
                Initialisation::XavierUniform => 6.0 / (layer.inputs + layer.outputs) as f32,
                Initialisation::KaimingUniform => 6.0 / layer.inputs as f32,
                Initialisation::UniformFanIn => 1.0 / layer.inputs as f32,
                Initialisation::Zeros => break,
            };
            let bound = square.sqrt();
            let drawn = if self == Initialisation::UniformFanIn { layer.bias.end } else { layer.weight.end };
            let mut rng = key.child([index as u32, 0, 0, 0]).rng();
            for parameter in &mut theta[layer.weight.start..drawn] {
                *parameter = bound * (2.0 * rng.random::<f32>() - 1.0);
            }
        }
        theta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Activation;

    #[test]
    fn weights_fill_their_interval_evenly_and_biases_are_zero() {
        let network = Mlp::new(&[60, 40], Activation::Tanh, true);
        let key = Key { low: 1, high: 2 };
        for (scheme, fan) in [(Initialisation::XavierUniform, 100.0), (Initialisation::KaimingUniform, 60.0)] {
            let theta = scheme.draw(&network, key);
            let bound = (6.0f32 / fan).sqrt();
            let (weights, biases) = theta.split_at(2400);
            assert!(weights.iter().all(|w| w.abs() <= bound));
            assert!(biases.iter().all(|&b| b == 0.0));
            // Var U(±b) = b²/3; its estimate from 2400 draws has relative sd √(0.8/2400) = 1.8 %.
            let variance = weights.iter().map(|w| w * w).sum::<f32>() / 2400.0;
            assert!((variance / (bound * bound / 3.0) - 1.0).abs() < 0.09, "{variance}");
        }
        assert_eq!(
            Initialisation::XavierUniform.draw(&network, key),
            Initialisation::XavierUniform.draw(&network, key)
        );
        let theta = Initialisation::UniformFanIn.draw(&network, key);
        let bound = (1.0f32 / 60.0).sqrt();
        assert!(theta.iter().all(|x| x.abs() <= bound));
        assert!(theta[2400..].iter().any(|x| x.abs() > 0.8 * bound), "biases are drawn, too");
        assert!(Initialisation::Zeros.draw(&network, key).iter().all(|&x| x == 0.0));
    }
}
