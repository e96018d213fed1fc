//! `fedrl train` and `fedrl resume`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use anyhow::{Context, Result};
use fedrl_algos::World;
use fedrl_engine::{DeviceChoice, Engine, Selection, select};
use fedrl_train::{Batch, Checkpoint, Ending, Manifest, Observer, RunDirectory, Setup, Source, Trainer, Written};
use serde_json::{Value, json};

use super::doctor::{bytes, check_memory};
use super::eval::{Record, Request, Trained, evaluate, sets};
use super::{batch, family};
use crate::args::{ResumeArgs, TrainArgs};
use crate::exit::Done;
use crate::output::Output;
use crate::progress::Progress;

/// Trains an experiment into a new run directory.
pub fn train(args: &TrainArgs) -> Result<Done> {
    let mut source = Source::read(&args.config)?;
    args.set.iter().try_for_each(|setting| source.set(setting))?;
    if let Some(runs) = args.runs {
        source.set(&format!("training.runs={runs}"))?;
    }
    source.make_paths_absolute()?;
    if source.is_batch() {
        return if Batch::fits(&source)? { batch::train(args, source) } else { family::train(args, source) };
    }
    let name = source.name().to_string();
    let setup = Setup::new(source.experiment()?, &name)?;
    // Read again when training starts; a file that does not fit is refused before anything is made.
    setup.initial()?;
    let choice: DeviceChoice = args.device.parse()?;
    let selection = select(choice, setup.work())?;

    check_memory(&setup, &Engine::new(&selection), 1)?;

    let path = args.out.clone().unwrap_or_else(|| unused(&args.config));
    let mut manifest = Manifest { started: now(), ..Manifest::default() };
    describe(&mut manifest, &args.device, &selection, &setup);
    let directory = RunDirectory::create(
        &path,
        &setup.experiment.to_toml().context("writing the resolved experiment")?,
        &manifest,
    )?;
    run(&directory, &setup, &selection, manifest, None, args.output.into())
}

/// By what and on what a run is being made now.
pub(super) fn describe(manifest: &mut Manifest, device: &str, selection: &Selection, setup: &Setup) {
    manifest.fedrl_version = env!("CARGO_PKG_VERSION").into();
    manifest.git_revision = env!("FEDRL_GIT_REVISION").into();
    manifest.device_choice = selection.choice(device);
    manifest.device = selection.name();
    manifest.driver = setup.driver(selection);
    manifest.finished = None;
}

/// Goes on with a run.
pub fn resume(args: &ResumeArgs) -> Result<Done> {
    let directory = RunDirectory::open(&args.run)?;
    let source = directory.source()?;
    if source.is_batch() {
        return if Batch::fits(&source)? {
            batch::resume(args, &directory, source)
        } else {
            family::resume(args, &directory, source)
        };
    }
    let name = source.name().to_string();
    let checkpoint = directory.checkpoint(args.from)?;
    let setup = Setup::new(source.experiment()?, &name)?;
    let mut manifest = directory.manifest()?;
    let device = args.device.clone().unwrap_or(manifest.device_choice.clone());
    let selection = select(device.parse()?, setup.work())?;
    check_memory(&setup, &Engine::new(&selection), 1)?;
    let finished = checkpoint.as_ref().is_some_and(|c| c.header.progress.round == setup.experiment.training.rounds);
    if !finished {
        describe(&mut manifest, &device, &selection, &setup);
    }
    run(&directory, &setup, &selection, manifest, checkpoint, args.output.into())
}

fn run(
    directory: &RunDirectory,
    setup: &Setup,
    selection: &Selection,
    manifest: Manifest,
    from: Option<Checkpoint>,
    output: Output,
) -> Result<Done> {
    let config = &setup.experiment;
    let before = from.as_ref().map(|checkpoint| checkpoint.header.progress.clone());
    let (round, env_steps) = before.map_or((0, 0), |progress| (progress.round, progress.totals.env_steps));
    output.note(format!(
        "{} on {} x {}, {} parameters, on {} ({}; {})",
        config.algorithm.name(),
        setup.agents.len(),
        config.environment.id,
        setup.policy.parameter_count(),
        selection.name(),
        setup.driver(selection),
        selection.reason
    ));
    output.note(match round {
        0 => format!("training in {}", directory.path().display()),
        _ => format!("resuming {} after round {round}", directory.path().display()),
    });

    let engine = Engine::new(selection);
    let stop = stop_on_interrupt(output)?;
    let mut progress = Progress::new(output, round, env_steps, config.training.rounds);
    let result = complete(directory, setup, (&engine, setup.world_on(&engine)), manifest, from, &mut progress, &stop);
    progress.finish();
    let finished = result.with_context(|| format!("training in {}", directory.path().display()))?;
    let Finished { ending, records, report } = &finished;
    for record in records {
        output.text(record.table())?;
    }
    if ending.interrupted {
        output.note(format!(
            "stopped after round {}; continue with: fedrl resume {}",
            ending.progress.round,
            directory.path().display()
        ));
    }
    if let Some(Written { bytes: size, seconds, .. }) = ending.checkpoint {
        output.text(format!("checkpoint  {}, written in {seconds:.3} s", bytes(size)))?;
    }
    if let Some(report) = report {
        let policy = directory.checkpoints().join(format!("round-{:06}", ending.progress.round));
        output.text(format!("policy  {}", policy.display()))?;
        output.text(format!("report  {}", report.display()))?;
    }
    output.value(&finished.summary(&directory.path().display().to_string()))?;
    Ok(if ending.interrupted { Done::Interrupted } else { Done::Complete })
}

/// What a training came to.
pub(super) struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// Evaluations of its last policy; none if it was interrupted.
    pub records: Vec<Record>,
    /// Where its report is; nowhere if it was interrupted.
    pub report: Option<PathBuf>,
}

impl Finished {
    /// For programs.
    pub fn summary(&self, run: &str) -> Value {
        let evaluation: Vec<Value> = self
            .records
            .iter()
            .map(|record| {
                let evaluation = &record.evaluation;
                json!({"on": record.on, "mean": evaluation.mean, "worst": evaluation.worst, "cvar": evaluation.cvar})
            })
            .collect();
        json!({
            "run": run,
            "rounds": self.ending.progress.round,
            "env_steps": self.ending.progress.totals.env_steps,
            "return_mean": self.ending.return_mean,
            "evaluation": evaluation,
            "checkpoint": self.ending.checkpoint,
            "report": self.report.as_ref().map(|report| report.display().to_string()),
        })
    }
}

/// Trains to the end, or until `stop`; then evaluates and writes the report.
pub(super) fn complete(
    directory: &RunDirectory,
    setup: &Setup,
    (engine, world): (&Engine<f32>, World<f32>),
    mut manifest: Manifest,
    from: Option<Checkpoint>,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Finished> {
    let ending = Trainer::new(setup, &world, directory, &manifest).run(from, observer, stop)?;
    // Trainings beside this one wait for it no longer.
    drop(world);
    if ending.interrupted {
        return Ok(Finished { ending, records: Vec::new(), report: None });
    }
    let episodes = setup.experiment.evaluation.episodes;
    let request = Request { mode: setup.mode(), episodes, suffix: String::new() };
    let (theta, policies) = (ending.theta.clone(), ending.policies.clone());
    let trained = Trained { round: ending.progress.round, theta, policies };
    let evaluated =
        |(on, instances): (_, Vec<_>)| evaluate(directory, setup, engine, &trained, (on, &instances), &request);
    let records = sets(setup).into_iter().map(evaluated).collect::<Result<Vec<_>>>()?;
    manifest.finished.get_or_insert_with(now);
    directory.write_manifest(&manifest)?;
    let report = Some(fedrl_report::write(directory.path())?);
    Ok(Finished { ending, records, report })
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
