//! `fedrl train` and `fedrl resume` for many runs at once.

use anyhow::{Context, Result};
use fedrl_engine::DeviceChoice;
use fedrl_report::sweep::{Pivot, Sweep};
use fedrl_train::{Batch, Manifest, RunDirectory, Source};
use serde_json::json;

use super::train::{now, stop_on_interrupt, unused};
use crate::args::{ResumeArgs, TrainArgs};
use crate::exit::{Done, Usage};
use crate::output::{Output, table};
use crate::progress::Counter;

/// Runs a batch into a new directory.
pub fn train(args: &TrainArgs, source: Source) -> Result<Done> {
    check_device(&args.device)?;
    let config = source.to_toml()?;
    let batch = Batch::new(source)?;
    let path = args.out.clone().unwrap_or_else(|| unused(&args.config));
    let manifest = Manifest {
        fedrl_version: env!("CARGO_PKG_VERSION").into(),
        git_revision: env!("FEDRL_GIT_REVISION").into(),
        device_choice: "cpu".into(),
        device: "cpu".into(),
        driver: "tables, f64".into(),
        started: now(),
        finished: None,
    };
    let directory = RunDirectory::create(&path, &config, &manifest)?;
    run(&directory, &batch, manifest, args.output.into())
}

/// Tables are walked on the CPU.
fn check_device(device: &str) -> Result<()> {
    match device.parse()? {
        DeviceChoice::Auto | DeviceChoice::Cpu => Ok(()),
        _ => Err(Usage(format!("--device {device}: tabular runs are made on the CPU, expected auto or cpu")).into()),
    }
}

/// Goes on with a batch.
pub fn resume(args: &ResumeArgs, directory: &RunDirectory, source: Source) -> Result<Done> {
    if args.from.is_some() {
        let path = directory.path().display();
        return Err(
            Usage(format!("--from: {path} is a batch of runs; it goes on after the last run that is done")).into()
        );
    }
    args.device.as_deref().map_or(Ok(()), check_device)?;
    let batch = Batch::new(source)?;
    let mut manifest = directory.manifest()?;
    if manifest.finished.is_none() {
        manifest.fedrl_version = env!("CARGO_PKG_VERSION").into();
        manifest.git_revision = env!("FEDRL_GIT_REVISION").into();
    }
    run(directory, &batch, manifest, args.output.into())
}

fn run(directory: &RunDirectory, batch: &Batch, mut manifest: Manifest, output: Output) -> Result<Done> {
    let path = directory.path().display();
    output.note(format!("{} in {path}", batch.describe()));
    let stop = stop_on_interrupt(output)?;
    let mut counter = Counter::new(output);
    let done = batch.run(directory, &mut |progress| counter.show(progress), &stop);
    counter.finish();
    if !done.with_context(|| format!("running {path}"))? {
        output.note(format!("stopped; continue with: fedrl resume {path}"));
        return Ok(Done::Interrupted);
    }
    manifest.finished.get_or_insert_with(now);
    directory.write_manifest(&manifest)?;
    report(directory, output)?;
    Ok(Done::Complete)
}

/// Writes the report and prints its tables.
pub fn report(directory: &RunDirectory, output: Output) -> Result<()> {
    let sweep = Sweep::read(directory.path())?;
    let report = sweep.write(directory.path())?;
    let pivots = sweep.pivots();
    for Pivot { title, header, rows, labels } in &pivots {
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        output.text(format!("\n{title}: mean ± standard error\n{}", table(&header, rows.clone(), *labels)))?;
    }
    output.text(format!("\nreport  {}", report.display()))?;
    output.value(&json!({
        "run": directory.path().display().to_string(),
        "runs": sweep.runs(),
        "tables": pivots,
        "report": report.display().to_string(),
    }))?;
    Ok(())
}
