//! `fedrl train` and `fedrl resume` for many trainings at once, each with a run directory of its own.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, anyhow};
use fedrl_algos::World;
use fedrl_engine::{Engine, Selection, select};
use fedrl_train::{
    Batch, BatchProgress, Manifest, Member, Observer, RoundMetrics, RunDirectory, Setup, Source, family,
};
use serde_json::{Value, json};

use super::doctor::check_memory;
use super::train::{Finished, complete, describe, now, stop_on_interrupt, unused};
use crate::args::{ResumeArgs, TrainArgs};
use crate::exit::{Done, Usage};
use crate::output::{Output, table};
use crate::progress::Counter;

/// Agents that are enough to keep a CPU, and a GPU, busy.
const ENOUGH: [usize; 2] = [1 << 12, 1 << 16];

/// How many of these trainings go on at once: a thread each, nearly always waiting for what is computed for all.
fn side_by_side(setups: &[Setup], selection: &Selection) -> usize {
    let agents = setups.iter().map(|setup| setup.agents.len()).max().unwrap_or(1);
    (ENOUGH[usize::from(selection.is_gpu())] / agents).clamp(1, 64).min(setups.len())
}

/// Trains every member into a new directory.
pub fn train(args: &TrainArgs, source: Source) -> Result<Done> {
    let config = source.to_toml()?;
    let members = family(source)?;
    let selection = device(&members, &args.device)?;
    let path = args.out.clone().unwrap_or_else(|| unused(&args.config));
    let mut manifest = Manifest { started: now(), ..Manifest::default() };
    describe(&mut manifest, &args.device, &selection, &first(&members)?);
    let directory = RunDirectory::create(&path, &config, &manifest)?;
    run(&directory, &members, &selection, manifest, args.output.into())
}

/// Goes on with what is not finished.
pub fn resume(args: &ResumeArgs, directory: &RunDirectory, source: Source) -> Result<Done> {
    if args.from.is_some() {
        let path = directory.path().display();
        return Err(Usage(format!("--from: {path} holds many runs; resume one of its directories instead")).into());
    }
    let members = family(source)?;
    let mut manifest = directory.manifest()?;
    let choice = args.device.clone().unwrap_or(manifest.device_choice.clone());
    let selection = device(&members, &choice)?;
    if manifest.finished.is_none() {
        describe(&mut manifest, &choice, &selection, &first(&members)?);
    }
    run(directory, &members, &selection, manifest, args.output.into())
}

/// What the first member amounts to.
fn first(members: &[Member]) -> Result<Setup> {
    let Some(member) = members.first() else { unreachable!("a sweep has at least one point") };
    Ok(Setup::new(member.experiment.clone(), &member.name)?)
}

/// What members amount to.
fn setups(members: &[Member]) -> Result<Vec<Setup>> {
    members.iter().map(|member| Ok(Setup::new(member.experiment.clone(), &member.name)?)).collect()
}

/// The device that the greatest member would take alone; all of them fit there side by side.
fn device(members: &[Member], choice: &str) -> Result<Selection> {
    let setups = setups(members)?;
    let selection = select(choice.parse()?, setups.iter().map(Setup::work).max().unwrap_or(0))?;
    let engine = Engine::new(&selection);
    setups.iter().try_for_each(|setup| check_memory(setup, &engine, side_by_side(&setups, &selection)))?;
    Ok(selection)
}

fn run(
    directory: &RunDirectory,
    members: &[Member],
    selection: &Selection,
    mut manifest: Manifest,
    output: Output,
) -> Result<Done> {
    let path = directory.path().display();
    output.note(format!("{} trainings in {path}, on {} ({})", members.len(), selection.name(), selection.reason));
    let stop = stop_on_interrupt(output)?;
    let engine = Engine::new(selection);
    let counter = Mutex::new(Counter::new(output));
    let done = AtomicUsize::new(0);
    let one = |member: &Member, setup: &Setup, world: World<f32>| -> Result<Option<(String, Finished)>> {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let place = directory.path().join(&member.name);
        let finished = member_run(setup, &place, &manifest, (&engine, selection, world), &stop)
            .with_context(|| format!("training in {}", place.display()))?;
        if finished.ending.interrupted {
            return Ok(None);
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Ok(mut counter) = counter.lock() {
            counter.show(BatchProgress { done, runs: members.len() });
        }
        Ok(Some((member.name.clone(), finished)))
    };
    let mut results = Vec::with_capacity(members.len());
    for members in members.chunks(side_by_side(&setups(members)?, selection)) {
        let setups = setups(members)?;
        let worlds = Setup::worlds_on(&setups, &engine);
        let one = &one;
        std::thread::scope(|scope| {
            let trainings = members.iter().zip(&setups).zip(worlds);
            let threads: Vec<_> =
                trainings.map(|((member, setup), world)| scope.spawn(move || one(member, setup, world))).collect();
            let broken = |_| Err(anyhow!("the training broke down"));
            results.extend(threads.into_iter().map(|thread| thread.join().unwrap_or_else(broken)));
        });
    }
    if let Ok(counter) = counter.into_inner() {
        counter.finish();
    }
    let (mut finished, mut failed) = (Vec::new(), Vec::new());
    for (member, result) in members.iter().zip(results) {
        match result {
            Ok(done) => finished.extend(done),
            Err(error) => failed.push((&member.name, error)),
        }
    }
    if !failed.is_empty() {
        if !finished.is_empty() {
            show(directory, &finished, output)?;
        }
        let names: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
        let (count, all, names) = (failed.len(), members.len(), names.join(", "));
        return Err(failed.remove(0).1.context(format!("{count} of {all} trainings failed: {names}; of the first")));
    }
    if finished.len() < members.len() {
        output.note(format!("stopped; continue with: fedrl resume {path}"));
        return Ok(Done::Interrupted);
    }
    manifest.finished.get_or_insert_with(now);
    directory.write_manifest(&manifest)?;
    show(directory, &finished, output)?;
    Ok(Done::Complete)
}

/// Trains one member from where it stands.
fn member_run(
    setup: &Setup,
    place: &std::path::Path,
    family: &Manifest,
    (engine, selection, world): (&Engine<f32>, &Selection, World<f32>),
    stop: &std::sync::atomic::AtomicBool,
) -> Result<Finished> {
    struct Nobody;
    impl Observer for Nobody {
        fn round(&mut self, _metrics: &RoundMetrics) {}
    }
    let config = setup.experiment.to_toml().context("writing the resolved experiment")?;
    let fresh = Manifest { started: now(), finished: None, driver: setup.driver(selection), ..family.clone() };
    let (directory, from, manifest) = if place.symlink_metadata().is_ok() {
        let directory = RunDirectory::open(place)?;
        let found = directory.config_path();
        if std::fs::read_to_string(&found).with_context(|| format!("reading {}", found.display()))? != config {
            let problem =
                "is not what the experiment above it says now; undo the change, or train into a new directory";
            return Err(Usage(format!("{} {problem}", found.display())).into());
        }
        let before = directory.manifest()?;
        let manifest = if before.finished.is_some() { before } else { Manifest { started: before.started, ..fresh } };
        let from = directory.checkpoint(None)?;
        (directory, from, manifest)
    } else {
        (RunDirectory::create(place, &config, &fresh)?, None, fresh)
    };
    complete(&directory, setup, (engine, world), manifest, from, &mut Nobody, stop)
}

/// A line per run, and where they are.
fn show(directory: &RunDirectory, finished: &[(String, Finished)], output: Output) -> Result<()> {
    let path = directory.path().display();
    let sets: Vec<&str> = finished[0].1.records.iter().map(|record| record.on.as_str()).collect();
    let header: Vec<&str> = ["run", "last round"].into_iter().chain(sets).collect();
    let rows = finished.iter().map(|(name, finished)| {
        let evaluations = finished.records.iter().map(|record| format!("{:.1}", record.evaluation.mean));
        let last = finished.ending.return_mean.map_or_else(String::new, |mean| format!("{mean:.1}"));
        [name.clone(), last].into_iter().chain(evaluations).collect()
    });
    output.text(format!("\nmean returns\n{}", table(&header, rows.collect(), 1)))?;
    output.text(format!("\ncompare with: fedrl compare {path}"))?;
    let runs: Vec<Value> = finished
        .iter()
        .map(|(name, finished)| finished.summary(&directory.path().join(name).display().to_string()))
        .collect();
    output.value(&json!({ "run": path.to_string(), "runs": runs }))?;
    Ok(())
}

/// The runs that are meant by directories, some of which may hold a family.
pub fn runs_of(directories: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut runs = Vec::new();
    for path in directories {
        let directory = RunDirectory::open(path)?;
        let source = directory.source()?;
        if source.is_batch() && !Batch::fits(&source)? {
            let members = family(source)?.into_iter().map(|member| path.join(member.name));
            runs.extend(members.filter(|member| member.is_dir()));
        } else {
            runs.push(path.clone());
        }
    }
    Ok(runs)
}
