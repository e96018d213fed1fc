//! One round as one JSON object: the truth that pictures and tables are made from.

use std::time::{SystemTime, UNIX_EPOCH};

use fedrl_algos::{AgentMetrics, AgentReport, ImportanceMetrics, ValueMetrics};
use serde_json::{Map, Value, json};

use crate::checkpoint::Written;
use crate::state::Progress;

/// How long a round took.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    /// On the clock.
    pub seconds: f64,
    /// Of processors, all threads of the process together. NaN where the system does not tell, and where other
    /// trainings go on in the same process, whose they would be, too.
    pub process_seconds: f64,
}

/// The metrics of one round, in the order in which they are written. Keys are `group/name`; keys
/// under `agents/` hold one entry per agent, `null` for those that did not take part; keys under
/// `time/` are all that depends on the clock.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundMetrics(Map<String, Value>);

impl RoundMetrics {
    /// What `reports` say of the round that led to `progress`, which took so long.
    pub fn new(progress: &Progress, reports: &[AgentReport], took: Took) -> Self {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.to_string(), value);
        // An agent that diverged says nothing about how the others do.
        let sound: Vec<&AgentReport> = reports.iter().filter(|report| !report.diverged).collect();
        // Nor does one that has nothing to say: no episode of its ended, it has not begun to learn.
        let of =
            |f: fn(&AgentMetrics) -> f64| sound.iter().map(move |report| f(&report.metrics)).filter(|x| !x.is_nan());
        let mean_of = |f: fn(&AgentMetrics) -> f64| of(f).sum::<f64>() / of(f).count() as f64;
        let returns = || of(AgentMetrics::return_mean);

        put("round", json!(progress.round));
        put("train/return_mean", json!(mean_of(AgentMetrics::return_mean)));
        put("train/return_min", json!(returns().fold(f64::INFINITY, f64::min)));
        put("train/return_max", json!(returns().fold(f64::NEG_INFINITY, f64::max)));
        put("train/episode_length_mean", json!(mean_of(AgentMetrics::episode_length)));
        put("train/gradient_norm_mean", json!(mean_of(AgentMetrics::gradient_norm)));
        put("train/drift_mean", json!(mean_of(|metrics| metrics.drift)));
        put("train/terminated", json!(sound.iter().map(|report| report.metrics.lived.terminated).sum::<usize>()));
        put("train/env_steps", json!(progress.totals.env_steps));
        if let Some(importance) = all_weights(&sound) {
            put("importance/weight_mean", json!(importance.mean()));
            put("importance/effective_sample_size", json!(importance.effective_sample_size()));
            put("importance/non_finite", json!(importance.non_finite));
            put("importance/clipped", json!(importance.clipped));
            put("importance/collapsed", json!(importance.collapsed as f64 / importance.count as f64));
        }
        if sound.iter().any(|report| report.metrics.values.is_some()) {
            put("train/episodes", json!(sound.iter().map(|report| report.metrics.lived.trajectories).sum::<usize>()));
            put(
                "train/loss_mean",
                json!(mean_of(|metrics| metrics.values.as_ref().map_or(f64::NAN, ValueMetrics::loss))),
            );
            put(
                "train/exploration",
                json!(mean_of(|metrics| metrics.values.as_ref().map_or(f64::NAN, |values| values.exploration))),
            );
            let step_size =
                |metrics: &AgentMetrics| metrics.values.as_ref().map_or(f64::NAN, |values| values.step_size);
            put("train/learning_rate_mean", json!(mean_of(step_size)));
        }
        put("federation/participants", json!(reports.len()));
        put("federation/diverged", json!(reports.iter().filter(|report| report.diverged).count()));
        put("federation/bytes_up", json!(reports.iter().map(|report| report.bytes_up).sum::<u64>()));
        put("federation/bytes_down", json!(reports.iter().map(|report| report.bytes_down).sum::<u64>()));
        // With the exchange before the first round, where there is one.
        put("federation/total_bytes_up", json!(progress.totals.bytes_up));
        put("federation/total_bytes_down", json!(progress.totals.bytes_down));

        let agents = progress.active.len();
        let per_agent = |f: &dyn Fn(&AgentReport) -> Value| {
            let mut row = vec![Value::Null; agents];
            reports.iter().for_each(|report| row[report.agent] = f(report));
            Value::Array(row)
        };
        put("agents/return", per_agent(&|r| json!(r.metrics.return_mean())));
        put("agents/episode_length", per_agent(&|r| json!(r.metrics.episode_length())));
        put("agents/gradient_norm", per_agent(&|r| json!(r.metrics.gradient_norm())));
        put("agents/drift", per_agent(&|r| json!(r.metrics.drift)));
        if reports.iter().any(|report| report.metrics.importance.is_some()) {
            let weights = |f: fn(&ImportanceMetrics) -> Value| {
                per_agent(&move |r| r.metrics.importance.as_ref().map_or(Value::Null, f))
            };
            put("agents/importance_mean", weights(|w| json!(w.mean())));
            put("agents/importance_effective_sample_size", weights(|w| json!(w.effective_sample_size())));
            put("agents/importance_non_finite", weights(|w| json!(w.non_finite)));
        }
        if reports.iter().any(|report| report.metrics.values.is_some()) {
            let values =
                |f: fn(&ValueMetrics) -> Value| per_agent(&move |r| r.metrics.values.as_ref().map_or(Value::Null, f));
            put("agents/returns", values(|values| json!(values.returns)));
            put("agents/loss", values(|values| json!(values.loss())));
            put("agents/learning_rate", values(|values| json!(values.step_size)));
        }
        put("agents/env_steps", per_agent(&|r| json!(r.metrics.lived.env_steps)));
        put("agents/bytes_up", per_agent(&|r| json!(r.bytes_up)));
        put("agents/bytes_down", per_agent(&|r| json!(r.bytes_down)));
        put("agents/draw_margin", per_agent(&|r| json!(r.metrics.lived.margin)));

        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        put("time/unix_seconds", json!(now));
        put("time/round_seconds", json!(took.seconds));
        put("time/process_seconds", json!(took.process_seconds));
        put("time/agents_seconds", per_agent(&|r| json!(r.metrics.seconds)));
        RoundMetrics(map)
    }

    /// Adds what the checkpoint after the round took. Its size is a round's own only if it is `scheduled`: one that
    /// an interrupt asked for is not in a run that was not interrupted.
    pub(crate) fn add_checkpoint(&mut self, written: Written, scheduled: bool) {
        if scheduled {
            self.0.insert("checkpoint/bytes".into(), json!(written.bytes));
        }
        self.0.insert("time/checkpoint_seconds".into(), json!(written.seconds));
    }

    /// The object read back from a line of `metrics.jsonl`.
    pub(crate) fn from_line(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok().map(RoundMetrics)
    }

    /// The round, from 1.
    pub fn round(&self) -> u32 {
        self.0.get("round").and_then(Value::as_u64).unwrap_or(0) as u32
    }

    /// A single number; `None` for arrays, absent keys and what was not finite.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key).and_then(Value::as_f64)
    }

    /// An agent's number.
    pub fn agent(&self, key: &str, agent: usize) -> Option<f64> {
        self.0.get(key)?.get(agent)?.as_f64()
    }

    /// One agent's numbers alone, under their names without the group.
    pub(crate) fn of_agent(&self, agent: usize) -> Self {
        let mut map = Map::new();
        map.insert("round".into(), json!(self.round()));
        for (key, value) in &self.0 {
            if let (Some(name), Some(value)) = (key.strip_prefix("agents/"), value.get(agent)) {
                map.insert(name.to_string(), value.clone());
            }
        }
        RoundMetrics(map)
    }

    /// Every single number.
    pub fn scalars(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().filter_map(|(key, value)| value.as_f64().map(|value| (key.as_str(), value)))
    }

    /// The line of `metrics.jsonl`, without its end.
    pub fn to_line(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }
}

fn all_weights(reports: &[&AgentReport]) -> Option<ImportanceMetrics> {
    let mut all = reports.iter().filter_map(|report| report.metrics.importance.as_ref());
    let mut sum = *all.next()?;
    all.for_each(|importance| sum.merge(importance));
    Some(sum)
}
