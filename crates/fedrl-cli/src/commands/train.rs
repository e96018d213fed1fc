//! `fedrl train` and `fedrl resume`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use anyhow::{Context, Result};
use fedrl_engine::{DeviceChoice, Engine, Mode, Selection, select};
use fedrl_train::{Checkpoint, Ending, Manifest, RunDirectory, Setup, Source, Trainer};
use serde_json::json;

use super::batch;
use super::eval::{Record, Request, evaluate, sets};
use crate::args::{ResumeArgs, TrainArgs};
use crate::exit::Done;
use crate::output::Output;
use crate::progress::Progress;

/// Trains an experiment into a new run directory.
pub fn train(args: &TrainArgs) -> Result<Done> {
    let mut source = Source::read(&args.config)?;
    args.set.iter().try_for_each(|setting| source.set(setting))?;
    source.make_paths_absolute()?;
    if source.is_batch() {
        return batch::train(args, source);
    }
    let name = source.name().to_string();
    let setup = Setup::new(source.experiment()?, &name)?;
    // Read again when training starts; a file that does not fit is refused before anything is made.
    setup.initial()?;
    let choice: DeviceChoice = args.device.parse()?;
    let selection = select(choice, setup.work())?;

    let path = args.out.clone().unwrap_or_else(|| unused(&args.config));
    let mut manifest = Manifest { started: now(), ..Manifest::default() };
    describe(&mut manifest, &args.device, &selection);
    let directory = RunDirectory::create(
        &path,
        &setup.experiment.to_toml().context("writing the resolved experiment")?,
        &manifest,
    )?;
    run(&directory, &setup, &selection, manifest, None, args.output.into())
}

/// By what and on what a run is being made now.
fn describe(manifest: &mut Manifest, device: &str, selection: &Selection) {
    manifest.fedrl_version = env!("CARGO_PKG_VERSION").into();
    manifest.git_revision = env!("FEDRL_GIT_REVISION").into();
    manifest.device_choice = if selection.is_gpu() { device.into() } else { "cpu".into() };
    manifest.device = selection.name();
    manifest.driver = selection.driver();
    manifest.finished = None;
}

/// Goes on with a run.
pub fn resume(args: &ResumeArgs) -> Result<Done> {
    let directory = RunDirectory::open(&args.run)?;
    let source = directory.source()?;
    if source.is_batch() {
        return batch::resume(args, &directory, source);
    }
    let name = source.name().to_string();
    let checkpoint = directory.checkpoint(args.from)?;
    let setup = Setup::new(source.experiment()?, &name)?;
    let mut manifest = directory.manifest()?;
    let device = args.device.clone().unwrap_or(manifest.device_choice.clone());
    let selection = select(device.parse()?, setup.work())?;
    let finished = checkpoint.as_ref().is_some_and(|c| c.header.progress.round == setup.experiment.training.rounds);
    if !finished {
        describe(&mut manifest, &device, &selection);
    }
    run(&directory, &setup, &selection, manifest, checkpoint, args.output.into())
}

fn run(
    directory: &RunDirectory,
    setup: &Setup,
    selection: &Selection,
    mut manifest: Manifest,
    from: Option<Checkpoint>,
    output: Output,
) -> Result<Done> {
    let config = &setup.experiment;
    let before = from.as_ref().map(|checkpoint| checkpoint.header.progress.clone());
    let (round, env_steps) = before.map_or((0, 0), |progress| (progress.round, progress.totals.env_steps));
    output.note(format!(
        "{} on {} x {}, {} parameters, on {} ({})",
        config.algorithm.name(),
        setup.agents.len(),
        config.environment.id,
        setup.policy.parameter_count(),
        selection.name(),
        selection.reason
    ));
    output.note(match round {
        0 => format!("training in {}", directory.path().display()),
        _ => format!("resuming {} after round {round}", directory.path().display()),
    });

    let engine = Engine::new(selection);
    let world = setup.world_on(&engine);
    let stop = stop_on_interrupt(output)?;
    let mut progress = Progress::new(output, round, env_steps, config.training.rounds);
    let result = Trainer::new(setup, &world, directory, &manifest).run(from, &mut progress, &stop);
    progress.finish();
    let ending = result.with_context(|| format!("training in {}", directory.path().display()))?;
    if ending.interrupted {
        output.note(format!(
            "stopped after round {}; continue with: fedrl resume {}",
            ending.progress.round,
            directory.path().display()
        ));
        summary(directory, &ending, None, &[], output)?;
        return Ok(Done::Interrupted);
    }

    let request = Request { mode: Mode::Sampled, episodes: config.evaluation.episodes, suffix: String::new() };
    let round = ending.progress.round;
    let mut records = Vec::new();
    for (on, instances) in sets(setup) {
        let record = evaluate(directory, setup, &engine, (round, &ending.theta), (on, &instances), &request)?;
        output.text(record.table())?;
        records.push(record);
    }
    manifest.finished.get_or_insert_with(now);
    directory.write_manifest(&manifest)?;
    let report = fedrl_report::write(directory.path())?;
    summary(directory, &ending, Some(&report), &records, output)?;
    Ok(Done::Complete)
}

fn summary(
    directory: &RunDirectory,
    ending: &Ending,
    report: Option<&Path>,
    records: &[Record],
    output: Output,
) -> Result<()> {
    if let Some(report) = report {
        output.text(format!(
            "policy  {}",
            directory.checkpoints().join(format!("round-{:06}", ending.progress.round)).display()
        ))?;
        output.text(format!("report  {}", report.display()))?;
    }
    let evaluation: Vec<_> = records
        .iter()
        .map(|record| json!({"on": record.on, "mean": record.evaluation.mean, "worst": record.evaluation.worst, "cvar": record.evaluation.cvar}))
        .collect();
    output.value(&json!({
        "run": directory.path().display().to_string(),
        "rounds": ending.progress.round,
        "env_steps": ending.progress.totals.env_steps,
        "return_mean": ending.return_mean,
        "evaluation": evaluation,
        "report": report.map(|report| report.display().to_string()),
    }))?;
    Ok(())
}

/// A flag that Ctrl-C or a termination signal sets. The second one ends the program at once.
pub(super) fn stop_on_interrupt(output: Output) -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        output.note("stopping after what is under way; once more to stop now");
    })
    .context("installing the Ctrl-C handler")?;
    Ok(stop)
}

/// `runs/NAME` for a configuration NAME.toml, with the first number that makes it new.
pub(super) fn unused(config: &Path) -> PathBuf {
    let name = config.file_stem().map_or_else(|| "run".into(), |stem| stem.to_string_lossy().into_owned());
    let numbered = |n: u32| if n == 1 { name.clone() } else { format!("{name}-{n}") };
    let candidates = (1..).map(|n| Path::new("runs").join(numbered(n)));
    let mut free = candidates.skip_while(|path| path.exists());
    free.next().unwrap_or_else(|| Path::new("runs").join(&name))
}

/// The time, RFC 3339, to the second.
pub(super) fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
