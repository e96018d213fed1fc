//! `fedrl play`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fedrl_engine::{DeviceChoice, Engine, Mode, select};
use fedrl_envs::{Environment, Instance, Parameters, find};
use fedrl_eval::{Protocol, Watched, watch};
use fedrl_play::{Episode, Film, check, film};
use serde::Serialize;
use serde_json::{Value, json};

use super::env::instance;
use super::eval::{chosen_set, open, trained, variant_name};
use crate::args::PlayArgs;
use crate::exit::{Done, Usage};
use crate::output::{Output, table};

/// What there is to see.
struct Played {
    instances: Vec<Instance>,
    /// One in every instance.
    episodes: Vec<Episode>,
    /// Who acts in what, for people and for programs.
    title: String,
    of: Value,
    /// Where the film goes unless told otherwise.
    out: PathBuf,
}

/// Animates episodes.
pub fn run(args: &PlayArgs) -> Result<Done> {
    let output = Output::from(args.output);
    if let Some(file) = args.out.as_deref().filter(|file| file.is_dir()) {
        return Err(Usage(format!("--out {} is a directory, expected a file to write", file.display())).into());
    }
    if args.steps == Some(0) {
        return Err(Usage("--steps is 0, expected a whole number of at least 1".into()).into());
    }
    let played = match find(&args.what) {
        Ok(environment) => of_environment(environment, args)?,
        Err(unknown) if !Path::new(&args.what).exists() => {
            return Err(Usage(format!("{unknown}, nor is there a run directory of that name")).into());
        }
        Err(_) => of_run(Path::new(&args.what), args)?,
    };
    let scenes: Vec<(&Instance, &Episode)> = played.instances.iter().zip(&played.episodes).collect();
    let film = film(&scenes, args.width)?;
    let out = args.out.clone().unwrap_or(played.out);
    fedrl_report::save::atomically(&out, &film.gif)?;

    output.text(format!("\n{}\n{}\n\nfilm  {}", played.title, scene_table(&scenes), out.display()))?;
    output.value(&Line::new(&played.of, args.episode, &out, &film, &scenes))?;
    Ok(Done::Complete)
}

/// Random actions in an environment.
fn of_environment(environment: &'static dyn Environment, args: &PlayArgs) -> Result<Played> {
    let spec = environment.spec();
    let of_runs = [("--on", args.on.is_some()), ("--checkpoint", args.checkpoint.is_some()), ("--greedy", args.greedy)];
    if let Some((option, _)) = of_runs.iter().find(|(_, given)| *given) {
        return Err(Usage(format!("{option} is for runs, and {} is an environment", spec.id)).into());
    }
    let number = u32::try_from(episode_number(args, u32::MAX as usize)?)?;
    let instances = vec![instance(environment, &args.set)?];
    check(instances.iter(), args.width)?;
    let steps = args.steps.unwrap_or(spec.max_episode_steps).min(spec.max_episode_steps);
    let episodes = instances.iter().map(|instance| Episode::random(instance, number, steps)).collect();
    Ok(Played {
        instances,
        episodes,
        title: format!("{}, random actions, episode {number}", spec.id),
        of: json!({"environment": spec.id}),
        out: format!("{}.gif", spec.id).into(),
    })
}

/// A run's policy in a set of variants.
fn of_run(run: &Path, args: &PlayArgs) -> Result<Played> {
    if !args.set.is_empty() {
        return Err(
            Usage("--set is for environments; --on says in which variants the policy of a run acts".into()).into()
        );
    }
    let (directory, setup) = open(run)?;
    let number = episode_number(args, setup.experiment.evaluation.episodes)?;
    let (on, instances) = chosen_set(args.on.as_deref().unwrap_or("agents"), &setup)?;
    check(instances.iter(), args.width).with_context(|| on.clone())?;
    let trained = trained(&directory, &setup, args.checkpoint.as_deref().unwrap_or("latest"))?;

    let truncated = setup.max_episode_steps();
    let protocol = Protocol {
        episodes: setup.experiment.evaluation.episodes,
        max_episode_steps: args.steps.unwrap_or(truncated).min(truncated),
        mode: if args.greedy { Mode::Greedy } else { setup.mode() },
        seed: setup.experiment.training.seed,
    };
    let engine = Engine::new(&select(DeviceChoice::Cpu, setup.work())?);
    let watched = watch(&engine, &setup.policy, trained.actors(&setup, &on), &instances, &protocol, number - 1)?;
    let round = trained.round;
    let path = directory.path().display().to_string();
    let environment = setup.environment.spec().id;
    Ok(Played {
        instances,
        episodes: watched.into_iter().map(episode).collect(),
        title: format!("{environment}, {on} (round {round}), episode {number}"),
        of: json!({"run": path, "environment": environment, "on": on, "round": round, "greedy": args.greedy}),
        out: directory.path().join("play.gif"),
    })
}

/// The number of the episode, provided that there are so many.
fn episode_number(args: &PlayArgs, most: usize) -> Result<usize> {
    if (1..=most).contains(&args.episode) {
        return Ok(args.episode);
    }
    Err(Usage(format!("--episode is {}, expected a whole number from 1 to {most}", args.episode)).into())
}

fn episode(Watched { states, total_reward, terminated }: Watched) -> Episode {
    let exact = |state: Vec<f32>| state.into_iter().map(f64::from).collect();
    Episode { states: states.into_iter().map(exact).collect(), total_reward, terminated }
}

/// The scenes for people, in the order of their numbers in the film.
fn scene_table(scenes: &[(&Instance, &Episode)]) -> String {
    let row = |(index, (instance, episode)): (usize, &(&Instance, &Episode))| {
        vec![
            (index + 1).to_string(),
            variant_name(instance.given()),
            format!("{:.1}", episode.total_reward),
            episode.len().to_string(),
            if episode.terminated { "by itself" } else { "truncated" }.to_string(),
        ]
    };
    table(&["scene", "variant", "return", "steps", "ends"], scenes.iter().enumerate().map(row).collect(), 2)
}

/// A line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    of: &'a Value,
    episode: usize,
    film: String,
    width: usize,
    height: usize,
    frames: usize,
    columns: usize,
    scenes: Vec<Scene<'a>>,
}

/// An episode in one variant.
#[derive(Serialize)]
struct Scene<'a> {
    parameters: &'a Parameters,
    #[serde(rename = "return")]
    total_reward: f64,
    steps: usize,
    terminated: bool,
}

impl<'a> Line<'a> {
    fn new(of: &'a Value, episode: usize, out: &Path, film: &Film, scenes: &[(&'a Instance, &'a Episode)]) -> Self {
        let scene = |&(instance, episode): &(&'a Instance, &'a Episode)| Scene {
            parameters: instance.given(),
            total_reward: episode.total_reward,
            steps: episode.len(),
            terminated: episode.terminated,
        };
        Line {
            of,
            episode,
            film: out.display().to_string(),
            width: film.width,
            height: film.height,
            frames: film.frames,
            columns: film.columns,
            scenes: scenes.iter().map(scene).collect(),
        }
    }
}
