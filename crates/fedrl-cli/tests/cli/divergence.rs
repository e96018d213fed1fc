//! Numbers that are no longer finite: the run stops with who and when, or goes on without them,
//! and what is kept is good.

use crate::compare::{assert_same_run, copy};
use crate::support::{Place, tiny};

/// The third agent's rewards are so great that its gradients are infinite in f32.
fn one_of_three() -> Place {
    let agents = "agents = { length = { values = [0.3, 0.5, 0.7] } }";
    let hopeless = "agents = { reward_scale = { values = [1.0, 1.0, 1e38] } }";
    Place::with(&tiny(&[(agents, hopeless), ("name = \"fedsvrpg-m\"\nbeta = 0.5\n", "name = \"pavg\"\n")]))
}

const TRAIN: [&str; 7] = ["train", "experiment.toml", "--device", "cpu", "--out", "run", "--quiet"];

#[test]
fn an_agent_that_diverges_stops_the_run_by_name() {
    let place = one_of_three();
    let line = place.fedrl(&TRAIN).refused(1);
    for word in ["agent 2 diverged in round 1", "run/checkpoints/round-000000", "drop-agent"] {
        assert!(line.contains(word), "`{word}` is not in\n{line}");
    }
    place.fedrl(&["eval", "run", "--device", "cpu"]).done();
    // Nothing has changed, so it ends the same way again.
    assert_eq!(place.fedrl(&["resume", "run", "--quiet"]).refused(1), line);
}

#[test]
fn an_agent_that_diverges_can_be_left_behind() {
    let place = one_of_three();
    place.fedrl(&[TRAIN.as_slice(), &["--set", "training.on_divergence=drop-agent"]].concat()).done();
    for metrics in place.metrics("run") {
        let (first, dropped) = (metrics["round"] == 1, metrics["agents/return"][2].is_null());
        assert_eq!(metrics["federation/diverged"], u8::from(first));
        assert_eq!(metrics["federation/participants"], if first { 3 } else { 2 });
        assert_eq!(dropped, !first, "{metrics}");
    }
    assert!(place.theta("run", 6).iter().all(|x| x.is_finite()));
    // Who was left behind is part of the state.
    copy(&place.path("run"), &place.path("whole"));
    place.fedrl(&["resume", "run", "--from", "2"]).done();
    assert_same_run(&place.path("whole"), &place.path("run"));
}

#[test]
fn a_server_that_diverges_stops_the_run_and_is_not_kept() {
    for rounds in ["1", "6"] {
        // The agents' answers are finite; λ times their mean, about 1e38 × 1e3, is not.
        let great = ("length = { values = [0.3, 0.5, 0.7] }", "reward_scale = 1000.0");
        let place = Place::with(&tiny(&[great, ("global_step_size = 0.004", "global_step_size = 1e38")]));
        let more = ["--set", "training.checkpoint_every=1", "--set", &format!("training.rounds={rounds}")];
        let outcome = place.fedrl(&[TRAIN.as_slice(), &more].concat());
        for round in 0..=1 {
            let kept = place.path(&format!("run/checkpoints/round-{round:06}")).exists();
            let good = !kept || place.theta("run", round).iter().all(|x| x.is_finite());
            assert!(good, "the checkpoint of round {round} is not finite: {outcome:#?}");
        }
        let line = outcome.refused(1);
        assert!(
            line.contains("the server diverged in round 1") && line.contains("run/checkpoints/round-000000"),
            "{line}"
        );
    }
}
