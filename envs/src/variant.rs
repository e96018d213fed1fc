//! Families of parameter values: how one line of a configuration describes many environments.

mod notation;

use std::collections::BTreeMap;

use fedrl_core::random::{Key, Purpose};
use rand::RngExt;
use rand_distr::{Distribution, Normal};
use serde::{Deserialize, Serialize};

use crate::{Environment, Instance, ParameterError, Parameters, Range};

/// The values that one parameter takes over the variants of a set.
#[derive(Debug, Clone, PartialEq)]
pub enum Family {
    /// `0.5`: the same value for every variant.
    Constant(f64),
    /// `{ linspace = [0.3, 0.7] }`: evenly spaced, both ends included.
    Linspace {
        /// First value.
        low: f64,
        /// Last value.
        high: f64,
        /// How many, where nothing else says so.
        count: Option<usize>,
    },
    /// `{ values = [0.1, 0.2] }`: one after the other.
    Values(Vec<f64>),
    /// `{ cycle = [0.36, 0.42] }`: these values over and over: every agent has twins once there are more
    /// agents than values.
    Cycle {
        /// The values, one at least.
        values: Vec<f64>,
        /// How many, where nothing else says so.
        count: Option<usize>,
    },
    /// `"seed"`: the experiment's seed; `"index"`: the variant's number, from 0; or one of the words
    /// that the parameter knows.
    Word(String),
    /// `{ uniform = [0.1, 0.9] }`: independent uniform draws.
    Uniform {
        /// Least value.
        low: f64,
        /// Greatest value.
        high: f64,
        /// How many, where nothing else says so.
        count: Option<usize>,
    },
    /// `{ normal = [0.5, 0.05] }`: independent draws of that mean and standard deviation.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation, at least 0.
        deviation: f64,
        /// How many, where nothing else says so.
        count: Option<usize>,
    },
}

impl Family {
    /// How many values the family itself asks for.
    fn count(&self) -> Option<usize> {
        match self {
            Family::Constant(_) | Family::Word(_) => None,
            Family::Values(values) => Some(values.len()),
            Family::Linspace { count, .. }
            | Family::Cycle { count, .. }
            | Family::Uniform { count, .. }
            | Family::Normal { count, .. } => *count,
        }
    }

    /// Whether it cannot be read without knowing how many values are wanted.
    fn needs_count(&self) -> bool {
        match self {
            Family::Constant(_) => false,
            Family::Word(word) => word == INDEX,
            _ => self.count().is_none(),
        }
    }

    /// `n` values of a parameter with this `range`; random ones come from `key`. `None` for a word that
    /// nobody knows.
    fn draw(&self, n: usize, range: Option<Range>, seed: u64, key: Key) -> Option<Vec<f64>> {
        let mut rng = key.rng();
        Some(match *self {
            Family::Constant(value) => vec![value; n],
            Family::Word(ref word) => match (range, word.as_str()) {
                (Some(Range::Choice(words)), word) => vec![words.iter().position(|known| *known == word)? as f64; n],
                (_, SEED) => vec![seed as f64; n],
                (_, INDEX) => (0..n).map(|index| index as f64).collect(),
                _ => return None,
            },
            Family::Values(ref values) => values.clone(),
            Family::Cycle { ref values, .. } => values.iter().copied().cycle().take(n).collect(),
            Family::Linspace { low, .. } if n == 1 => vec![low],
            Family::Linspace { low, high, .. } => {
                // Weighted so that both ends are met exactly.
                let share = |i: usize| i as f64 / (n - 1) as f64;
                (0..n).map(|i| low * (1.0 - share(i)) + high * share(i)).collect()
            }
            Family::Uniform { low, high, .. } => (0..n).map(|_| low + (high - low) * rng.random::<f64>()).collect(),
            Family::Normal { mean, deviation, .. } => {
                // Checked when it was read: the deviation is finite and not negative.
                let normal = Normal::new(mean, deviation).unwrap_or_else(|_| unreachable!("checked deviation"));
                (0..n).map(|_| normal.sample(&mut rng)).collect()
            }
        })
    }
}

const SEED: &str = "seed";
const INDEX: &str = "index";

/// Parameters and the family each of them runs through: together, a list of variants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VariantSet(pub BTreeMap<String, Family>);

/// Why a set of variants cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VariantError {
    /// One of the variants is no environment.
    #[error("variant {index}: {source}")]
    Parameter {
        /// Which variant, from 0.
        index: usize,
        /// What is wrong with it.
        source: ParameterError,
    },
    /// Families of different sizes.
    #[error("`{parameter}` gives {given} values, expected {expected} ({why})")]
    Count {
        /// The parameter.
        parameter: String,
        /// Values its family has.
        given: usize,
        /// Values wanted.
        expected: usize,
        /// Who wants them.
        why: String,
    },
    /// Nothing says how many variants there are.
    #[error("`{parameter}` does not say how many variants it means; add `count = 5` to it, or list `values`")]
    NoCount {
        /// The parameter.
        parameter: String,
    },
    /// A word that stands for no value of this parameter.
    #[error("`{parameter}`: {}", fedrl_core::unknown_name("value", word, known))]
    Word {
        /// The parameter.
        parameter: String,
        /// The word given.
        word: String,
        /// Words that it knows.
        known: Vec<&'static str>,
    },
    /// A list without values.
    #[error("`{parameter}` has no values")]
    Empty {
        /// The parameter.
        parameter: String,
    },
}

impl VariantSet {
    /// The variants of `environment` that this set describes: `count` of them where the caller
    /// knows (one per agent), else as many as the families say. Parameters run side by side,
    /// not as a grid. Random families draw from the experiment's `seed`, the number `which` of the set
    /// and their parameter's name, so adding a parameter does not change the values of another.
    ///
    /// # Errors
    /// Families of different sizes, no size at all, or a variant that is no environment.
    pub fn instances(
        &self,
        environment: &'static dyn Environment,
        count: Option<usize>,
        seed: u64,
        which: u32,
    ) -> Result<Vec<Instance>, VariantError> {
        let n = self.size(count)?;
        let key = Key::new(seed, Purpose::Variants).child([which, 0, 0, 0]);
        let column = |(name, family): (&'_ String, &Family)| {
            let parameter = Instance::parameters(environment.spec()).find(|parameter| parameter.name == name);
            let range = parameter.map(|parameter| parameter.range);
            let values = family.draw(n, range, seed, key.child(hash(name)));
            values.map(|values| (name.clone(), values)).ok_or_else(|| unknown_word(name, family, range))
        };
        let columns = self.0.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        (0..n)
            .map(|index| {
                let given: Parameters = columns.iter().map(|(name, values)| (name.clone(), values[index])).collect();
                Instance::new(environment, given).map_err(|source| VariantError::Parameter { index, source })
            })
            .collect()
    }

    fn size(&self, count: Option<usize>) -> Result<usize, VariantError> {
        let mut expected = count.map(|n| (n, "one per agent".to_string()));
        for (name, family) in &self.0 {
            let Some(given) = family.count() else { continue };
            if given == 0 {
                return Err(VariantError::Empty { parameter: name.clone() });
            }
            match &expected {
                Some((n, why)) if *n != given => {
                    let (parameter, why) = (name.clone(), why.clone());
                    return Err(VariantError::Count { parameter, given, expected: *n, why });
                }
                Some(_) => {}
                None => expected = Some((given, format!("as many as `{name}`"))),
            }
        }
        match (expected, self.0.iter().find(|(_, family)| family.needs_count())) {
            (Some((n, _)), _) => Ok(n),
            (None, Some((name, _))) => Err(VariantError::NoCount { parameter: name.clone() }),
            (None, None) => Ok(1),
        }
    }
}

fn unknown_word(parameter: &str, family: &Family, range: Option<Range>) -> VariantError {
    let known = match range {
        Some(Range::Choice(words)) => words.to_vec(),
        _ => vec![SEED, INDEX],
    };
    let word = if let Family::Word(word) = family { word.clone() } else { String::new() };
    VariantError::Word { parameter: parameter.into(), word, known }
}

/// A name as four words, for keys (FNV-1a, one offset per word).
fn hash(name: &str) -> [u32; 4] {
    [1, 2, 3, 4].map(|word| {
        name.bytes().fold(0x811c_9dc5 ^ word, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CartPole;
    use proptest::prelude::*;

    const SEED: u64 = 5;

    fn set(text: &str) -> Result<VariantSet, String> {
        toml::from_str(text).map_err(|error| error.message().to_string())
    }

    fn lengths(text: &str, count: Option<usize>) -> Result<Vec<f64>, String> {
        let instances = set(text)?.instances(&CartPole, count, SEED, 0).map_err(|error| error.to_string())?;
        Ok(instances.iter().map(|instance| instance.given()["length"]).collect())
    }

    #[test]
    fn every_form_gives_the_values_it_says() {
        assert_eq!(lengths("length = { linspace = [1.0, 2.0] }", Some(3)), Ok(vec![1.0, 1.5, 2.0]));
        assert_eq!(lengths("length = { linspace = [1.0, 2.0], count = 2 }", None), Ok(vec![1.0, 2.0]));
        assert_eq!(lengths("length = { values = [0.1, 2] }", None), Ok(vec![0.1, 2.0]));
        let cycle = "length = { cycle = [0.36, 0.42] }";
        assert_eq!(lengths(cycle, Some(5)), Ok(vec![0.36, 0.42, 0.36, 0.42, 0.36]));
        assert_eq!(lengths(cycle, Some(1)), Ok(vec![0.36]));
        assert_eq!(lengths("length = { cycle = [1, 2], count = 3 }", None), Ok(vec![1.0, 2.0, 1.0]));
        assert_eq!(lengths("length = 3", Some(2)), Ok(vec![3.0, 3.0]));
        assert_eq!(lengths("length = 3", None), Ok(vec![3.0]));
        assert_eq!(lengths("length = \"seed\"", Some(2)), Ok(vec![5.0, 5.0]));
        assert_eq!(lengths("gravity = \"index\"\nlength = \"seed\"", Some(2)), Ok(vec![5.0, 5.0]));
        assert!(lengths("gravity = \"index\"\nlength = 1", None).unwrap_err().contains("does not say how many"));
        let uniform = lengths("length = { uniform = [0.1, 0.9] }", Some(1000)).unwrap();
        assert!(uniform.iter().all(|x| (0.1..0.9).contains(x)));
        let normal = lengths("length = { normal = [5.0, 0.5], count = 1000 }", None).unwrap();
        let mean = normal.iter().sum::<f64>() / 1000.0;
        assert!((mean - 5.0).abs() < 5.0 * 0.5 / 1000f64.sqrt(), "{mean}");
    }

    #[test]
    fn random_values_depend_on_the_key_and_the_name_alone() {
        let alone = lengths("length = { uniform = [0.1, 0.9] }", Some(4));
        let together = lengths("length = { uniform = [0.1, 0.9] }\ngravity = { uniform = [1, 2] }", Some(4));
        assert_eq!(alone, together);
        let gravity =
            set("gravity = { uniform = [0.1, 0.9] }").unwrap().instances(&CartPole, Some(4), SEED, 0).unwrap();
        assert_ne!(alone.unwrap()[0], gravity[0].given()["gravity"]);
        for (seed, which) in [(SEED + 1, 0), (SEED, 1)] {
            let set = set("length = { uniform = [0.1, 0.9] }").unwrap();
            let drawn = set.instances(&CartPole, Some(1), seed, which).unwrap();
            assert_ne!(drawn[0].given()["length"], lengths("length = { uniform = [0.1, 0.9] }", Some(1)).unwrap()[0]);
        }
    }

    #[test]
    fn a_wrong_family_says_what_was_expected() {
        let error = |text: &str, count| lengths(text, count).unwrap_err();
        assert!(error("length = { linspac = [1, 2] }", None).contains("did you mean `linspace`"));
        assert!(error("length = { linspace = [1, 2, 3] }", None).contains("takes two numbers, found 3"));
        assert!(error("length = { values = [1, nan] }", None).contains("contains NaN"));
        assert!(error("length = { normal = [1, -1] }", None).contains("deviation -1"));
        assert!(error("length = true", None).contains("expected a number, a word, { linspace"));
        assert!(error("length = \"sed\"", None).contains("unknown value `sed`; did you mean `seed`?"));
        assert!(error("length = { values = [] }", None).contains("no values"));
        assert!(error("length = { cycle = [] }", Some(2)).contains("`cycle` has no values"));
        assert!(error("length = { cycle = [1, 2] }", None).contains("add `count = 5`"));
        assert!(error("length = { cycle = [1, 2], count = 3 }", Some(4)).contains("gives 3 values, expected 4"));
        assert!(error("length = { linspace = [1, 2] }", None).contains("add `count = 5`"));
        assert_eq!(
            error("length = { values = [1, 2] }", Some(3)),
            "`length` gives 2 values, expected 3 (one per agent)"
        );
        assert_eq!(
            error("length = { values = [1, 0] }", None),
            "variant 1: CartPole-v1: parameter `length` is 0, expected a finite number > 0"
        );
    }

    proptest! {
        #[test]
        fn a_family_survives_being_written_and_read(low in -5.0..5.0f64, width in 0.0..5.0f64, n in 1usize..9, form in 0..7) {
            let count = Some(n);
            let high = low + width;
            let family = match form {
                0 => Family::Constant(low),
                1 => Family::Linspace { low, high, count },
                2 => Family::Values(vec![low; n]),
                3 => Family::Uniform { low, high, count: None },
                4 => Family::Word("seed".into()),
                5 => Family::Cycle { values: vec![low, high], count: (n > 4).then_some(n) },
                _ => Family::Normal { mean: low, deviation: width, count },
            };
            let set = VariantSet([("length".to_string(), family)].into());
            let text = toml::to_string(&set).unwrap();
            prop_assert_eq!(toml::from_str::<VariantSet>(&text).unwrap(), set);
        }
    }
}
