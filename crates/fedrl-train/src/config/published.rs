//! `[published]`.

use serde::{Deserialize, Serialize};

/// `[published]`: numbers to hold a run's beside, over the environments of the agents. Training does not read them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedConfig {
    /// Where they stand: `2025, Table 3`.
    pub source: String,
    /// Mean return.
    pub return_mean: f64,
    /// Variance of the return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_variance: Option<f64>,
    /// Median return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_median: Option<f64>,
}

impl PublishedConfig {
    /// The first key whose number makes no sense, and what is wrong with it.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        let (variance, median) = (self.return_variance.unwrap_or(0.0), self.return_median.unwrap_or(0.0));
        let numbers = [
            ("published.return_mean", self.return_mean, self.return_mean.is_finite(), "a finite number"),
            ("published.return_variance", variance, variance.is_finite() && variance >= 0.0, "a finite number >= 0"),
            ("published.return_median", median, median.is_finite(), "a finite number"),
        ];
        let (key, value, _, expected) = numbers.into_iter().find(|(_, _, valid, _)| !valid)?;
        Some((key, format!("is {value}, expected {expected}")))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Source;

    const DQN: &str = r#"
        [environment]
        id = "CartPole-v1"
        [agents]
        count = 2
        [algorithm]
        name = "dqn"
        discount = 0.98
        learning_rate = 0.002
        [training]
        rounds = 1
        [published]
        source = "2025, Table 3"
        return_mean = 135
    "#;

    #[test]
    fn the_numbers_are_kept_and_the_resolved_file_reads_back_the_same() {
        let mut source = Source::parse("x.toml", DQN).unwrap();
        source.set("published.return_median=127").unwrap();
        let experiment = source.experiment().unwrap();
        let published = experiment.published.as_ref().unwrap();
        assert_eq!(
            (published.return_mean, published.return_variance, published.return_median),
            (135.0, None, Some(127.0))
        );
        let resolved = experiment.to_toml().unwrap();
        assert_eq!(Source::parse("y.toml", &resolved).unwrap().experiment().unwrap(), experiment);
    }

    #[test]
    fn numbers_that_make_no_sense_and_other_algorithms_are_refused() {
        let refused = |settings: &[&str]| {
            let mut source = Source::parse("x.toml", DQN).unwrap();
            settings.iter().for_each(|setting| source.set(setting).unwrap());
            source.experiment().unwrap_err().to_string()
        };
        assert_eq!(
            refused(&["published.return_variance=-1"]),
            "x.toml: published.return_variance: is -1, expected a finite number >= 0"
        );
        assert!(refused(&["published.return_mean=nan"]).ends_with("is NaN, expected a finite number"));
        assert!(refused(&["published.mean=1"]).contains("unknown key `mean`"));
        assert!(refused(&["published=3"]).contains("expected a section [published]"));
        let momentum = "algorithm={name=\"fedsvrpg-m\",beta=0.5,local_steps=2,local_step_size=0.1,\
                        global_step_size=0.1,discount=0.9,horizon=9}";
        let other = refused(&[momentum]);
        assert!(other.starts_with("x.toml: published: is compared with the agents' last episodes"), "{other}");
    }
}
