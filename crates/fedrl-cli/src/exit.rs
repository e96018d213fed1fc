//! From results to exit codes.

use std::process::ExitCode;

use anyhow::Error;
use fedrl_engine::DeviceError;
use fedrl_play::PlayError;
use fedrl_report::ReportError;
use fedrl_train::{CheckpointError, ConfigError, RunError, TrainError};

/// How a command ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It did what it was asked for.
    Complete,
    /// It was asked to stop and can be resumed.
    Interrupted,
}

/// What the user typed or wrote is wrong: exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Says what went wrong, if anything did, and gives the code to exit with.
#[allow(clippy::print_stderr, reason = "the one place where errors reach people")]
pub fn code(result: anyhow::Result<Done>) -> ExitCode {
    match result {
        Ok(Done::Complete) => ExitCode::SUCCESS,
        Ok(Done::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(classify(&error))
        }
    }
}

fn classify(error: &Error) -> u8 {
    let run = |error: &RunError| match error {
        RunError::Checkpoint { error: CheckpointError::Unreadable { .. }, .. }
        | RunError::Io(_)
        | RunError::Busy(_) => 1,
        RunError::Checkpoint { .. } | RunError::Damaged { .. } => 3,
        _ => 2,
    };
    for cause in error.chain() {
        if cause.is::<Usage>() || cause.is::<ConfigError>() || cause.is::<DeviceError>() {
            return 2;
        }
        if let Some(ReportError::Incomparable(_)) = cause.downcast_ref() {
            return 2;
        }
        if cause.downcast_ref::<PlayError>().is_some_and(|error| !matches!(error, PlayError::Encode(_))) {
            return 2;
        }
        match cause.downcast_ref::<TrainError>() {
            Some(TrainError::Run(error)) => return run(error),
            Some(TrainError::Checkpoint(_)) => return 3,
            _ => {}
        }
        if let Some(error) = cause.downcast_ref::<RunError>() {
            return run(error);
        }
    }
    1
}
