//! `fedrl personalisation`: how well policies are fitted to the agents whose they are.

use serde_json::Value;

use crate::compare::{assert_same_run, copy};
use crate::support::Place;
use crate::value::experiment;

const FILE: &str = "run/personalisation.json";

fn measure(place: &Place, run: &str) -> Value {
    let mut line = place.fedrl(&["personalisation", run, "--json"]).done().json().remove(0);
    assert_eq!(line.as_object_mut().expect("an object").shift_remove("run"), Some(run.into()));
    line
}

/// The entries that are not on the diagonal.
fn others(matrix: &Value) -> Vec<f64> {
    let rows = matrix.as_array().unwrap().iter().map(|row| row.as_array().unwrap());
    let others = rows.enumerate().flat_map(|(i, row)| row.iter().enumerate().filter(move |(j, _)| *j != i));
    others.map(|(_, cosine)| cosine.as_f64().unwrap()).collect()
}

#[test]
fn a_run_gets_tables_and_a_file_and_nothing_else_changes() {
    let place = experiment("pfeddqn-rep", &[]);
    place.train("run", &[]);
    copy(&place.path("run"), &place.path("before"));
    let found = measure(&place, "run");
    assert_eq!(found, place.read_json(FILE));
    // 0.98^456 is the first power below 1/10000.
    for (key, expected) in
        [("round", 6.0), ("episodes", 2.0), ("discount", 0.98), ("tail", 456.0), ("exploration", 0.2)]
    {
        assert_eq!(found[key].as_f64(), Some(expected), "{key}");
    }
    let agents = found["agents"].as_array().unwrap();
    let error = |agent: &Value| agent["error"].as_f64().unwrap();
    let worst = agents.iter().map(error).fold(0.0, f64::max);
    assert_eq!(found["worst"]["error"].as_f64(), Some(worst));
    assert_eq!(error(&agents[found["worst"]["agent"].as_u64().unwrap() as usize]), worst);
    // Greedy episodes of `eval --on agents`: as many states as steps, a step being worth 1.
    let evaluated = place.read_json("run/eval/agents.json");
    for (agent, variant) in agents.iter().zip(evaluated["variants"].as_array().unwrap()) {
        assert_eq!(agent["parameters"], variant["parameters"]);
        assert_eq!(agent["states"].as_f64(), Some(2.0 * variant["mean"].as_f64().unwrap()));
        let [low, high] = ["low", "high"].map(|key| agent[key].as_f64().unwrap());
        assert!(low <= error(agent) && error(agent) <= high && agent["value"].as_f64().unwrap() <= 50.0, "{agent}");
    }
    let similarity = &found["similarity"];
    assert_eq!(others(&similarity["shared"]), [1.0; 6]);
    for matrix in ["heads", "environments"] {
        assert!(others(&similarity[matrix]).iter().all(|&cosine| cosine < 1.0), "{matrix}");
    }
    assert!(similarity["rank_correlation"].is_f64());

    // Again, on one thread, to the byte.
    let bytes = place.read(FILE);
    let alone = place.command(&["personalisation", "run"]).env("RAYON_NUM_THREADS", "1").output().unwrap();
    assert_eq!(place.read(FILE), bytes);
    let text = String::from_utf8(alone.stdout).unwrap();
    for words in ["personalisation (round 6, 2 episodes each)", "length=0.7000", "worst error", "shared layers"] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    std::fs::remove_file(place.path(FILE)).unwrap();
    assert_same_run(&place.path("before"), &place.path("run"));

    place.fedrl(&["personalisation", "run", "--checkpoint", "4"]).done();
    assert_eq!(place.read_json("run/personalisation-round-000004.json")["round"], 4);
    assert!(!place.path(FILE).exists());
}

#[test]
fn what_agents_have_in_common_is_1() {
    for (name, shared, heads) in
        [("feddqn", true, true), ("per-dqn-avg", false, true), ("dqn", false, false), ("lfrl", true, true)]
    {
        let place = experiment(name, &[]);
        place.train("run", &[]);
        let similarity = &measure(&place, "run")["similarity"];
        let all = |matrix: &str| others(&similarity[matrix]).iter().all(|&cosine| cosine == 1.0);
        assert_eq!((all("shared"), all("heads")), (shared, heads), "{name}");
        assert_eq!(similarity["rank_correlation"].is_null(), heads, "{name}: what does not vary has no order");
    }
}

#[test]
fn the_report_shows_what_was_found() {
    let place = experiment("pfeddqn-rep", &[]);
    place.train("run", &[]);
    assert!(!place.read("run/report.html").contains("Personalisation"));
    measure(&place, "run");
    place.fedrl(&["report", "run"]).done();
    assert!(place.read("run/report.html").contains("<h2>Personalisation</h2>"));
    assert!(place.read("run/figures/similarity.svg").contains("shared layers"));
}

#[test]
fn a_folder_of_seeds_is_summed_up() {
    let place = experiment("pfeddqn-rep", &[]);
    place.fedrl(&["train", "experiment.toml", "--device", "cpu", "--runs", "2", "--out", "family"]).done();
    let lines = place.fedrl(&["personalisation", "family", "--json"]).done().json();
    let [one, other, all] = &lines[..] else { panic!("two runs and what they have in common, not {lines:?}") };
    for (line, run) in [one, other].into_iter().zip(["family/seed-1", "family/seed-2"]) {
        let mut line = line.clone();
        assert_eq!(line.as_object_mut().unwrap().shift_remove("run"), Some(run.into()));
        assert_eq!(line, place.read_json(&format!("{run}/personalisation.json")));
    }
    let group = &all["groups"][0];
    assert_eq!((&all["run"], &group["label"], &group["runs"]), (&"family".into(), &"pfeddqn-rep".into(), &2.into()));
    for (measure, of) in [("worst_error", "/worst/error"), ("rank_correlation", "/similarity/rank_correlation")] {
        let [one, other] = [one, other].map(|line| line.pointer(of).unwrap().as_f64().unwrap());
        let estimate = &group["personalisation"][measure];
        assert!((estimate["mean"].as_f64().unwrap() - (one + other) / 2.0).abs() < 1e-9, "{estimate}");
        assert_eq!(estimate["low"].as_f64(), Some(one.min(other)), "of two the range");
    }
    let text = place.fedrl(&["personalisation", "family"]).done().stdout;
    for words in ["seed-2", "of agent", "personalisation", "processor s"] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    // The same table is part of a comparison, for it has the files; of one run that was not looked at it has none.
    assert!(place.fedrl(&["compare", "family"]).done().stdout.contains("worst error"));
    std::fs::remove_file(place.path("family/seed-2/personalisation.json")).unwrap();
    assert!(!place.fedrl(&["compare", "family"]).done().stdout.contains("worst error"));
    let line = place.fedrl(&["personalisation", "family", "--checkpoint", "best"]).refused(2);
    assert!(line.contains("--checkpoint: family holds many runs"), "{line}");
}

#[test]
fn agents_that_are_twins_live_in_one_environment() {
    let lengths = ("values = [0.3, 0.5, 0.7]", "cycle = [0.36, 0.42]");
    let place = experiment("pfeddqn-rep", &[lengths]);
    place.train("run", &["--set", "agents.count=4"]);
    let found = measure(&place, "run");
    let environments = &found["similarity"]["environments"];
    assert_eq!((&environments[0][2], &environments[1][3]), (&1.0.into(), &1.0.into()));
    assert!(environments[0][1].as_f64().unwrap() < 1.0);
    assert!(place.read("run/config.toml").contains("cycle = [0.36, 0.42]"));
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let refused = |place: &Place, words: &str| {
        let line = place.fedrl(&["personalisation", "run"]).refused(2);
        assert!(line.contains(words), "{line}");
        assert!(!place.path(FILE).exists());
    };
    refused(
        &Place::trained(),
        "run was trained by fedsvrpg-m, which learns no values of choices; `personalisation` expects",
    );
    let place = experiment("dqn", &[("length = { values = [0.3, 0.5, 0.7] }", "length = 0.5")]);
    place.train("run", &["--set", "agents.count=1"]);
    refused(&place, "run: has 1 agent, expected two at least");
    let place = experiment("dqn", &[]);
    place.train("run", &["--set", "algorithm.discount=1.0"]);
    refused(&place, "run: the discount is 1, expected less");
    let place = experiment("dqn", &[]);
    place.train("run", &[]);
    let line = place.fedrl(&["personalisation", "run", "--checkpoint", "7"]).refused(2);
    assert!(line.contains('7'), "{line}");
    let line = place.fedrl(&["personalisation", "nowhere"]).refused(2);
    assert!(line.contains("nowhere is not a run directory"), "{line}");
}
