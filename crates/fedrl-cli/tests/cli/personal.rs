//! `personal = "head"` of policy-gradient algorithms, as their users meet it.

use crate::compare::assert_same_run;
use crate::support::{Place, tiny};

const HEAD: (&str, &str) = ("batch = 2\n", "batch = 2\npersonal = \"head\"\n");

#[test]
fn agents_keep_their_heads_through_kills_and_are_evaluated_with_them() {
    for name in ["fedsvrpg-m", "fedhapg-m"] {
        let place = Place::with(&tiny(&[HEAD, ("fedsvrpg-m", name)]));
        place.train("whole", &[]);
        place.train("resumed", &[]);
        place.fedrl(&["resume", "resumed", "--from", "2"]).done();
        assert_same_run(&place.path("whole"), &place.path("resumed"));
        // Homes at 0.3, 0.5 and 0.7; held out at 0.2 and 0.9.
        let lines = place.fedrl(&["eval", "whole", "--on", "extrapolation", "--json"]).done().json();
        assert_eq!(lines[0]["greedy"], false, "{name}");
        for (variant, nearest) in lines[0]["variants"].as_array().unwrap().iter().zip([0, 2]) {
            assert_eq!(variant["nearest_agent"], nearest, "{name}");
        }
    }
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let refused = |edits: &[(&str, &str)], settings: &[&str]| {
        let place = Place::with(&tiny(edits));
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = ["train", "experiment.toml", "--out", "run"].into_iter().chain(settings).collect();
        let line = place.fedrl(&arguments).refused(2);
        assert!(!place.path("run").exists());
        line
    };
    let line = refused(&[HEAD], &["policy.hidden=[]"]);
    assert!(line.contains("policy.hidden: is [], expected a layer at least"), "{line}");
    let line = refused(&[], &["algorithm.personal=body"]);
    assert!(line.contains("algorithm.personal: unknown value `body`"), "{line}");
}
