//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Federated reinforcement learning: one policy for agents whose environments differ.
#[derive(Debug, Parser)]
#[command(name = "fedrl", version, about, propagate_version = true, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train an experiment into a new run directory, evaluate it and write its report.
    Train(TrainArgs),
    /// Continue a run from its newest checkpoint, exactly as if it had never stopped.
    Resume(ResumeArgs),
    /// Returns of a run's policy in environment variants, trained on or not.
    Eval(EvalArgs),
    /// How soon new agents learn in held-out variants that begin with what a run has learned, or with nothing.
    ///
    /// For runs of algorithms that learn values of choices. Every new agent learns by DQN with the run's numbers.
    /// It begins with the network of the agent that lives nearest (`nearest`), with that one's layers before
    /// the last and a fresh head (`fresh`), or with a fresh network (`scratch`), and updates all of it or, frozen,
    /// the head alone. It got there when its last 10 episodes have a mean of the threshold or more. How the
    /// agents' policies do as they are comes first. Intervals are 95 % bootstrap intervals of the mean over seeds.
    ///
    /// Of a folder of seeds, made by `fedrl train --runs N`, every run is adapted; means are then over the runs, each
    /// of which counts once, and intervals, too. Two or three runs give the range.
    Adapt(AdaptArgs),
    /// How well the policies of a run's agents, or of many runs', are fitted to them.
    ///
    /// For runs of algorithms that learn action values. Of every agent: how far its action values are from what
    /// its greedy policy earns in its environment, the mean square over the states of its episodes; the worst of
    /// these is Eq. 56 of "On the Linear Speedup of Personalized Federated Reinforcement Learning with Shared
    /// Representations" (2025). Of every two agents: how alike their environments, their heads and the layers
    /// before them are. Written to `personalisation.json` in the run directory, whence `fedrl report` and
    /// `fedrl compare` have it.
    Personalisation(PersonalisationArgs),
    /// Animate an episode in each of several variants, side by side, as a GIF.
    ///
    /// Of a run: the episode number N of those that `fedrl eval` evaluates on the CPU, in every variant
    /// of a set. Of an environment: random actions. It plays in real time and at one scale; what is over
    /// has a thick frame.
    Play(PlayArgs),
    /// Write a run's HTML report.
    Report(ReportArgs),
    /// Compare runs by their training returns, seed by seed.
    ///
    /// Runs whose experiments differ in nothing but training.seed are one group; every group is
    /// compared to the first. `final` is the mean training return over the last tenth of a run's
    /// rounds, `area` that over all of them. Intervals are 95 % bootstrap intervals of the mean over
    /// seeds; two or three seeds give the range.
    ///
    /// Where all runs have a `personalisation.json`, the worst error of any agent's action values stands beside the
    /// processor seconds of the training, of all threads; nobody knows them of trainings side by side.
    ///
    /// Where an experiment has a section `[published]`, every group is shown by the mean return of each
    /// agent's last 50 episodes (mean, variance and median over agents), beside the published numbers,
    /// and every published order is said to hold, to be reversed or to be within the noise, by the
    /// interval of our difference, seed by seed.
    Compare(CompareArgs),
    /// Environments: list, describe, step.
    Env(EnvArgs),
    /// Measure how fast this machine is.
    Bench(BenchArgs),
    /// Show the devices here and which one `auto` takes.
    Doctor(DoctorArgs),
}

/// How much is said.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct OutputArgs {
    /// Print machine-readable results on stdout and nothing else.
    #[arg(long)]
    pub json: bool,
    /// Say nothing but results and errors.
    #[arg(long)]
    pub quiet: bool,
}

/// `fedrl train`.
#[derive(Debug, clap::Args)]
pub struct TrainArgs {
    /// The experiment, a TOML file.
    pub config: PathBuf,
    /// Override one value of the experiment; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// auto, cpu, reference (the CPU by tensors, slow), gpu, or wgpu:N as `fedrl doctor` counts.
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Train so many runs, with seeds from that of the experiment on: training.runs.
    #[arg(long, value_name = "N")]
    pub runs: Option<u32>,
    /// The run directory itself [default: runs/NAME-OF-CONFIG]; many runs have a folder each in it.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How much is said.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `fedrl resume`.
#[derive(Debug, clap::Args)]
pub struct ResumeArgs {
    /// The run directory.
    pub run: PathBuf,
    /// Go on from the checkpoint of this round instead of the newest; later ones are removed.
    #[arg(long, value_name = "ROUND")]
    pub from: Option<u32>,
    /// Another device than the run began on; results then agree to rounding only.
    #[arg(long)]
    pub device: Option<String>,
    /// How much is said.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `fedrl eval`.
#[derive(Debug, clap::Args)]
pub struct EvalArgs {
    /// The run directory.
    pub run: PathBuf,
    /// agents, interpolation, extrapolation, or a TOML file with families of values by parameter
    /// [default: every set that the experiment names].
    #[arg(long)]
    pub on: Option<String>,
    /// Episodes per variant [default: the experiment's].
    #[arg(long)]
    pub episodes: Option<usize>,
    /// latest, best, or a round that has a checkpoint.
    #[arg(long, default_value = "latest")]
    pub checkpoint: String,
    /// Take the most probable action instead of sampling.
    #[arg(long)]
    pub greedy: bool,
    /// auto, cpu, gpu, or wgpu:N as `fedrl doctor` counts.
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// How much is said.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `fedrl adapt`.
#[derive(Debug, clap::Args)]
pub struct AdaptArgs {
    /// The run directory, or a folder of one experiment's runs.
    pub run: PathBuf,
    /// agents, interpolation, extrapolation, or a TOML file with families of values by parameter.
    #[arg(long, default_value = "extrapolation")]
    pub on: String,
    /// Only this beginning: nearest, fresh or scratch; may be repeated [default: all three].
    #[arg(long, value_name = "BEGINNING")]
    pub from: Vec<String>,
    /// Only with everything before the head frozen [default: frozen and not].
    #[arg(long)]
    pub frozen: bool,
    /// Environment steps of every new agent.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub steps: u32,
    /// New agents for each variant and beginning.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub seeds: u32,
    /// The return to reach [default, for CartPole-v1 alone: 97.5 % of the most there is, 195 of 200].
    #[arg(long, value_name = "RETURN", allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// latest, best, or a round that has a checkpoint.
    #[arg(long, default_value = "latest")]
    pub checkpoint: String,
    /// How much is said.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `fedrl personalisation`.
#[derive(Debug, clap::Args)]
pub struct PersonalisationArgs {
    /// The run directory, or a folder of many runs.
    #[arg(value_name = "RUN|FOLDER")]
    pub run: PathBuf,
    /// Of a run: latest, best, or a round that has a checkpoint [default: latest].
    #[arg(long)]
    pub checkpoint: Option<String>,
    /// How much is said.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `fedrl play`.
#[derive(Debug, clap::Args)]
pub struct PlayArgs {
    /// The run directory, or an environment's id.
    #[arg(value_name = "RUN|ENV")]
    pub what: String,
    /// Of a run: agents, interpolation, extrapolation, or a TOML file with families of values by
    /// parameter [default: agents].
    #[arg(long)]
    pub on: Option<String>,
    /// Of a run: latest, best, or a round that has a checkpoint [default: latest].
    #[arg(long)]
    pub checkpoint: Option<String>,
    /// Of a run: take the most probable action instead of sampling.
    #[arg(long)]
    pub greedy: bool,
    /// Of an environment: set one of its parameters; may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Which episode, from 1.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub episode: usize,
    /// Stop after so many steps [default: when the episode is truncated].
    #[arg(long)]
    pub steps: Option<usize>,
    /// Width of the picture [default: 320 per column of scenes].
    #[arg(long, value_name = "PIXELS")]
    pub width: Option<usize>,
    /// The file to write, in place of what is there [default: RUN/play.gif, or ENV.gif here].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// How much is said.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `fedrl report`.
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// The run directories.
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// How much is said.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `fedrl compare`.
#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// The run directories.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Also tell how soon a return of this is reached: by the mean over agents of their last ten episodes, and by
    /// each agent's own; or, where episodes are not recorded, by the training return averaged over five rounds.
    #[arg(long, value_name = "RETURN")]
    pub reach: Option<f64>,
    /// Draw the learning curves to this file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// How much is said.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `fedrl env`.
#[derive(Debug, clap::Args)]
pub struct EnvArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: EnvCommand,
}

/// `fedrl env …`.
#[derive(Debug, Subcommand)]
pub enum EnvCommand {
    /// All environments.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// One environment: spaces, parameters, reward, termination.
    Describe {
        /// Its id.
        env: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Step an environment: JSON lines in, {"state":[..],"action":[..]}; JSON lines out,
    /// {"state","obs","reward","terminated"}.
    Step {
        /// Its id.
        env: String,
        /// Set one of its parameters; may be repeated.
        #[arg(long = "set", value_name = "NAME=VALUE")]
        set: Vec<String>,
        /// Precision of the arithmetic.
        #[arg(long, value_enum, default_value_t = Precision::F64)]
        precision: Precision,
    },
}

/// `fedrl bench`.
#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    /// What to measure.
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// `fedrl bench …`.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Steps of environments under random actions, observations included.
    Env {
        /// Ids of environments [default: all].
        envs: Vec<String>,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Steps of environments under one policy that acts by chance, episodes begun anew as they end.
    Rollout {
        /// Ids of environments [default: CartPole-v1 Acrobot-v1].
        envs: Vec<String>,
        /// Widths of the policy's hidden layers.
        #[arg(long, value_delimiter = ',', default_value = "8,8")]
        hidden: Vec<usize>,
        /// cpu, reference, gpu, or wgpu:N as `fedrl doctor` counts.
        #[arg(long, default_value = "cpu")]
        device: String,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Rounds of training: of FedSVRPG-M on CartPole whose pole never falls, or of an experiment.
    Round {
        /// The experiment, a TOML file.
        config: Option<PathBuf>,
        /// Override one value of the experiment; may be repeated.
        #[arg(long = "set", value_name = "KEY=VALUE")]
        set: Vec<String>,
        /// cpu, reference, gpu, or wgpu:N as `fedrl doctor` counts.
        #[arg(long, default_value = "cpu")]
        device: String,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Evaluations of one policy on as many variants as there are agents, 20 episodes each.
    Eval {
        /// Ids of environments [default: CartPole-v1].
        envs: Vec<String>,
        /// Widths of the policy's hidden layers.
        #[arg(long, value_delimiter = ',', default_value = "8,8")]
        hidden: Vec<usize>,
        /// cpu, reference, gpu, or wgpu:N as `fedrl doctor` counts.
        #[arg(long, default_value = "cpu")]
        device: String,
        #[command(flatten)]
        options: BenchOptions,
    },
}

/// How something is measured.
#[derive(Debug, Clone, clap::Args)]
pub struct BenchOptions {
    /// Numbers of agents, that is of environments.
    #[arg(long, value_delimiter = ',', default_value = "1,10,100,1000,10000,100000")]
    pub agents: Vec<usize>,
    /// Threads.
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// Repeats, of which the median is told.
    #[arg(long, default_value_t = 5)]
    pub repeats: usize,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Precision of the arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// What training uses.
    F32,
    /// What the tests against the real environments use.
    F64,
}

/// `fedrl doctor`.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// An experiment to choose a device for.
    pub config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
