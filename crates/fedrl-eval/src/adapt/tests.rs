use super::*;
use fedrl_engine::{DeviceChoice, Matrix, Mode, select};
use fedrl_envs::{CartPole, Environment};
use fedrl_models::{Activation, Initialisation, PolicyConfig};

const LENGTHS: [f64; 2] = [0.2, 0.9];

fn poles(lengths: &[f64]) -> Vec<Instance> {
    let pole = |&length: &f64| Instance::new(&CartPole, [("length".to_string(), length)].into()).unwrap();
    lengths.iter().map(pole).collect()
}

/// Three agents that live at 0.3, 0.5 and 0.7 and have policies at random.
struct Run {
    engine: Engine<f32>,
    policy: Policy,
    policies: Matrix<f32>,
    homes: Vec<Instance>,
}

impl Run {
    fn new() -> Self {
        let spec = CartPole.spec();
        let config = PolicyConfig {
            hidden: vec![6],
            activation: Activation::Relu,
            initialisation: Initialisation::UniformFanIn,
            ..PolicyConfig::default()
        };
        let policy = Policy::new(&config, &spec.observation, &spec.action).unwrap();
        let policies = Matrix::from_rows((0..3).map(|low| policy.initial(Key { low, high: 7 })));
        let engine = Engine::new(&select(DeviceChoice::Cpu, 0).unwrap());
        Run { engine, policy, policies, homes: poles(&[0.3, 0.5, 0.7]) }
    }

    fn learned(&self) -> Actors<'_> {
        Actors::Agents { policies: &self.policies, homes: &self.homes }
    }

    fn adaptation(&self, frozen: bool) -> Adaptation<'_> {
        let config = ValueConfig {
            discount: 0.98,
            learning_rate: 0.002,
            local_steps: 2,
            batch: 8,
            replay: 100,
            learning_starts: 60,
            exploration: 0.1,
            target_period: 30,
            decay: 0.5,
            decay_episodes: 100,
            moments: None,
            updates: None,
            iterations: 10,
            fusion: None,
        };
        Adaptation {
            policy: &self.policy,
            learned: self.learned(),
            config,
            protocol: Protocol { episodes: 5, max_episode_steps: 50, mode: Mode::Greedy, seed: 3 },
            steps: 301,
            seeds: 2,
            threshold: 40.0,
            starts: Beginning::ALL.map(|beginning| Start { beginning, frozen }).to_vec(),
        }
    }

    fn life(&self, beginning: Beginning, frozen: bool, variant: usize, seed: u32) -> Life {
        let newcomer = Newcomer { variant, start: Start { beginning, frozen }, seed };
        self.adaptation(frozen).live(&self.engine, &poles(&LENGTHS)[variant], &newcomer).unwrap()
    }
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// The layer before the head has 4 · 6 + 6 parameters.
#[test]
fn frozen_leaves_every_byte_of_the_representation() {
    let run = Run::new();
    for (variant, nearest) in [(0, 0), (1, 2)] {
        let learned = run.policies.row(nearest);
        for beginning in [Beginning::Nearest, Beginning::Fresh] {
            let (frozen, free) = (run.life(beginning, true, variant, 0), run.life(beginning, false, variant, 0));
            assert_eq!(bits(&frozen.theta[..30]), bits(&learned[..30]), "{beginning:?}");
            assert_ne!(frozen.theta[30..], learned[30..]);
            assert!(free.theta[..30].iter().zip(learned).any(|(now, before)| now != before));
        }
        assert_ne!(run.life(Beginning::Scratch, true, variant, 0).theta[..30], learned[..30]);
    }
}

#[test]
fn beginnings_differ_in_what_is_drawn_anew() {
    let run = Run::new();
    let adaptation = run.adaptation(false);
    let instance = &poles(&LENGTHS)[1];
    let begin = |beginning, seed| {
        let newcomer = Newcomer { variant: 1, start: Start { beginning, frozen: false }, seed };
        let world = adaptation.world(&run.engine, instance, &newcomer);
        adaptation.beginning(&world, instance, &newcomer)
    };
    let [nearest, fresh, scratch] = Beginning::ALL.map(|beginning| begin(beginning, 0));
    assert_eq!(nearest, run.policies.row(2));
    assert_eq!(fresh, [&nearest[..30], &scratch[30..]].concat());
    assert!(scratch.iter().zip(&nearest).all(|(drawn, learned)| drawn != learned));
    assert_ne!(begin(Beginning::Scratch, 1), scratch, "every seed draws its own");
}

/// Nobody has learned anything before the replay holds enough: until then those that begin with the same head
/// and representation live the same life.
#[test]
fn lives_are_as_long_as_asked_for_and_share_their_draws() {
    let run = Run::new();
    let (frozen, free) = (run.life(Beginning::Nearest, true, 0, 1), run.life(Beginning::Nearest, false, 0, 1));
    assert_eq!((frozen.lengths[0], frozen.returns[0]), (free.lengths[0], free.returns[0]));
    assert_ne!(frozen.lengths, run.life(Beginning::Nearest, true, 0, 0).lengths);
    for life in [&frozen, &free] {
        // 301 steps in pairs; the episode under way at the end has at most 50.
        assert!((252..=302).contains(&life.lengths.iter().sum::<u32>()), "{life:?}");
        let returns: Vec<f64> = life.lengths.iter().map(|&length| f64::from(length)).collect();
        assert_eq!(life.returns, returns, "a step is worth 1");
    }
}

#[test]
fn policies_as_they_are_do_what_an_evaluation_says() {
    let run = Run::new();
    let (instances, adaptation) = (poles(&LENGTHS), run.adaptation(true));
    let evaluation = evaluate(&run.engine, &run.policy, run.learned(), &instances, &adaptation.protocol).unwrap();
    let adapted = adapt(&run.engine, &adaptation, &instances).unwrap();
    for ((adapted, evaluated), nearest) in adapted.iter().zip(&evaluation.variants).zip([0, 2]) {
        assert_eq!(adapted.nearest_agent, Some(nearest));
        let zero = &adapted.zero_shot[nearest];
        assert_eq!(
            (zero.agent, zero.mean, zero.low, zero.high),
            (nearest, evaluated.mean, evaluated.low, evaluated.high)
        );
        let best = adapted.zero_shot.iter().map(|zero| zero.mean).fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(Some(best), evaluated.agents.map(|agents| agents.best_agent));
        assert_eq!(adapted.few_shot.len(), 3);
        assert!(adapted.few_shot.iter().all(|few| few.reached.len() == 2));
    }
    let common = Adaptation { learned: Actors::Common(run.policies.row(1)), ..adaptation };
    let adapted = adapt(&run.engine, &common, &instances).unwrap();
    assert!(adapted.iter().all(|variant| variant.nearest_agent.is_none() && variant.zero_shot.len() == 1));
}

#[test]
fn an_adaptation_does_not_depend_on_threads() {
    let run = Run::new();
    let adapted = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| adapt(&run.engine, &run.adaptation(false), &poles(&LENGTHS)).unwrap())
    };
    // As text, since what has no mean is not a number.
    assert_eq!(format!("{:?}", adapted(1)), format!("{:?}", adapted(3)));
}
