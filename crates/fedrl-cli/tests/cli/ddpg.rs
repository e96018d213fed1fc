//! PFedDDPG-Rep and its rivals, as their users meet them.

use crate::compare::assert_same_run;
use crate::support::Place;
use crate::value::{bound, size};

const NAMES: [&str; 3] = ["pfedddpg-rep", "ddpg", "fedddpg"];

/// Two Hoppers, networks of 4 hidden units, four rounds of 40 iterations.
fn experiment(name: &str) -> Place {
    Place::with(&format!(
        r#"
        [environment]
        id = "Hopper-v5"
        max_episode_steps = 30
        agents = {{ "geom_radius.leg" = {{ values = [0.03, 0.05] }} }}
        extrapolation = {{ "geom_radius.leg" = {{ values = [0.02, 0.06] }} }}
        [agents]
        count = 2
        [policy]
        hidden = [4]
        activation = "relu"
        [algorithm]
        name = "{name}"
        discount = 0.99
        learning_rate = 0.001
        batch = 8
        replay = 50
        learning_starts = 20
        iterations = 40
        [training]
        rounds = 4
        seed = 1
        checkpoint_every = 2
        [evaluation]
        episodes = 2
        "#
    ))
}

#[test]
fn every_form_trains_resumes_to_the_same_bytes_and_is_evaluated() {
    for (name, personal) in NAMES.into_iter().zip([true, true, false]) {
        let place = experiment(name);
        place.train("whole", &[]);
        place.train("resumed", &[]);
        place.fedrl(&["resume", "resumed", "--from", "2"]).done();
        assert_same_run(&place.path("whole"), &place.path("resumed"));
        let rounds = place.metrics("whole");
        assert_eq!(rounds[3]["agents/env_steps"], serde_json::json!([40, 40]), "{name}");
        assert!(rounds[3]["agents/loss"][0].is_f64(), "{name}");

        let (size, bound) = (size(&place, "whole/checkpoints/round-000004"), bound(&place));
        assert!(size <= bound && bound < size + 12_000, "{name}: {size} and {bound}");
        let lines = place.fedrl(&["eval", "whole", "--on", "extrapolation", "--json"]).done().json();
        assert_eq!(lines[0]["greedy"], true, "{name}: without noise");
        for (variant, nearest) in lines[0]["variants"].as_array().unwrap().iter().zip([0, 1]) {
            let expected = if personal { serde_json::json!(nearest) } else { serde_json::Value::Null };
            assert_eq!(variant["nearest_agent"], expected, "{name}");
        }
    }
}

#[test]
fn what_cannot_be_learned_is_refused_by_name() {
    let refused = |settings: &[&str]| {
        let place = experiment("pfedddpg-rep");
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = ["train", "experiment.toml", "--out", "run"].into_iter().chain(settings).collect();
        let line = place.fedrl(&arguments).refused(2);
        assert!(!place.path("run").exists());
        line
    };
    let expect = |line: String, words: &str| assert!(line.contains(words), "{line}");
    expect(refused(&["policy.hidden=[]"]), "policy.hidden: is [], expected a layer at least");
    expect(refused(&["algorithm.target_rate=0"]), "algorithm.target_rate: is 0, expected a number in (0, 1]");
    expect(refused(&["algorithm.exploration=-1"]), "algorithm.exploration: is -1, expected a finite number >= 0");
    expect(refused(&["algorithm.learning_starts=51"]), "algorithm.learning_starts: is 51, expected at most");
    expect(refused(&["algorithm.target_period=5"]), "unknown key `target_period`; did you mean `target_rate`?");
    let poles = ["environment.id=CartPole-v1", "environment.agents={}", "environment.extrapolation={}"];
    expect(refused(&poles), "algorithm.name: pfedddpg-rep's actions are vectors, and CartPole-v1 has choices");
    let place = experiment("ddpg");
    place.train("run", &[]);
    let line = place.fedrl(&["adapt", "run", "--threshold", "1"]).refused(2);
    assert!(line.contains("was trained by ddpg, which learns no values of choices"), "{line}");
}
