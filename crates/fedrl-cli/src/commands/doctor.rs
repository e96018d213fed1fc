//! `fedrl doctor`.

use std::path::Path;

use anyhow::Result;
use fedrl_engine::{DeviceChoice, adapters, select};
use fedrl_train::{Setup, Source};
use serde_json::json;

use crate::args::{DoctorArgs, OutputArgs};
use crate::exit::Done;
use crate::output::Output;

/// Shows what can run here.
pub fn run(args: &DoctorArgs) -> Result<Done> {
    let output = Output::from(OutputArgs { json: args.json, quiet: false });
    let setup = args.config.as_deref().map(setup).transpose()?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let adapters = adapters();
    // Without an experiment the question is about one that is large enough.
    let selection = select(DeviceChoice::Auto, setup.as_ref().map_or(usize::MAX, Setup::work))?;

    output.text(format!("fedrl {} ({})", env!("CARGO_PKG_VERSION"), env!("FEDRL_GIT_REVISION")))?;
    output.text(format!("cpu      {threads} threads, burn-flex"))?;
    for (index, adapter) in adapters.iter().enumerate() {
        output.text(format!("wgpu:{index}   {adapter}"))?;
    }
    if adapters.is_empty() {
        let built = if cfg!(feature = "wgpu") { "no graphics adapter found" } else { "this build has no wgpu" };
        output.text(format!("wgpu     {built}"))?;
    }
    let question = args
        .config
        .as_deref()
        .map_or("auto, for a large experiment,".into(), |config| format!("auto for {}", config.display()));
    output.text(format!("{question} takes {}: {}", selection.name(), selection.reason))?;

    let listed: Vec<_> = adapters
        .iter()
        .enumerate()
        .map(|(i, a)| json!({"device": format!("wgpu:{i}"), "name": a.name, "api": a.api, "driver": a.driver, "software": a.software}))
        .collect();
    output.value(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "git_revision": env!("FEDRL_GIT_REVISION"),
        "threads": threads,
        "adapters": listed,
        "auto": {"device": selection.name(), "reason": selection.reason},
    }))?;
    Ok(Done::Complete)
}

fn setup(config: &Path) -> Result<Setup> {
    let source = Source::read(config)?;
    let name = source.name().to_string();
    // The points of a sweep need the same machine.
    let Some(point) = source.points()?.into_iter().next() else { unreachable!("a sweep has at least one point") };
    Ok(Setup::new(point.experiment, &name)?)
}
