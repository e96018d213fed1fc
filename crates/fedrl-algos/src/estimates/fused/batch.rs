//! The trajectories of a block of agents in lanes, and everything that estimates are made of.

use std::ops::Deref;

use fedrl_core::LANES;
use fedrl_core::wide::{Machine, Pack, Task, run_on_widest};
use fedrl_engine::fused::{Fused as Policy, Lane, Lived, Room, Values, pack, row};
use fedrl_engine::{Matrix, Mode};
use rayon::prelude::*;

use crate::estimates::{Experience, Request};
use crate::estimator::Weighing;
use crate::importance::importance_weight;
use crate::{Advantage, ImportanceMetrics};

/// The trajectories of a block of agents, agent after agent, in blocks of sixteen lanes.
pub(super) struct Batch<'a> {
    policy: &'a Policy,
    request: &'a Request<'a, f32>,
    blocks: Vec<Block>,
    /// At the parameters that acted.
    pub(super) own: Vec<Pass>,
}

/// Sixteen of the trajectories.
pub(super) struct Block {
    pub(super) index: usize,
    pub(super) lived: Lived,
}

/// Policies of sixteen lanes, and what their networks have at every step.
pub(super) struct Pass {
    theta: Vec<Pack>,
    values: Values,
}

/// For every block, a pack per step.
pub(super) type Steps = Vec<Vec<Pack>>;

impl<'a> Batch<'a> {
    /// τ ~ p_i(·|θ), a batch per agent.
    pub(super) fn live(policy: &'a Policy, request: &'a Request<'a, f32>, theta: &Matrix<f32>) -> Self {
        let lanes: Vec<Lane> = (0..request.agents.len() * request.batch)
            .map(|lane| {
                let (agent, trajectory) = (lane / request.batch, lane % request.batch);
                let simulator = &request.agents[agent].simulator;
                Lane { theta: theta.row(agent), simulator, key: request.keys[agent], trajectory }
            })
            .collect();
        let chunks: Vec<&[Lane]> = lanes.chunks(LANES).collect();
        let spec = request.agents[0].spec;
        let live = |(index, lanes): (usize, &&[Lane])| {
            let (lived, values) = policy.rollout(lanes, spec, request.horizon, Mode::Sampled);
            (Block { index, lived }, Pass { theta: pack(lanes.iter().map(|lane| lane.theta)), values })
        };
        let (blocks, own) = chunks.par_iter().enumerate().map(live).unzip();
        Batch { policy, request, blocks, own }
    }

    pub(super) fn lanes(&self) -> usize {
        self.request.agents.len() * self.request.batch
    }

    /// Sums of every lane, of those of every block.
    pub(super) fn lane_sums(&self, of_block: impl Fn(&Block) -> [f64; LANES]) -> Vec<f64> {
        self.blocks.iter().flat_map(of_block).take(self.lanes()).collect()
    }

    pub(super) fn per_block<T: Send>(&self, f: impl Fn(&Block) -> T + Sync + Send) -> Vec<T> {
        self.blocks.par_iter().map(f).collect()
    }

    /// The same steps at other parameters, those that `theta` has for an agent.
    pub(super) fn passes<'b>(&self, theta: impl Fn(usize) -> &'b [f32] + Sync + Send) -> Vec<Pass> {
        self.per_block(|block| {
            let theta = self.packed(block, &theta);
            let values = self.policy.values(&theta, &block.lived);
            Pass { theta, values }
        })
    }

    /// The rows of a block's agents.
    pub(super) fn packed<'b>(&self, block: &Block, rows: impl Fn(usize) -> &'b [f32]) -> Vec<Pack> {
        let lanes = block.index * LANES..((block.index + 1) * LANES).min(self.lanes());
        pack(lanes.map(|lane| rows(lane / self.request.batch)))
    }

    /// log π(a_t|s_t).
    pub(super) fn logs(&self, passes: &[Pass]) -> Vec<Room> {
        self.per_block(|block| {
            let Pass { theta, values } = &passes[block.index];
            self.policy.log_probabilities(theta, &block.lived, values)
        })
    }

    /// Σ_t weights_t ∇ log π(a_t|s_t) in every lane.
    pub(super) fn gradients(&self, passes: &[Pass], weights: &Steps) -> Vec<Room> {
        self.per_block(|block| {
            let Pass { theta, values } = &passes[block.index];
            self.policy.gradient(theta, &block.lived, values, &weights[block.index])
        })
    }

    /// Both at other parameters, those that `theta` has for an agent, in one go.
    pub(super) fn logs_and_gradients<'b>(
        &self,
        theta: impl Fn(usize) -> &'b [f32] + Sync + Send,
        weights: &Steps,
    ) -> (Vec<Room>, Vec<Room>) {
        let passes = self.per_block(|block| {
            let theta = self.packed(block, &theta);
            let pass = self.policy.pass(&theta, &block.lived, &weights[block.index]);
            (pass.logs, pass.gradient)
        });
        passes.into_iter().unzip()
    }

    /// (Σ_t weights_t ∇² log π(a_t|s_t)) v in every lane, and ⟨∇ log π(a_t|s_t), v⟩ of every step, at the
    /// parameters that acted. `along` has v for every agent.
    pub(super) fn hessian_products(&self, along: &[Vec<f32>], weights: &Steps) -> (Steps, Steps) {
        let products = self.per_block(|block| {
            let Pass { theta, values } = &self.own[block.index];
            let along = self.packed(block, |agent| &along[agent]);
            let rates = self.policy.rates(theta, &along, &block.lived, values);
            let weights = &weights[block.index];
            let product = self.policy.hessian_product(theta, &along, &block.lived, values, &rates, weights);
            (product, rates.values)
        });
        products.into_iter().unzip()
    }

    /// Ψ_t of every step, of the rewards less the temperature times `logs`, which matter only with entropy.
    pub(super) fn psi(&self, logs: &[Room]) -> Steps {
        let (weighing, temperature) = (&self.request.weighing, self.request.weighing.entropy);
        if weighing.advantage != Advantage::Baseline {
            return self.per_block(|block| {
                let logs = if temperature > 0.0 { &logs[block.index][..] } else { &[] };
                run_on_widest(Psi { weighing, lived: &block.lived, logs })
            });
        }
        let regularised = |lane: usize| {
            let (block, lane) = (&self.blocks[lane / LANES], lane % LANES);
            let logs = if temperature > 0.0 { &logs[block.index][..] } else { &[] };
            let reward = move |(step, reward): (usize, f32)| {
                f64::from(reward) - logs.get(step).map_or(0.0, |log| temperature * f64::from(log.0[lane]))
            };
            block.lived.of_lane(&block.lived.rewards, lane).enumerate().map(reward)
        };
        self.spread(|agent| weighing.batch(self.lanes_of(agent).map(regularised)))
    }

    pub(super) fn lanes_of(&self, agent: usize) -> std::ops::Range<usize> {
        agent * self.request.batch..(agent + 1) * self.request.batch
    }

    /// Numbers of every step of every trajectory of an agent, lane by lane.
    pub(super) fn spread(&self, of_agent: impl Fn(usize) -> Vec<Vec<f64>>) -> Steps {
        let mut steps: Steps = self.blocks.iter().map(|block| vec![Pack::ZERO; block.lived.steps()]).collect();
        for agent in 0..self.request.agents.len() {
            for (lane, numbers) in self.lanes_of(agent).zip(of_agent(agent)) {
                let packs = &mut steps[lane / LANES];
                packs.iter_mut().zip(numbers).for_each(|(pack, x)| pack.0[lane % LANES] = x as f32);
            }
        }
        steps
    }

    /// `weights` times a factor of every lane.
    pub(super) fn scaled(&self, mut weights: Steps, factor: impl Fn(usize) -> f64) -> Steps {
        for (index, packs) in weights.iter_mut().enumerate() {
            let lanes = self.lanes() - index * LANES;
            let factors: [f32; LANES] =
                std::array::from_fn(|lane| if lane < lanes { factor(index * LANES + lane) as f32 } else { 0.0 });
            packs.iter_mut().for_each(|pack| pack.0.iter_mut().zip(factors).for_each(|(x, factor)| *x *= factor));
        }
        weights
    }

    /// Adds what Ψ changes along v, from ⟨∇ log π, v⟩ of every step.
    pub(super) fn add_slopes(&self, weights: &mut Steps, along: &Steps) {
        let slopes = self.spread(|agent| {
            let of_lane = |lane: usize| {
                let block = &self.blocks[lane / LANES];
                let along: Vec<f32> = block.lived.of_lane(&along[block.index], lane % LANES).collect();
                self.request.weighing.slope(&along)
            };
            self.lanes_of(agent).map(of_lane).collect()
        });
        for (weight, slope) in weights.iter_mut().flatten().zip(slopes.iter().flatten()) {
            weight.0.iter_mut().zip(slope.0).for_each(|(weight, slope)| *weight += slope);
        }
    }

    /// w(τ|target, behaviour) of every lane, and what every agent's were like.
    pub(super) fn weights(&self, target: &[Room], behaviour: &[Room]) -> (Vec<f32>, Vec<ImportanceMetrics>) {
        let log_ratios =
            self.lane_sums(|block| block.lived.difference_sums(&target[block.index], &behaviour[block.index]));
        let mut seen = vec![ImportanceMetrics::default(); self.request.agents.len()];
        let weight = |(lane, log_ratio): (usize, f64)| {
            importance_weight(log_ratio, self.request.is_clip, &mut seen[lane / self.request.batch])
        };
        (log_ratios.into_iter().enumerate().map(weight).collect(), seen)
    }

    /// The mean over each agent's batch of vectors of every lane, each times its factor.
    pub(super) fn mean<V: Deref<Target = [Pack]>>(&self, vectors: &[V], factor: impl Fn(usize) -> f32) -> Matrix<f32> {
        let share = 1.0 / self.request.batch as f32;
        let mut means = Matrix::repeat(&vec![0.0; self.policy.parameter_count()], self.request.agents.len());
        for agent in 0..means.rows() {
            for lane in self.lanes_of(agent) {
                let scale = share * factor(lane);
                let vector = row(&vectors[lane / LANES], lane % LANES);
                means.row_mut(agent).iter_mut().zip(vector).for_each(|(sum, x)| *sum += scale * x);
            }
        }
        means
    }

    /// What every agent lived through.
    pub(super) fn lived(&self) -> Vec<Experience> {
        let returns = self.lane_sums(|block| block.lived.sums(&block.lived.rewards));
        let of_agent = |agent| {
            let mut lived = Experience::default();
            for lane in self.lanes_of(agent) {
                let (block, place) = (&self.blocks[lane / LANES].lived, lane % LANES);
                lived.merge(&Experience {
                    trajectories: 1,
                    terminated: usize::from(block.terminated[place]),
                    env_steps: block.lengths[place] as u64,
                    return_sum: returns[lane],
                    margin: f64::from(block.margins[place]),
                });
            }
            lived
        };
        (0..self.request.agents.len()).map(of_agent).collect()
    }
}

/// Ψ_t of the trajectories of a block, each on its own.
struct Psi<'a> {
    weighing: &'a Weighing,
    lived: &'a Lived,
    /// log π(a_t|s_t), or nothing without entropy.
    logs: &'a [Pack],
}

impl Task for Psi<'_> {
    type Output = Vec<Pack>;

    #[inline(always)]
    fn run<M: Machine>(self) -> Vec<Pack> {
        let Psi { weighing, lived, logs } = self;
        let regularised = |(step, reward): (usize, &Pack)| {
            let mut numbers = doubles(reward);
            if let Some(log) = logs.get(step) {
                for ((number, log), &length) in numbers.iter_mut().zip(log.0).zip(&lived.lengths) {
                    *number -= if step < length { weighing.entropy * f64::from(log) } else { 0.0 };
                }
            }
            numbers
        };
        let psi = weighing.lanes(lived.rewards.iter().enumerate().map(regularised), &lived.lengths);
        let mut packs = Vec::with_capacity(psi.len());
        for psi in &psi {
            let mut pack = Pack::ZERO;
            pack.0.iter_mut().zip(psi).for_each(|(x, &psi)| *x = psi as f32);
            packs.push(pack);
        }
        packs
    }
}

#[inline(always)]
fn doubles(pack: &Pack) -> [f64; LANES] {
    let mut doubles = [0.0; LANES];
    doubles.iter_mut().zip(pack.0).for_each(|(double, x)| *double = f64::from(x));
    doubles
}
