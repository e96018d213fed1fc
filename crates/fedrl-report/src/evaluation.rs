//! The evaluations of the final policy on sets of environment variants.

use crate::ReportError;
use crate::run::read_json;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A set of environment variants. The order is that of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VariantSet {
    /// Those that the agents trained on.
    Agents,
    /// New ones within the trained range.
    Interpolation,
    /// New ones outside it.
    Extrapolation,
}

impl VariantSet {
    pub(crate) const ALL: [VariantSet; 3] = [VariantSet::Agents, VariantSet::Interpolation, VariantSet::Extrapolation];

    /// The name of its file in `eval/`, without the extension.
    pub(crate) fn name(self) -> &'static str {
        match self {
            VariantSet::Agents => "agents",
            VariantSet::Interpolation => "interpolation",
            VariantSet::Extrapolation => "extrapolation",
        }
    }

    /// What a reader calls it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            VariantSet::Agents => "Agents’ variants",
            VariantSet::Interpolation => "Interpolation",
            VariantSet::Extrapolation => "Extrapolation",
        }
    }
}

/// One file of `eval/`. Returns that were not finite are `None`.
#[derive(Deserialize)]
pub(crate) struct Evaluation {
    /// After which round.
    pub(crate) round: u64,
    pub(crate) variants: Vec<Variant>,
    /// Over the variants, as `worst` and `cvar`.
    pub(crate) mean: Option<f64>,
    pub(crate) worst: Option<f64>,
    /// The mean of the worst fifth.
    pub(crate) cvar: Option<f64>,
}

/// The returns on one environment variant.
#[derive(Deserialize)]
pub(crate) struct Variant {
    pub(crate) parameters: BTreeMap<String, f64>,
    pub(crate) episodes: u64,
    pub(crate) mean: Option<f64>,
    /// The 95 % interval of the mean, to `high`.
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// The evaluations that there are.
pub(crate) struct Evaluations(BTreeMap<VariantSet, Evaluation>);

/// Reads the folder `eval`; any of its files may be missing.
pub(crate) fn read(eval: &Path) -> Result<Evaluations, ReportError> {
    let mut found = BTreeMap::new();
    for set in VariantSet::ALL {
        let path = eval.join(format!("{}.json", set.name()));
        if let Some(evaluation) = read_json(&path, "an evaluation: round, variants, mean, worst, cvar")? {
            found.insert(set, evaluation);
        }
    }
    Ok(Evaluations(found))
}

impl Evaluations {
    pub(crate) fn get(&self, set: VariantSet) -> Option<&Evaluation> {
        self.0.get(&set)
    }

    /// All variants of all sets with their numbers, which count from 1 through the sets.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, VariantSet, &Variant)> {
        let variants = self.0.iter().flat_map(|(set, evaluation)| evaluation.variants.iter().map(|v| (*set, v)));
        variants.enumerate().map(|(index, (set, variant))| (index + 1, set, variant))
    }

    /// The parameter that varies over all sets together, if it is the only one and every variant
    /// has it.
    pub(crate) fn single_parameter(&self) -> Option<&str> {
        let parameters: Vec<_> = self.numbered().map(|(.., variant)| &variant.parameters).collect();
        let names: BTreeSet<&str> = parameters.iter().flat_map(|p| p.keys()).map(String::as_str).collect();
        let varies = |name: &&str| parameters.iter().any(|p| p.get(*name) != parameters[0].get(*name));
        let mut varying = names.into_iter().filter(varies);
        let name = varying.next()?;
        let alone = varying.next().is_none() && parameters.iter().all(|p| p.contains_key(name));
        alone.then_some(name)
    }
}
