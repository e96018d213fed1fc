//! How well policies are fitted to the agents whose they are, as `fedrl personalisation` found.

use crate::ReportError;
use crate::run::read_json;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// `personalisation.json`. Numbers that were not finite are `None`.
#[derive(Deserialize)]
pub(crate) struct Personalisation {
    /// After which round.
    pub(crate) round: u64,
    /// Greedy episodes of each agent.
    pub(crate) episodes: u64,
    pub(crate) worst: WorstError,
    pub(crate) agents: Vec<ValueError>,
    pub(crate) similarity: Similarity,
}

/// The greatest error of any agent.
#[derive(Deserialize)]
pub(crate) struct WorstError {
    pub(crate) agent: usize,
    pub(crate) error: Option<f64>,
    /// The 95 % interval, to `high`.
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// An agent's action values beside what its policy earns.
#[derive(Deserialize)]
pub(crate) struct ValueError {
    pub(crate) agent: usize,
    pub(crate) parameters: BTreeMap<String, f64>,
    pub(crate) value: Option<f64>,
    pub(crate) estimate: Option<f64>,
    pub(crate) error: Option<f64>,
    /// The 95 % interval of the error, to `high`.
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// Cosines between agents.
pub(crate) type Cosines = Vec<Vec<Option<f64>>>;

/// How alike agents are, `[agents, agents]` each.
#[derive(Deserialize)]
pub(crate) struct Similarity {
    pub(crate) environments: Cosines,
    pub(crate) heads: Cosines,
    pub(crate) shared: Cosines,
    pub(crate) rank_correlation: Option<f64>,
}

/// Reads the file, which is there if the command was given.
pub(crate) fn read(run: &Path) -> Result<Option<Personalisation>, ReportError> {
    let expected = "what `fedrl personalisation` writes: round, episodes, worst, agents, similarity";
    read_json(&run.join("personalisation.json"), expected)
}
