//! Runs the program in a directory of its own and keeps what it says.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Three agents whose poles differ in length; 30 parameters, six rounds, well under a second.
const TINY: &str = r#"[environment]
id = "CartPole-v1"
max_episode_steps = 100
agents = { length = { values = [0.3, 0.5, 0.7] } }
interpolation = { length = { values = [0.4, 0.6] } }
extrapolation = { length = { values = [0.2, 0.9] } }

[agents]
count = 3

[policy]
hidden = [4]

[algorithm]
name = "fedsvrpg-m"
beta = 0.5
local_steps = 2
local_step_size = 0.002
global_step_size = 0.004
discount = 0.99
horizon = 30
batch = 2

[training]
rounds = 6
seed = 1
checkpoint_every = 2

[evaluation]
episodes = 2
"#;

/// Parameters of the tiny experiment's policy: 4·4 + 4 and 4·2 + 2.
pub const TINY_PARAMETERS: u64 = 30;

/// The tiny experiment with pieces of its text replaced.
pub fn tiny(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(TINY.to_string(), |text, (from, to)| {
        assert!(text.contains(from), "the tiny experiment does not say {from}");
        text.replace(from, to)
    })
}

/// How a command ended and what it said.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    fn of(output: std::process::Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        // Mesa's software driver complains of the test machine, not of us.
        let ours = |line: &&str| !line.contains("XDG_RUNTIME_DIR");
        let stderr = text(&output.stderr).lines().filter(ours).fold(String::new(), |all, line| all + line + "\n");
        Outcome { code: output.status.code(), stdout: text(&output.stdout), stderr }
    }

    /// The same, provided that the command succeeded.
    #[track_caller]
    pub fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// The one line of an error, provided that there is just that, and this exit code.
    #[track_caller]
    pub fn refused(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.stdout, "");
        let lines: Vec<&str> = self.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
        assert_eq!(lines.len(), 1, "one line of error, not\n{}", self.stderr);
        lines[0].to_string()
    }

    /// Every line of stdout as JSON.
    pub fn json(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }
}

/// A directory to work in, gone at the end.
pub struct Place {
    directory: TempDir,
}

impl Place {
    /// With `text` as `experiment.toml`.
    pub fn with(text: &str) -> Self {
        let place = Place { directory: tempfile::tempdir().expect("a temporary directory") };
        place.write("experiment.toml", text);
        place
    }

    /// With the tiny experiment as `experiment.toml`.
    pub fn tiny() -> Self {
        Self::with(TINY)
    }

    /// With the tiny experiment trained in `run`.
    pub fn trained() -> Self {
        let place = Self::tiny();
        place.train("run", &[]);
        place
    }

    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a writable directory");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn read_json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The rounds in a run's `metrics.jsonl`.
    pub fn metrics(&self, run: &str) -> Vec<Value> {
        let text = self.read(&format!("{run}/metrics.jsonl"));
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// The program with these arguments, not yet started. It works in this directory.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedrl"));
        command.args(arguments).current_dir(self.root()).stdin(Stdio::null());
        command
    }

    pub fn fedrl(&self, arguments: &[&str]) -> Outcome {
        Outcome::of(self.command(arguments).output().expect("the program starts"))
    }

    /// With `input` on stdin.
    pub fn fedrl_reading(&self, arguments: &[&str], input: &str) -> Outcome {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_string();
        // From a thread of its own, as the program may fill stdout before it has read everything;
        // and it may rightly stop reading at the first bad line.
        let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let output = child.wait_with_output().expect("the program ends");
        writer.join().expect("the writer ends");
        Outcome::of(output)
    }

    /// Started, and silent.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
    }

    /// Trains `experiment.toml` in `run` on the CPU.
    #[track_caller]
    pub fn train(&self, run: &str, more: &[&str]) -> Outcome {
        let arguments = [&["train", "experiment.toml", "--device", "cpu", "--out", run], more].concat();
        self.fedrl(&arguments).done()
    }

    /// θ in a run's checkpoint of `round`.
    pub fn theta(&self, run: &str, round: u32) -> Vec<f32> {
        let path = self.path(run).join(format!("checkpoints/round-{round:06}/state.safetensors"));
        let bytes = fs::read(path).expect("a checkpoint");
        let file = safetensors::SafeTensors::deserialize(&bytes).expect("safetensors");
        let theta = file.tensor("theta").expect("θ");
        theta.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }
}
