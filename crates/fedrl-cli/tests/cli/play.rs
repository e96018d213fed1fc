//! `fedrl play`: films of episodes, and what is said of them.

use std::fs;

use serde_json::Value;

use crate::support::{Place, tiny};

fn play(place: &Place, arguments: &[&str]) -> Value {
    let said = place.fedrl(&[&["play"], arguments, &["--json"]].concat()).done();
    assert_eq!(said.stderr, "");
    let [line] = said.json().try_into().expect("one line");
    line
}

fn gif(place: &Place, name: &str) -> Vec<u8> {
    let bytes = fs::read(place.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(bytes[..6], *b"GIF89a");
    bytes
}

/// Width and height, as the file has them.
fn size(gif: &[u8]) -> [u64; 2] {
    [6, 8].map(|at| u64::from(u16::from_le_bytes([gif[at], gif[at + 1]])))
}

#[test]
fn an_environment_under_random_actions() {
    let place = Place::tiny();
    let said = play(&place, &["Hopper-v5", "--set", "link_length_scale=1.2", "--steps", "5", "--width", "200"]);
    assert_eq!((&said["environment"], &said["film"]), (&"Hopper-v5".into(), &"Hopper-v5.gif".into()));
    // Five steps of 0.008 s: the start and the end.
    assert_eq!((&said["frames"], &said["width"], &said["columns"]), (&2.into(), &200.into(), &1.into()));
    assert_eq!(said["scenes"][0]["parameters"]["link_length_scale"], 1.2);
    assert_eq!((&said["scenes"][0]["steps"], &said["scenes"][0]["terminated"]), (&5.into(), &false.into()));
    let film = gif(&place, "Hopper-v5.gif");
    assert_eq!(size(&film), [200, said["height"].as_u64().unwrap()]);
    // In place of what is there: the same bytes.
    play(&place, &["Hopper-v5", "--set", "link_length_scale=1.2", "--steps", "5", "--width", "200"]);
    assert!(gif(&place, "Hopper-v5.gif") == film);
    let other = play(&place, &["Hopper-v5", "--episode", "2", "--out", "films/other.gif"]);
    assert!(gif(&place, "films/other.gif") != film);
    assert_eq!((&other["film"], &other["episode"]), (&"films/other.gif".into(), &2.into()));
}

#[test]
fn the_episodes_of_a_run_are_those_of_its_evaluation() {
    let place = Place::trained();
    for on in ["agents", "extrapolation"] {
        let evaluated = place.read_json(&format!("run/eval/{on}.json"));
        let films = ["1", "2"].map(|episode| play(&place, &["run", "--on", on, "--episode", episode]));
        let variants = evaluated["variants"].as_array().unwrap();
        assert_eq!(films[0]["scenes"].as_array().unwrap().len(), variants.len());
        for (index, variant) in variants.iter().enumerate() {
            let scenes = [&films[0]["scenes"][index], &films[1]["scenes"][index]];
            assert_eq!(scenes[0]["parameters"], variant["parameters"]);
            let mean = scenes.iter().map(|scene| scene["return"].as_f64().unwrap()).sum::<f64>() / 2.0;
            assert_eq!(variant["mean"], mean);
            assert!(scenes.iter().all(|scene| scene["return"] == scene["steps"].as_f64().unwrap()));
        }
        assert_eq!((&films[0]["on"], &films[0]["round"], &films[0]["greedy"]), (&on.into(), &6.into(), &false.into()));
        assert_eq!(films[0]["film"], "run/play.gif");
        gif(&place, "run/play.gif");
    }
    // The default set.
    assert_eq!(play(&place, &["run"])["on"], "agents");
    assert_eq!(play(&place, &["run", "--greedy", "--checkpoint", "4", "--out", "four.gif"])["round"], 4);
    gif(&place, "four.gif");
}

#[test]
fn people_get_the_scenes_in_order() {
    let place = Place::trained();
    let said = place.fedrl(&["play", "run", "--on", "extrapolation"]).done().stdout;
    let [first, second] = ["length=0.2000", "length=0.9000"].map(|variant| said.find(variant).expect("the variant"));
    assert!(first < second, "{said}");
    for text in ["CartPole-v1, extrapolation (round 6), episode 1", "film  run/play.gif"] {
        assert!(said.contains(text), "{text} is not in\n{said}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    let place = Place::with(&tiny(&[("{ values = [0.2, 0.9] }", "{ linspace = [0.1, 0.9], count = 17 }")]));
    place.train("run", &[]);
    fs::create_dir(place.path("folder")).unwrap();
    for (arguments, problem) in [
        (&["Cartpole"] as &[&str], "unknown environment `Cartpole`; did you mean `CartPole-v1`?"),
        (&["nowhere"], "nor is there a run directory of that name"),
        (&["folder"], "folder is not a run directory"),
        (&["RandomMDP-v0"], "RandomMDP-v0 has no shape"),
        (&["CartPole-v1", "--set", "lenght=1"], "unknown parameter `lenght`"),
        (&["CartPole-v1", "--on", "agents"], "--on is for runs"),
        (&["CartPole-v1", "--greedy"], "--greedy is for runs"),
        (&["CartPole-v1", "--episode", "0"], "--episode is 0, expected a whole number from 1 to"),
        (&["CartPole-v1", "--steps", "0"], "--steps is 0"),
        (&["CartPole-v1", "--width", "10"], "10 pixels wide, expected 64 to 4096"),
        (&["CartPole-v1", "--out", "folder"], "--out folder is a directory"),
        (&["run", "--set", "length=1"], "--set is for environments"),
        (&["run", "--episode", "3"], "--episode is 3, expected a whole number from 1 to 2"),
        (&["run", "--on", "extrapolation"], "extrapolation: 17 variants cannot be shown side by side"),
        (&["run", "--on", "nonsense"], "unknown set of variants `nonsense`"),
        (&["run", "--checkpoint", "5"], "run has no checkpoint of round 5"),
    ] {
        let said = place.fedrl(&[&["play"], arguments].concat()).refused(2);
        assert!(said.contains(problem), "{arguments:?}: {said}");
    }
    let films = fs::read_dir(place.root())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "gif"));
    assert_eq!(films.count(), 0);
    assert!(!place.path("run/play.gif").exists());
}
