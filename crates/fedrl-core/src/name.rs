//! Helping someone who misspelt a name.

/// The candidate nearest to `name`, if one is near enough to be what was meant.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// One sentence for an unknown name: the nearest valid one when there is one, and all of them.
///
/// ```
/// let message = fedrl_core::unknown_name("environment", "Cartpole", &["CartPole-v1"]);
/// assert_eq!(message, "unknown environment `Cartpole`; did you mean `CartPole-v1`? (known: CartPole-v1)");
/// ```
pub fn unknown_name(what: &str, name: &str, known: &[&str]) -> String {
    let suggestion = match nearest(name, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    format!("unknown {what} `{name}`{suggestion} (known: {})", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_name_and_nonsense_finds_none() {
        let known = ["length", "pole_length", "masspole"];
        assert_eq!(nearest("lenght", known), Some("length"));
        assert_eq!(nearest("mass_pole", known), Some("masspole"));
        assert_eq!(nearest("xyzzy", known), None);
    }
}
