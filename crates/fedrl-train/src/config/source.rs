//! From text to an [`Experiment`].

use std::path::Path;

use fedrl_algos::AlgorithmConfig;
use fedrl_core::unknown_name;
use fedrl_envs::VariantSet;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::{ConfigError, EvaluationConfig, Experiment, PublishedConfig};

/// The text of an experiment, its sections not yet understood.
#[derive(Debug, Clone)]
pub struct Source {
    pub(super) name: String,
    pub(super) table: Table,
}

/// A key of a table, there or not.
struct Slot<'a> {
    table: &'a mut Table,
    last: &'a str,
}

impl Slot<'_> {
    fn replace(self, value: Value) {
        self.table.insert(self.last.to_string(), value);
    }
}

/// The greatest count accepted: beyond it a typing error is likelier than an intention.
const MOST: usize = 1_000_000;

/// The last seed: up to here every one is a number of its own in f64, as parameters are.
const LAST_SEED: u64 = 1 << 53;

const SECTIONS: [&str; 7] = ["environment", "agents", "policy", "algorithm", "training", "evaluation", "published"];

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is not TOML; the line is shown.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::at(&name, "", format!("cannot read it: {error}; expected a TOML file")))?;
        Self::parse(&name, &text)
    }

    /// Parses `text`, called `name` in messages.
    ///
    /// # Errors
    /// It is not TOML; the line is shown.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let table = text.parse::<Table>().map_err(|error| ConfigError::at(name, "", error))?;
        Ok(Source { name: name.to_string(), table })
    }

    /// Sets `a.b=c`, c being TOML or else a plain string.
    ///
    /// # Errors
    /// No `=`, an empty key, or a key inside something that is no table.
    pub fn set(&mut self, assignment: &str) -> Result<(), ConfigError> {
        let place = format!("--set {assignment}");
        let error = |problem: &str| ConfigError::at(&place, "", problem);
        let (key, value) =
            assignment.split_once('=').ok_or_else(|| error("expected key=value, as in training.rounds=20"))?;
        let value = match format!("value = {value}").parse::<Table>() {
            Ok(mut table) if table.len() == 1 => table.remove("value").unwrap_or_else(|| Value::String(value.into())),
            _ => Value::String(value.trim().to_string()),
        };
        self.put(key.trim(), &place, |slot| slot.replace(value))
    }

    /// Lays `value` over what is at `a.b`: a table adds its entries to the one that is there, anything
    /// else takes its place. `place` names the value in messages.
    pub(super) fn lay(&mut self, key: &str, value: Value, place: &str) -> Result<(), ConfigError> {
        self.put(key, place, |slot| match (slot, value) {
            (Slot { table, last }, Value::Table(over)) if table.get(last).is_some_and(Value::is_table) => {
                if let Some(Value::Table(under)) = table.get_mut(last) {
                    under.extend(over);
                }
            }
            (slot, value) => slot.replace(value),
        })
    }

    /// Finds the place `a.b`, making the tables on the way to it.
    fn put(&mut self, key: &str, place: &str, fill: impl FnOnce(Slot)) -> Result<(), ConfigError> {
        let error = |problem: &str| ConfigError::at(place, "", problem);
        let path: Vec<&str> = key.split('.').map(|part| part.trim_matches('"')).collect();
        let Some((last, parents)) = path.split_last().filter(|_| path.iter().all(|part| !part.is_empty())) else {
            return Err(error("expected key=value, as in training.rounds=20"));
        };
        let mut table = &mut self.table;
        for parent in parents {
            let inner = table.entry(*parent).or_insert_with(|| Value::Table(Table::new()));
            table = inner.as_table_mut().ok_or_else(|| error(&format!("`{parent}` is a value, not a table")))?;
        }
        fill(Slot { table, last });
        Ok(())
    }

    /// Makes the paths in the text absolute, so that a run can be resumed from another directory.
    ///
    /// # Errors
    /// A path that has none.
    pub fn make_paths_absolute(&mut self) -> Result<(), ConfigError> {
        let name = self.name.clone();
        let Some(Value::Table(policy)) = self.table.get_mut("policy") else { return Ok(()) };
        if let Some(Value::String(path)) = policy.get_mut("initial") {
            let absolute = std::path::absolute(&*path)
                .map_err(|error| ConfigError::at(&name, "policy.initial", format!("{path}: {error}")))?;
            *path = absolute.display().to_string();
        }
        Ok(())
    }

    /// The experiment that the text describes.
    ///
    /// # Errors
    /// Anything unknown, missing, of the wrong type or out of range.
    pub fn experiment(mut self) -> Result<Experiment, ConfigError> {
        if let Some(name) = self.table.keys().find(|name| !SECTIONS.contains(&name.as_str())) {
            return Err(ConfigError::at(&self.name, "", unknown_name("section", name, &SECTIONS)));
        }
        let experiment = Experiment {
            environment: self.section("environment")?,
            agents: self.section("agents")?,
            policy: self.optional("policy")?,
            algorithm: self.algorithm()?,
            training: self.section("training")?,
            evaluation: self.optional::<EvaluationConfig>("evaluation")?,
            published: self.table.contains_key("published").then(|| self.section("published")).transpose()?,
        };
        self.check(&experiment)?;
        Ok(experiment)
    }

    /// The name of the text in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn take(&mut self, name: &str) -> Result<Table, ConfigError> {
        match self.table.remove(name) {
            Some(Value::Table(table)) => Ok(table),
            Some(other) => {
                let problem = format!("is of type {}, expected a section [{name}]", other.type_str());
                Err(ConfigError::at(&self.name, name, problem))
            }
            None => Err(ConfigError::at(&self.name, "", format!("the section [{name}] is missing"))),
        }
    }

    fn section<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, ConfigError> {
        let table = self.take(name)?;
        serde_path_to_error::deserialize(table).map_err(|error| self.explain(name, &error))
    }

    fn optional<T: DeserializeOwned + Default>(&mut self, name: &str) -> Result<T, ConfigError> {
        if self.table.contains_key(name) { self.section(name) } else { Ok(T::default()) }
    }

    fn algorithm(&mut self) -> Result<AlgorithmConfig, ConfigError> {
        let section = "algorithm";
        let mut table = self.take(section)?;
        let name = match table.remove("name") {
            Some(Value::String(name)) => name,
            Some(other) => {
                return Err(ConfigError::at(&self.name, "algorithm.name", format!("is {other}, expected a string")));
            }
            None => return Err(ConfigError::at(&self.name, section, "missing field `name`")),
        };
        let mut track = serde_path_to_error::Track::new();
        let keys = serde_path_to_error::Deserializer::new(table, &mut track);
        match AlgorithmConfig::read(&name, keys) {
            None => {
                let problem = unknown_name("algorithm", &name, &AlgorithmConfig::NAMES);
                Err(ConfigError::at(&self.name, "algorithm.name", problem))
            }
            Some(Ok(config)) => Ok(config),
            Some(Err(error)) => Err(self.explain(section, &serde_path_to_error::Error::new(track.path(), error))),
        }
    }

    fn explain(&self, section: &str, error: &serde_path_to_error::Error<toml::de::Error>) -> ConfigError {
        let path = error.path().to_string();
        let key = if path == "." { section.to_string() } else { format!("{section}.{path}") };
        // TOML spans are those of single values here; the key says where better.
        ConfigError::at(&self.name, &key, error.inner().message())
    }

    /// What single sections cannot check of themselves.
    fn check(&self, experiment: &Experiment) -> Result<(), ConfigError> {
        let fail = |key: &str, problem: String| Err(ConfigError::at(&self.name, key, problem));
        if let Err(invalid) = experiment.algorithm.validate() {
            let problem = format!("is {}, expected {}", invalid.value, invalid.expected);
            return fail(&format!("algorithm.{}", invalid.key), problem);
        }
        let counts = [
            ("agents.count", experiment.agents.count),
            ("training.rounds", experiment.training.rounds as usize),
            ("training.runs", experiment.training.runs as usize),
            ("training.checkpoint_every", experiment.training.checkpoint_every as usize),
            ("training.keep_checkpoints", experiment.training.keep_checkpoints),
            ("evaluation.episodes", experiment.evaluation.episodes),
            ("environment.max_episode_steps", experiment.environment.max_episode_steps.unwrap_or(1)),
        ];
        if let Some((key, count)) = counts.iter().find(|(_, count)| !(1..=MOST).contains(count)) {
            return fail(key, format!("is {count}, expected a whole number from 1 to {MOST}"));
        }
        let (seed, runs) = (experiment.training.seed, u64::from(experiment.training.runs));
        if seed > LAST_SEED - (runs - 1) {
            return fail("training.seed", format!("is {seed}, expected seeds up to {LAST_SEED}"));
        }
        if let Some((key, problem)) = experiment.published.as_ref().and_then(PublishedConfig::problem) {
            return fail(key, problem);
        }
        if experiment.published.is_some() && !experiment.algorithm.learns_values() {
            let problem = "is compared with the agents' last episodes, which only algorithms that learn values record";
            return fail("published", problem.into());
        }
        let (participation, agents) = (experiment.agents.participation, experiment.agents.count);
        if !(participation > 0.0 && participation <= 1.0) {
            return fail("agents.participation", format!("is {participation}, expected a number in (0, 1]"));
        }
        if fedrl_federation::Participation::count(participation, agents) == 0 {
            let problem = format!(
                "is {participation}, which selects none of the {agents} agents; expected at least {:.4}",
                0.5 / agents as f64
            );
            return fail("agents.participation", problem);
        }
        Ok(())
    }
}

/// Reads a set of variants from a file of its own: families by parameter, as in
/// `[environment] interpolation`.
///
/// # Errors
/// It cannot be read or understood.
pub fn variant_set_from_file(path: &Path) -> Result<VariantSet, ConfigError> {
    let source = Source::read(path)?;
    serde_path_to_error::deserialize(source.table)
        .map_err(|error| ConfigError::at(&source.name, &error.path().to_string(), error.inner().message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = r#"
        [environment]
        id = "CartPole-v1"
        agents = { length = { linspace = [0.3, 0.7] } }
        [agents]
        count = 10
        [algorithm]
        name = "fedsvrpg-m"
        beta = 0.2
        local_steps = 10
        local_step_size = 0.01
        global_step_size = 0.1
        discount = 0.99
        horizon = 200
        [training]
        rounds = 100
    "#;

    fn read(settings: &[&str]) -> Result<Experiment, String> {
        let mut source = Source::parse("x.toml", MINIMAL).map_err(|error| error.to_string())?;
        for setting in settings {
            source.set(setting).map_err(|error| error.to_string())?;
        }
        source.experiment().map_err(|error| error.to_string())
    }

    fn refused(settings: &[&str]) -> String {
        read(settings).unwrap_err()
    }

    #[test]
    fn defaults_are_filled_in_and_the_resolved_file_reads_back_the_same() {
        let experiment = read(&[]).unwrap();
        assert_eq!(experiment.training.checkpoint_every, 10);
        assert_eq!(experiment.evaluation.episodes, 20);
        let resolved = experiment.to_toml().unwrap();
        assert_eq!(Source::parse("y.toml", &resolved).unwrap().experiment().unwrap(), experiment);
    }

    #[test]
    fn settings_override_the_file_and_are_checked_like_it() {
        let experiment =
            read(&["agents.count=20", "policy.hidden=[4]", "policy.activation=relu", "algorithm.batch = 3"]).unwrap();
        assert_eq!(experiment.agents.count, 20);
        assert_eq!(experiment.policy.hidden, [4]);
        assert_eq!(experiment.algorithm.batch(), 3);
        assert_eq!(
            refused(&["agents.count=0"]),
            "x.toml: agents.count: is 0, expected a whole number from 1 to 1000000"
        );
        assert!(refused(&["agents.count"]).contains("expected key=value"));
        assert!(refused(&["agents.count.x=1"]).contains("`count` is a value, not a table"));
    }

    #[test]
    fn wrong_keys_and_values_are_named_with_what_was_expected() {
        assert!(
            refused(&["training.round=1"])
                .starts_with("x.toml: training.round: unknown key `round`; did you mean `rounds`?")
        );
        assert!(
            refused(&["algorithm.bet=1"]).starts_with("x.toml: algorithm.bet: unknown key `bet`; did you mean `beta`?")
        );
        assert!(
            refused(&["algorithm.name=fedsvrpg"]).contains("unknown algorithm `fedsvrpg`; did you mean `fedsvrpg-m`?")
        );
        assert!(refused(&["trainin.rounds=1"]).contains("unknown section `trainin`; did you mean `training`?"));
        assert_eq!(refused(&["algorithm.beta=0"]), "x.toml: algorithm.beta: is 0, expected a number in (0, 1]");
        assert_eq!(refused(&["algorithm.beta=1.5"]), "x.toml: algorithm.beta: is 1.5, expected a number in (0, 1]");
        let wrong_type = refused(&["algorithm.local_steps=ten"]);
        assert!(wrong_type.starts_with("x.toml: algorithm.local_steps: invalid type: string \"ten\""), "{wrong_type}");
        assert!(refused(&["agents.participation=0.01"]).contains("selects none of the 10 agents"));
        assert!(refused(&["policy.activation=tan"]).contains("did you mean `tanh`?"));
        assert!(refused(&["environment.agents.length={linspac=[1,2]}"]).contains("did you mean `linspace`?"));
        assert!(refused(&["training=3"]).contains("expected a section [training]"));
    }

    #[test]
    fn a_syntax_error_shows_its_line() {
        let error = Source::parse("x.toml", "[agents]\ncount = = 3").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("count = = 3"), "{error}");
    }
}
