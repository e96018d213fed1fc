//! Comparisons of fixture runs whose measures are computed by hand.
#![allow(clippy::unwrap_used)]

use fedrl_report::compare::{Comparison, Estimate, Verdict, compare};
use fedrl_report::{Incomparable, ReportError};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A directory with runs in it.
struct Runs(TempDir);

impl Runs {
    fn new() -> Self {
        Runs(TempDir::new().unwrap())
    }

    /// Three seeds of `beta = 0.2` and three of `beta = 0.5`; they share the seeds 2 and 3.
    /// All have 20 rounds, so that the last tenth is two of them.
    fn two_groups() -> (Self, Vec<PathBuf>) {
        let runs = Self::new();
        let of = |name: &str, beta, seed, early, late: [f64; 2]| {
            runs.run(name, &config("CartPole-v1", beta, seed), &[vec![early; 18], late.to_vec()].concat())
        };
        let paths = vec![
            // Final (30 + 50) / 2 = 40, area (18 · 10 + 80) / 20 = 13.
            of("a1", 0.2, 1, 10.0, [30.0, 50.0]),
            // Final 50, area (18 · 30 + 100) / 20 = 32.
            of("b2", 0.5, 2, 30.0, [50.0, 50.0]),
            // Final 10, area 20 / 20 = 1.
            of("a3", 0.2, 3, 0.0, [10.0, 10.0]),
            // Final 60, area (18 · 20 + 120) / 20 = 24.
            of("a2", 0.2, 2, 20.0, [60.0, 60.0]),
            // Final 40, area (18 · 10 + 80) / 20 = 13.
            of("b3", 0.5, 3, 10.0, [40.0, 40.0]),
            // Final 0, area 0.
            of("b7", 0.5, 7, 0.0, [0.0, 0.0]),
        ];
        (runs, paths)
    }

    fn run(&self, name: &str, config: &str, returns: &[f64]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("config.toml"), config).unwrap();
        let line = |(index, value): (usize, &f64)| json!({"round": index + 1, "train/return_mean": value}).to_string();
        let lines: Vec<String> = returns.iter().enumerate().map(line).collect();
        fs::write(path.join("metrics.jsonl"), lines.join("\n") + "\n").unwrap();
        path
    }

    /// A run of one round, in which the two agents end these episodes.
    fn ended(&self, name: &str, config: &str, published: Option<f64>, returns: Value) -> PathBuf {
        let section = published.map(|mean| format!("\n[published]\nsource = \"a table\"\nreturn_mean = {mean}\n"));
        let path = self.run(name, &(config.to_string() + &section.unwrap_or_default()), &[1.0]);
        let round = json!({"round": 1, "train/return_mean": 1.0, "agents/returns": returns});
        fs::write(path.join("metrics.jsonl"), round.to_string() + "\n").unwrap();
        path
    }

    fn evaluate(&self, run: &str, set: &str, mean: f64) {
        let eval = self.0.path().join(run).join("eval");
        fs::create_dir_all(&eval).unwrap();
        let evaluation = json!({"round": 20, "variants": [], "mean": mean, "worst": mean, "cvar": mean});
        fs::write(eval.join(format!("{set}.json")), evaluation.to_string()).unwrap();
    }
}

fn config(environment: &str, beta: f64, seed: u64) -> String {
    format!(
        "[environment]\nid = \"{environment}\"\n\n[agents]\ncount = 3\n\n[algorithm]\nname = \"fedsvrpg-m\"\n\
         beta = {beta}\n\n[training]\nrounds = 20\nseed = {seed}\n"
    )
}

fn estimate(n: usize, mean: f64, low: f64, high: f64) -> Estimate {
    Estimate { n, mean, low, high }
}

fn json_of(comparison: &Comparison) -> Value {
    serde_json::from_str(&serde_json::to_string(comparison).unwrap()).unwrap()
}

fn refused(paths: &[PathBuf]) -> Incomparable {
    match compare(paths) {
        Err(ReportError::Incomparable(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn measures_and_paired_differences_by_hand() {
    let (_runs, paths) = Runs::two_groups();
    let comparison = compare(&paths).unwrap();
    assert_eq!(comparison.environment, "CartPole-v1");
    let [a, b] = &comparison.groups[..] else { panic!("{comparison:?}") };
    assert_eq!((&*a.label, &*b.label), ("fedsvrpg-m beta=0.2", "fedsvrpg-m beta=0.5"));
    let seeds = |runs: &[fedrl_report::compare::Member]| runs.iter().map(|run| run.seed).collect::<Vec<_>>();
    assert_eq!((seeds(&a.runs), seeds(&b.runs)), (vec![1, 2, 3], vec![2, 3, 7]));
    let measures: Vec<_> = a.runs.iter().map(|run| (run.rounds, run.final_return, run.area)).collect();
    assert_eq!(measures, [(20, 40.0, 13.0), (20, 60.0, 24.0), (20, 10.0, 1.0)]);

    // The interval of three values is their range: all draws are the smallest with chance 1/27.
    assert_eq!(a.final_return, estimate(3, 110.0 / 3.0, 10.0, 60.0));
    assert_eq!(a.area, estimate(3, 38.0 / 3.0, 1.0, 24.0));
    assert_eq!(b.final_return, estimate(3, 30.0, 0.0, 50.0));
    assert_eq!(b.area, estimate(3, 15.0, 0.0, 32.0));

    // Seed 2: 50 - 60 = -10 and 32 - 24 = 8. Seed 3: 40 - 10 = 30 and 13 - 1 = 12.
    assert_eq!(a.paired, None);
    let paired = b.paired.as_ref().unwrap();
    assert_eq!(paired.seeds, [2, 3]);
    assert_eq!(paired.final_return, estimate(2, 10.0, -10.0, 30.0));
    assert_eq!(paired.area, estimate(2, 10.0, 8.0, 12.0));
}

#[test]
fn the_order_of_the_runs_decides_that_of_the_groups_and_nothing_else() {
    let (_runs, mut paths) = Runs::two_groups();
    let forth = compare(&paths).unwrap();
    paths.reverse();
    let back = compare(&paths).unwrap();
    assert_eq!(back.groups[0].label, "fedsvrpg-m beta=0.5");
    for (one, other) in forth.groups.iter().zip(back.groups.iter().rev()) {
        assert_eq!((&one.label, one.final_return, one.area), (&other.label, other.final_return, other.area));
    }
    let paired = back.groups[1].paired.as_ref().unwrap();
    assert_eq!((paired.final_return, paired.area), (estimate(2, -10.0, -30.0, 10.0), estimate(2, -10.0, -12.0, -8.0)));
    assert_eq!(json_of(&back), json_of(&compare(&paths).unwrap()));
}

#[test]
fn the_first_round_that_reaches_a_return_by_hand() {
    let runs = Runs::new();
    // Means over five rounds: 2, 3, 4 with the rounds 5, 6, 7.
    let slow = runs.run("slow", &config("CartPole-v1", 0.2, 1), &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let never = runs.run("never", &config("CartPole-v1", 0.2, 2), &[0.0, 1.0]);
    let comparison = compare(&[slow, never]).unwrap();
    let [reach] = &comparison.reach(3.0)[..] else { panic!("one group") };
    assert_eq!((reach.runs, reach.reached, reach.rounds.mean), (2, 1, 6.0));
    assert!(comparison.reach(4.5)[0].rounds.mean.is_nan() && reach.agents.is_none());
}

/// Two agents' episodes in rounds of 100 steps of each and a quarter of a second of processors. Newest ten of the
/// first: 0 × 9 and 20 after round 1, mean 2; 20 × 10 after round 2; 40 × 10 after round 3. Of the second: eight of
/// 10 after round 1, too few; 0, 0 and eight of 10 after round 2, mean 8; it takes no part in round 3. Both: 14 after
/// round 2, and (40 + 8) / 2 = 24 after round 3.
#[test]
fn episodes_that_are_recorded_are_what_a_return_is_reached_by() {
    let runs = Runs::new();
    let path = runs.run("a", &config("CartPole-v1", 0.2, 1).replace("count = 3", "count = 2"), &[]);
    let round = |round: usize, [one, other]: [Option<Vec<f64>>; 2]| {
        let (all, steps) = ([200, 400, 500][round - 1], [Some(100), other.as_ref().map(|_| 100)]);
        let line = json!({
            "round": round, "train/return_mean": null, "train/env_steps": all,
            "time/process_seconds": 0.25, "agents/returns": [one, other], "agents/env_steps": steps,
        });
        line.to_string() + "\n"
    };
    let lines = [
        round(1, [Some([vec![0.0; 9], vec![20.0]].concat()), Some(vec![10.0; 8])]),
        round(2, [Some(vec![20.0; 10]), Some(vec![0.0, 0.0])]),
        round(3, [Some(vec![40.0; 10]), None]),
    ];
    fs::write(path.join("metrics.jsonl"), lines.concat()).unwrap();
    let comparison = compare(&[path]).unwrap();
    let all = |threshold| {
        let reach = comparison.reach(threshold).remove(0);
        [reach.rounds, reach.env_steps, reach.process_seconds].map(|estimate| estimate.mean)
    };
    assert_eq!((all(14.0), all(24.0)), ([2.0, 400.0, 0.5], [3.0, 500.0, 0.75]));
    let own = |threshold| {
        let own = comparison.reach(threshold).remove(0).agents.unwrap();
        (own.reached, own.agents, own.steps.mean, own.episodes.mean)
    };
    // The first agent alone; both after round 2; the first after round 1 with ten episodes, the second after round 2
    // with as many.
    assert_eq!(own(14.0), (1, 2, 200.0, 20.0));
    assert_eq!(own(8.0), (2, 2, 200.0, 15.0));
    assert_eq!(own(2.0), (2, 2, 150.0, 10.0));
    assert!(comparison.reach(40.5)[0].reached == 0 && own(40.5).0 == 0 && own(40.5).2.is_nan());
}

#[test]
fn how_well_agents_are_fitted_is_averaged_over_seeds() {
    let runs = Runs::new();
    let fitted = |seed: u64, worst: f64, correlation: Option<f64>| {
        let path = runs.run(&seed.to_string(), &config("CartPole-v1", 0.2, seed), &[1.0]);
        let line = json!({"round": 1, "train/return_mean": 1.0, "time/process_seconds": worst / 4.0});
        fs::write(path.join("metrics.jsonl"), line.to_string() + "\n").unwrap();
        let found = json!({
            "round": 1, "episodes": 2, "agents": [],
            "worst": {"agent": 0, "error": worst, "low": worst, "high": worst},
            "similarity": {"environments": [], "heads": [], "shared": [], "rank_correlation": correlation},
        });
        fs::write(path.join("personalisation.json"), found.to_string()).unwrap();
        path
    };
    let paths = [fitted(1, 4.0, Some(0.5)), fitted(2, 8.0, Some(-0.5))];
    let fit = compare(&paths).unwrap().groups[0].fit.unwrap();
    assert_eq!((fit.worst_error, fit.rank_correlation), (estimate(2, 6.0, 4.0, 8.0), estimate(2, 0.0, -0.5, 0.5)));
    assert_eq!(fit.process_seconds, estimate(2, 1.5, 1.0, 2.0));
    let third = fitted(3, 30.0, None);
    let all = [&paths[..], &[third]].concat();
    let fit = compare(&all).unwrap().groups[0].fit.unwrap();
    assert_eq!((fit.worst_error.mean, fit.worst_error_median), (14.0, 8.0));
    assert!(fit.rank_correlation.mean.is_nan());
    fs::remove_file(paths[0].join("personalisation.json")).unwrap();
    assert_eq!(compare(&all).unwrap().groups[0].fit, None);
}

#[test]
fn the_last_episodes_of_every_agent_by_hand() {
    let runs = Runs::new();
    let path = runs.run("a", &config("CartPole-v1", 0.2, 1), &[]);
    // The first agent's first episode is not among its last 50; the second takes no part in the second round.
    let lines = [
        json!({"round": 1, "train/return_mean": 1.0, "agents/returns": [[9000.0, 10.0], [1.0], [4.0]]}),
        json!({"round": 2, "train/return_mean": 1.0, "agents/returns": [vec![10.0; 49], null, [6.0, 8.0]]}),
    ];
    fs::write(path.join("metrics.jsonl"), lines.map(|line| line.to_string() + "\n").concat()).unwrap();
    let last = compare(&[path]).unwrap().groups[0].last_episodes.unwrap();
    // Means 10, 1, 6: their mean is 17/3, their median 6, their variance (100 + 1 + 36) / 3 - (17/3)² = 122/9.
    assert!((last.mean.mean - 17.0 / 3.0).abs() < 1e-12 && last.median == 6.0, "{last:?}");
    assert!((last.variance - 122.0 / 9.0).abs() < 1e-12, "{last:?}");
}

#[test]
fn published_orders_hold_or_not() {
    let runs = Runs::new();
    let mut paths = Vec::new();
    // Published 4, 3, 2, 1; ours by seed.
    let groups: [(f64, f64, [f64; 3]); 4] = [
        (0.1, 2.0, [30.0, 20.0, 40.0]),
        (0.2, 4.0, [50.0, 50.0, 50.0]),
        (0.3, 1.0, [60.0, 70.0, 90.0]),
        (0.4, 3.0, [5.0; 3]),
    ];
    for (beta, published, ours) in groups {
        for (seed, value) in (1..).zip(ours) {
            let returns = json!([[value - 1.0], [value + 1.0]]);
            let name = format!("{beta}-{seed}");
            paths.push(runs.ended(&name, &config("CartPole-v1", beta, seed), Some(published), returns));
        }
    }
    paths.push(runs.ended("alone", &config("CartPole-v1", 0.5, 9), Some(0.0), json!([[0.0], [0.0]])));
    paths.push(runs.ended("unpublished", &config("CartPole-v1", 0.6, 1), None, json!([[0.0], [0.0]])));
    let comparison = compare(&paths).unwrap();
    assert_eq!(comparison.groups.len(), 6);
    let orders = comparison.published_orders();
    let pair = |label: &str| label.split("beta=0.").nth(1).unwrap().to_string();
    let said: Vec<_> = orders.iter().map(|order| (pair(&order.higher) + &pair(&order.lower), order.verdict)).collect();
    let (holds, reversed, unknown) = (Verdict::Holds, Verdict::Reversed, Verdict::Unknown);
    let expected = [
        ("24", holds),
        ("21", holds),
        ("23", reversed),
        ("25", unknown),
        ("41", reversed),
        ("43", reversed),
        ("45", unknown),
        ("13", reversed),
        ("15", unknown),
        ("35", unknown),
    ];
    assert_eq!(said, expected.map(|(pair, verdict)| (pair.to_string(), verdict)));
    assert_eq!((orders[1].published, orders[1].ours), (2.0, estimate(3, 20.0, 10.0, 30.0)));
    let said = json_of(&comparison);
    assert_eq!(said["groups"][0]["published"], json!({"source": "a table", "return_mean": 2.0}));
    assert_eq!(said["groups"][0]["last_episodes"]["variance"], 1.0);
    assert_eq!(said["groups"][5].get("published"), None);

    let noise = [(0.1, 2.0, [1.0, 5.0]), (0.2, 1.0, [2.0, 4.0])];
    let paths: Vec<PathBuf> = noise
        .iter()
        .flat_map(|(beta, published, ours)| {
            let one = |(seed, value): (u64, &f64)| {
                runs.ended(
                    &format!("n{beta}-{seed}"),
                    &config("CartPole-v1", *beta, seed),
                    Some(*published),
                    json!([[value]]),
                )
            };
            (1..).zip(ours).map(one).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(compare(&paths).unwrap().published_orders()[0].verdict, Verdict::WithinTheNoise);
}

#[test]
fn groups_without_a_common_seed_have_no_difference() {
    let runs = Runs::new();
    let paths = [
        runs.run("a", &config("CartPole-v1", 0.2, 1), &[1.0, 2.0]),
        runs.run("b", &config("CartPole-v1", 0.5, 2), &[3.0, 5.0]),
    ];
    let said = json_of(&compare(&paths).unwrap());
    let unknown = json!({"n": 0, "mean": null, "low": null, "high": null});
    assert_eq!(said["groups"][1]["paired"], json!({"seeds": [], "final": unknown, "area": unknown}));
    // The last tenth of two rounds is one. One value has no interval.
    assert_eq!(said["groups"][1]["final"], json!({"n": 1, "mean": 5.0, "low": null, "high": null}));
    assert_eq!(said["groups"][1]["area"]["mean"], 4.0);
    assert_eq!(said["groups"][0]["paired"], Value::Null);
}

#[test]
fn evaluations_count_where_every_run_has_them() {
    let (runs, paths) = Runs::two_groups();
    for (run, mean) in [("a1", 10.0), ("a2", 20.0), ("a3", 60.0), ("b2", 1.0), ("b3", 2.0), ("b7", 6.0)] {
        runs.evaluate(run, "agents", mean);
        if run != "b7" {
            runs.evaluate(run, "extrapolation", mean);
        }
    }
    let said = json_of(&compare(&paths).unwrap());
    assert_eq!(said["groups"][0]["evaluation"], json!({"agents": 30.0}));
    assert_eq!(said["groups"][1]["evaluation"], json!({"agents": 3.0}));
    runs.evaluate("b7", "extrapolation", 9.0);
    let said = json_of(&compare(&paths).unwrap());
    assert_eq!(said["groups"][1]["evaluation"], json!({"agents": 3.0, "extrapolation": 4.0}));
}

#[test]
fn a_round_without_a_finite_return_is_no_number() {
    let runs = Runs::new();
    let path = runs.run("a", &config("CartPole-v1", 0.2, 1), &[1.0, f64::NAN, 3.0]);
    let comparison = compare(&[path]).unwrap();
    let said = json_of(&comparison);
    assert_eq!((&said["groups"][0]["final"]["mean"], &said["groups"][0]["area"]["mean"]), (&json!(3.0), &Value::Null));
    assert!(comparison.svg().is_ok());
}

#[test]
fn the_picture_has_a_line_and_a_band_per_group() {
    let (runs, mut paths) = Runs::two_groups();
    let svg = compare(&paths).unwrap().svg().unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    let labels = ["fedsvrpg-m beta=0.2 (3 seeds)", "fedsvrpg-m beta=0.5 (3 seeds)", "95 % interval of the mean"];
    for text in labels.into_iter().chain(["round", "training return"]) {
        assert!(svg.contains(&format!(">\n{text}\n</text>")), "{text}");
    }
    let count = |svg: &str, start: &str, style: &str| {
        svg.lines().filter(|line| line.starts_with(start) && line.contains(style)).count()
    };
    for color in ["#0072B2", "#D55E00"] {
        let line = format!("stroke=\"{color}\" stroke-width=\"6\"");
        assert_eq!(count(&svg, "<polyline", &line), 1 + 1, "the curve and the legend's");
        assert_eq!(count(&svg, "<polygon", color), 1);
    }

    // One seed has no band.
    paths.truncate(1);
    let comparison = compare(&paths).unwrap();
    let svg = comparison.svg().unwrap();
    assert!(svg.contains(">\nfedsvrpg-m (1 seed)\n</text>") && !svg.contains("<polygon") && !svg.contains("interval"));
    let file = runs.0.path().join("compare.svg");
    fs::write(&file, "older").unwrap();
    comparison.write_svg(&file).unwrap();
    assert_eq!(fs::read_to_string(file).unwrap(), svg);
}

#[test]
fn curves_of_any_shape_are_drawn() {
    let runs = Runs::new();
    let of = |name: &str, seed, returns: &[f64]| runs.run(name, &config("CartPole-v1", 0.2, seed), returns);
    let long = of("long", 1, &[1.0, 2.0, 3.0]);
    let one = of("one", 2, &[5.0]);
    let flat = of("flat", 3, &[1.7e308, -1.7e308, 0.0]);
    let none = of("none", 4, &[f64::NAN]);
    for paths in [vec![one.clone()], vec![long.clone(), one], vec![long.clone(), flat]] {
        assert!(compare(&paths).unwrap().svg().is_ok());
    }
    let nothing = compare(&[long, none]).unwrap().svg().unwrap_err();
    assert_eq!(nothing.to_string(), "there is no finite return to draw");
}

#[test]
fn seven_groups_have_colours_and_long_legends_have_rows() {
    let runs = Runs::new();
    let paths: Vec<PathBuf> = (1..=8)
        .map(|i| runs.run(&i.to_string(), &config("CartPole-v1", f64::from(i) / 10.0, 1), &[f64::from(i), 2.0]))
        .collect();
    let svg = compare(&paths[..7]).unwrap().svg().unwrap();
    // An entry of 28 characters takes 102 + 28 · 15.12 = 525 of the 1600 - 158: two in a row, four
    // rows, of which the height of 800 has one: 800 + 3 · 64.
    assert!(svg.contains("fedsvrpg-m beta=0.7 (1 seed)") && svg.contains("height=\"992\""));
    assert_eq!(
        compare(&paths).unwrap().svg().unwrap_err().to_string(),
        "8 groups cannot be told apart in one picture; compare at most 7"
    );
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let (runs, paths) = Runs::two_groups();
    assert_eq!(refused(&[]), Incomparable::NoRun);

    let detour = runs.0.path().join("b2/../a1");
    assert_eq!(refused(&[paths[0].clone(), detour.clone()]), Incomparable::GivenTwice(detour));

    let copy = runs.run("copy", &config("CartPole-v1", 0.2, 1), &[1.0]);
    let same = Incomparable::SameSeed { one: paths[0].clone(), other: copy.clone(), seed: 1 };
    assert_eq!(refused(&[paths[0].clone(), copy]), same);

    let empty = runs.run("empty", &config("CartPole-v1", 0.2, 9), &[]);
    fs::write(empty.join("metrics.jsonl"), "").unwrap();
    assert_eq!(refused(&[paths[0].clone(), empty.clone()]), Incomparable::NoRound(empty.clone()));
    fs::remove_file(empty.join("metrics.jsonl")).unwrap();
    assert_eq!(refused(std::slice::from_ref(&empty)), Incomparable::NoRound(empty));

    let other = runs.run("other", &config("Pendulum-v1", 0.2, 1), &[1.0]);
    let said = refused(&[paths[0].clone(), other]).to_string();
    assert!(said.contains("a1 trains in CartPole-v1 and ") && said.contains("other in Pendulum-v1; only runs of one"));
}

#[test]
fn an_experiment_without_a_seed_is_named() {
    let runs = Runs::new();
    let run = runs.run("a", &config("CartPole-v1", 0.2, 1).replace("seed = 1", ""), &[1.0]);
    let said = compare(&[run]).unwrap_err().to_string();
    assert!(said.ends_with("config.toml is not a resolved experiment with training.seed"), "{said}");
}
