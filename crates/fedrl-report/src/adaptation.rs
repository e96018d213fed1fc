//! What `fedrl adapt` found: how soon new agents learn in variants that nobody trained in.

use crate::ReportError;
use crate::run::read_json;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// One file of `adapt/`.
#[derive(Deserialize)]
pub(crate) struct Adaptation {
    /// The name of its file, without the extension.
    #[serde(skip)]
    pub(crate) name: String,
    /// The set of variants.
    pub(crate) on: String,
    /// After which round.
    pub(crate) round: u64,
    /// Environment steps of every new agent.
    pub(crate) steps: u64,
    /// New agents for each variant and beginning.
    pub(crate) seeds: u64,
    /// The return to reach.
    pub(crate) threshold: f64,
    pub(crate) variants: Vec<Variant>,
}

/// Adaptation to one variant.
#[derive(Deserialize)]
pub(crate) struct Variant {
    pub(crate) parameters: BTreeMap<String, f64>,
    pub(crate) few_shot: Vec<FewShot>,
}

/// What became of the new agents that began alike.
#[derive(Deserialize)]
pub(crate) struct FewShot {
    /// What they began with: nearest, fresh or scratch.
    pub(crate) beginning: String,
    /// Whether only the head was updated.
    pub(crate) frozen: bool,
    pub(crate) curve: Vec<Point>,
}

/// A point of a few-shot curve; numbers that were not finite are `None`.
#[derive(Deserialize)]
pub(crate) struct Point {
    /// Environment steps.
    pub(crate) steps: f64,
    /// The mean return over the new agents.
    pub(crate) mean: Option<f64>,
    /// The 95 % interval of the mean, to `high`.
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// Reads every JSON file of the folder `adapt` in the order of their names; there need not be one.
pub(crate) fn read(adapt: &Path) -> Result<Vec<Adaptation>, ReportError> {
    let expected = "a folder of adaptations";
    let entries = match std::fs::read_dir(adapt) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.and_then(Iterator::collect::<Result<Vec<_>, _>>),
    };
    let entries = entries.map_err(|source| ReportError::Read { path: adapt.into(), expected, source })?;
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let adaptation: Option<Adaptation> =
            read_json(&path, "an adaptation: on, round, steps, seeds, threshold, variants with few-shot curves")?;
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        found.extend(adaptation.map(|adaptation| Adaptation { name, ..adaptation }));
    }
    Ok(found)
}

impl Variant {
    /// The variant by the parameters that were set.
    pub(crate) fn name(&self) -> String {
        let parameters = self.parameters.iter().map(|(name, value)| format!("{name} {}", crate::format::plain(*value)));
        let name = parameters.collect::<Vec<_>>().join(", ");
        if name.is_empty() { "nominal".into() } else { name }
    }
}
