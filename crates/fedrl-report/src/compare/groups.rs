//! Which runs are one experiment with several seeds, and what to call each experiment.

use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// A resolved experiment without its seed and without what others report of it: `section.key` to the value as TOML writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings(BTreeMap<String, String>);

impl Settings {
    pub(super) fn new(experiment: &Table) -> Self {
        let mut settings = BTreeMap::new();
        flatten("", experiment, &mut settings);
        settings.retain(|key, _| key != "training.seed" && !key.starts_with("published."));
        Settings(settings)
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    fn algorithm(&self) -> Option<&str> {
        self.get(ALGORITHM_NAME)
    }
}

const ALGORITHM_NAME: &str = "algorithm.name";

/// Lists and inline tables in lists are values; other tables are taken apart.
fn flatten(prefix: &str, table: &Table, into: &mut BTreeMap<String, String>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(inner) if !inner.is_empty() => flatten(&key, inner, into),
            value => {
                into.insert(key, value.to_string());
            }
        }
    }
}

/// The places of equal settings, in the order of their first appearance.
pub(super) fn group<'a>(all: impl Iterator<Item = &'a Settings>) -> Vec<Vec<usize>> {
    let mut groups: Vec<(&Settings, Vec<usize>)> = Vec::new();
    for (index, settings) in all.enumerate() {
        match groups.iter_mut().find(|(known, _)| *known == settings) {
            Some((_, members)) => members.push(index),
            None => groups.push((settings, vec![index])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}

/// A name for each of several different settings: the algorithm's, and `key=value` for what else
/// distinguishes it. Keys of `[algorithm]` are told where settings of the same algorithm differ
/// in them, as those of two algorithms mean different things; other keys where any settings
/// differ. A key is as short as it can be without being taken for another one. Different settings
/// have different labels.
pub(super) fn labels(groups: &[&Settings]) -> Vec<String> {
    let keys: BTreeSet<&str> = groups.iter().flat_map(|settings| settings.0.keys()).map(String::as_str).collect();
    let told = |settings: &Settings, key: &str| {
        let own = key.starts_with("algorithm.");
        let rivals = groups.iter().filter(|other| !own || other.algorithm() == settings.algorithm());
        key != ALGORITHM_NAME && rivals.into_iter().any(|other| other.get(key) != settings.get(key))
    };
    let label = |settings: &&Settings| {
        let mut label = settings.algorithm().map_or_else(String::new, bare);
        for key in keys.iter().filter(|key| told(settings, key)) {
            if let Some(value) = settings.get(key) {
                label += &format!(" {}={}", shortest(key, &keys), bare(value));
            }
        }
        label
    };
    groups.iter().map(label).collect()
}

/// A string without its quotes, any other value as it is.
fn bare(value: &str) -> String {
    value.trim_matches('"').to_string()
}

/// The shortest end of the dotted `key` that no other key has.
fn shortest<'a>(key: &'a str, keys: &BTreeSet<&str>) -> &'a str {
    let ends =
        |other: &str, end: &str| other.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let starts = key.match_indices('.').map(|(dot, _)| dot + 1).collect::<Vec<_>>().into_iter().rev();
    let mut suffixes = starts.map(|start| &key[start..]);
    suffixes.find(|end| keys.iter().filter(|other| ends(other, end)).count() == 1).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn settings(text: &str) -> Settings {
        Settings::new(&text.parse().unwrap())
    }

    fn labels_of(texts: &[&str]) -> Vec<String> {
        let all: Vec<Settings> = texts.iter().map(|text| settings(text)).collect();
        labels(&all.iter().collect::<Vec<_>>())
    }

    #[test]
    fn the_seed_and_the_order_of_keys_do_not_matter() {
        let one = settings("training = { rounds = 5, seed = 1 }\nagents = { count = 3 }");
        let other = settings("agents = { count = 3 }\ntraining = { seed = 2, rounds = 5 }");
        let longer = settings("agents = { count = 3 }\ntraining = { seed = 2, rounds = 6 }");
        assert_eq!(group([&one, &longer, &other].into_iter()), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn one_group_is_called_by_its_algorithm() {
        assert_eq!(labels_of(&["algorithm = { name = \"a\", beta = 0.5 }"]), ["a"]);
    }

    #[test]
    fn the_algorithm_is_enough_where_its_own_keys_differ() {
        assert_eq!(
            labels_of(&[
                "algorithm = { name = \"a\", beta = 0.5, eta = 1.0 }",
                "algorithm = { name = \"b\", eta = 2.0 }"
            ]),
            ["a", "b"]
        );
    }

    #[test]
    fn keys_that_differ_within_an_algorithm_are_told() {
        assert_eq!(
            labels_of(&[
                "algorithm = { name = \"a\", beta = 0.2, eta = 1.0 }",
                "algorithm = { name = \"b\", beta = 0.9, eta = 1.0 }",
                "algorithm = { name = \"a\", beta = 0.5, eta = 1.0, advantage = \"standardised\" }",
            ]),
            ["a beta=0.2", "b", "a advantage=standardised beta=0.5"]
        );
    }

    #[test]
    fn other_keys_are_told_even_between_algorithms() {
        assert_eq!(
            labels_of(&[
                "algorithm = { name = \"a\" }\npolicy = { hidden = [4] }",
                "algorithm = { name = \"b\" }\npolicy = { hidden = [8, 8] }",
            ]),
            ["a hidden=[4]", "b hidden=[8, 8]"]
        );
    }

    #[test]
    fn a_key_that_could_be_another_one_is_longer() {
        let text = |agents: u32, rounds: u32| {
            format!(
                "algorithm = {{ name = \"a\" }}\nagents = {{ count = {agents} }}\ntraining = {{ rounds = {rounds} }}\n\
                 environment = {{ interpolation = {{ length = {{ count = 5 }} }}, discount = 1 }}"
            )
        };
        assert_eq!(
            labels_of(&[&text(3, 10), &text(4, 20)]),
            ["a agents.count=3 rounds=10", "a agents.count=4 rounds=20"]
        );
    }
}
