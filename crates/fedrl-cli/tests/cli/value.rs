//! Algorithms that learn action values, as their users meet them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::compare::assert_same_run;
use crate::support::{Place, tiny};

const NAMES: [&str; 7] = ["pfeddqn-rep", "dqn", "feddqn", "fedq-k", "lfrl", "per-dqn-avg", "fedasynq-imavg"];

/// Three poles, a network of 4 hidden units, six rounds of 40 iterations; with pieces of its text replaced.
pub fn experiment(name: &str, edits: &[(&str, &str)]) -> Place {
    let momentum = "name = \"fedsvrpg-m\"\nbeta = 0.5\nlocal_steps = 2\nlocal_step_size = 0.002\n\
                    global_step_size = 0.004\ndiscount = 0.99\nhorizon = 30\nbatch = 2\n";
    let fusion = if name == "lfrl" { "fusion = { every = 50, samples = 40, updates = 5 }\n" } else { "" };
    let numbers = format!(
        "name = \"{name}\"\ndiscount = 0.98\nlearning_rate = 0.002\nlocal_steps = 2\nbatch = 8\nreplay = 50\n\
         learning_starts = 20\nexploration = 0.2\niterations = 40\n{fusion}"
    );
    Place::with(&edits.iter().fold(tiny(&[(momentum, &numbers)]), |text, (from, to)| text.replace(from, to)))
}

/// Returns of the episodes that an agent ended in a round.
fn returns(round: &Value, agent: usize) -> Vec<f64> {
    let returns = round["agents/returns"][agent].as_array().expect("a list");
    returns.iter().map(|x| x.as_f64().expect("a number")).collect()
}

#[test]
fn every_algorithm_trains_and_resumes_to_the_same_bytes() {
    for name in NAMES {
        let place = experiment(name, &[]);
        place.train("whole", &[]);
        place.train("resumed", &[]);
        place.fedrl(&["resume", "resumed", "--from", "2"]).done();
        assert_same_run(&place.path("whole"), &place.path("resumed"));

        let rounds = place.metrics("whole");
        assert_eq!(rounds.len(), 6);
        for round in &rounds {
            assert_eq!(round["agents/env_steps"], Value::from([80; 3].to_vec()), "{name}");
            let ended: usize = (0..3).map(|agent| returns(round, agent).len()).sum();
            assert_eq!(round["train/episodes"].as_u64(), Some(ended as u64));
            for agent in 0..3 {
                let returns = returns(round, agent);
                let mean = (!returns.is_empty()).then(|| returns.iter().sum::<f64>() / returns.len() as f64);
                assert_eq!(round["agents/return"][agent].as_f64(), mean, "{name}: null where no episode ended");
            }
        }
        let lines = place.read("whole/metrics.jsonl");
        assert!(!lines.contains("NaN") && rounds[5]["agents/loss"][0].is_f64(), "{name}");
    }
}

/// Bytes of a checkpoint's files.
pub fn size(place: &Place, checkpoint: &str) -> u64 {
    let files = std::fs::read_dir(place.path(checkpoint)).expect("a checkpoint");
    files.map(|file| file.expect("a file").metadata().expect("a size").len()).sum()
}

/// What `fedrl doctor` says of a checkpoint's size.
pub fn bound(place: &Place) -> u64 {
    let said = place.fedrl(&["doctor", "experiment.toml", "--json"]).done().json();
    let disk = &said[0]["disk"];
    // The newest three, the best, one of an interrupt and one that is being written.
    assert_eq!(disk["checkpoints"], 6);
    let bound = disk["checkpoint"].as_u64().expect("a size");
    assert_eq!(disk["total"], 6 * bound);
    bound
}

#[test]
fn a_checkpoint_is_as_large_as_is_said_and_no_larger_than_was_foretold() {
    for name in [&NAMES[..], &["fedsvrpg-m"]].concat() {
        let place = if name == "fedsvrpg-m" { Place::tiny() } else { experiment(name, &[]) };
        place.train("run", &[]);
        let (size, bound) = (size(&place, "run/checkpoints/round-000006"), bound(&place));
        assert_eq!(place.metrics("run")[5]["checkpoint/bytes"], size, "{name}");
        assert!(size <= bound && bound < size + 12_000, "{name}: {size} and {bound}");
    }
    // 3 memories of 10,000 transitions of 11 numbers are 1,320,000 bytes; after 480 steps nearly all is empty.
    let place = experiment("dqn", &[("replay = 50", "replay = 10000")]);
    let text = place.train("run", &[]).stdout;
    assert!(text.contains("checkpoint  ") && text.contains(" KiB, written in 0."), "{text}");
    let (size, bound) = (size(&place, "run/checkpoints/round-000006"), bound(&place));
    assert!(size < 100_000 && (1_320_000..1_340_000).contains(&bound), "{size} and {bound}");
    // Compressed it is resumed as exactly.
    place.train("resumed", &[]);
    place.fedrl(&["resume", "resumed", "--from", "2"]).done();
    assert_same_run(&place.path("run"), &place.path("resumed"));
}

#[test]
fn compare_holds_returns_beside_published_ones() {
    let published =
        |mean: f64| format!("[published]\nsource = \"a paper, Table 3\"\nreturn_mean = {mean}\n[training]\n");
    let place = experiment("dqn", &[("[training]\n", &published(135.0))]);
    place.train("dqn", &[]);
    place.train("feddqn", &["--set", "algorithm.name=feddqn", "--set", "published.return_mean=101.5"]);
    let said = place.fedrl(&["compare", "dqn", "feddqn"]).done().stdout;
    for text in [
        "last 50 episodes",
        "a paper, Table 3",
        " 135 ",
        " 101.5 ",
        "dqn > feddqn",
        "+33.5",
        "published orders: unknown 1",
    ] {
        assert!(said.contains(text), "{text} is not in\n{said}");
    }
    let said = place.fedrl(&["compare", "dqn", "feddqn", "--json"]).done();
    let order = &said.json()[0]["published_orders"][0];
    assert_eq!((&order["published"], &order["verdict"]), (&33.5.into(), &"unknown".into()));
    let plain = experiment("dqn", &[]);
    plain.train("run", &[]);
    assert!(!plain.fedrl(&["compare", "run"]).done().stdout.contains("published"));
}

#[test]
fn how_soon_a_return_is_reached_is_told_of_runs_and_of_agents() {
    let place = experiment("dqn", &[]);
    // Three agents with ten episodes at least, and more than a step in each.
    place.train("run", &["--set", "training.rounds=20"]);
    let said = place.fedrl(&["compare", "run", "--reach", "1"]).done().stdout;
    for text in ["reaches 1", "1 of 1", "processor s", "agents that do", "3 of 3", "own steps", "own episodes"] {
        assert!(said.contains(text), "{text} is not in\n{said}");
    }
    let said = place.fedrl(&["compare", "run", "--reach", "1", "--json"]).done().json().remove(0);
    let group = &said["reach"]["groups"][0];
    assert_eq!((&group["reached"], &group["agents"]["reached"]), (&1.into(), &3.into()));
    // Nobody needs longer than all do; ten episodes are the least there is.
    assert!(group["agents"]["steps"]["mean"].as_f64() <= group["env_steps"]["mean"].as_f64().map(|steps| steps / 3.0));
    assert!(group["agents"]["episodes"]["mean"].as_f64() >= Some(10.0));
}

#[test]
fn agents_are_evaluated_with_policies_of_their_own_and_others_by_the_nearest() {
    for (name, personal) in [("pfeddqn-rep", true), ("dqn", true), ("per-dqn-avg", true), ("feddqn", false)] {
        let place = experiment(name, &[]);
        place.train("run", &[]);
        let lines = place.fedrl(&["eval", "run", "--device", "cpu", "--json"]).done().json();
        let on = |set: &str| lines.iter().find(|line| line["on"] == set).expect("a line of the set").clone();
        assert_eq!(on("agents")["greedy"], true, "the action of greatest value");
        for variant in on("agents")["variants"].as_array().unwrap() {
            assert!(variant["nearest_agent"].is_null(), "{name}: everyone at home");
        }
        // Homes at 0.3, 0.5 and 0.7; held out at 0.2 and 0.9.
        for (variant, nearest) in on("extrapolation")["variants"].as_array().unwrap().iter().zip([0, 2]) {
            let expected = if personal { Value::from(nearest) } else { Value::Null };
            assert_eq!(variant["nearest_agent"], expected, "{name}");
            if personal {
                let number = |key: &str| variant[key].as_f64().unwrap();
                assert!(number("best_agent") >= number("mean") && number("best_agent") >= number("mean_over_agents"));
            }
        }
    }
}

#[test]
fn seeds_make_a_family() {
    let place = experiment("pfeddqn-rep", &[]);
    place.fedrl(&["train", "experiment.toml", "--device", "cpu", "--runs", "2", "--out", "family"]).done();
    let runs: BTreeSet<String> = std::fs::read_dir(place.path("family"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| std::fs::read_to_string(path.join("metrics.jsonl")).unwrap())
        .collect();
    assert_eq!(runs.len(), 2, "seeds differ");
}

#[test]
fn what_cannot_be_learned_is_refused_by_name() {
    let refused = |name: &str, settings: &[&str]| {
        let place = experiment(name, &[]);
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = ["train", "experiment.toml", "--out", "run"].into_iter().chain(settings).collect();
        let line = place.fedrl(&arguments).refused(2);
        assert!(!place.path("run").exists());
        line
    };
    let expect = |line: String, words: &str| assert!(line.contains(words), "{line}");
    expect(refused("pfeddqn-rep", &["policy.hidden=[]"]), "policy.hidden: is [], expected a layer at least");
    expect(refused("per-dqn-avg", &["policy.bias=false"]), "policy.bias: is false, expected true");
    expect(refused("fedq-k", &["algorithm.local_steps=1"]), "algorithm.local_steps: is 1, expected at least 2");
    expect(
        refused("dqn", &["algorithm.exploration=1.5"]),
        "algorithm.exploration: is 1.5, expected a number in [0, 1]",
    );
    expect(refused("dqn", &["algorithm.learning_starts=51"]), "algorithm.learning_starts: is 51, expected at most");
    expect(refused("dqn", &["algorithm.fusion.every=5"]), "algorithm.fusion: is given, expected nothing");
    expect(refused("dqn", &["algorithm.update=joint"]), "unknown key `update`; did you mean `updates`?");
    expect(refused("dqn", &["algorithm.updates=head"]), "unknown value `head` (known: alternating, joint)");
    let robot = ["environment.id=Hopper-v5", "environment.agents={}", "environment.interpolation={}"];
    let robot = [&robot[..], &["environment.extrapolation={}"]].concat();
    expect(refused("dqn", &robot), "algorithm.name: dqn chooses among actions, and those of Hopper-v5 are vectors");
}
