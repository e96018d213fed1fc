//! A CPU and a graphics adapter, be it software, give the same numbers.

use serde_json::Value;

use crate::support::{Place, tiny};

/// The relative difference that rounding may make.
const TOLERANCE: f64 = 1e-4;

/// Where a draw lies closer to its threshold than this, rounding may choose another action, and
/// two devices may rightly live through different episodes.
const TIE: f64 = 1e-6;

fn adapters() -> Value {
    let report = Place::tiny().fedrl(&["doctor", "--json"]).done().json().remove(0);
    assert!(
        !report["adapters"].as_array().is_some_and(Vec::is_empty),
        "no graphics adapter here: install a driver, or a software one (Debian: mesa-vulkan-drivers libvulkan1)"
    );
    report
}

/// The closest that any draw of any agent in any round came to its threshold.
fn closest_draw(place: &Place, run: &str) -> f64 {
    let rounds = place.metrics(run);
    let margins = rounds.iter().flat_map(|metrics| metrics["agents/draw_margin"].as_array().expect("a row"));
    margins.map(|margin| margin.as_f64().expect("a number")).fold(f64::INFINITY, f64::min)
}

/// Trains three rounds of the place's experiment on both and compares θ.
#[allow(clippy::print_stderr, reason = "a tie is for the reader of the test's output")]
fn assert_same_on_both(place: &Place) {
    adapters();
    for (device, run) in [("cpu", "cpu"), ("wgpu:0", "wgpu")] {
        let short = ["--set", "training.rounds=3", "--set", "evaluation.episodes=1"];
        place
            .fedrl(&[["train", "experiment.toml", "--device", device, "--out", run].as_slice(), &short].concat())
            .done();
    }
    let closest = closest_draw(place, "cpu").min(closest_draw(place, "wgpu"));
    if closest < TIE {
        eprintln!("a tie: a draw lay {closest:e} from its threshold, so the two runs cannot be compared");
        return;
    }
    let (cpu, wgpu) = (place.theta("cpu", 3), place.theta("wgpu", 3));
    assert_eq!(cpu.len(), wgpu.len());
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let difference = || cpu.iter().zip(&wgpu).map(|(&a, &b)| f64::from(a) - f64::from(b));
    let relative = norm(&mut difference()) / norm(&mut cpu.iter().map(|&x| f64::from(x)));
    assert!(relative <= TOLERANCE, "|a - b| / |a| = {relative:e}");
    let greatest = cpu.iter().fold(0.0, |max: f64, x| max.max(f64::from(x.abs())));
    for (index, difference) in difference().enumerate() {
        assert!(difference.abs() <= TOLERANCE * greatest, "component {index}: {} {}", cpu[index], wgpu[index]);
    }
    // It did learn something, which 1e-4 would see.
    assert_ne!(cpu, place.theta("cpu", 0));
}

#[test]
fn theta_of_the_quickstart_is_the_same_on_both() {
    assert_same_on_both(&Place::with(include_str!("../../../../configs/quickstart.toml")));
}

#[test]
fn theta_of_every_algorithm_is_the_same_on_both() {
    assert_same_on_both(&Place::tiny());
    assert_same_on_both(&Place::with(&tiny(&[("name = \"fedsvrpg-m\"", "name = \"fedhapg-m\"")])));
    let names = ("name = \"fedsvrpg-m\"\nbeta = 0.5\n", "name = \"fast-fedpg\"\n");
    assert_same_on_both(&Place::with(&tiny(&[names])));
}

#[test]
fn the_doctor_lists_adapters_and_auto_takes_no_software() {
    let report = adapters();
    let adapters = report["adapters"].as_array().unwrap();
    for (index, adapter) in adapters.iter().enumerate() {
        assert_eq!(adapter["device"], format!("wgpu:{index}"));
        for key in ["name", "api", "driver"] {
            assert!(adapter[key].as_str().is_some_and(|text| !text.is_empty()), "{adapter}");
        }
        assert!(adapter["software"].is_boolean());
        let llvmpipe = adapter["name"].as_str().unwrap().contains("llvmpipe");
        assert!(adapter["software"] == true || !llvmpipe, "{adapter}");
    }
    // Without an experiment the question is about a large one, for which llvmpipe is no gain.
    if adapters.iter().all(|adapter| adapter["software"] == true) {
        assert_eq!(report["auto"]["device"], "cpu");
    }
    let place = Place::tiny();
    let text = place.fedrl(&["doctor", "experiment.toml"]).done().stdout;
    assert!(text.contains("auto for experiment.toml takes cpu"), "{text}");
    assert!(text.contains(adapters[0]["name"].as_str().unwrap()), "{text}");
}

#[test]
fn a_run_on_an_adapter_from_its_experiment_to_its_evaluation() {
    let report = adapters();
    let place = Place::tiny();
    let said = place
        .fedrl(&[
            "train",
            "experiment.toml",
            "--device",
            "wgpu:0",
            "--json",
            "--out",
            "run",
            "--set",
            "training.rounds=2",
        ])
        .done();
    assert_eq!(said.json()[0]["rounds"], 2);
    let manifest = place.read_json("run/manifest.json");
    assert_eq!(manifest["device_choice"], "wgpu:0");
    assert_eq!(manifest["device"], report["adapters"][0]["name"]);
    let trained = place.read_json("run/eval/agents.json");
    let evaluated = place.fedrl(&["eval", "run", "--on", "agents", "--device", "wgpu:0", "--json"]).done();
    let mut line = evaluated.json().remove(0);
    line.as_object_mut().unwrap().shift_remove("run");
    assert_eq!(line, trained);
    place.fedrl(&["resume", "run", "--from", "2"]).done();
}
