//! Who acts in which variant.

use fedrl_engine::Matrix;
use fedrl_envs::Instance;

/// The policies that are evaluated.
#[derive(Debug, Clone, Copy)]
pub enum Actors<'a> {
    /// One in all variants.
    Common(&'a [f32]),
    /// In each variant its own: `[variants, P]`.
    Own(&'a Matrix<f32>),
    /// Those of agents, in variants that are nobody's: the agent that lives nearest acts.
    Agents {
        /// Their policies, `[agents, P]`.
        policies: &'a Matrix<f32>,
        /// Where they live.
        homes: &'a [Instance],
    },
}

impl<'a> Actors<'a> {
    /// All of them.
    pub(crate) fn all(&self) -> Vec<&'a [f32]> {
        match *self {
            Actors::Common(theta) => vec![theta],
            Actors::Own(policies) | Actors::Agents { policies, .. } => {
                (0..policies.rows()).map(|row| policies.row(row)).collect()
            }
        }
    }

    /// The policy that acts in variant number `index`.
    pub(crate) fn theta(&self, index: usize, instance: &Instance) -> &'a [f32] {
        match *self {
            Actors::Common(theta) => theta,
            Actors::Own(policies) => policies.row(index),
            Actors::Agents { policies, homes } => policies.row(nearest(homes, instance)),
        }
    }
}

/// Which of `homes` is nearest: least Euclidean distance of parameters, each divided by its range over the
/// homes where it has one; the first of equals.
pub fn nearest(homes: &[Instance], instance: &Instance) -> usize {
    let names: std::collections::BTreeSet<&String> =
        homes.iter().chain([instance]).flat_map(|instance| instance.given().keys()).collect();
    let mut squares = vec![0.0; homes.len()];
    for name in names {
        let values: Vec<f64> = homes.iter().map(|home| value(home, name)).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let range = if greatest > least { greatest - least } else { 1.0 };
        let here = value(instance, name);
        squares.iter_mut().zip(values).for_each(|(square, there)| *square += ((here - there) / range).powi(2));
    }
    (0..homes.len()).fold(0, |best, home| if squares[home] < squares[best] { home } else { best })
}

/// A parameter's value, given or by default.
fn value(instance: &Instance, name: &str) -> f64 {
    let default = || Instance::parameters(instance.spec()).find(|parameter| parameter.name == name);
    instance.given().get(name).copied().or_else(|| default().map(|parameter| parameter.default)).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedrl_envs::CartPole;

    fn pole(length: f64, gravity: f64) -> Instance {
        Instance::new(&CartPole, [("length".into(), length), ("gravity".into(), gravity)].into()).unwrap()
    }

    /// Lengths range over 0.4, gravities over 10: from (0.5, 10) the first home is (0.2/0.4, 0), the second
    /// (0.2/0.4, 10/10) and the third (0.1/0.4, 4/10) away.
    #[test]
    fn parameters_count_by_their_range() {
        let homes = [pole(0.3, 10.0), pole(0.7, 20.0), pole(0.6, 14.0)];
        assert_eq!(nearest(&homes, &pole(0.5, 10.0)), 2);
        assert_eq!(nearest(&homes, &pole(0.5, 11.0)), 2);
        assert_eq!(nearest(&homes, &pole(0.35, 10.0)), 0);
        // Where homes do not differ, differences count as they are; absent parameters have their defaults.
        let alike = [Instance::new(&CartPole, Default::default()).unwrap(), pole(0.5, 9.8)];
        assert_eq!(nearest(&alike, &pole(0.9, 9.8)), 0);
    }
}
