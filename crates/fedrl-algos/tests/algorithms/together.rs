//! Trainings side by side come to the same as each alone, whenever the others end.

use fedrl_algos::fedhapg_m::FedHapgM;
use fedrl_algos::fedsvrpg_m::FedSvrpgM;
use fedrl_algos::momentum::MomentumConfig;
use fedrl_algos::{
    Advantage, Algorithm, Corrected, Estimated, Estimates, Estimator, Fused, Request, ServerState, Together, Weighing,
    World,
};
use fedrl_core::random::Key;
use fedrl_engine::{EngineError, Rows};

use crate::support::{Bench, config, initial, world};

/// What a member trains with: its seed, its rounds, its weight of the fresh gradient, its batch.
const MEMBERS: [(u64, u32, f64, usize); 5] =
    [(1, 3, 0.5, 2), (2, 1, 0.5, 2), (3, 2, 1.0, 2), (4, 3, 0.3, 3), (5, 0, 0.5, 2)];

fn lanes(bench: &Bench<f32>) -> Box<dyn Estimates<f32>> {
    Box::new(Fused::new(bench.engine.fused(&bench.policy).unwrap(), &bench.agents, 2))
}

fn member(seed: u64, estimates: Box<dyn Estimates<f32>>, bench: &Bench<f32>) -> World<f32> {
    let (agents, max_episode_steps, on_divergence) =
        (bench.agents.clone(), bench.max_episode_steps, bench.on_divergence);
    World { estimates, agents, seed, max_episode_steps, on_divergence }
}

fn trained<A: Algorithm<f32>>(algorithm: &A, world: &World<f32>, theta: Vec<f32>, rounds: u32) -> Vec<f32> {
    let everyone: Vec<usize> = (0..world.agents.len()).collect();
    let mut state = algorithm.start(world, theta).unwrap().state;
    for round in 0..rounds {
        state = algorithm.round(world, &state, round, &everyone).unwrap().state;
    }
    state.theta().to_vec()
}

fn assert_alone_and_together_alike<A: Algorithm<f32> + Sync>(algorithm: impl Fn(MomentumConfig, u32) -> A + Sync) {
    let bench = world(&[0.4, 0.5, 0.6], &[4]);
    let theta = initial(&bench);
    let train = |(seed, rounds, beta, batch), estimates| {
        let algorithm = algorithm(MomentumConfig { batch, ..config(beta) }, 3);
        trained(&algorithm, &member(seed, estimates, &bench), theta.clone(), rounds)
    };
    let alone: Vec<Vec<f32>> = MEMBERS.into_iter().map(|member| train(member, lanes(&bench))).collect();
    let doors = Together::new(lanes(&bench), vec![bench.agents.clone(); MEMBERS.len()]);
    let together: Vec<Vec<f32>> = std::thread::scope(|scope| {
        let train = &train;
        let members = MEMBERS.into_iter().zip(doors);
        let threads: Vec<_> =
            members.map(|(member, door)| scope.spawn(move || train(member, Box::new(door)))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}

#[test]
fn trainings_side_by_side_are_as_each_alone() {
    assert_alone_and_together_alike(FedSvrpgM::new);
    assert_alone_and_together_alike(FedHapgM::new);
}

/// Estimates that fail, or break down.
struct Failing {
    breaks_down: bool,
}

impl Estimates<f32> for Failing {
    fn gradients(&self, _request: &Request<f32>, _theta: &Rows<f32>) -> Result<Estimated<f32>, EngineError> {
        assert!(!self.breaks_down, "a defect");
        Err(EngineError::Device("lost".into()))
    }

    fn importance_corrected(
        &self,
        _request: &Request<f32>,
        _theta: &Rows<f32>,
        _previous: &Rows<f32>,
    ) -> Result<Corrected<f32>, EngineError> {
        Err(EngineError::Device("lost".into()))
    }

    fn hessian_corrected(
        &self,
        _request: &Request<f32>,
        _theta: &Rows<f32>,
        _between: &Rows<f32>,
        _previous: &Rows<f32>,
    ) -> Result<Corrected<f32>, EngineError> {
        Err(EngineError::Device("lost".into()))
    }

    fn block_size(&self) -> usize {
        usize::MAX
    }
}

#[test]
fn nobody_waits_for_ever_when_estimates_fail_or_break_down() {
    let bench = world(&[0.5], &[4]);
    for breaks_down in [false, true] {
        let doors = Together::new(Box::new(Failing { breaks_down }), vec![bench.agents.clone(); 3]);
        let fails = |door: Together<f32>| {
            let world = member(1, Box::new(door), &bench);
            let agents: Vec<_> = world.agents.iter().collect();
            let keys = [Key { low: 1, high: 2 }];
            let (estimator, advantage) = (Estimator::Gpomdp, Advantage::None);
            let weighing = Weighing { estimator, discount: 0.9, advantage, entropy: 0.0 };
            let request = Request { agents: &agents, keys: &keys, batch: 1, horizon: 5, weighing, is_clip: None };
            world.estimates.gradients(&request, &world.estimates.repeat(&initial(&bench), 1)).is_err()
        };
        let failed: Vec<bool> = std::thread::scope(|scope| {
            let fails = &fails;
            let threads: Vec<_> = doors.into_iter().map(|door| scope.spawn(move || fails(door))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(true)).collect()
        });
        assert_eq!(failed, [true; 3]);
    }
}
