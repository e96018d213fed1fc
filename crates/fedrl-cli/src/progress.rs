//! Showing how a training goes.
#![allow(clippy::print_stderr, reason = "plain progress lines where there is no terminal")]

use std::io::IsTerminal;
use std::time::Instant;

use fedrl_train::{BatchProgress, Observer, RoundMetrics};
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::Output;

/// A bar on a terminal, plain lines elsewhere, nothing when nobody listens.
pub enum Progress {
    /// On a terminal.
    Bar(ProgressBar, Speed),
    /// Elsewhere: one line every so many rounds.
    Lines(u32, Speed),
    /// Nobody listens.
    Silent,
}

/// Environment steps per second since the start.
pub struct Speed {
    started: Instant,
    steps_before: f64,
    round_before: u32,
    rounds: u32,
}

impl Progress {
    /// Progress from `round` (after `env_steps`) towards `rounds`.
    pub fn new(output: Output, round: u32, env_steps: u64, rounds: u32) -> Self {
        let speed = Speed { started: Instant::now(), steps_before: env_steps as f64, round_before: round, rounds };
        if !output.chatty() {
            return Progress::Silent;
        }
        if !std::io::stderr().is_terminal() {
            return Progress::Lines((rounds / 20).max(1), speed);
        }
        let bar = ProgressBar::new(u64::from(rounds)).with_position(u64::from(round));
        let style = ProgressStyle::with_template("{bar:30} round {pos}/{len}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress::Bar(bar, speed)
    }

    /// Leaves the terminal as it was.
    pub fn finish(self) {
        if let Progress::Bar(bar, _) = self {
            bar.abandon();
        }
    }
}

impl Speed {
    fn describe(&self, metrics: &RoundMetrics) -> String {
        let seconds = self.started.elapsed().as_secs_f64();
        let steps = metrics.number("train/env_steps").unwrap_or(0.0) - self.steps_before;
        let done = f64::from(metrics.round() - self.round_before);
        let left = f64::from(self.rounds - metrics.round()) * seconds / done;
        let eta = humantime::format_duration(std::time::Duration::from_secs(left.round() as u64));
        let mean = metrics.number("train/return_mean").unwrap_or(f64::NAN);
        let worst = metrics.number("train/return_min").unwrap_or(f64::NAN);
        format!("return {mean:.1} (worst agent {worst:.1})  {:.0} steps/s  eta {eta}", steps / seconds)
    }
}

impl Observer for Progress {
    fn round(&mut self, metrics: &RoundMetrics) {
        let round = metrics.round();
        match self {
            Progress::Bar(bar, speed) => {
                bar.set_position(u64::from(round));
                bar.set_message(speed.describe(metrics));
            }
            Progress::Lines(every, speed) if round.is_multiple_of(*every) || round == speed.rounds => {
                eprintln!("round {round}/{}  {}", speed.rounds, speed.describe(metrics));
            }
            Progress::Lines(..) | Progress::Silent => {}
        }
    }
}

/// Counts the runs of a batch: a bar on a terminal, a line for every tenth elsewhere.
pub struct Counter {
    bar: Option<ProgressBar>,
    chatty: bool,
    tenths: usize,
}

impl Counter {
    /// Nothing counted yet.
    pub fn new(output: Output) -> Self {
        let on_terminal = output.chatty() && std::io::stderr().is_terminal();
        let bar = on_terminal.then(|| {
            let style = ProgressStyle::with_template("{bar:30} run {pos}/{len}  {per_sec}  eta {eta}");
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Counter { bar, chatty: output.chatty(), tenths: 0 }
    }

    /// Shows how far it is.
    pub fn show(&mut self, BatchProgress { done, runs }: BatchProgress) {
        if let Some(bar) = &self.bar {
            bar.set_length(runs as u64);
            bar.set_position(done as u64);
        } else if self.chatty && 10 * done / runs > self.tenths {
            self.tenths = 10 * done / runs;
            eprintln!("run {done}/{runs}");
        }
    }

    /// Leaves the terminal as it was.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.abandon();
        }
    }
}
