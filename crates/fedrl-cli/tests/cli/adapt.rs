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
