//! Timing.

use std::time::Instant;

use anyhow::Result;
use cpu_time::ProcessTime;
use fedrl_stats::quantile;
use serde::Serialize;

/// Rates of some repeats.
#[derive(Debug, Clone, Serialize)]
pub struct Rates {
    /// Per second by the clock: the median, the slowest and the fastest repeat.
    pub per_second: f64,
    pub slowest: f64,
    pub fastest: f64,
    /// Per second of processor time, of all threads together: what one core does. The median.
    pub per_core_second: f64,
    pub repeats: usize,
}

/// Shorter repeats say more about the clock than about the work.
const SHORTEST_S: f64 = 0.2;

/// Repeats `work`, which says how much it did, often enough that a repeat is long.
pub fn measure(repeats: usize, mut work: impl FnMut() -> Result<f64>) -> Result<Rates> {
    let mut times = 1;
    loop {
        let started = Instant::now();
        for _ in 0..times {
            work()?;
        }
        let seconds = started.elapsed().as_secs_f64();
        if seconds >= SHORTEST_S {
            break;
        }
        times = (times as f64 * (1.3 * SHORTEST_S / seconds).clamp(1.5, 100.0)).ceil() as usize;
    }
    let (mut clock, mut core) = (Vec::new(), Vec::new());
    for _ in 0..repeats {
        let (started, spent) = (Instant::now(), ProcessTime::now());
        let mut done = 0.0;
        for _ in 0..times {
            done += work()?;
        }
        clock.push(done / started.elapsed().as_secs_f64());
        core.push(done / spent.elapsed().as_secs_f64());
    }
    clock.sort_by(f64::total_cmp);
    core.sort_by(f64::total_cmp);
    Ok(Rates {
        per_second: quantile(&clock, 0.5),
        slowest: clock[0],
        fastest: clock[repeats - 1],
        per_core_second: quantile(&core, 0.5),
        repeats,
    })
}

/// The most memory that the process has had, in MiB, where the system tells.
pub fn peak_memory_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|kib| kib / 1024.0)
}

/// A number for people: three digits and a thousand's letter.
pub fn short(x: f64) -> String {
    let scaled = [(1e9, "G"), (1e6, "M"), (1e3, "k")].into_iter().find(|(unit, _)| x >= *unit);
    let (x, letter) = scaled.map_or((x, ""), |(unit, letter)| (x / unit, letter));
    let digits = if x >= 100.0 {
        0
    } else if x >= 10.0 {
        1
    } else {
        2
    };
    format!("{x:.digits$}{letter}")
}
