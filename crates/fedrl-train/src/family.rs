//! Many trainings of one file, each in a run directory of its own: every point of a sweep under every
//! seed.

use crate::config::{ConfigError, Experiment, Source};
use crate::setup::Setup;

/// One training of many.
#[derive(Debug, Clone)]
pub struct Member {
    /// The name of its directory: the swept values and the seed.
    pub name: String,
    /// What it trains.
    pub experiment: Experiment,
}

/// Letters of a name: file systems end at 255.
const LONGEST: usize = 150;

/// The most trainings accepted: beyond it a typing error is likelier than an intention.
const MOST: usize = 10_000;

/// Every training that a file with a `[sweep]`, or with `training.runs` above 1, describes. All of them
/// are checked.
///
/// # Errors
/// One that is no experiment, or too many.
pub fn family(source: Source) -> Result<Vec<Member>, ConfigError> {
    let file = source.name().to_string();
    let mut members: Vec<Member> = Vec::new();
    for point in source.points()? {
        let settings: Vec<String> = point.settings.iter().map(|(key, value)| setting(key, value)).collect();
        let runs = point.experiment.training.runs;
        for run in 0..u64::from(runs) {
            let mut experiment = point.experiment.clone();
            experiment.training.runs = 1;
            experiment.training.seed += run;
            let seed = format!("seed-{}", experiment.training.seed);
            let mut name = settings.iter().cloned().chain([seed]).collect::<Vec<_>>().join("_");
            if name.len() > LONGEST {
                name = format!("{}-{}_seed-{}", &name[..LONGEST], members.len(), experiment.training.seed);
            }
            // Values that look alike once they are a file's name.
            while members.iter().any(|member| member.name == name) {
                name.push('+');
            }
            Setup::new(experiment.clone(), &file)?.initial()?;
            members.push(Member { name, experiment });
            if members.len() > MOST {
                return Err(ConfigError::at(&file, "sweep", format!("makes more than {MOST} trainings")));
            }
        }
    }
    Ok(members)
}

/// `beta-0.2` for `algorithm.beta = 0.2`, in letters that every file system knows.
fn setting(key: &str, value: &serde_json::Value) -> String {
    let last = key.rsplit('.').next().unwrap_or(key);
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
    format!("{last}-{value}").chars().map(|c| if known(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWEEP: &str = r#"
        [environment]
        id = "CartPole-v1"
        [agents]
        count = 2
        [algorithm]
        name = "fedsvrpg-m"
        local_steps = 2
        local_step_size = 0.01
        global_step_size = 0.1
        discount = 0.99
        horizon = 20
        [training]
        rounds = 1
        seed = 7
        runs = 2
        [sweep]
        algorithm.beta = [0.2, 1]
        policy.hidden = [[8], [8, 8]]
    "#;

    #[test]
    fn every_point_has_every_seed_and_names_tell_them_apart() {
        let members = family(Source::parse("x.toml", SWEEP).unwrap()).unwrap();
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names.len(), 8);
        assert_eq!(names[0], "beta-0.2_hidden--8-_seed-7");
        assert_eq!(names[1], "beta-0.2_hidden--8-_seed-8");
        assert!(members.iter().all(|member| member.experiment.training.runs == 1));
        assert_eq!(members[7].experiment.policy.hidden, [8, 8]);
        let distinct: std::collections::HashSet<&str> = names.into_iter().collect();
        assert_eq!(distinct.len(), 8);
    }

    #[test]
    fn a_member_that_is_no_experiment_is_refused() {
        let text = SWEEP.replace("[0.2, 1]", "[0.2, 2]");
        let error = family(Source::parse("x.toml", &text).unwrap()).unwrap_err().to_string();
        assert!(error.contains("algorithm.beta: is 2"), "{error}");
    }
}
