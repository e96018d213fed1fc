//! The report of fixture runs, read back from disk.
#![allow(clippy::unwrap_used)]

mod fixture;

use fixture::Fixture;
use std::fs;

#[test]
fn the_page_shows_the_numbers_of_the_run() {
    let run = Fixture::full(10, 100);
    let page = run.page();
    assert!(page.starts_with("<!DOCTYPE html>"));
    assert!(page.contains("<h1>fedsvrpg-m on cart_pole</h1>") && page.contains("10 agents"));
    // 100 rounds of 5,000 steps, 12,345 bytes up and 23,456 bytes down each; the last mean
    // return is 20 + 4 · 100 = 420.
    for (label, value) in [
        ("Rounds", "100"),
        ("Environment steps", "500,000"),
        ("Sent by agents", "1.23 MB"),
        ("Sent to agents", "2.35 MB"),
        ("Final training return", "420.00"),
    ] {
        assert!(page.contains(&format!("<dt>{label}</dt><dd>{value}</dd>")), "{label}");
    }
    assert!(page.contains("<dt>Extrapolation: mean return</dt><dd>301.50 <small>worst 120.25</small></dd>"));
    assert!(page.contains("After round 100: mean 301.50, worst 120.25, mean of the worst fifth (CVaR) 150.75."));
    assert!(page.contains("<td>1</td><td>0.3</td><td>450.00</td><td>440.00 to 460.00</td><td>20</td>"));
    assert!(page.contains("over the one parameter that varies, length."));
    assert!(page.contains("<th scope=\"row\">git_revision</th><td>0123abc</td>"));
    assert!(page.contains("<th scope=\"row\">finished</th><td>–</td>"));
    assert!(page.contains("All weights were finite."));
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let page = Fixture::full(3, 5).page();
    let without_namespace = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<script"] {
        assert!(!without_namespace.contains(outside), "{outside}");
    }
}

#[test]
fn the_pictures_are_in_the_page_and_beside_it() {
    let run = Fixture::full(10, 100);
    let page = run.page();
    for (name, texts) in [
        ("learning", vec!["round", "training return", "mean over agents", "one agent"]),
        ("importance", vec!["round", "mean weight", "effective sample size"]),
        ("generalisation", vec!["length", "Agents’ variants", "Interpolation", "Extrapolation", "trained range"]),
    ] {
        let svg = run.figure(name);
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{name}");
        for text in texts {
            assert!(svg.contains(&format!(">\n{text}\n</text>")), "{name}: {text}");
        }
        assert!(page.contains(&svg), "{name}");
    }
    let learning = run.figure("learning");
    assert_eq!(polylines(&learning, "#56B4E9", 2), 10, "one line per agent");
    assert_eq!(polylines(&learning, "#0072B2", 6), 1 + 1, "the mean's and the legend's");
}

fn polylines(svg: &str, stroke: &str, width: u32) -> usize {
    let style = format!("stroke=\"{stroke}\" stroke-width=\"{width}\"");
    svg.lines().filter(|line| line.starts_with("<polyline") && line.contains(&style)).count()
}

#[test]
fn equal_runs_give_equal_bytes_and_no_other_files() {
    let (one, other) = (Fixture::full(4, 20), Fixture::full(4, 20));
    assert_eq!(one.page(), other.page());
    assert_eq!(one.page(), other.page(), "again, over the first");
    assert_eq!(one.names("figures"), ["generalisation.svg", "importance.svg", "learning.svg"]);
    assert_eq!(one.names(""), ["config.toml", "eval", "figures", "manifest.json", "metrics.jsonl", "report.html"]);
}

/// Three agents whose heads have the cosines 0.2 and 0.6, and shared layers that are the same.
fn personalisation(agents: usize) -> String {
    let matrix = |other: &dyn Fn(usize, usize) -> f64| {
        let row =
            |i: usize| (0..agents).map(|j| if i == j { 1.0 } else { other(i.min(j), i.max(j)) }).collect::<Vec<_>>();
        (0..agents).map(row).collect::<Vec<_>>()
    };
    let agent = |agent: usize| {
        format!(
            "{{\"agent\": {agent}, \"parameters\": {{\"length\": 0.{agent}}}, \"states\": 9, \"value\": 45.5, \
             \"estimate\": 50, \"error\": {}, \"low\": 1, \"high\": null}}",
            agent + 2
        )
    };
    let found = (0..agents).map(agent).collect::<Vec<_>>().join(", ");
    format!(
        "{{\"round\": 3, \"episodes\": 20, \"worst\": {{\"agent\": 2, \"error\": 4, \"low\": 3.25, \"high\": 5}}, \
         \"agents\": [{found}], \"similarity\": {{\"environments\": {:?}, \"heads\": {:?}, \"shared\": {:?}, \
         \"rank_correlation\": 0.75}}}}",
        matrix(&|_, j| 1.0 - j as f64 / 10.0),
        matrix(&|i, _| [0.2, 0.6][i % 2]),
        matrix(&|_, _| 1.0),
    )
}

#[test]
fn personalisation_is_shown_where_it_was_measured() {
    let run = Fixture::training(3, 3);
    assert!(!run.page().contains("Personalisation"));
    run.write("personalisation.json", &personalisation(3));
    let page = run.page();
    assert!(
        page.contains("After round 3, 20 greedy episodes each: the worst error is agent 2’s, 4.00 (3.25 to 5.00).")
    );
    assert!(page.contains("<td>1</td><td>0.1</td><td>45.50</td><td>50.00</td><td>3.00</td><td>1.00 to –</td>"));
    assert!(page.contains("environments are: 0.7500."));
    let svg = run.figure("similarity");
    assert!(page.contains(&svg));
    for text in ["environments", "heads", "shared layers", "0.2", "0.8", "1", "2"] {
        assert!(svg.contains(&format!(">\n{text}\n</text>")), "{text}");
    }
    // Of the shared layers all nine cells and the 55 of the strip are blue; of heads and environments the diagonal
    // and the last cell of the strip. White are of heads two times 0.2 and 0.2, of environments two pairs of 0.8, a
    // cell of each strip, and the ground of the picture.
    let filled = |color: &str| {
        svg.lines().filter(|line| line.starts_with("<rect") && line.contains(&format!("fill=\"{color}\""))).count()
    };
    assert_eq!(filled("#0072B2"), 9 + 55 + 2 * (3 + 1));
    assert_eq!(filled("#FFFFFF"), 4 + 4 + 2 + 1);

    run.write("personalisation.json", &personalisation(65));
    assert!(run.page().contains("There are too many agents to draw."));
    run.write("personalisation.json", "{}");
    assert!(run.error().contains("personalisation.json is not what `fedrl personalisation` writes"), "{}", run.error());
}

#[test]
fn text_from_the_run_is_escaped() {
    let run = Fixture::full(1, 2);
    run.write("config.toml", &fixture::config("<b>x</b>", 1));
    run.write("manifest.json", r#"{"device": "<script>", "cores": 8, "nested": {"a": [1]}}"#);
    let page = run.page();
    assert!(!page.contains("<b>") && !page.contains("<script>"));
    assert!(page.contains("1 agent<") && page.contains("<td>8</td>"));
}

#[test]
fn missing_evaluations_and_manifest_are_said() {
    let run = Fixture::full(2, 3);
    fs::remove_file(run.path().join("eval/interpolation.json")).unwrap();
    fs::remove_file(run.path().join("manifest.json")).unwrap();
    let page = run.page();
    assert!(page.contains("<dt>Interpolation: mean return</dt><dd><small>not evaluated</small></dd>"));
    assert!(page.contains("there is no <code>eval/interpolation.json</code>"));
    assert!(page.contains("There is no manifest."));
    assert!(!run.figure("generalisation").contains("Interpolation"));

    let bare = Fixture::training(2, 3);
    assert!(bare.page().contains("There is no evaluation to draw."));
    assert_eq!(bare.names("figures"), ["importance.svg", "learning.svg"]);
}

#[test]
fn several_varying_parameters_are_drawn_by_variant() {
    let run = Fixture::full(2, 3);
    run.write(
        "eval/extrapolation.json",
        r#"{"run": "r", "on": "extrapolation", "round": 3, "mean": 1.0, "worst": null, "cvar": 1.0, "variants": [
            {"parameters": {"length": 0.9, "mass": 2}, "episodes": 5, "mean": 1.0, "low": 0.5, "high": 1.5},
            {"parameters": {"mass": 3}, "episodes": 5, "mean": null, "low": null, "high": null}]}"#,
    );
    let page = run.page();
    assert!(page.contains("variants numbered as in the tables."));
    assert!(page.contains("<td>17</td><td>–</td><td>3</td><td>–</td><td>– to –</td><td>5</td>"));
    let svg = run.figure("generalisation");
    assert!(svg.contains("variant (number in the tables)") && !svg.contains("trained range"));
}

/// Two variants; a curve of two points for each start, of which the last start has none that is finite.
const ADAPTATION: &str = r#"{"on": "extrapolation", "round": 9, "steps": 10000, "seeds": 5, "threshold": 195.0, "variants": [
    {"parameters": {"length": 0.15}, "nearest_agent": 0, "zero_shot": [], "few_shot": [
        {"beginning": "nearest", "frozen": false, "never": 0.0, "curve": [
            {"steps": 5000, "mean": 100.0, "low": 90.0, "high": 110.0}, {"steps": 10000, "mean": 180.0, "low": 170.0, "high": 185.0}]},
        {"beginning": "nearest", "frozen": true, "never": 0.0, "curve": [
            {"steps": 5000, "mean": null, "low": null, "high": null}, {"steps": 10000, "mean": 150.0, "low": 140.0, "high": 160.0}]},
        {"beginning": "scratch", "frozen": true, "never": 1.0, "curve": [
            {"steps": 5000, "mean": 20.0, "low": 20.0, "high": 20.0}, {"steps": 10000, "mean": 30.0, "low": 20.0, "high": 40.0}]}]},
    {"parameters": {"length": 0.9}, "zero_shot": [], "few_shot": [
        {"beginning": "nearest", "frozen": false, "never": 1.0, "curve": [{"steps": 5000, "mean": null, "low": null, "high": null}]}]}]}"#;

#[test]
fn few_shot_curves_have_a_panel_for_each_variant_and_a_line_for_each_start() {
    let run = Fixture::full(2, 9);
    assert!(!run.page().contains("Adaptation"));
    fs::create_dir(run.path().join("adapt")).unwrap();
    run.write("adapt/extrapolation.json", ADAPTATION);
    run.write("adapt/agents.json", &ADAPTATION.replace("\"extrapolation\"", "\"agents\""));
    run.write("adapt/notes.txt", "not an adaptation");
    let page = run.page();
    assert!(page.contains("<h2>Adaptation</h2>"));
    assert!(page.find("<h3>agents</h3>").unwrap() < page.find("<h3>extrapolation</h3>").unwrap());
    assert!(
        page.contains("After round 9: 5 new agents each, 10,000 environment steps; the threshold is a return of 195.")
    );
    let svg = run.figure("few-shot-extrapolation");
    assert!(page.contains(&svg));
    for text in ["length 0.15", "length 0.9", "nearest", "nearest, frozen", "scratch, frozen", "threshold", "return"] {
        assert!(svg.contains(&format!(">\n{text}\n</text>")), "{text}");
    }
    // `nearest` has a line in the first panel and in the legend, where the dashes of `nearest, frozen` are two more; of
    // that itself there is one point, a dot. The threshold is in both panels and in the legend.
    assert_eq!((polylines(&svg, "#0072B2", 5), polylines(&svg, "#9AA1AB", 3)), (4, 3));
    // Two curves have two points with an interval, and hence a band.
    assert_eq!(svg.matches("<polygon").count(), 2);
    assert!(!svg.contains("NaN"));
    assert!(run.names("figures").contains(&"few-shot-agents.svg".to_string()));

    run.write("adapt/agents.json", "{}");
    assert!(run.error().contains("agents.json is not an adaptation"), "{}", run.error());
}

#[test]
fn an_adaptation_in_which_no_episode_ended_has_no_picture() {
    let run = Fixture::training(2, 3);
    fs::create_dir(run.path().join("adapt")).unwrap();
    let nothing = r#"{"on": "x", "round": 1, "steps": 1, "seeds": 1, "threshold": 1.0, "variants": []}"#;
    run.write("adapt/x.json", nothing);
    assert!(!run.page().contains("Adaptation"));
}

#[test]
fn an_algorithm_without_importance_weights_has_no_such_picture() {
    let run = Fixture::training(2, 0);
    run.write("metrics.jsonl", "{\"round\": 1, \"train/return_mean\": 3.5, \"agents/return\": [3.0, 4.0]}\n");
    assert!(run.page().contains("This algorithm uses no importance weights."));
    assert_eq!(run.names("figures"), ["learning.svg"]);
}

#[test]
fn numbers_that_were_not_finite_are_left_out() {
    let run = Fixture::training(2, 0);
    run.write(
        "metrics.jsonl",
        "{\"round\": 1, \"train/return_mean\": 3.5, \"agents/return\": [null, 4.0], \"importance/non_finite\": 0}\n\
         {\"round\": 2, \"train/return_mean\": null, \"agents/return\": [null, 5.0], \"importance/non_finite\": 7,\
          \"importance/weight_mean\": null, \"importance/effective_sample_size\": null}\n",
    );
    let page = run.page();
    assert!(page.contains("<dt>Final training return</dt><dd>–</dd>"));
    assert!(page.contains("Weights that were not finite, over all rounds: 7."));
    assert!(!page.contains("NaN") && !page.contains("inf"));
    // One agent has a line; the mean has one point, a dot, and its line is the legend's.
    let svg = run.figure("learning");
    assert_eq!((polylines(&svg, "#56B4E9", 2), polylines(&svg, "#0072B2", 6)), (1, 1));
    assert!(svg.contains("<circle"));
}

#[test]
fn a_cut_last_line_is_ignored() {
    let run = Fixture::training(2, 3);
    let whole = fs::read_to_string(run.path().join("metrics.jsonl")).unwrap();
    run.write("metrics.jsonl", &format!("{whole}{{\"round\": 4, \"train/retu"));
    assert!(run.page().contains("<dt>Rounds</dt><dd>3</dd>"));
}

#[test]
fn a_corrupt_line_is_an_error_that_names_it() {
    let run = Fixture::training(2, 3);
    let whole = fs::read_to_string(run.path().join("metrics.jsonl")).unwrap();
    for bad in ["{\"round\": 2, \"train\n", "{\"round\": \"two\"}\n", "\n"] {
        let lines: Vec<&str> = whole.split_inclusive('\n').collect();
        run.write("metrics.jsonl", &[lines[0], bad, lines[2]].concat());
        let error = run.error();
        assert!(error.contains("metrics.jsonl line 2: expected one round"), "{error}");
    }
    run.write("metrics.jsonl", &[&whole, whole.split_inclusive('\n').next().unwrap()].concat());
    assert!(run.error().contains("metrics.jsonl line 4: round 1 follows round 3"));
    assert!(!run.path().join("report.html").exists());
}

#[test]
fn a_missing_or_wrong_file_is_named() {
    let run = Fixture::full(2, 3);
    run.write("eval/agents.json", "{}");
    assert!(run.error().contains("agents.json is not an evaluation"), "{}", run.error());
    fs::remove_file(run.path().join("metrics.jsonl")).unwrap();
    assert!(run.error().contains("metrics.jsonl: expected the metrics of the completed rounds"), "{}", run.error());
    run.write("config.toml", "[agents]\ncount = 2\n");
    assert!(run.error().contains("config.toml is not a resolved experiment"), "{}", run.error());
    fs::remove_file(run.path().join("config.toml")).unwrap();
    assert!(run.error().contains("config.toml: expected a resolved experiment"), "{}", run.error());
}

#[test]
fn no_round_gives_a_page_that_says_so() {
    let run = Fixture::training(2, 0);
    let page = run.page();
    assert!(page.contains("No round was completed.") && page.contains("<dt>Rounds</dt><dd>0</dd>"));
    assert!(!run.path().join("figures").exists());
}

#[test]
fn returns_of_any_size_are_drawn() {
    let run = Fixture::training(2, 0);
    for (first, second) in [
        (1.7e308, -1.7e308),
        (3.4e38, 0.0),
        (1e15, 1e15 + 1.0),
        (-500.0, -500.0 + 1e-9),
        (1e-12, 3e-12),
        (1e-30, 2e-30),
        (0.0, 0.0),
    ] {
        let line = |round, value: f64| format!("{{\"round\": {round}, \"train/return_mean\": {value:?}}}\n");
        run.write("metrics.jsonl", &[line(1, first), line(2, second)].concat());
        run.page();
        assert_eq!(polylines(&run.figure("learning"), "#0072B2", 6), 2, "{first} {second}");
    }
}

#[test]
fn one_round_is_drawn() {
    let run = Fixture::full(3, 1);
    run.page();
    assert!(run.figure("learning").matches("<circle").count() == 4, "three agents and the mean");
}
