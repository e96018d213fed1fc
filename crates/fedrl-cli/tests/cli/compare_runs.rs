//! `fedrl compare`: runs side by side, paired by seed.

use std::fs;

use serde_json::Value;

use crate::compare::listing;
use crate::support::{Place, tiny};

/// Two algorithms with two seeds each, in `a1`, `a2`, `b1` and `b2`.
fn trained() -> Place {
    let place = Place::tiny();
    let other = "name = \"fast-fedpg\"\nlocal_steps = 2";
    let fast_fedpg = tiny(&[("name = \"fedsvrpg-m\"\nbeta = 0.5\nlocal_steps = 2", other)]);
    for (text, runs) in [(tiny(&[]), ["a1", "a2"]), (fast_fedpg, ["b1", "b2"])] {
        place.write("experiment.toml", &text);
        for (run, seed) in runs.into_iter().zip(["training.seed=1", "training.seed=2"]) {
            place.train(run, &["--quiet", "--set", seed]);
        }
    }
    place
}

const ALL: [&str; 5] = ["compare", "a1", "a2", "b1", "b2"];

/// A run's mean return of each round.
fn returns(place: &Place, run: &str) -> Vec<f64> {
    place.metrics(run).iter().map(|round| round["train/return_mean"].as_f64().expect("a number")).collect()
}

#[track_caller]
fn close(value: &Value, expected: f64) {
    let value = value.as_f64().expect("a number");
    assert!((value - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{value} is not {expected}");
}

#[test]
fn json_says_what_the_metrics_say() {
    let place = trained();
    let before = listing(place.root());
    let said = place.fedrl(&[&ALL[..], &["--json"]].concat()).done();
    assert_eq!(said.stderr, "");
    assert!(before == listing(place.root()), "nothing is written without --svg");
    let [comparison] = &said.json()[..] else { panic!("one object, not {}", said.stdout) };
    assert_eq!(comparison["environment"], "CartPole-v1");
    let groups = comparison["groups"].as_array().expect("groups");
    assert_eq!(groups.iter().map(|group| &group["label"]).collect::<Vec<_>>(), ["fedsvrpg-m", "fast-fedpg"]);

    // Six rounds: the last tenth is the last one.
    let last = |run: &str| returns(&place, run)[5];
    let area = |run: &str| returns(&place, run).iter().sum::<f64>() / 6.0;
    for (group, runs) in groups.iter().zip([["a1", "a2"], ["b1", "b2"]]) {
        assert_eq!((&group["final"]["n"], &group["runs"][1]["seed"]), (&2.into(), &2.into()));
        assert_eq!((&group["runs"][0]["run"], &group["runs"][0]["rounds"]), (&runs[0].into(), &6.into()));
        close(&group["final"]["mean"], (last(runs[0]) + last(runs[1])) / 2.0);
        close(&group["final"]["low"], last(runs[0]).min(last(runs[1])));
        close(&group["area"]["mean"], (area(runs[0]) + area(runs[1])) / 2.0);
        close(&group["area"]["high"], area(runs[0]).max(area(runs[1])));
        for set in ["agents", "interpolation", "extrapolation"] {
            let mean = |run: &str| place.read_json(&format!("{run}/eval/{set}.json"))["mean"].as_f64().expect("a mean");
            close(&group["evaluation"][set], (mean(runs[0]) + mean(runs[1])) / 2.0);
        }
    }
    let paired = &groups[1]["paired"];
    assert_eq!((&groups[0]["paired"], &paired["seeds"]), (&Value::Null, &Value::from(vec![1, 2])));
    close(&paired["final"]["mean"], (last("b1") - last("a1") + last("b2") - last("a2")) / 2.0);
    close(&paired["area"]["low"], (area("b1") - area("a1")).min(area("b2") - area("a2")));
    assert_eq!(place.fedrl(&[&ALL[..], &["--json"]].concat()).done().stdout, said.stdout);
}

#[test]
fn people_get_tables_and_a_picture() {
    let place = trained();
    let said = place.fedrl(&[&ALL[..], &["--svg", "pictures/compare.svg"]].concat()).done();
    assert_eq!(said.stderr, "");
    for text in ["CartPole-v1", "training return", "seeds", "minus fedsvrpg-m", "pairs", "evaluation", "extrapolation"]
    {
        assert!(said.stdout.contains(text), "{text} is not in\n{}", said.stdout);
    }
    let area = (returns(&place, "a1").iter().sum::<f64>() + returns(&place, "a2").iter().sum::<f64>()) / 12.0;
    assert!(said.stdout.contains(&format!(" {area:.2} ")), "{area} is not in\n{}", said.stdout);
    let svg = place.read("pictures/compare.svg");
    assert!(svg.starts_with("<svg ") && svg.contains("fast-fedpg (2 seeds)"));
    // Over what is there, and the same.
    place.write("pictures/compare.svg", "older");
    place.fedrl(&[&ALL[..], &["--svg", "pictures/compare.svg"]].concat()).done();
    assert_eq!(place.read("pictures/compare.svg"), svg);
}

#[test]
fn no_common_seed_and_different_numbers_of_rounds_are_said() {
    let place = Place::tiny();
    place.train("one", &[]);
    place.train("other", &["--set", "training.seed=2", "--set", "algorithm.beta=0.2", "--set", "training.rounds=4"]);
    let said = place.fedrl(&["compare", "one", "other"]).done();
    assert!(said.stdout.contains("no common seed"), "{}", said.stdout);
    assert!(said.stdout.contains("fedsvrpg-m beta=0.2 rounds=4"), "{}", said.stdout);
    assert_eq!(said.stderr, "note: the runs have finished from 4 to 6 rounds; each counts with those it has\n");
    assert_eq!(place.fedrl(&["compare", "one", "other", "--quiet"]).done().stderr, "");
}

#[test]
fn one_run_is_a_group_of_its_own() {
    let place = Place::trained();
    let said = place.fedrl(&["compare", "run"]).done();
    assert!(said.stdout.contains("fedsvrpg-m") && !said.stdout.contains("minus"), "{}", said.stdout);
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let place = Place::trained();
    fs::create_dir(place.path("here")).expect("a directory");
    place.train("again", &["--set", "training.rounds=2"]);
    let config = place.read("again/config.toml");
    let refused = |arguments: &[&str]| place.fedrl(&[&["compare"], arguments].concat()).refused(2);
    assert_eq!(refused(&["run", "./run"]), "error: the run ./run is given twice");
    assert_eq!(refused(&["here"]), "error: here is not a run directory: it has no config.toml");
    assert_eq!(refused(&["nowhere"]), "error: nowhere is not a run directory: there is no such directory");
    assert_eq!(refused(&["run", "--svg", "here"]), "error: --svg here is a directory, expected a file to write");

    place.write("again/config.toml", &config.replace("CartPole-v1", "Acrobot-v1"));
    assert_eq!(
        refused(&["run", "again"]),
        "error: run trains in CartPole-v1 and again in Acrobot-v1; only runs of one environment can be compared"
    );
    place.write("again/config.toml", &place.read("run/config.toml"));
    assert_eq!(
        refused(&["run", "again"]),
        "error: run and again are the same experiment with the same seed, 1; give one of them"
    );
    fs::remove_file(place.path("again/metrics.jsonl")).expect("metrics");
    assert_eq!(refused(&["run", "again"]), "error: the run again has no finished round");

    let none = place.fedrl(&["compare"]);
    assert!(none.code == Some(2) && none.stderr.contains("<RUN>..."), "{none:#?}");
}
