//! A folder of runs: one experiment under several seeds.

use std::path::{Path, PathBuf};

use anyhow::Result;
use fedrl_engine::Engine;
use fedrl_envs::Instance;
use fedrl_eval::adapt::{VariantAdaptation, VariantOverRuns, over_runs};
use fedrl_train::{Batch, RunDirectory};
use serde::Serialize;

use super::request::Request;
use super::{Line, Run, write};
use crate::commands::family::runs_of;
use crate::exit::Usage;
use crate::output::Output;

/// What the runs of a folder came to: `adapt/SET.json` in it, and a line of `--json` with its path.
#[derive(Debug, Serialize)]
pub(super) struct FolderRecord {
    /// The set of variants.
    pub(super) on: String,
    /// The runs.
    pub(super) runs: Vec<RunName>,
    /// Environment steps of every new agent.
    pub(super) steps: u32,
    /// New agents for each variant and beginning in every run.
    pub(super) seeds: u32,
    /// The return to reach.
    pub(super) threshold: f64,
    /// Variant by variant, means over the runs.
    pub(super) variants: Vec<VariantOverRuns>,
}

/// A run of a folder.
#[derive(Debug, Serialize)]
pub(super) struct RunName {
    /// The name of its directory.
    pub(super) name: String,
    /// The checkpoint's round.
    pub(super) round: u32,
}

/// The runs in a folder of one experiment's runs; nothing if `path` is one run, or a batch that keeps none.
///
/// # Errors
/// It is neither, or the folder holds several experiments, or no run yet.
pub(super) fn runs(path: &Path) -> Result<Option<Vec<PathBuf>>> {
    let source = RunDirectory::open(path)?.source()?;
    if !source.is_batch() || Batch::fits(&source)? {
        return Ok(None);
    }
    let path_name = path.display();
    if source.points()?.len() > 1 {
        let expected = "`adapt` expects one run, or a folder of one experiment's seeds";
        return Err(Usage(format!("{path_name} holds runs of several experiments; {expected}")).into());
    }
    let runs = runs_of(&[path.into()])?;
    if runs.is_empty() {
        return Err(Usage(format!("{path_name} holds no run yet; train it with `fedrl resume {path_name}`")).into());
    }
    Ok(Some(runs))
}

/// Adapts every run, once all of them are known to be fit for it, and puts together what comes out.
pub(super) fn adapt(
    path: &Path,
    runs: &[PathBuf],
    request: &Request,
    engine: &Engine<f32>,
    output: Output,
) -> Result<()> {
    let directory = RunDirectory::open(path)?;
    let runs = runs.iter().map(|run| Run::read(run, request)).collect::<Result<Vec<_>>>()?;
    refuse_different_variants(&runs)?;

    let mut adapted: Vec<Vec<VariantAdaptation>> = Vec::with_capacity(runs.len());
    for run in &runs {
        let record = run.adapt(request, engine)?;
        output.note(format!("adapted {} ({} of {})", run.directory.path().display(), adapted.len() + 1, runs.len()));
        output.value(&run.line(&record))?;
        adapted.push(record.variants);
    }
    // There is a run, and in what is asked for all of them are alike.
    let Run { on, threshold, trained, .. } = &runs[0];
    let checkpoint = match request.args.checkpoint.as_str() {
        // Every run has its own.
        "best" => "best".into(),
        _ => format!("round-{:06}", trained.round),
    };
    let record = FolderRecord {
        on: on.clone(),
        runs: runs.iter().map(|run| RunName { name: run.name(), round: run.trained.round }).collect(),
        steps: request.args.steps,
        seeds: request.args.seeds,
        threshold: *threshold,
        variants: over_runs(&adapted),
    };
    write(&directory, &request.file(on, &checkpoint), &record)?;
    output.text(record.text())?;
    output.value(&Line { run: path.display().to_string(), record: &record })?;
    Ok(())
}

/// Refuses runs whose variants are not the same: a mean over them would be of nothing in particular.
fn refuse_different_variants(runs: &[Run]) -> Result<(), Usage> {
    let variants = |run: &Run| run.instances.iter().map(Instance::given).cloned().collect::<Vec<_>>();
    let different = runs.windows(2).find(|pair| variants(&pair[0]) != variants(&pair[1]));
    different.map_or(Ok(()), |pair| {
        let (on, one, other) = (&pair[0].on, pair[0].name(), pair[1].name());
        Err(Usage(format!(
            "the variants of `{on}` in {one} and {other} are not the same, as their seeds draw them; expected a set of \
             fixed values: name one with --on, or adapt one run after the other"
        )))
    })
}

impl Run {
    /// The name of its directory.
    fn name(&self) -> String {
        let path = self.directory.path();
        path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
    }
}
