//! `fedrl adapt`: new agents in variants that nobody trained in.

use serde_json::Value;

use crate::compare::{assert_same_run, copy};
use crate::support::Place;
use crate::value::experiment;

/// A short adaptation of `run`.
const SHORT: [&str; 6] = ["adapt", "run", "--steps", "200", "--seeds", "2"];

fn adapt(place: &Place, more: &[&str]) -> Value {
    let said = place.fedrl(&[&SHORT[..], &["--json"], more].concat()).done();
    let mut line = said.json().remove(0);
    assert_eq!(line.as_object_mut().expect("an object").shift_remove("run"), Some("run".into()));
    line
}

#[test]
fn all_beginnings_are_compared_in_one_table_and_one_file() {
    let place = experiment("pfeddqn-rep", &[]);
    place.train("run", &[]);
    copy(&place.path("run"), &place.path("before"));
    let record = adapt(&place, &[]);
    assert_eq!(record, place.read_json("run/adapt/extrapolation-steps-200-seeds-2.json"));
    assert_eq!((&record["round"], &record["threshold"]), (&6.into(), &97.5.into()), "97.5 % of 100");

    // Held out at 0.2 and 0.9, homes at 0.3, 0.5 and 0.7; the nearest head does what `eval` says.
    let evaluated = place.read_json("run/eval/extrapolation.json");
    let variants = record["variants"].as_array().unwrap();
    for ((variant, evaluated), nearest) in variants.iter().zip(evaluated["variants"].as_array().unwrap()).zip([0, 2]) {
        assert_eq!(variant["nearest_agent"], nearest);
        let zero = &variant["zero_shot"][nearest];
        for key in ["mean", "low", "high"] {
            assert_eq!(zero[key], evaluated[key]);
        }
        let starts: Vec<(&str, bool)> = variant["few_shot"].as_array().unwrap().iter().map(start).collect();
        let both = |beginning| [(beginning, false), (beginning, true)];
        assert_eq!(starts, ["nearest", "fresh", "scratch"].map(both).concat());
        for few in variant["few_shot"].as_array().unwrap() {
            assert_eq!(few["curve"].as_array().unwrap().len(), 20);
            assert_eq!(few["never"], 1.0, "200 steps are too few for ten episodes of 97.5");
            assert_eq!(few["reached"], Value::from([Value::Null, Value::Null].to_vec()));
            assert!(few["steps_to_threshold"]["mean"].is_null());
        }
    }

    // Again, on one thread, to the byte; nothing but the new file is in the run.
    let bytes = place.read("run/adapt/extrapolation-steps-200-seeds-2.json");
    let alone = place.command(&SHORT).env("RAYON_NUM_THREADS", "1").output().unwrap();
    let text = String::from_utf8(alone.stdout).unwrap();
    assert_eq!(place.read("run/adapt/extrapolation-steps-200-seeds-2.json"), bytes);
    for words in ["extrapolation (round 6, 2 new agents each, 200 steps)", "length=0.9000", "steps to 97.5", "scratch"]
    {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    std::fs::remove_dir_all(place.path("run/adapt")).unwrap();
    assert_same_run(&place.path("before"), &place.path("run"));
}

fn start(few: &Value) -> (&str, bool) {
    (few["beginning"].as_str().unwrap(), few["frozen"].as_bool().unwrap())
}

#[test]
fn one_beginning_alone_is_what_it_is_among_others() {
    for name in ["dqn", "feddqn", "per-dqn-avg"] {
        let place = experiment(name, &[]);
        place.train("run", &[]);
        let all = adapt(&place, &["--on", "interpolation", "--threshold", "9"]);
        let one = adapt(&place, &["--on", "interpolation", "--threshold", "9", "--from", "fresh", "--frozen"]);
        let file = "run/adapt/interpolation-steps-200-seeds-2-threshold-9-from-fresh-frozen.json";
        assert_eq!(one, place.read_json(file));
        for (all, one) in all["variants"].as_array().unwrap().iter().zip(one["variants"].as_array().unwrap()) {
            let few = one["few_shot"].as_array().unwrap();
            assert_eq!(few.len(), 1);
            assert_eq!(start(&few[0]), ("fresh", true));
            assert_eq!(few[0], all["few_shot"][3], "{name}");
            let heads = if name == "feddqn" { 1 } else { 3 };
            assert_eq!(one["zero_shot"].as_array().unwrap().len(), heads, "{name}");
        }
    }
}

/// A folder of two seeds, adapted.
fn family(edits: &[(&str, &str)]) -> Place {
    let place = experiment("pfeddqn-rep", edits);
    place.fedrl(&["train", "experiment.toml", "--device", "cpu", "--runs", "2", "--out", "all", "--quiet"]).done();
    place
}

const FOLDER: [&str; 8] = ["adapt", "all", "--steps", "200", "--seeds", "2", "--threshold", "9"];
const FILE: &str = "adapt/extrapolation-steps-200-seeds-2-threshold-9.json";

#[test]
fn a_folder_of_seeds_is_adapted_run_by_run_and_put_together() {
    let place = family(&[]);
    let mut lines = place.fedrl(&[&FOLDER[..], &["--json"]].concat()).done().json();
    let mut folder = lines.pop().unwrap();
    assert_eq!(folder.as_object_mut().unwrap().shift_remove("run"), Some("all".into()));
    assert_eq!(folder, place.read_json(&format!("all/{FILE}")));
    assert_eq!(folder["runs"], serde_json::json!([{"name": "seed-1", "round": 6}, {"name": "seed-2", "round": 6}]));
    assert_eq!((&folder["steps"], &folder["seeds"], &folder["threshold"]), (&200.into(), &2.into(), &9.0.into()));

    let runs: Vec<Value> = ["all/seed-1", "all/seed-2"].map(|run| place.read_json(&format!("{run}/{FILE}"))).into();
    for (line, (run, name)) in lines.iter_mut().zip(runs.iter().zip(["all/seed-1", "all/seed-2"])) {
        assert_eq!(line.as_object_mut().unwrap().shift_remove("run"), Some(name.into()));
        assert_eq!(line, run, "as one adapts it alone");
    }
    assert_eq!(lines.len(), 2);
    place.fedrl(&[&["adapt", "all/seed-2"], &FOLDER[2..]].concat()).done();
    assert_eq!(runs[1], place.read_json(&format!("all/seed-2/{FILE}")));

    for (index, variant) in folder["variants"].as_array().unwrap().iter().enumerate() {
        let of = |run: &Value| run["variants"][index].clone();
        assert_eq!(variant["parameters"], of(&runs[0])["parameters"]);
        // Homes at 0.3, 0.5 and 0.7; held out at 0.2 and 0.9.
        let nearest = |run: &Value| of(run)["zero_shot"][2 * index]["mean"].as_f64();
        assert_mean(&variant["zero_shot"]["nearest"], runs.iter().map(nearest).collect());
        for (start, few) in variant["few_shot"].as_array().unwrap().iter().enumerate() {
            let of = |run: &Value| of(run)["few_shot"][start].clone();
            assert_eq!((&few["beginning"], &few["frozen"]), (&of(&runs[0])["beginning"], &of(&runs[0])["frozen"]));
            for key in ["steps_to_threshold", "episodes_to_threshold"] {
                assert_mean(&few[key], runs.iter().map(|run| of(run)[key]["mean"].as_f64()).collect());
            }
            assert_mean(&few["curve"][19], runs.iter().map(|run| of(run)["curve"][19]["mean"].as_f64()).collect());
            let never: f64 = runs.iter().map(|run| of(run)["never"].as_f64().unwrap()).sum();
            assert_eq!(few["never"].as_f64(), Some(never / 2.0), "as many lives in every run");
        }
    }
}

/// A mean over two runs, those without a number aside; the interval of two is their range.
#[track_caller]
fn assert_mean(found: &Value, numbers: Vec<Option<f64>>) {
    let known: Vec<f64> = numbers.into_iter().flatten().collect();
    assert_eq!(found["runs"], known.len());
    assert_eq!(found["mean"].as_f64(), (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64));
    let range = (known.len() == 2).then(|| (known[0].min(known[1]), known[0].max(known[1])));
    assert_eq!((found["low"].as_f64(), found["high"].as_f64()), (range.map(|r| r.0), range.map(|r| r.1)));
}

#[test]
fn a_folder_is_shown_in_one_table_and_does_not_depend_on_threads() {
    let place = family(&[]);
    let said = place.fedrl(&FOLDER).done();
    assert!(said.stderr.contains("adapted all/seed-1 (1 of 2)"), "{said:?}");
    let head = "extrapolation (2 runs, round 6, 2 new agents each in every run, 200 steps)";
    for words in [head, "length=0.9000", "nearest", "mean of all", "steps to 9", "in runs", "scratch", "never"] {
        assert!(said.stdout.contains(words), "{words} is not in\n{}", said.stdout);
    }
    let bytes = place.read(&format!("all/{FILE}"));
    place.command(&FOLDER).env("RAYON_NUM_THREADS", "1").output().unwrap();
    assert_eq!(place.read(&format!("all/{FILE}")), bytes);
    let best = place.fedrl(&[&FOLDER[..], &["--checkpoint", "best"]].concat()).done();
    assert!(best.stdout.contains("extrapolation (2 runs, round"), "{best:?}");
    assert!(place.path("all/adapt/extrapolation-best-steps-200-seeds-2-threshold-9.json").is_file());
}

#[test]
fn folders_whose_runs_have_nothing_in_common_are_refused() {
    let refused = |place: &Place, words: &str| {
        let line = place.fedrl(&FOLDER).refused(2);
        assert!(line.contains(words), "{line}");
        assert!(!place.path("all/adapt").exists() && !place.path("all/seed-1/adapt").exists());
    };
    let drawn = (
        "extrapolation = { length = { values = [0.2, 0.9] } }",
        "extrapolation = { length = { uniform = [0.2, 0.9], count = 2 } }",
    );
    refused(&family(&[drawn]), "the variants of `extrapolation` in seed-1 and seed-2 are not the same");
    let sweep = ("episodes = 2\n", "episodes = 2\n[sweep]\nalgorithm.exploration = [0.1, 0.2]\n");
    refused(&family(&[sweep]), "all holds runs of several experiments; `adapt` expects one run, or a folder of one");
    let place = family(&[]);
    std::fs::remove_dir_all(place.path("all/seed-2/checkpoints")).unwrap();
    refused(&place, "all/seed-2 has no checkpoint yet");
    std::fs::remove_dir_all(place.path("all/seed-1")).unwrap();
    std::fs::remove_dir_all(place.path("all/seed-2")).unwrap();
    refused(&place, "all holds no run yet; train it with `fedrl resume all`");
}

#[test]
fn a_report_shows_what_was_adapted() {
    let place = experiment("pfeddqn-rep", &[]);
    place.train("run", &[]);
    assert!(!place.read("run/report.html").contains("Adaptation"));
    adapt(&place, &[]);
    place.fedrl(&["report", "run"]).done();
    let svg = place.read("run/figures/few-shot-extrapolation-steps-200-seeds-2.svg");
    assert!(place.read("run/report.html").contains(&svg));
    for text in ["length 0.2", "length 0.9", "nearest, frozen", "threshold"] {
        assert!(svg.contains(text), "{text}");
    }
}

#[test]
fn adaptations_that_make_no_sense_are_refused() {
    let place = experiment("dqn", &[("extrapolation = { length = { values = [0.2, 0.9] } }\n", "")]);
    place.train("run", &[]);
    let refused = |more: &[&str], words: &str| {
        let line = place.fedrl(&[&["adapt", "run"], more].concat()).refused(2);
        assert!(line.contains(words), "{line}");
        assert!(!place.path("run/adapt").exists());
    };
    refused(&[], "the experiment has no set `extrapolation`");
    refused(&["--on", "interpolation", "--steps", "0"], "--steps is 0, expected a whole number from 1 to");
    refused(&["--on", "interpolation", "--seeds", "0"], "--seeds is 0, expected a whole number from 1 to");
    refused(&["--on", "interpolation", "--threshold", "nan"], "--threshold is NaN, expected a finite number");
    refused(&["--on", "interpolation", "--from", "nearst"], "unknown beginning `nearst`; did you mean `nearest`?");
    refused(&["--on", "interpolation", "--checkpoint", "7"], "7");

    let place = Place::trained();
    let line = place.fedrl(&["adapt", "run"]).refused(2);
    assert!(
        line.contains("run was trained by fedsvrpg-m, which learns no values of choices; `adapt` expects"),
        "{line}"
    );
    assert!(!place.path("run/adapt").exists());
}
