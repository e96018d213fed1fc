//! What is wrong with an experiment's file, for the person who wrote it.

use fedrl_core::unknown_name;

/// One clear sentence: where, what, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct ConfigError {
    /// File, and key within it.
    pub place: String,
    /// What is wrong and what was expected.
    pub problem: String,
}

impl ConfigError {
    /// The `problem` of `key` in `file`.
    pub fn at(file: &str, key: &str, problem: impl ToString) -> Self {
        let place = if key.is_empty() || key == "." { file.to_string() } else { format!("{file}: {key}") };
        ConfigError { place, problem: explain(&problem.to_string()) }
    }
}

/// serde's words for an unknown or a missing key, in ours, with the nearest valid name.
fn explain(message: &str) -> String {
    let message = message.trim();
    let quoted = |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_string).collect() };
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let names = quoted(rest);
        if let Some((name, known)) = names.split_first() {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return unknown_name("key", name, &known);
        }
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let names = quoted(rest);
        if let Some((name, known)) = names.split_first() {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return unknown_name("value", name, &known);
        }
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        return format!("the key {} is missing", rest.trim());
    }
    in_plain_words(message)
}

/// serde's names of types in words for people.
fn in_plain_words(message: &str) -> String {
    let words = [
        ("expected u32", "expected a whole number >= 0"),
        ("expected u64", "expected a whole number >= 0"),
        ("expected usize", "expected a whole number >= 0"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected a list"),
    ];
    match words.iter().find(|(technical, _)| message.ends_with(technical)) {
        Some((technical, plain)) => format!("{}{plain}", &message[..message.len() - technical.len()]),
        None => message.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serde_messages_become_advice() {
        let error = ConfigError::at("a.toml", "training", "unknown field `round`, expected one of `rounds`, `seed`");
        assert_eq!(
            error.to_string(),
            "a.toml: training: unknown key `round`; did you mean `rounds`? (known: rounds, seed)"
        );
        let error = ConfigError::at("a.toml", "agents.count", "invalid value: integer `-6`, expected usize");
        assert_eq!(
            error.to_string(),
            "a.toml: agents.count: invalid value: integer `-6`, expected a whole number >= 0"
        );
        let error = ConfigError::at("a.toml", "agents", "missing field `count`");
        assert_eq!(error.to_string(), "a.toml: agents: the key `count` is missing");
    }
}
