//! Counter-based randomness.
//!
//! A draw is a function of *where* it is used (experiment seed, purpose, agent, round, local
//! step, trajectory, time) and of nothing else. There is no generator state: a resumed run needs
//! none, and neither the thread count nor the batch layout can change a result. The generator is
//! Philox 4×32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), in
//! 32-bit arithmetic that is the same on a CPU and on a GPU.

#![allow(missing_docs, reason = "the cube macro expands to items without documentation")]

use cubecl::prelude::*;

use crate::LANES;
use crate::wide::{Machine, Task, run_on_widest};

/// `a · b` modulo 2³². Natively explicit, since Rust panics on overflow in debug builds.
#[inline(always)]
pub fn wrapping_mul(a: u32, b: u32) -> u32 {
    a.wrapping_mul(b)
}

/// The kernel half of [`wrapping_mul()`]: GPU integers wrap.
pub mod wrapping_mul {
    use super::*;

    /// Emits the multiplication.
    pub fn expand(scope: &Scope, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<u32> {
        product::expand(scope, a, b)
    }

    #[cube]
    fn product(a: u32, b: u32) -> u32 {
        a * b
    }
}

/// `a + b` modulo 2³².
#[inline(always)]
pub fn wrapping_add(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

/// The kernel half of [`wrapping_add()`].
pub mod wrapping_add {
    use super::*;

    /// Emits the addition.
    pub fn expand(scope: &Scope, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<u32> {
        sum::expand(scope, a, b)
    }

    #[cube]
    fn sum(a: u32, b: u32) -> u32 {
        a + b
    }
}

/// The high 32 bits of `a · b`.
#[inline(always)]
pub fn high_mul(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

/// The kernel half of [`high_mul()`]: from 16-bit halves, since GPUs may have no wider integers.
pub mod high_mul {
    use super::*;

    /// Emits the multiplication.
    pub fn expand(scope: &Scope, a: NativeExpand<u32>, b: NativeExpand<u32>) -> NativeExpand<u32> {
        from_halves::expand(scope, a, b)
    }

    /// Every intermediate fits in 32 bits.
    #[cube]
    pub(super) fn from_halves(a: u32, b: u32) -> u32 {
        let (a_low, a_high) = (a & 0xFFFFu32, a >> 16u32);
        let (b_low, b_high) = (b & 0xFFFFu32, b >> 16u32);
        let low = a_low * b_low;
        let cross = a_high * b_low;
        let other = a_low * b_high;
        let middle = (low >> 16u32) + (cross & 0xFFFFu32) + (other & 0xFFFFu32);
        a_high * b_high + (cross >> 16u32) + (other >> 16u32) + (middle >> 16u32)
    }
}

/// Four 32-bit words: a Philox counter, or its output.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// First word.
    pub a: u32,
    /// Second word.
    pub b: u32,
    /// Third word.
    pub c: u32,
    /// Fourth word.
    pub d: u32,
}

/// One block of Philox 4×32-10: the 128 bits that `counter` names under the 64-bit key
/// (`key_low`, `key_high`).
#[cube]
#[inline]
pub fn philox(counter: Block, key_low: u32, key_high: u32) -> Block {
    let mut a = counter.a;
    let mut b = counter.b;
    let mut c = counter.c;
    let mut d = counter.d;
    let mut low = key_low;
    let mut high = key_high;
    for _ in 0..10u32 {
        let next_a = high_mul(0xCD9E_8D57u32, c) ^ b ^ low;
        let next_b = wrapping_mul(0xCD9E_8D57u32, c);
        let next_c = high_mul(0xD251_1F53u32, a) ^ d ^ high;
        let next_d = wrapping_mul(0xD251_1F53u32, a);
        a = next_a;
        b = next_b;
        c = next_c;
        d = next_d;
        low = wrapping_add(low, 0x9E37_79B9u32);
        high = wrapping_add(high, 0xBB67_AE85u32);
    }
    Block { a, b, c, d }
}

/// Words, one of every lane.
pub type LaneWords = [u32; LANES];

/// [`philox()`] in every lane, natively: word i of every block is in array i. The processor's widest
/// vectors are used.
pub fn philox_lanes(counters: [LaneWords; 4], key_low: LaneWords, key_high: LaneWords) -> [LaneWords; 4] {
    struct Blocks([LaneWords; 4], LaneWords, LaneWords);
    impl Task for Blocks {
        type Output = [LaneWords; 4];
        #[inline(always)]
        fn run<M: Machine>(self) -> [LaneWords; 4] {
            M::philox(self.0, self.1, self.2)
        }
    }
    run_on_widest(Blocks(counters, key_low, key_high))
}

/// What a draw is for. Distinct purposes never share a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Initial parameters of a network.
    Initialisation = 1,
    /// Parameters of the environment variants.
    Variants = 2,
    /// Which agents take part in a round.
    Participation = 3,
    /// Trajectories of training.
    Training = 4,
    /// Trajectories of estimates at the parameters that all agents share: u_0, or ĝ_i(θ̄_r).
    CommonEstimate = 5,
    /// Episodes of an evaluation.
    Evaluation = 6,
    /// Resampling in a bootstrap.
    Bootstrap = 7,
    /// Points between two parameter vectors.
    Midpoint = 8,
    /// Transition kernels and rewards of random decision processes.
    Mdp = 9,
    /// Which actions are explored.
    Exploration = 10,
    /// Which transitions of a replay memory are learned from.
    Replay = 11,
    /// What a server lives through by itself.
    Server = 12,
    /// What new agents draw that adapt what a run has learned.
    Adaptation = 13,
}

/// A 64-bit key: one stream of draws, or the root of further keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Low 32 bits.
    pub low: u32,
    /// High 32 bits.
    pub high: u32,
}

impl Key {
    /// The root key of an experiment and a purpose.
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        Key { low: seed as u32, high: (seed >> 32) as u32 }.child([purpose as u32, 0, 0, 0])
    }

    /// The key that `path` (say agent, round, local step, 0) names under this one.
    #[inline]
    pub fn child(self, path: [u32; 4]) -> Self {
        let block = self.block(path);
        Key { low: block.a, high: block.b }
    }

    /// The 128 bits that `counter` names under this key.
    #[inline]
    pub fn block(self, [a, b, c, d]: [u32; 4]) -> Block {
        philox(Block { a, b, c, d }, self.low, self.high)
    }

    /// A generator over this key's stream for code that wants one (`rand`'s distributions).
    pub fn rng(self) -> KeyRng {
        KeyRng { key: self, position: 0 }
    }
}

/// This key's blocks `(0, 1, 2, …)` read word by word, as a `rand` generator.
#[derive(Debug, Clone)]
pub struct KeyRng {
    key: Key,
    position: u64,
}

impl rand::TryRng for KeyRng {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        let index = self.position / 4;
        let block = self.key.block([index as u32, (index >> 32) as u32, 0, 0]);
        let word = [block.a, block.b, block.c, block.d][(self.position % 4) as usize];
        self.position += 1;
        Ok(word)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let low = u64::from(self.try_next_u32()?);
        let high = u64::from(self.try_next_u32()?);
        Ok(high << 32 | low)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        for chunk in bytes.chunks_mut(4) {
            let word = self.try_next_u32()?.to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Real;
    use crate::wide::Portable;
    use rand::RngExt;

    /// The known answers of Random123's `kat_vectors` for `philox4x32 10`.
    #[test]
    fn philox_gives_the_published_known_answers() {
        let block = |a, b, c, d| Block { a, b, c, d };
        assert_eq!(philox(block(0, 0, 0, 0), 0, 0), block(0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8));
        let ones = u32::MAX;
        assert_eq!(
            philox(block(ones, ones, ones, ones), ones, ones),
            block(0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd)
        );
        assert_eq!(
            philox(block(0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344), 0xa409_3822, 0x299f_31d0),
            block(0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1)
        );
    }

    #[test]
    fn high_mul_is_the_high_half_of_the_product() {
        let mut rng = Key::new(1, Purpose::Bootstrap).rng();
        for _ in 0..1000 {
            let (a, b): (u32, u32) = (rng.random(), rng.random());
            assert_eq!(high_mul::from_halves(a, b), high_mul(a, b));
        }
        assert_eq!(high_mul(u32::MAX, u32::MAX), u32::MAX - 1);
    }

    #[test]
    fn lanes_are_single_blocks() {
        let key = |lane: usize| Key { low: 0xDEAD_BEEF + lane as u32, high: 42 * lane as u32 };
        let counters: [LaneWords; 4] = std::array::from_fn(|word| std::array::from_fn(|i| (word * 100 + i) as u32));
        let (low, high) = (std::array::from_fn(|i| key(i).low), std::array::from_fn(|i| key(i).high));
        for lanes in [philox_lanes(counters, low, high), Portable::philox(counters, low, high)] {
            for lane in 0..LANES {
                let Block { a, b, c, d } = key(lane).block(counters.map(|word| word[lane]));
                assert_eq!(lanes.map(|word| word[lane]), [a, b, c, d]);
            }
        }
    }

    #[test]
    fn unit_is_the_same_number_in_both_precisions_and_stays_below_one() {
        for bits in [0, 1, 255, 256, 0x8000_0000, u32::MAX] {
            let (single, double) = (<f32 as Real>::unit(bits), <f64 as Real>::unit(bits));
            assert_eq!(f64::from(single), double);
            assert!((0.0..1.0).contains(&single));
        }
    }

    #[test]
    fn different_places_give_different_keys() {
        let root = Key::new(7, Purpose::Training);
        let mut seen = std::collections::HashSet::new();
        for agent in 0..20 {
            for round in 0..20 {
                for step in 0..10 {
                    let key = root.child([agent, round, step, 0]);
                    assert!(seen.insert((key.low, key.high)));
                }
            }
        }
        assert_ne!(root, Key::new(7, Purpose::Evaluation));
        assert_ne!(root, Key::new(8, Purpose::Training));
    }

    #[test]
    fn uniform_draws_have_the_right_mean_and_variance() {
        let key = Key::new(3, Purpose::Training);
        let draws: Vec<f64> = (0..100_000).map(|i| <f64 as Real>::unit(key.block([i, 0, 0, 0]).a)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|u| (u - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        // Five standard errors: sd(U) / sqrt(n) = 0.00091.
        assert!((mean - 0.5).abs() < 0.0046, "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 0.0013, "{variance}");
    }
}
