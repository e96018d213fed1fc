//! `fedrl report`.

use anyhow::Result;
use fedrl_train::RunDirectory;
use serde_json::json;

use super::batch;
use super::family::runs_of;
use crate::args::ReportArgs;
use crate::exit::Done;
use crate::output::Output;

/// Writes the report of each run.
pub fn run(args: &ReportArgs) -> Result<Done> {
    let output = Output::from(args.output);
    for run in &runs_of(&args.runs)? {
        let directory = RunDirectory::open(run)?;
        if directory.source()?.is_batch() {
            batch::report(&directory, output)?;
            continue;
        }
        let report = fedrl_report::write(run)?;
        output.text(report.display().to_string())?;
        output.value(&json!({"run": run.display().to_string(), "report": report.display().to_string()}))?;
    }
    Ok(Done::Complete)
}
