//! `fedrl`: train a policy over agents whose environments differ, resume, evaluate, adapt, measure,
//! play, report, compare.
//!
//! Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 failed, 2 bad usage or
//! bad configuration, 3 damaged data, 130 interrupted after a checkpoint.

mod args;
mod commands;
mod exit;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Train(args) => commands::train::train(&args),
        Command::Resume(args) => commands::train::resume(&args),
        Command::Eval(args) => commands::eval::run(&args),
        Command::Adapt(args) => commands::adapt::run(&args),
        Command::Personalisation(args) => commands::personalisation::run(&args),
        Command::Play(args) => commands::play::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Env(args) => commands::env::run(&args.command),
        Command::Bench(args) => commands::bench::run(&args.command),
        Command::Doctor(args) => commands::doctor::run(&args),
    };
    exit::code(result)
}
