//! What must hold whatever the environment.

use fedrl_algos::fedsvrpg_m::FedSvrpgM;
use fedrl_algos::momentum::{MomentumConfig, Step};
use fedrl_algos::{Advantage, Algorithm, AlgorithmError, Divergence, Sampled, ServerState, Weighing};
use fedrl_core::random::Purpose;
use fedrl_engine::{Matrix, Mode, Replica};
use fedrl_envs::{Episode, SimulatedEpisode};

use crate::support::{config, initial, relative, train, world};

#[test]
fn at_beta_1_there_is_no_momentum_no_weight_and_no_start() {
    let world = world(&[0.3, 0.7], &[4]);
    let rounds = train(&world, &FedSvrpgM::new(config(1.0), 2), 2);
    assert!(rounds[0].reports.is_empty());
    for round in &rounds[1..] {
        assert_eq!(round.state.vectors().keys().collect::<Vec<_>>(), [&"theta"]);
        assert!(round.reports.iter().all(|report| report.metrics.importance.is_none()));
        let vector = 4 * world.policy.parameter_count() as u64;
        assert!(round.reports.iter().all(|report| (report.bytes_up, report.bytes_down) == (vector, vector)));
    }
    let with_momentum = train(&world, &FedSvrpgM::new(config(0.5), 1), 1);
    let vector = 4 * world.policy.parameter_count() as u64;
    assert!(with_momentum[1].reports.iter().all(|report| (report.bytes_up, report.bytes_down) == (vector, 3 * vector)));
}

#[test]
fn one_local_step_at_beta_1_and_lambda_eta_is_plain_gradient_ascent() {
    let world = world(&[0.3, 0.5, 0.7], &[4]);
    let mut config = config(1.0);
    config.local_steps = 1;
    config.global_step_size = config.local_step_size;
    let theta = initial(&world);
    let mut ascent: Vec<f64> = theta.iter().map(|&x| f64::from(x)).collect();
    for agent in &world.agents {
        let key = world.key(Purpose::Training, agent.id, 0).child([0; 4]);
        let replica = Replica { theta: &theta, simulator: &agent.simulator, spec: agent.spec, key };
        let lived =
            world.engine.rollout(&world.policy, &[replica], config.batch, config.horizon, Mode::Sampled).unwrap();
        let weighing = Weighing {
            estimator: config.estimator,
            discount: config.discount,
            advantage: Advantage::None,
            entropy: 0.0,
        };
        let psi = lived.replicas[0].iter().flat_map(|tau| weighing.psi(tau.rewards.iter().map(|&r| f64::from(r))));
        let psi = psi.map(|psi| (psi / config.batch as f64) as f32).collect();
        let gradient =
            world.engine.scores(&world.policy, &Matrix::from_rows([&theta]), &lived).gradient(&[psi]).unwrap();
        let share = config.local_step_size / world.agents.len() as f64;
        ascent.iter_mut().zip(gradient.row(0)).for_each(|(x, &g)| *x += share * f64::from(g));
    }
    let rounds = train(&world, &FedSvrpgM::new(config, 1), 1);
    assert!(relative(rounds[1].state.theta(), &ascent) < 1e-6);
}

#[test]
fn identical_agents_with_identical_draws_are_one_agent() {
    let single = world(&[0.4], &[4]);
    let mut many = world(&[0.4; 5], &[4]);
    many.agents.iter_mut().for_each(|agent| agent.id = 0);
    for beta in [0.3, 1.0] {
        let one = train(&single, &FedSvrpgM::new(config(beta), 3), 3);
        let five = train(&many, &FedSvrpgM::new(config(beta), 3), 3);
        let one: Vec<f64> = one[3].state.theta().iter().map(|&x| f64::from(x)).collect();
        assert!(relative(five[3].state.theta(), &one) < 1e-6, "beta {beta}");
    }
}

#[test]
fn before_anything_has_moved_every_importance_weight_is_one() {
    let world = world(&[0.4], &[4]);
    let mut config = config(0.3);
    config.local_steps = 1;
    let rounds = train(&world, &FedSvrpgM::new(config, 1), 1);
    let importance = rounds[1].reports[0].metrics.importance.unwrap();
    assert!((importance.mean() - 1.0).abs() < 1e-5);
    assert!((importance.effective_sample_size() - 1.0).abs() < 1e-5);
}

#[test]
fn stabilisers_change_what_they_say() {
    let world = world(&[0.4], &[4]);
    let drift = |change: &dyn Fn(&mut MomentumConfig)| {
        let mut config = config(1.0);
        config.local_steps = 1;
        change(&mut config);
        train(&world, &FedSvrpgM::new(config, 1), 1)[1].reports[0].metrics.clone()
    };
    let plain = drift(&|_| {});
    // One step: ‖Δ‖ = η ‖g‖.
    assert!((plain.drift / (0.003 * plain.gradient_norm()) - 1.0).abs() < 1e-4);
    // Adaptive, first step: η = η₀ / (offset + scale ‖g‖²)^{1/3}.
    let adaptive = drift(&|config| config.step = Step::Adaptive { offset: 2.0, scale: 5.0 });
    let shrunk = (2.0 + 5.0 * plain.gradient_norm().powi(2)).cbrt();
    assert!((adaptive.drift * shrunk / plain.drift - 1.0).abs() < 1e-4);
    // Clamped to ±c: no component of Δ exceeds η c.
    let clamped = drift(&|config| config.direction_clip = Some(0.01));
    let bound = 0.003 * 0.01 * (world.policy.parameter_count() as f64).sqrt();
    assert!(clamped.drift <= bound * 1.0001 && clamped.drift < plain.drift);
    // Standardised advantages have mean 0 and deviation 1: a much shorter gradient here.
    let standardised = drift(&|config| config.advantage = Advantage::Standardised);
    assert!(standardised.gradient_norm() < 0.5 * plain.gradient_norm());
}

#[test]
fn an_agent_that_is_no_longer_finite_stops_the_run_or_leaves_it() {
    let mut world = world(&[0.4, 0.6], &[4]);
    let algorithm = FedSvrpgM::new(config(1.0), 1);
    let theta = initial(&world);
    let start = algorithm.start(&world, theta.clone()).unwrap().state;
    // A reward of 1e38 overflows the discounted sum and with it the gradient.
    let broken = fedrl_envs::Instance::new(&fedrl_envs::CartPole, [("reward_scale".to_string(), 1e38)].into()).unwrap();
    world.agents[1].simulator = broken.simulator();
    let error = algorithm.round(&world, &start, 0, &[0, 1]).unwrap_err();
    assert!(matches!(error, AlgorithmError::Diverged { agent: 1 }), "{error}");

    world.on_divergence = Divergence::DropAgent;
    let round = algorithm.round(&world, &start, 0, &[0, 1]).unwrap();
    assert!(round.reports[1].diverged && !round.reports[0].diverged);
    let without = algorithm.round(&world, &start, 0, &[0]).unwrap();
    assert_eq!(round.state, without.state);
    // A round whose only participant is lost changes nothing.
    assert_eq!(algorithm.round(&world, &start, 0, &[1]).unwrap().state, start);
}

/// Environments that keep their own state train like ours: the same environments under both roofs
/// give the same bytes.
#[test]
fn episodes_of_others_are_trained_on_as_simulators_are() {
    let lengths = [0.3, 0.7];
    let ours = world(&lengths, &[4]);
    let mut theirs = world(&lengths, &[4]);
    let episode = move |agent: usize| -> Box<dyn Episode<f32>> {
        let given = [("length".to_string(), lengths[agent])].into();
        let instance = fedrl_envs::Instance::new(&fedrl_envs::CartPole, given).unwrap();
        Box::new(SimulatedEpisode::new(&instance, 1000))
    };
    let (engine, policy) = (theirs.engine.clone(), theirs.policy.clone());
    theirs.world.estimates = Box::new(Sampled { engine, policy, foreign: Some(Box::new(episode)) });
    for beta in [0.3, 1.0] {
        let algorithm = FedSvrpgM::new(config(beta), 2);
        assert_eq!(train(&ours, &algorithm, 2)[2].state, train(&theirs, &algorithm, 2)[2].state, "beta {beta}");
    }
}

/// An episode's own limit truncates it: nothing follows, and it has not ended by itself.
#[test]
fn the_limit_of_a_foreign_episode_truncates_it() {
    let mut bench = world(&[0.5], &[4]);
    let episode = |_: usize| -> Box<dyn Episode<f32>> {
        let instance = fedrl_envs::Instance::new(&fedrl_envs::CartPole, Default::default()).unwrap();
        Box::new(SimulatedEpisode::new(&instance, 5))
    };
    let (engine, policy) = (bench.engine.clone(), bench.policy.clone());
    bench.world.estimates = Box::new(Sampled { engine, policy, foreign: Some(Box::new(episode)) });
    let lived = train(&bench, &FedSvrpgM::new(config(1.0), 1), 1)[1].reports[0].metrics.lived;
    assert_eq!((lived.env_steps, lived.terminated), (5 * lived.trajectories as u64, 0));
}
