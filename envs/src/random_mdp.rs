//! Random decision processes whose kernels are mixed from a common and an own one (002 §7 and
//! E.1, after Jin et al. 2022).
#![allow(clippy::needless_range_loop, reason = "kernels index")]

use cubecl::prelude::*;
use fedrl_core::random::{Key, Purpose};
use fedrl_core::{Real, Space};
use rand::RngExt;

use crate::{Dynamics, Environment, LaneDynamics, Mdp, OneByOne, Parameter, ParameterError, Parameters, Range, Spec};

/// Random decision process: P = κ P_own + (1−κ) P_common and R alike. The state is its number, the
/// observation is one-hot, the first state is uniform.
#[derive(Debug, Clone, Copy)]
pub struct RandomMdp;

const STATES: usize = 5;
const ACTIONS: usize = 5;
const PAIRS: usize = STATES * ACTIONS;

// The coefficient table: thresholds of the first state, then of each pair's next state, then rewards.
const THRESHOLDS: usize = STATES - 1;
const REWARDS: usize = THRESHOLDS + PAIRS * THRESHOLDS;

#[cube]
impl Dynamics for RandomMdp {
    fn reset<F: Real>(coefficients: &[F], draws: &[F], state: &mut [F]) {
        let mut first = F::new(0.0);
        for i in 0..THRESHOLDS {
            if draws[0] >= coefficients[i] {
                first += F::new(1.0);
            }
        }
        state[0] = first;
    }

    fn observe<F: Real>(_coefficients: &[F], state: &[F], observation: &mut [F]) {
        for i in 0..STATES {
            observation[i] = F::new(0.0);
        }
        observation[F::index(state[0])] = F::new(1.0);
    }

    fn step<F: Real>(coefficients: &[F], draws: &[F], state: &mut [F], action: &[F]) -> F {
        let pair = F::index(state[0]) * ACTIONS + F::index(action[0]);
        let mut next = F::new(0.0);
        for i in 0..THRESHOLDS {
            if draws[0] >= coefficients[THRESHOLDS + pair * THRESHOLDS + i] {
                next += F::new(1.0);
            }
        }
        state[0] = next;
        coefficients[REWARDS + pair]
    }

    fn terminated<F: Real>(_coefficients: &[F], _state: &[F]) -> bool {
        false
    }
}

/// How the entries of a kernel's row are drawn, before the row is divided by its sum.
const KERNELS: [&str; 3] = ["uniform", "bernoulli", "orthogonal"];
const BERNOULLI: f64 = 1.0;
const ORTHOGONAL: f64 = 2.0;

static PARAMETERS: [Parameter; 6] = [
    Parameter::new("kappa", "1", 0.0, Range::Share, "share of the own kernel in the mixture"),
    Parameter::new("reward_kappa", "1", 0.0, Range::Share, "share of the own rewards in the mixture"),
    Parameter::new(
        "kernel",
        "1",
        0.0,
        Range::Choice(&KERNELS),
        "entries of kernels: U(0,1); 0 or 1; or U(0,1) on supports that P_own and P_common do not share",
    ),
    Parameter::new("mdp", "1", 0.0, Range::Whole, "seed of the common kernel and rewards, and part of the own ones'"),
    Parameter::new("own", "1", 0.0, Range::Whole, "number of the own kernel and rewards"),
    Parameter::new("reward_max", "1", 1.0, Range::Positive, "rewards are U(0, this)"),
];

static SPEC: std::sync::LazyLock<Spec> = std::sync::LazyLock::new(|| Spec {
    id: "RandomMDP-v0",
    summary: "collect rewards in a random decision process of 5 states and 5 actions",
    observation: Space::Box { low: vec![0.0; STATES], high: vec![1.0; STATES] },
    observation_names: &["in state 0", "in state 1", "in state 2", "in state 3", "in state 4"],
    action: Space::Discrete { n: ACTIONS },
    state_width: 1,
    reset_draws: 1,
    step_draws: 1,
    max_episode_steps: 100,
    parameters: &PARAMETERS,
    reward: "R(state, action), drawn once for each decision process",
    termination: "never",
    source: "002 section 7 and E.1; Jin et al. 2022",
});

impl Environment for RandomMdp {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn lanes(&self) -> &'static dyn LaneDynamics {
        &OneByOne(RandomMdp)
    }

    fn coefficients(&self, given: &Parameters) -> Result<Vec<f64>, ParameterError> {
        let mdp = process(given);
        let mut table = Mdp::thresholds(&mdp.initial, STATES);
        table.extend(Mdp::thresholds(&mdp.transition, STATES));
        table.extend(mdp.reward);
        Ok(table)
    }

    fn mdp(&self, given: &Parameters) -> Option<Mdp> {
        Some(process(given))
    }
}

/// The decision process that these parameters describe.
fn process(given: &Parameters) -> Mdp {
    let value = |index: usize| given.get(PARAMETERS[index].name).copied().unwrap_or(PARAMETERS[index].default);
    let [kappa, reward_kappa, kernel, mdp, own, reward_max] = std::array::from_fn(value);
    let key = Key::new(mdp as u64, Purpose::Mdp);
    let of_own = [own as u64 as u32, (own as u64 >> 32) as u32];
    let key = |what: u32, [low, high]: [u32; 2]| key.child([what, low, high, 0]);

    let supports = (kernel == ORTHOGONAL).then(|| supports(key(0, [0; 2])));
    let side = |own: bool| supports.as_deref().map(|mask| mask.iter().map(|&first| first != own).collect::<Vec<_>>());
    let mixed = |kappa: f64, common: Vec<f64>, own: Vec<f64>| -> Vec<f64> {
        common.iter().zip(own).map(|(common, own)| kappa * own + (1.0 - kappa) * common).collect()
    };
    let rewards = |key: Key| -> Vec<f64> {
        let mut rng = key.rng();
        (0..PAIRS).map(|_| reward_max * rng.random::<f64>()).collect()
    };
    Mdp {
        states: STATES,
        actions: ACTIONS,
        initial: vec![1.0 / STATES as f64; STATES],
        transition: mixed(
            kappa,
            random_kernel(kernel, side(false), key(1, [0; 2])),
            random_kernel(kernel, side(true), key(2, of_own)),
        ),
        reward: mixed(reward_kappa, rewards(key(3, [0; 2])), rewards(key(4, of_own))),
    }
}

/// Rows of entries, each divided by its sum; entries outside the support are 0.
fn random_kernel(kernel: f64, support: Option<Vec<bool>>, key: Key) -> Vec<f64> {
    let mut rng = key.rng();
    let mut rows = Vec::with_capacity(PAIRS * STATES);
    for pair in 0..PAIRS {
        let row = loop {
            let row: [f64; STATES] = std::array::from_fn(|next| {
                let entry: f64 = rng.random();
                match &support {
                    Some(support) if !support[pair * STATES + next] => 0.0,
                    _ if kernel == BERNOULLI => f64::from(u8::from(entry < 0.5)),
                    _ => entry,
                }
            });
            if row.iter().sum::<f64>() > 0.0 {
                break row;
            }
        };
        let sum: f64 = row.iter().sum();
        rows.extend(row.map(|entry| entry / sum));
    }
    rows
}

/// For each pair, a random set of next states that is neither empty nor all: the common kernel's;
/// the own kernels have the rest.
fn supports(key: Key) -> Vec<bool> {
    let mut rng = key.rng();
    let row = |_| loop {
        let row: [bool; STATES] = std::array::from_fn(|_| rng.random());
        if row.contains(&true) && row.contains(&false) {
            return row;
        }
    };
    (0..PAIRS).map(row).collect::<Vec<_>>().concat()
}
