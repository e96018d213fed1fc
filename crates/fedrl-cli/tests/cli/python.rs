//! What Python makes of a run: its policy with NumPy, its events with TensorBoard's own reader.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use fedrl_models::Policy;
use fedrl_train::{Setup, Source};
use serde_json::{Value, json};

use crate::support::{Place, tiny};

/// Runs `python/NAME` and gives its stdout.
#[track_caller]
fn python(script: &str, argument: &Path, input: &str) -> String {
    let interpreter = std::env::var("FEDRL_PYTHON").unwrap_or_else(|_| "python3".into());
    let imports = Command::new(&interpreter).args(["-c", "import numpy, safetensors, tensorboard"]).output();
    assert!(
        imports.is_ok_and(|output| output.status.success()),
        "this test needs Python with numpy, safetensors and tensorboard: \
         `{interpreter} -m pip install numpy safetensors tensorboard 'setuptools<81'`, \
         or the path of another interpreter in FEDRL_PYTHON"
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/python").join(script);
    let mut command = Command::new(&interpreter);
    command.arg(script).arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("Python starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("Python reads");
    let output = child.wait_with_output().expect("Python ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The policy of a run and its parameters at the end, read as the program reads them.
fn policy(place: &Place, round: u32) -> (Policy, Vec<f32>) {
    let source = Source::read(&place.path("run/config.toml")).expect("an experiment");
    let policy = Setup::new(source.experiment().expect("an experiment"), "config.toml").expect("a setup").policy;
    let file = place.path(&format!("run/checkpoints/round-{round:06}/policy.safetensors"));
    let theta = fedrl_models::files::from_bytes(&policy, &std::fs::read(file).expect("a file")).expect("a policy");
    (policy, theta)
}

#[test]
fn numpy_computes_the_same_action_probabilities() {
    for activation in ["tanh", "relu"] {
        let place = Place::with(&tiny(&[("hidden = [4]", &format!("hidden = [6, 5]\nactivation = \"{activation}\""))]));
        place.train("run", &["--set", "algorithm.local_step_size=0.1"]);
        let (policy, theta) = policy(&place, 6);
        // From balanced to falling, and not symmetrical.
        let observations: Vec<[f32; 4]> = (0..40)
            .map(|i| [0.11, 0.53, 0.037, 0.71].map(|scale| scale * (i as f32 - 17.0) / 8.0).map(|x| x + x * x / 9.0))
            .collect();
        let probability = |observation: &[f32; 4], action: f32| {
            let outputs = policy.network.forward(&theta, observation);
            policy.head.log_probability(&outputs, &[], &[action]).exp()
        };
        let probabilities: Vec<[f32; 2]> =
            observations.iter().map(|observation| [0.0, 1.0].map(|action| probability(observation, action))).collect();
        assert!(probabilities.iter().any(|[left, _]| (left - 0.5).abs() > 0.05), "the policy does not care");
        let expected = json!({"observations": observations, "probabilities": probabilities}).to_string();
        python("forward.py", &place.path("run/checkpoints/round-000006/policy.safetensors"), &expected);
    }
}

#[test]
fn tensorboard_reads_every_scalar_of_every_round() {
    let place = Place::trained();
    // Events are written anew when a run goes on; they must then say the same.
    place.fedrl(&["resume", "run", "--from", "2"]).done();
    let read: BTreeMap<String, Vec<(i64, f64)>> =
        serde_json::from_str(&python("events.py", &place.path("run/tensorboard"), "")).unwrap();

    let mut expected: BTreeMap<String, Vec<(i64, f64)>> = BTreeMap::new();
    for metrics in place.metrics("run") {
        let round = metrics["round"].as_i64().unwrap();
        let scalars = metrics.as_object().unwrap().iter().filter_map(|(key, value)| Some((key, Value::as_f64(value)?)));
        for (key, value) in scalars.filter(|(key, _)| !["round", "time/unix_seconds"].contains(&key.as_str())) {
            // Events are in f32.
            expected.entry(key.clone()).or_default().push((round, f64::from(value as f32)));
        }
    }
    // Every second round has a checkpoint, whose size and time it tells.
    let rounds = |key: &str| if key.contains("checkpoint") { 3 } else { 6 };
    assert!(expected.contains_key("train/return_mean") && expected.contains_key("checkpoint/bytes"));
    assert!(expected.iter().all(|(key, series)| series.len() == rounds(key)));
    assert_eq!(read, expected);
}
