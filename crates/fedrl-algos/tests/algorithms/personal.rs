//! Heads that stay with their agents, for gradients of policies.

use std::collections::BTreeMap;

use fedrl_algos::fedhapg_m::FedHapgM;
use fedrl_algos::fedsvrpg_m::FedSvrpgM;
use fedrl_algos::momentum::{MomentumConfig, MomentumState, PersonalPart};
use fedrl_algos::{Algorithm, ServerState};

use crate::support::{Bench, config, exact_world, initial, relative, train};

/// Three poles, policies with five hidden units.
fn bench() -> Bench<f64> {
    exact_world(&[0.3, 0.5, 0.7], &[5])
}

/// 4 · 5 + 5 columns are shared, 5 · 2 + 2 are personal.
const SHARED: usize = 25;
const OWN: usize = 12;

fn personal(beta: f64) -> MomentumConfig {
    MomentumConfig { personal: Some(PersonalPart::Head), ..config(beta) }
}

/// FedSVRPG-M with and without momentum, FedHAPG-M: what `check` asserts of each.
fn with_each(world: &Bench<f64>, drawn: bool, mut check: impl FnMut(&dyn Algorithm<f64, State = MomentumState<f64>>)) {
    for beta in [0.4, 1.0] {
        check(&FedSvrpgM::new(personal(beta), 2).with_heads(&world.policy, drawn));
    }
    check(&FedHapgM::new(personal(0.4), 2).with_heads(&world.policy, drawn));
}

fn row<'a>(state: &'a MomentumState<f64>, name: &str, agent: usize) -> &'a [f64] {
    &state.vectors()[name][agent * OWN..][..OWN]
}

/// What an agent alone makes of the same state is what it makes of it among others; of its head that is all, of the
/// shared columns the mean is taken.
#[test]
fn heads_are_served_by_a_server_of_ones_own() {
    let world = bench();
    with_each(&world, true, |algorithm| {
        let theta = initial(&world);
        let start = algorithm.start(&world, theta).unwrap().state;
        let first = algorithm.round(&world, &start, 0, &[0, 1, 2]).unwrap().state;
        let all = algorithm.round(&world, &first, 1, &[0, 1, 2]).unwrap().state;
        let alone: Vec<MomentumState<f64>> =
            (0..3).map(|agent| algorithm.round(&world, &first, 1, &[agent]).unwrap().state).collect();
        for (name, x) in all.vectors() {
            if name.starts_with("agents.") {
                for (agent, alone) in alone.iter().enumerate() {
                    assert_eq!(row(&all, name, agent), row(alone, name, agent), "{name}");
                    // Who takes no part keeps what it has.
                    let other = (agent + 1) % 3;
                    assert_eq!(row(alone, name, other), row(&first, name, other), "{name}");
                }
            } else if ["shared", "theta_previous", "direction"].contains(&name) {
                assert_eq!(x.len(), SHARED, "{name}");
                let mean: Vec<f64> = (0..SHARED)
                    .map(|column| alone.iter().map(|state| state.vectors()[name][column]).sum::<f64>() / 3.0)
                    .collect();
                assert!(relative(x, &mean) < 1e-12, "{name}");
            }
        }
    });
}

#[test]
fn alone_it_makes_no_difference_what_is_personal() {
    let world = exact_world(&[0.5], &[5]);
    for beta in [0.4, 1.0] {
        let common = train(&world, &FedSvrpgM::new(config(beta), 2), 2).pop().unwrap().state;
        let own = train(&world, &FedSvrpgM::new(personal(beta), 2).with_heads(&world.policy, false), 2);
        let own = own.into_iter().next_back().unwrap().state;
        assert!(relative(own.theta(), common.theta()) < 1e-14);
        assert_eq!(own.policies().unwrap().row(0), own.theta());
    }
}

#[test]
fn messages_have_no_room_for_heads_and_a_head_changes_no_other() {
    let world = bench();
    with_each(&world, true, |algorithm| {
        let start = algorithm.start(&world, initial(&world)).unwrap().state;
        let remembers = start.vectors().contains_key("direction");
        let round = algorithm.round(&world, &start, 0, &[0, 1, 2]).unwrap();
        for report in &round.reports {
            assert_eq!(report.bytes_up, 4 * SHARED as u64);
            assert_eq!(report.bytes_down, if remembers { 12 } else { 4 } * SHARED as u64);
        }
        let mut vectors = saved(&start);
        vectors.get_mut("agents.theta").unwrap()[..OWN].iter_mut().for_each(|x| *x = 0.3 - *x);
        let changed = algorithm.round(&world, &MomentumState::from_vectors(vectors).unwrap(), 0, &[0, 1, 2]).unwrap();
        for agent in [1, 2] {
            assert_eq!(row(&changed.state, "agents.theta", agent), row(&round.state, "agents.theta", agent));
        }
        assert_ne!(row(&changed.state, "agents.theta", 0), row(&round.state, "agents.theta", 0));
    });
}

fn saved(state: &MomentumState<f64>) -> BTreeMap<String, Vec<f64>> {
    state.vectors().into_iter().map(|(name, x)| (name.to_string(), x.to_vec())).collect()
}

#[test]
fn a_state_that_was_saved_is_the_same_and_what_is_missing_is_named() {
    let world = bench();
    with_each(&world, true, |algorithm| {
        let start = algorithm.start(&world, initial(&world)).unwrap().state;
        let state = algorithm.round(&world, &start, 0, &[0, 1, 2]).unwrap().state;
        assert_eq!(MomentumState::from_vectors(saved(&state)).unwrap(), state);
        for name in ["theta", "shared"] {
            let mut vectors = saved(&state);
            vectors.remove(name);
            assert_eq!(MomentumState::from_vectors(vectors).err(), Some(name));
        }
    });
}

/// Every agent begins with the shared layers that are given and a head of its own; the policy that stands for all
/// has the mean of the heads.
#[test]
fn heads_are_drawn_by_every_agent() {
    let world = bench();
    let theta = initial(&world);
    let start = |drawn| {
        FedSvrpgM::new(personal(0.4), 2).with_heads(&world.policy, drawn).start(&world, theta.clone()).unwrap().state
    };
    let (drawn, given) = (start(true), start(false));
    for agent in 0..3 {
        assert_eq!(row(&given, "agents.theta", agent), &theta[SHARED..]);
        let policy = drawn.policies().unwrap().row(agent);
        assert_eq!(policy[..SHARED], theta[..SHARED]);
        assert_eq!(&policy[SHARED..], row(&drawn, "agents.theta", agent));
        // Biases begin at 0, weights differ.
        let weights = |agent: usize| &row(&drawn, "agents.theta", agent)[..10];
        assert!(weights(agent).iter().zip(weights((agent + 1) % 3)).all(|(x, y)| x != y));
    }
    for column in 0..OWN {
        let mean = (0..3).map(|agent| row(&drawn, "agents.theta", agent)[column]).sum::<f64>() / 3.0;
        assert!((drawn.theta()[SHARED + column] - mean).abs() < 1e-15);
    }
}
