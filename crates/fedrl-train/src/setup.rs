//! An experiment, checked and built: everything that stays the same during a run.

use fedrl_algos::value::{DdpgExperiment, Shares, ValueExperiment};
use fedrl_algos::{
    Agent, AlgorithmConfig, AnyAlgorithm, Estimates, Exact, Fused, OnDevice, Sampled, Tabular, Together, World,
};
use fedrl_core::Space;
use fedrl_core::random::{Key, Purpose};
use fedrl_core::wide::widest;
use fedrl_engine::tabular::Tables;
use fedrl_engine::{Engine, Mode, Number, Selection};
use fedrl_envs::{Environment, Instance, VariantSet};
use fedrl_models::Policy;

use crate::config::{ConfigError, Experiment};

/// A named set of variants that nobody trains on.
#[derive(Debug, Clone)]
pub struct HeldOut {
    /// `interpolation` or `extrapolation`.
    pub name: &'static str,
    /// The variants.
    pub instances: Vec<Instance>,
}

/// What an experiment amounts to, before anything has run.
pub struct Setup {
    /// What was asked for.
    pub experiment: Experiment,
    /// The environment.
    pub environment: &'static dyn Environment,
    /// The agents' environments.
    pub agents: Vec<Instance>,
    /// The held-out sets that the experiment names.
    pub held_out: Vec<HeldOut>,
    /// The policy.
    pub policy: Policy,
    source: String,
}

impl Setup {
    /// Checks and builds; `source` names the experiment's file in messages. Nothing is created.
    ///
    /// # Errors
    /// Whatever does not fit together.
    pub fn new(experiment: Experiment, source: &str) -> Result<Self, ConfigError> {
        let fail = |key: &str, problem: String| ConfigError::at(source, key, problem);
        let config = &experiment.environment;
        let environment = fedrl_envs::find(&config.id).map_err(|problem| fail("environment.id", problem))?;
        let seed = experiment.training.seed;
        let build = |name: &str, index: u32, set: &VariantSet, count: Option<usize>| {
            set.instances(environment, count, seed, index)
                .map_err(|problem| fail(&format!("environment.{name}"), problem.to_string()))
        };
        let agents = build("agents", 0, &config.agents, Some(experiment.agents.count))?;
        let sets = [("interpolation", 1, &config.interpolation), ("extrapolation", 2, &config.extrapolation)];
        let mut held_out = Vec::new();
        for (name, index, set) in sets {
            if let Some(set) = set {
                held_out.push(HeldOut { name, instances: build(name, index, set, None)? });
            }
        }

        let spec = environment.spec();
        let policy = Policy::new(&experiment.policy, &spec.observation, &spec.action)
            .map_err(|problem| fail("policy", problem.to_string()))?;
        let setup = Setup { environment, agents, held_out, policy, experiment, source: source.into() };
        if setup.experiment.algorithm.exact() && setup.tables().is_none() {
            let problem = "needs a tabular softmax policy on a finite decision process: an environment like \
                           RandomMDP-v0, `policy.hidden = []` and `policy.bias = false`";
            return Err(fail("algorithm.exact", problem.into()));
        }
        setup.check_values()?;
        if setup.experiment.algorithm.personal().is_some() && setup.experiment.policy.hidden.is_empty() {
            let problem = "is [], expected a layer at least: with `personal = \"head\"` it is what agents share";
            return Err(fail("policy.hidden", problem.into()));
        }
        Ok(setup)
    }

    /// Refuses what values cannot be learned for.
    fn check_values(&self) -> Result<(), ConfigError> {
        let (shares, embeds, chooses) = match &self.experiment.algorithm {
            AlgorithmConfig::Value(ValueExperiment { name, .. }) => {
                (name.strategy().shares, name.strategy().embeds, true)
            }
            AlgorithmConfig::Ddpg(DdpgExperiment { name, .. }) => (name.shares(), false, false),
            _ => return Ok(()),
        };
        let fail = |key: &str, problem: String| Err(ConfigError::at(&self.source, key, problem));
        let (name, config) = (self.experiment.algorithm.name(), &self.experiment.policy);
        let (id, action) = (self.environment.spec().id, &self.environment.spec().action);
        match (chooses, matches!(action, Space::Discrete { .. })) {
            (true, false) => {
                return fail("algorithm.name", format!("{name} chooses among actions, and those of {id} are vectors"));
            }
            (false, true) => {
                return fail("algorithm.name", format!("{name}'s actions are vectors, and {id} has choices"));
            }
            _ => {}
        }
        if shares == Shares::Representation && config.hidden.is_empty() {
            return fail("policy.hidden", format!("is [], expected a layer at least: it is what {name} shares"));
        }
        if embeds && !config.bias {
            return fail("policy.bias", format!("is false, expected true: through it {name} learns embeddings"));
        }
        Ok(())
    }

    /// Whether actions in evaluations are the most probable ones, or sampled.
    pub fn mode(&self) -> Mode {
        if self.learns_values() { Mode::Greedy } else { Mode::Sampled }
    }

    /// The policy's initial parameters θ_0: drawn, or read from `policy.initial`. Only a run without
    /// a checkpoint needs them.
    ///
    /// # Errors
    /// The file cannot be read, or is of another policy.
    pub fn initial(&self) -> Result<Vec<f32>, ConfigError> {
        let fail = |problem: String| ConfigError::at(&self.source, "policy.initial", problem);
        match &self.experiment.policy.initial {
            None => Ok(self.policy.initial(Key::new(self.experiment.training.seed, Purpose::Initialisation))),
            Some(path) => {
                let bytes = std::fs::read(path).map_err(|error| fail(format!("cannot read {path}: {error}")))?;
                fedrl_models::files::from_bytes(&self.policy, &bytes).map_err(|error| fail(format!("{path}: {error}")))
            }
        }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> AnyAlgorithm {
        let Experiment { algorithm, training, policy, .. } = &self.experiment;
        algorithm.build(training.rounds, &self.policy, self.agents.len(), policy.initial.is_none())
    }

    /// Steps after which an episode is truncated.
    pub fn max_episode_steps(&self) -> usize {
        self.experiment.environment.max_episode_steps.unwrap_or(self.environment.spec().max_episode_steps)
    }

    /// Multiply-adds of one environment step of all agents, for choosing a device; none where training is
    /// the processor's anyway.
    pub fn work(&self) -> usize {
        if self.learns_values() {
            return 0;
        }
        self.agents
            .len()
            .saturating_mul(self.experiment.algorithm.batch())
            .saturating_mul(self.policy.parameter_count())
    }

    /// What does the arithmetic on a device, for manifests.
    pub fn driver(&self, selection: &Selection) -> String {
        if self.learns_values() {
            format!("minibatches, {}", widest())
        } else if self.tables().is_some() {
            "tables".into()
        } else {
            selection.driver(&self.policy)
        }
    }

    /// The agents' environments as tables, where they are finite and the policy is a table, too, whose
    /// gradient is followed.
    pub fn tables(&self) -> Option<Vec<Tables>> {
        if self.learns_values() {
            return None;
        }
        let tables = || self.agents.iter().map(|instance| instance.mdp().map(Tables::new)).collect();
        self.policy.is_table().then(tables)?
    }

    /// The world in which an algorithm runs in f64: for tabular policies, whose tables take the place of
    /// the engine.
    pub fn double_world(&self) -> World<f64> {
        let sampled = || Sampled { engine: Engine::double(), policy: self.policy.clone(), foreign: None };
        self.world(self.tabular().unwrap_or_else(|| Box::new(sampled())))
    }

    /// The world in which an algorithm runs on a device: through tables where there are any, in lanes on a
    /// CPU and in kernels on a GPU where the policy is narrow enough, else through tensors. Algorithms that
    /// learn values ask for no gradients of policies.
    pub fn world_on(&self, engine: &Engine<f32>) -> World<f32> {
        let tensors = || Box::new(Sampled { engine: engine.clone(), policy: self.policy.clone(), foreign: None });
        let gradients = || self.tabular().or_else(|| self.fused(engine, &self.simulated()));
        let estimates = if self.learns_values() { None } else { gradients() };
        self.world(estimates.unwrap_or_else(|| tensors()))
    }

    /// The worlds of trainings that go on side by side. Estimates of those that train the same kind of policy in
    /// the same kind of environment are made together, where that is done in lanes or kernels; their worlds wait
    /// for each other at every local step until they are dropped.
    pub fn worlds_on(setups: &[Setup], engine: &Engine<f32>) -> Vec<World<f32>> {
        let mut worlds: Vec<World<f32>> = setups.iter().map(|setup| setup.world_on(engine)).collect();
        let mut open: Vec<usize> = (0..setups.len()).filter(|&member| setups[member].samples()).collect();
        while let Some(&first) = open.first() {
            let alike = |&member: &usize| setups[member].is_like(&setups[first]);
            let (group, others): (Vec<usize>, Vec<usize>) = open.into_iter().partition(alike);
            open = others;
            let agents: Vec<Vec<Agent<f32>>> = group.iter().map(|&member| setups[member].simulated()).collect();
            if let Some(estimates) = setups[first].fused(engine, &agents.concat()) {
                for (&member, together) in group.iter().zip(Together::new(estimates, agents)) {
                    worlds[member].estimates = Box::new(together);
                }
            }
        }
        worlds
    }

    fn learns_values(&self) -> bool {
        self.experiment.algorithm.learns_values()
    }

    /// Whether gradients are estimated from trajectories.
    fn samples(&self) -> bool {
        !self.learns_values() && self.tables().is_none()
    }

    /// Whether the same kernels serve both.
    fn is_like(&self, other: &Setup) -> bool {
        self.environment.spec().id == other.environment.spec().id && self.policy == other.policy
    }

    /// Estimates in lanes or kernels, if the device has them and the policy is narrow enough.
    fn fused(&self, engine: &Engine<f32>, agents: &[Agent<f32>]) -> Option<Box<dyn Estimates<f32>>> {
        if let Some(policy) = engine.fused(&self.policy) {
            return Some(Box::new(Fused::new(policy, agents, self.experiment.algorithm.batch())));
        }
        Some(Box::new(OnDevice::new(engine.resident(&self.policy, self.environment.spec())?)))
    }

    fn tabular<F: Number>(&self) -> Option<Box<dyn Estimates<F>>> {
        let tables = self.tables()?;
        Some(if self.experiment.algorithm.exact() { Box::new(Exact { tables }) } else { Box::new(Tabular { tables }) })
    }

    fn simulated<F: Number>(&self) -> Vec<Agent<F>> {
        let agents = self.agents.iter().enumerate();
        agents.map(|(id, instance)| Agent { id, simulator: instance.simulator(), spec: instance.spec() }).collect()
    }

    fn world<F: Number>(&self, estimates: Box<dyn Estimates<F>>) -> World<F> {
        World {
            estimates,
            agents: self.simulated(),
            seed: self.experiment.training.seed,
            max_episode_steps: self.max_episode_steps(),
            on_divergence: self.experiment.training.on_divergence,
        }
    }
}
