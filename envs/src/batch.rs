//! Environments side by side whose episodes begin anew when they end.

use fedrl_core::random::Key;

use crate::{Instance, Precision, STEP_DRAWS, Simulator, Spec, Step};

/// Environments of one kind, a lane each, stepped together. An episode that ends by itself or at the
/// time limit is followed by the next one at once; what it saw last is kept beside the first
/// observation of the next. All draws are functions of key, lane, episode and time.
#[derive(Clone)]
pub struct Batch<F> {
    spec: &'static Spec,
    lanes: Vec<Lane<F>>,
    max_steps: usize,
    key: Key,
    /// What every lane sees now, `[lanes, observation width]`.
    observations: Vec<F>,
    /// What every lane saw after its latest step, `[lanes, observation width]`.
    last: Vec<F>,
}

#[derive(Clone)]
struct Lane<F> {
    simulator: Simulator<F>,
    state: Vec<F>,
    episode: u32,
    time: u32,
}

const RESET: u32 = 0;
const STEP: u32 = 1;

impl<F: Precision> Batch<F> {
    /// A lane for each of `instances`, which are of one environment, in its first episode. Episodes are
    /// truncated after `max_steps` steps. `None` for no instances.
    pub fn new(instances: &[Instance], max_steps: usize, key: Key) -> Option<Self> {
        let spec = instances.first()?.spec();
        let lane = |instance: &Instance| Lane {
            simulator: instance.simulator(),
            state: vec![F::default(); spec.state_width],
            episode: 0,
            time: 0,
        };
        let seen = vec![F::default(); instances.len() * spec.observation.width()];
        let lanes = instances.iter().map(lane).collect();
        let mut batch = Batch { spec, lanes, max_steps, key, observations: seen.clone(), last: seen };
        (0..instances.len()).for_each(|lane| batch.begin(lane));
        Some(batch)
    }

    /// What every lane sees now, `[lanes, observation width]`.
    pub fn observations(&self) -> &[F] {
        &self.observations
    }

    /// What every lane saw after its latest step, `[lanes, observation width]`: where an episode ended,
    /// the observation to bootstrap from.
    pub fn last_observations(&self) -> &[F] {
        &self.last
    }

    /// Moves every lane one step on under `actions`, `[lanes, action width]`.
    pub fn step(&mut self, actions: &[F]) -> Vec<Step<F>> {
        let (width, act) = (self.spec.observation.width(), self.spec.action.width());
        let mut steps = Vec::with_capacity(self.lanes.len());
        for (index, action) in actions.chunks_exact(act).enumerate().take(self.lanes.len()) {
            let lane = &mut self.lanes[index];
            let draws: [F; STEP_DRAWS] = draws(self.key, [index as u32, lane.episode, lane.time, STEP]);
            let moved = lane.simulator.step(&draws[..self.spec.step_draws], &mut lane.state, action);
            lane.time += 1;
            let truncated = !moved.terminated && lane.time as usize >= self.max_steps;
            let seen = index * width..(index + 1) * width;
            lane.simulator.observe(&lane.state, &mut self.last[seen.clone()]);
            if moved.terminated || truncated {
                lane.episode += 1;
                self.begin(index);
            } else {
                self.observations[seen.clone()].copy_from_slice(&self.last[seen]);
            }
            steps.push(Step { reward: moved.reward, terminated: moved.terminated, truncated });
        }
        steps
    }

    /// Begins the current episode of a lane.
    fn begin(&mut self, index: usize) {
        let width = self.spec.observation.width();
        let lane = &mut self.lanes[index];
        let place = |group: usize| [index as u32, lane.episode, group as u32, RESET];
        let groups = 0..self.spec.reset_draws.div_ceil(4);
        let mut uniform: Vec<F> = groups.flat_map(|group| draws::<F, 4>(self.key, place(group))).collect();
        uniform.truncate(self.spec.reset_draws);
        lane.time = 0;
        lane.simulator.reset(&uniform, &mut lane.state);
        lane.simulator.observe(&lane.state, &mut self.observations[index * width..][..width]);
    }
}

/// The first `N` uniform numbers of the block at `place`.
fn draws<F: Precision, const N: usize>(key: Key, place: [u32; 4]) -> [F; N] {
    let block = key.block(place);
    let words = [block.a, block.b, block.c, block.d];
    std::array::from_fn(|i| F::unit(words[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CartPole, RandomMdp};

    const KEY: Key = Key { low: 3, high: 4 };

    fn poles(lengths: &[f64]) -> Vec<Instance> {
        let pole = |&length: &f64| Instance::new(&CartPole, [("length".to_string(), length)].into()).unwrap();
        lengths.iter().map(pole).collect()
    }

    /// The outcome of each step of each lane, always pushed right; and all that was seen.
    fn pushed(batch: &mut Batch<f64>, lanes: usize, steps: usize) -> (Vec<Vec<Step<f64>>>, Vec<Vec<f64>>) {
        (0..steps).map(|_| (batch.step(&vec![1.0; lanes]), batch.observations().to_vec())).unzip()
    }

    #[test]
    fn episodes_begin_anew_and_what_they_saw_last_is_kept() {
        let mut batch = Batch::<f64>::new(&poles(&[0.5]), 500, KEY).unwrap();
        let mut ends = 0;
        for _ in 0..100 {
            let [step] = batch.step(&[1.0])[..] else { panic!("one lane") };
            let (now, last) = (batch.observations(), batch.last_observations());
            if step.terminated {
                ends += 1;
                assert!(last[0].abs() > 2.4 || last[2].abs() > 12f64.to_radians(), "it fell: {last:?}");
                assert!(now.iter().all(|x| x.abs() <= 0.05), "it stands anew: {now:?}");
            } else {
                assert_eq!(now, last);
            }
            assert!(!step.truncated);
        }
        assert!(ends >= 5, "pushed one way, a pole falls within a dozen steps: {ends}");
    }

    #[test]
    fn a_time_limit_truncates_and_does_not_terminate() {
        let instances = vec![Instance::new(&RandomMdp, Default::default()).unwrap(); 2];
        let mut batch = Batch::<f32>::new(&instances, 7, KEY).unwrap();
        for time in 1..=21 {
            for step in batch.step(&[0.0, 3.0]) {
                assert_eq!((step.terminated, step.truncated), (false, time % 7 == 0));
            }
        }
    }

    #[test]
    fn lanes_do_not_depend_on_each_other_and_episodes_differ() {
        let (mut one, mut two) =
            (Batch::new(&poles(&[0.5]), 9, KEY).unwrap(), Batch::new(&poles(&[0.5, 0.3]), 9, KEY).unwrap());
        let first = one.observations().to_vec();
        let (alone, together) = (pushed(&mut one, 1, 40), pushed(&mut two, 2, 40));
        for (alone, together) in alone.1.iter().zip(&together.1) {
            assert_eq!(alone[..], together[..4]);
        }
        assert_eq!(
            alone.0.iter().map(|steps| steps[0]).collect::<Vec<_>>(),
            together.0.iter().map(|steps| steps[0]).collect::<Vec<_>>()
        );
        assert!(!alone.1.contains(&first), "no episode begins like the first");
        assert!(Batch::<f64>::new(&[], 9, KEY).is_none());
    }
}
