//! Many trainings of deep policies from one file.

use crate::support::{Place, tiny};

const SWEEP: &str = "\n[sweep]\nalgorithm.beta = [0.3, 1.0]\n";

/// Everything in a run's metrics but the clock.
fn timeless(place: &Place, run: &str) -> Vec<serde_json::Value> {
    let mut metrics = place.metrics(run);
    for round in &mut metrics {
        round.as_object_mut().unwrap().retain(|key, _| !key.starts_with("time/"));
    }
    metrics
}

#[test]
fn every_training_has_a_run_directory_that_is_as_if_it_were_trained_alone() {
    let place = Place::with(&(tiny(&[]) + SWEEP));
    let said = place.fedrl(&["train", "experiment.toml", "--runs", "2", "--out", "all", "--json"]).done().json();
    let runs = said[0]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    let alone = Place::with(&tiny(&[]));
    for (beta, seed) in [("0.3", 1), ("0.3", 2), ("1.0", 1), ("1.0", 2)] {
        let name = format!("all/beta-{beta}_seed-{seed}");
        let (beta, seed) = (format!("algorithm.beta={beta}"), format!("training.seed={seed}"));
        alone.train("one", &["--set", &beta, "--set", &seed]).done();
        assert_eq!(timeless(&place, &name), timeless(&alone, "one"), "{name}");
        assert!(place.path(&format!("{name}/report.html")).is_file());
        std::fs::remove_dir_all(alone.path("one")).unwrap();
    }
    // They are runs like any other.
    place.fedrl(&["compare", "all/beta-0.3_seed-1", "all/beta-0.3_seed-2", "all/beta-1.0_seed-1"]).done();
}

#[test]
fn what_is_missing_is_trained_when_resumed() {
    let place = Place::with(&tiny(&[]));
    place.fedrl(&["train", "experiment.toml", "--runs", "3", "--out", "all", "--quiet"]).done();
    let before = timeless(&place, "all/seed-2");
    let untouched = place.read("all/seed-1/manifest.json");
    std::fs::remove_dir_all(place.path("all/seed-2")).unwrap();
    place.fedrl(&["resume", "all", "--quiet"]).done();
    assert_eq!(timeless(&place, "all/seed-2"), before);
    assert_eq!(place.read("all/seed-1/manifest.json"), untouched);
    assert!(place.fedrl(&["resume", "all", "--from", "1"]).refused(2).contains("resume one of its directories"));
}

#[test]
fn a_point_that_is_no_experiment_leaves_nothing_behind() {
    let place = Place::with(&(tiny(&[]) + &SWEEP.replace("1.0", "7.0")));
    assert!(place.fedrl(&["train", "experiment.toml", "--out", "all"]).refused(2).contains("algorithm.beta: is 7"));
    assert!(!place.path("all").exists());
}

#[test]
fn a_changed_experiment_is_not_continued() {
    let place = Place::with(&tiny(&[]));
    place.fedrl(&["train", "experiment.toml", "--runs", "2", "--out", "all", "--quiet"]).done();
    let changed = place.read("all/config.toml").replace("beta = 0.5", "beta = 0.4");
    assert_ne!(changed, place.read("all/config.toml"));
    place.write("all/config.toml", &changed);
    let before = place.read("all/seed-1/metrics.jsonl");
    let error = place.fedrl(&["resume", "all", "--quiet"]).refused(2);
    assert!(error.contains("is not what the experiment above it says now"), "{error}");
    assert_eq!(place.read("all/seed-1/metrics.jsonl"), before);
}

#[test]
fn a_training_that_fails_is_named_and_the_others_are_kept() {
    let sweep = "\n[sweep]\nalgorithm.local_step_size = [0.003, 1e38]\n";
    let place = Place::with(&(tiny(&[]) + sweep));
    let said = place.fedrl(&["train", "experiment.toml", "--out", "all"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("1 of 2 trainings failed: local_step_size-"), "{said:?}");
    assert!(said.stdout.contains("local_step_size-0.003_seed-1"), "{said:?}");
    assert!(place.path("all/local_step_size-0.003_seed-1/report.html").is_file());
}

#[test]
fn a_folder_of_runs_stands_for_its_runs() {
    let place = Place::with(&tiny(&[]));
    place.fedrl(&["train", "experiment.toml", "--runs", "2", "--out", "all", "--quiet"]).done();
    assert_eq!(place.fedrl(&["report", "all", "--json"]).done().json().len(), 2);
    place.fedrl(&["compare", "all"]).done();
    assert!(place.fedrl(&["eval", "all"]).refused(2).contains("name one of its directories"));
}
