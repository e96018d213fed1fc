//! `fedrl doctor`.

use std::path::Path;

use anyhow::Result;
use fedrl_core::wide::widest;
use fedrl_engine::{DeviceChoice, Engine, adapters, select};
use fedrl_train::{Setup, Source};
use serde_json::json;

use crate::args::{DoctorArgs, OutputArgs};
use crate::exit::{Done, Usage};
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
    output.text(format!("cpu      {threads} threads, {} vectors", widest()))?;
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

    let memory = setup.as_ref().map(|setup| setup.memory(&Engine::new(&selection), threads));
    if let (Some(memory), Some(setup)) = (memory, &setup) {
        output.text(format!(
            "memory   {} for {} agents: {} each, and {} for each of {} threads",
            bytes(memory.total),
            setup.agents.len(),
            bytes(memory.per_agent),
            bytes(memory.per_thread),
            threads.min(setup.agents.len()),
        ))?;
        if let Some(available) = available_memory() {
            output.text(format!("         {} are available", bytes(available)))?;
        }
    }
    let disk = setup.as_ref().map(Setup::disk);
    if let Some(disk) = disk {
        output.text(format!(
            "disk     at most {} for {} checkpoints: {} each",
            bytes(disk.total),
            disk.checkpoints,
            bytes(disk.checkpoint)
        ))?;
    }

    let listed: Vec<_> = adapters
        .iter()
        .enumerate()
        .map(|(i, a)| json!({"device": format!("wgpu:{i}"), "name": a.name, "api": a.api, "driver": a.driver, "software": a.software}))
        .collect();
    output.value(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "git_revision": env!("FEDRL_GIT_REVISION"),
        "threads": threads,
        "vectors": widest(),
        "adapters": listed,
        "auto": {"device": selection.name(), "reason": selection.reason},
        "memory": memory,
        "available_memory": available_memory(),
        "disk": disk,
    }))?;
    Ok(Done::Complete)
}

/// Refuses trainings, so many side by side, that cannot fit into the memory that there is.
pub(super) fn check_memory(setup: &Setup, engine: &Engine<f32>, side_by_side: usize) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let needed = setup.memory(engine, threads);
    let others = setup.agents.len().saturating_mul(side_by_side.saturating_sub(1)) as u64;
    let total = needed.total.saturating_add(needed.per_agent.saturating_mul(others));
    match available_memory() {
        Some(available) if total > available => Err(Usage(format!(
            "training {} agents needs about {} ({} each), but {} are available; fewer agents, shorter trajectories or \
             smaller batches need less: `fedrl doctor CONFIG` shows how much",
            setup.agents.len(),
            bytes(total),
            bytes(needed.per_agent),
            bytes(available)
        ))
        .into()),
        _ => Ok(()),
    }
}

/// Memory that can still be had, in bytes, where the system tells.
fn available_memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Bytes for people.
pub(super) fn bytes(count: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|(size, _)| count >= *size);
    unit.map_or_else(|| format!("{count} B"), |(size, name)| format!("{:.1} {name}", count as f64 / size as f64))
}

fn setup(config: &Path) -> Result<Setup> {
    let source = Source::read(config)?;
    let name = source.name().to_string();
    // The points of a sweep need the same machine.
    let Some(point) = source.points()?.into_iter().next() else { unreachable!("a sweep has at least one point") };
    Ok(Setup::new(point.experiment, &name)?)
}
