//! How far an agent's action values are from what its policy earns (004 Eq. 56).

use fedrl_core::random::{Key, Purpose};
use fedrl_envs::Parameters;
use fedrl_stats::bootstrap_interval;
use serde::Serialize;

use super::life::{Life, Resident};
use crate::{CONFIDENCE, Protocol, RESAMPLES};

/// Share of a return that may be cut off its end.
const CUT: f64 = 1e-4;

/// E[(max_a Q(s, a) − V(s))²] of one agent over the states of its greedy episodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValueError {
    /// The agent.
    pub agent: usize,
    /// The parameters in which its environment differs.
    pub parameters: Parameters,
    /// States over which the means are.
    pub states: usize,
    /// Mean of V(s), the discounted return from s on.
    pub value: f64,
    /// Mean of max_a Q(s, a), what the agent takes V(s) for.
    pub estimate: f64,
    /// The mean square of the difference, in squares of returns.
    pub error: f64,
    /// Lower end of its 95 % bootstrap interval over episodes.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

/// The greatest error of any agent: 004 Eq. 56.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WorstError {
    /// The agent whose it is.
    pub agent: usize,
    /// Its error.
    pub error: f64,
    /// Lower end of the 95 % bootstrap interval of the greatest error, over episodes.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

/// Sums over the states of one episode.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    states: usize,
    values: f64,
    estimates: f64,
    squares: f64,
}

/// How many steps after a state tell its value to one part in ten thousand of the greatest there can be: the first L
/// with γ^L ≤ 10⁻⁴. γ is in (0, 1).
pub fn tail(discount: f64) -> usize {
    (CUT.ln() / discount.ln()).ceil().max(1.0) as usize
}

/// Every greedy episode's sums. An episode goes on behind the time limit, to its end or for a [`tail`], so that the
/// values of the last states before the limit are known; states behind it do not count.
pub(super) fn sums(resident: &Resident, discount: f64, protocol: &Protocol) -> Vec<Sums> {
    let limit = protocol.max_episode_steps;
    let one = |number| Sums::of(&resident.live(number, limit + tail(discount), 0.0), discount, limit);
    (0..protocol.episodes).map(one).collect()
}

impl Sums {
    fn of(life: &Life, discount: f64, limit: usize) -> Self {
        let returns = returns(&life.rewards, discount);
        let states = returns.iter().zip(&life.values).take(limit);
        states.fold(Sums::default(), |sums, (value, estimate)| Sums {
            states: sums.states + 1,
            values: sums.values + value,
            estimates: sums.estimates + estimate,
            squares: sums.squares + (estimate - value).powi(2),
        })
    }

    fn add(self, other: &Sums) -> Self {
        Sums {
            states: self.states + other.states,
            values: self.values + other.values,
            estimates: self.estimates + other.estimates,
            squares: self.squares + other.squares,
        }
    }

    fn error(&self) -> f64 {
        self.squares / self.states as f64
    }
}

/// Σ_{k ≥ t} γ^{k−t} r_k of every t.
fn returns(rewards: &[f64], discount: f64) -> Vec<f64> {
    let mut returns = rewards.to_vec();
    for t in (1..returns.len()).rev() {
        returns[t - 1] += discount * returns[t];
    }
    returns
}

/// What an agent's episodes come to.
pub(super) fn value_error(agent: usize, parameters: Parameters, episodes: &[Sums], seed: u64) -> ValueError {
    let all = over(episodes);
    let of = |sample: &[f64]| chosen(episodes, sample).error();
    let interval = bootstrap_interval(&numbers(episodes.len()), of, RESAMPLES, CONFIDENCE, &mut key(seed, agent).rng());
    let n = all.states as f64;
    let (value, estimate) = (all.values / n, all.estimates / n);
    let (low, high) = (interval.low, interval.high);
    ValueError { agent, parameters, states: all.states, value, estimate, error: all.error(), low, high }
}

/// The greatest of the agents' errors. In a resample all agents have the same episode numbers.
pub(super) fn worst_error(agents: &[Vec<Sums>], seed: u64) -> WorstError {
    let errors = agents.iter().map(|episodes| over(episodes).error()).enumerate();
    let (agent, error) = errors.fold((0, f64::NEG_INFINITY), |worst, this| if this.1 > worst.1 { this } else { worst });
    let of = |sample: &[f64]| {
        agents.iter().map(|episodes| chosen(episodes, sample).error()).fold(f64::NEG_INFINITY, f64::max)
    };
    let episodes = numbers(agents.first().map_or(0, Vec::len));
    let interval = bootstrap_interval(&episodes, of, RESAMPLES, CONFIDENCE, &mut key(seed, agents.len()).rng());
    WorstError { agent, error, low: interval.low, high: interval.high }
}

/// Of the agent's interval; one past the last agent's is that of the worst.
fn key(seed: u64, agent: usize) -> Key {
    Key::new(seed, Purpose::Bootstrap).child([agent as u32, 2, 0, 0])
}

fn numbers(episodes: usize) -> Vec<f64> {
    (0..episodes).map(|number| number as f64).collect()
}

fn over(episodes: &[Sums]) -> Sums {
    episodes.iter().fold(Sums::default(), Sums::add)
}

/// The sums over the episodes of a sample, which names them by number.
fn chosen(episodes: &[Sums], sample: &[f64]) -> Sums {
    sample.iter().fold(Sums::default(), |sums, &number| sums.add(&episodes[number as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_and_tails_by_hand() {
        // 4; 2 + 4/2; 1 + 4/2.
        assert_eq!(returns(&[1.0, 2.0, 4.0], 0.5), [3.0, 4.0, 4.0]);
        assert!(returns(&[], 0.5).is_empty());
        // 2^13 = 8192, 2^14 = 16384; ln 10⁴ / −ln 0.98 = 9.2103 / 0.0202027 = 455.9.
        assert_eq!((tail(0.5), tail(0.98), tail(1e-9)), (14, 456, 1));
    }

    /// Values 3, 4, 4 against estimates 5, 4, 1: squares 4, 0, 9. Within a limit of two steps 4 and 0.
    #[test]
    fn an_error_by_hand() {
        let life = Life { values: vec![5.0, 4.0, 1.0], rewards: vec![1.0, 2.0, 4.0], ..Life::default() };
        let sums = Sums::of(&life, 0.5, 9);
        assert_eq!(sums, Sums { states: 3, values: 11.0, estimates: 10.0, squares: 13.0 });
        assert_eq!(Sums::of(&life, 0.5, 2), Sums { states: 2, values: 7.0, estimates: 9.0, squares: 4.0 });
        let error = value_error(7, Parameters::default(), &[sums], 1);
        assert_eq!((error.agent, error.states, error.error), (7, 3, 13.0 / 3.0));
        assert_eq!((error.value, error.estimate), (11.0 / 3.0, 10.0 / 3.0));
        assert_eq!((error.low, error.high), (error.error, error.error), "one episode has no width");
    }

    /// A state counts, whatever its episode: (13 + 2) / (3 + 1), not (13/3 + 2) / 2. Of two episodes a resample is
    /// the first alone or the last alone with chance 1/4 each: the interval is 2 to 13/3.
    #[test]
    fn episodes_count_by_their_states_and_the_worst_agent_is_named() {
        let sums = |states, squares| Sums { states, squares, ..Sums::default() };
        let (one, other) = (vec![sums(3, 13.0), sums(1, 2.0)], vec![sums(2, 6.0), sums(2, 6.0)]);
        let error = value_error(0, Parameters::default(), &one, 1);
        assert_eq!((error.error, error.low, error.high), (15.0 / 4.0, 2.0, 13.0 / 3.0));
        let worst = worst_error(&[other, one], 1);
        // Where the second agent's error is 2 the first one's 3 is the greatest.
        assert_eq!(worst, WorstError { agent: 1, error: 15.0 / 4.0, low: 3.0, high: 13.0 / 3.0 });
    }
}
