//! `[sweep]`: from one file to many experiments.

use serde_json::Value as Json;
use toml::Value;

use super::{ConfigError, Experiment, Source};

/// One combination of swept values.
#[derive(Debug, Clone)]
pub struct Point {
    /// The swept keys with their values; a table's value is a label.
    pub settings: Vec<(String, Json)>,
    /// The experiment with these values.
    pub experiment: Experiment,
}

/// The most combinations accepted: beyond it a typing error is likelier than an intention.
const MOST: usize = 10_000;

const EXAMPLE: &str = "expected keys with lists of values, as in algorithm.beta = [0.2, 0.5]";

impl Source {
    /// Whether the text describes many runs: a `[sweep]`, or `training.runs` above 1.
    pub fn is_batch(&self) -> bool {
        let runs = self.table.get("training").and_then(|training| training.get("runs"));
        self.table.contains_key("sweep") || runs.is_some_and(|runs| runs.as_integer() != Some(1))
    }

    /// Every combination of the values of `[sweep]`, the last key running fastest; a single point
    /// without settings where there is none.
    ///
    /// # Errors
    /// A sweep that is no table of lists, or a combination that is no experiment.
    pub fn points(mut self) -> Result<Vec<Point>, ConfigError> {
        let axes = self.take_axes()?;
        let count = axes.iter().fold(1usize, |count, (_, values)| count.saturating_mul(values.len()));
        if count > MOST {
            let problem = format!("has {count} combinations, expected at most {MOST}");
            return Err(ConfigError::at(&self.name, "sweep", problem));
        }
        (0..count).map(|index| self.point(&axes, index)).collect()
    }

    /// Removes `[sweep]` and gives its keys with their values.
    fn take_axes(&mut self) -> Result<Vec<(String, Vec<Value>)>, ConfigError> {
        let mut axes = Vec::new();
        if let Some(values) = self.table.remove("sweep") {
            self.gather("", values, &mut axes)?;
        }
        Ok(axes)
    }

    /// The text as it is now, TOML again, with the sweep in its order: that of the axes matters, and
    /// TOML would put lists of tables last.
    ///
    /// # Errors
    /// The sweep makes no sense.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        let mut rest = self.clone();
        let axes = rest.take_axes()?;
        let mut text = toml::to_string(&rest.table).map_err(|error| ConfigError::at(&self.name, "", error))?;
        if !axes.is_empty() {
            text += "\n[sweep]\n";
        }
        for (key, values) in axes {
            text += &format!("{} = {}\n", Value::String(key), Value::Array(values));
        }
        Ok(text)
    }

    /// The lists of values under `prefix`, by their whole keys.
    fn gather(&self, prefix: &str, values: Value, axes: &mut Vec<(String, Vec<Value>)>) -> Result<(), ConfigError> {
        match values {
            Value::Table(table) if !table.is_empty() => table.into_iter().try_for_each(|(key, values)| {
                let whole = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
                self.gather(&whole, values, axes)
            }),
            Value::Array(_) if axes.iter().any(|(key, _)| key == prefix) => {
                Err(ConfigError::at(&self.name, &format!("sweep.{prefix}"), "is given twice"))
            }
            Value::Array(_) if ["training.seed", "training.runs"].contains(&prefix) => {
                let problem = "cannot be swept; `training.seed` and `training.runs` say which seeds every point has";
                Err(ConfigError::at(&self.name, &format!("sweep.{prefix}"), problem))
            }
            Value::Array(values) if repeated(&values).is_some() => {
                let problem = format!("has the value {} twice", repeated(&values).unwrap_or_default());
                Err(ConfigError::at(&self.name, &format!("sweep.{prefix}"), problem))
            }
            Value::Array(values) if !values.is_empty() && !prefix.is_empty() => {
                axes.push((prefix.to_string(), values));
                Ok(())
            }
            _ => Err(ConfigError::at(&self.name, format!("sweep.{prefix}").trim_end_matches('.'), EXAMPLE)),
        }
    }

    fn point(&self, axes: &[(String, Vec<Value>)], index: usize) -> Result<Point, ConfigError> {
        let mut source = self.clone();
        let mut settings = Vec::new();
        let mut rest = index;
        let mut chosen: Vec<(&String, &Value)> = Vec::new();
        for (key, values) in axes.iter().rev() {
            chosen.push((key, &values[rest % values.len()]));
            rest /= values.len();
        }
        for (key, value) in chosen.into_iter().rev() {
            let place = format!("{}: sweep.{key}", self.name);
            source.lay(key, value.clone(), &place)?;
            settings.push((key.clone(), label(value)));
        }
        Ok(Point { settings, experiment: source.experiment()? })
    }
}

/// A value that is there more than once.
fn repeated(values: &[Value]) -> Option<String> {
    let labels: Vec<Json> = values.iter().map(label).collect();
    (1..labels.len()).find(|&index| labels[..index].contains(&labels[index])).map(|index| labels[index].to_string())
}

/// A value as it is shown: a table as its `name` and the rest.
fn label(value: &Value) -> Json {
    match value {
        Value::Integer(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::Boolean(truth) => Json::from(*truth),
        Value::String(text) => Json::from(text.as_str()),
        Value::Table(table) => {
            let entry = |(key, value): (&String, &Value)| match (key.as_str(), value) {
                ("name", Value::String(name)) => name.clone(),
                _ => format!("{key} {value}"),
            };
            Json::from(table.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        other => Json::from(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        [environment]
        id = "RandomMDP-v0"
        agents = { own = "index" }
        [agents]
        count = 3
        [policy]
        hidden = []
        bias = false
        [algorithm]
        local_steps = 2
        local_step_size = 0.01
        global_step_size = 0.1
        discount = 0.9
        horizon = 10
        [training]
        rounds = 2
    "#;

    fn points(sweep: &str) -> Result<Vec<Point>, String> {
        let text = format!("{TEXT}\n{sweep}");
        let points = Source::parse("x.toml", &text).and_then(Source::points);
        points.map_err(|error| error.to_string())
    }

    #[test]
    fn combinations_run_with_the_last_key_fastest_and_tables_are_laid_over_sections() {
        let points = points(
            "[sweep]\nalgorithm = [{ name = \"pavg\" }, { name = \"fedsvrpg-m\", beta = 0.5 }]\n\
             environment.agents.kappa = [0, 0.5]",
        )
        .unwrap();
        let settings: Vec<String> = points.iter().map(|point| format!("{:?}", point.settings)).collect();
        assert_eq!(points.len(), 4);
        assert!(
            settings[0].contains("pavg")
                && settings[1].contains("pavg")
                && settings[2].contains("fedsvrpg-m, beta 0.5")
        );
        assert_eq!(points[3].settings[1], ("environment.agents.kappa".to_string(), Json::from(0.5)));
        assert_eq!(points[3].experiment.algorithm.name(), "fedsvrpg-m");
        assert_eq!(points[0].experiment.algorithm.name(), "pavg");
    }

    #[test]
    fn the_text_that_is_written_has_the_same_points() {
        let sweep = "[sweep]\nalgorithm = [{ name = \"pavg\" }, { name = \"fedsvrpg-m\", beta = 0.5 }]\n\
                     \"algorithm.local_step_size\" = [0.02, 0.01]\nenvironment.agents.kappa = [0, 0.5]";
        let source = Source::parse("x.toml", &format!("{TEXT}\n{sweep}")).unwrap();
        let again = Source::parse("x.toml", &source.to_toml().unwrap()).unwrap();
        let settings =
            |source: Source| source.points().unwrap().into_iter().map(|point| point.settings).collect::<Vec<_>>();
        assert_eq!(settings(source), settings(again));
    }

    #[test]
    fn a_sweep_that_makes_no_sense_says_what_was_expected() {
        let error = |sweep: &str| points(sweep).unwrap_err();
        assert!(
            error("[sweep]\n\"algorithm.name\" = \"pavg\"")
                .contains("x.toml: sweep.algorithm.name: expected keys with lists")
        );
        assert!(
            error("[sweep]\n\"algorithm.beta\" = [1]\nalgorithm.beta = [2]")
                .contains("sweep.algorithm.beta: is given twice")
        );
        assert!(error("[sweep]\nalgorithm.beta = [0.1, 0.2, 0.1]").contains("has the value 0.1 twice"));
        assert!(error("[sweep]\ntraining.seed = [1, 2]").contains("cannot be swept"));
        assert!(error("[sweep]").contains("x.toml: sweep: expected keys with lists"));
        assert!(error("[sweep]\n\"algorithm.name\" = []").contains("expected keys with lists of values"));
        assert!(error("[sweep]\n\"algorithm.name\" = [\"pav\"]").contains("did you mean `pavg`?"));
        assert!(error("[sweep]\n\"algorithm..name\" = [\"pavg\"]").contains("x.toml: sweep.algorithm..name"));
        assert!(error("[sweep]\ntrainin.rounds = [1]").contains("unknown section `trainin`"));
    }
}
