//! Adaptation of what a run learned: how well its policies do in an environment that nobody trained
//! in, and how soon a new agent learns there that begins with one of them, or with less, or with nothing.
//!
//! A new agent learns by DQN's own loop, alone: [`ValueLearning`] in a world of one agent.

mod few_shot;
mod runs;

use fedrl_algos::value::{Strategy, Updates, ValueConfig, ValueLearning};
use fedrl_algos::{Agent, Algorithm, AlgorithmError, Divergence, Sampled, ServerState, World};
use fedrl_core::random::{Key, Purpose};
use fedrl_engine::Engine;
use fedrl_envs::{Instance, Parameters};
use fedrl_models::Policy;
use rayon::prelude::*;
use serde::Serialize;

use crate::{Actors, Protocol, evaluate, nearest};
pub use few_shot::{FewShot, LAST_EPISODES, Point, Reached, SeedMean};
use few_shot::{Life, Measure};
pub use runs::{PointOverRuns, RunMean, StartOverRuns, VariantOverRuns, ZeroShotOverRuns, over_runs};

/// What a new agent begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Beginning {
    /// The network of the agent that lives nearest: Φ, every layer but the last, and a head for it.
    Nearest,
    /// Φ of that agent and a freshly drawn head.
    Fresh,
    /// A freshly drawn network.
    Scratch,
}

impl Beginning {
    /// All of them.
    pub const ALL: [Beginning; 3] = [Beginning::Nearest, Beginning::Fresh, Beginning::Scratch];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Beginning::Nearest => "nearest",
            Beginning::Fresh => "fresh",
            Beginning::Scratch => "scratch",
        }
    }
}

/// How to begin, and what may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Start {
    /// What the new agent begins with.
    pub beginning: Beginning,
    /// Whether only the head is updated.
    pub frozen: bool,
}

/// How to adapt.
#[derive(Debug, Clone)]
pub struct Adaptation<'a> {
    /// The form of the policies.
    pub policy: &'a Policy,
    /// What the run learned.
    pub learned: Actors<'a>,
    /// The numbers of DQN.
    pub config: ValueConfig,
    /// Evaluation of what was learned as it is; its seed is that of every draw.
    pub protocol: Protocol,
    /// Environment steps of every new agent.
    pub steps: u32,
    /// New agents per variant and start.
    pub seeds: u32,
    /// Return from which on an environment counts as learned.
    pub threshold: f64,
    /// Compared side by side, in the same environment draws.
    pub starts: Vec<Start>,
}

/// How one of the learned policies does as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ZeroShot {
    /// The agent whose policy it is.
    pub agent: usize,
    /// Mean undiscounted return.
    pub mean: f64,
    /// Lower end of the mean's 95 % bootstrap interval over episodes.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

/// Adaptation to one variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantAdaptation {
    /// The parameters in which it differs.
    pub parameters: Parameters,
    /// The agent that lives nearest, where agents have policies of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest_agent: Option<usize>,
    /// Every learned policy as it is; one where all agents have the same.
    pub zero_shot: Vec<ZeroShot>,
    /// What became of new agents, start by start.
    pub few_shot: Vec<FewShot>,
}

/// Adapts to every one of `instances`.
///
/// # Errors
/// The device failed.
pub fn adapt(
    engine: &Engine<f32>,
    adaptation: &Adaptation,
    instances: &[Instance],
) -> Result<Vec<VariantAdaptation>, AlgorithmError> {
    let Adaptation { starts, seeds, .. } = adaptation;
    let mut zero_shot = adaptation.zero_shot(engine, instances)?.into_iter();

    // Every new agent is a task of its own: the longest chain of work is one life.
    let newcomers: Vec<Newcomer> = (0..instances.len())
        .flat_map(|variant| starts.iter().map(move |&start| (variant, start)))
        .flat_map(|(variant, start)| (0..*seeds).map(move |seed| Newcomer { variant, start, seed }))
        .collect();
    let live = |newcomer: &Newcomer| adaptation.live(engine, &instances[newcomer.variant], newcomer);
    let lives: Vec<Life> = newcomers.par_iter().with_max_len(1).map(live).collect::<Result<_, _>>()?;
    let mut lives = lives.chunks_exact(*seeds as usize);

    let variant = |(index, instance): (usize, &Instance)| {
        let key = Key::new(adaptation.protocol.seed, Purpose::Bootstrap).child([index as u32, 1, 0, 0]);
        let measure = Measure { steps: adaptation.steps, threshold: adaptation.threshold, key };
        VariantAdaptation {
            parameters: instance.given().clone(),
            nearest_agent: adaptation.nearest_agent(instance),
            zero_shot: zero_shot.next().unwrap_or_default(),
            few_shot: starts.iter().zip(lives.by_ref()).map(|(&start, lives)| measure.few_shot(start, lives)).collect(),
        }
    };
    Ok(instances.iter().enumerate().map(variant).collect())
}

/// A new agent: number `seed` of those that begin like this in a variant.
struct Newcomer {
    variant: usize,
    start: Start,
    seed: u32,
}

impl Adaptation<'_> {
    fn nearest_agent(&self, instance: &Instance) -> Option<usize> {
        if let Actors::Agents { homes, .. } = self.learned { Some(nearest(homes, instance)) } else { None }
    }

    /// Every learned policy in every one of `instances`, variant by variant.
    fn zero_shot(&self, engine: &Engine<f32>, instances: &[Instance]) -> Result<Vec<Vec<ZeroShot>>, AlgorithmError> {
        let mut variants = vec![Vec::new(); instances.len()];
        for (agent, theta) in self.learned.all().into_iter().enumerate() {
            let evaluation = evaluate(engine, self.policy, Actors::Common(theta), instances, &self.protocol)?;
            for (policies, found) in variants.iter_mut().zip(evaluation.variants) {
                policies.push(ZeroShot { agent, mean: found.mean, low: found.low, high: found.high });
            }
        }
        Ok(variants)
    }

    /// The life of a new agent. One that diverges lives on with what it has: it does not get there.
    fn live(&self, engine: &Engine<f32>, instance: &Instance, newcomer: &Newcomer) -> Result<Life, AlgorithmError> {
        let world = self.world(engine, instance, newcomer);
        let algorithm = ValueLearning::new(self.numbers(newcomer.start), Strategy::DQN, self.policy, 1);
        let theta = self.beginning(&world, instance, newcomer);
        let start = algorithm.start(&world, theta)?.state;
        let done = algorithm.round(&world, &start, 0, &[0])?;
        let lived = done.reports.into_iter().find_map(|report| report.metrics.values).unwrap_or_default();
        Ok(Life { returns: lived.returns, lengths: lived.lengths, theta: done.state.theta().to_vec() })
    }

    /// The new agent alone. Its draws are those of its variant and seed, however it begins.
    fn world(&self, engine: &Engine<f32>, instance: &Instance, newcomer: &Newcomer) -> World<f32> {
        let Key { low, high } = Key::new(self.protocol.seed, Purpose::Adaptation).child([newcomer.seed, 0, 0, 0]);
        World {
            estimates: Box::new(Sampled { engine: engine.clone(), policy: self.policy.clone(), foreign: None }),
            agents: vec![Agent { id: newcomer.variant, simulator: instance.simulator(), spec: instance.spec() }],
            seed: u64::from(high) << 32 | u64::from(low),
            max_episode_steps: self.protocol.max_episode_steps,
            on_divergence: Divergence::DropAgent,
        }
    }

    /// The run's numbers for DQN, all of a life in one round.
    fn numbers(&self, start: Start) -> ValueConfig {
        let updates = if start.frozen { Updates::Head } else { Updates::Joint };
        let iterations = self.steps.div_ceil(self.config.local_steps as u32);
        ValueConfig { iterations, updates: Some(updates), moments: None, fusion: None, ..self.config.clone() }
    }

    /// θ that the new agent begins with.
    fn beginning(&self, world: &World<f32>, instance: &Instance, newcomer: &Newcomer) -> Vec<f32> {
        let learned = self.learned.theta(newcomer.variant, instance);
        let drawn = || self.policy.initial(world.key(Purpose::Initialisation, newcomer.variant, 0));
        match newcomer.start.beginning {
            Beginning::Nearest => learned.to_vec(),
            Beginning::Fresh => {
                let body = self.policy.network.body();
                [&learned[body.clone()], &drawn()[body.end..]].concat()
            }
            Beginning::Scratch => drawn(),
        }
    }
}

#[cfg(test)]
mod tests;
