//! What an agent remembers of what it lived through. It never leaves the agent.

use fedrl_core::random::{Block, Key, high_mul};

/// Transitions in a ring, the newest over the oldest: `[capacity, width]`, a row being
/// `(observation, next observation, action, reward, terminated)`.
pub(super) struct Replay<'a> {
    rows: &'a mut [f32],
    observation: usize,
    action: usize,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Remembered<'a> {
    pub(super) observation: &'a [f32],
    pub(super) next: &'a [f32],
    /// A choice by its number, or a vector.
    pub(super) action: &'a [f32],
    pub(super) reward: f32,
    /// Whether nothing followed. A time limit does not say so.
    pub(super) terminated: bool,
}

impl<'a> Replay<'a> {
    /// Numbers in a row, for observations and actions of these widths.
    pub(super) fn width(observation: usize, action: usize) -> usize {
        2 * observation + action + 2
    }

    pub(super) fn new(rows: &'a mut [f32], observation: usize, action: usize) -> Self {
        Replay { rows, observation, action }
    }

    fn capacity(&self) -> usize {
        self.rows.len() / Self::width(self.observation, self.action)
    }

    /// How many are there after so many were stored.
    pub(super) fn len(&self, stored: u32) -> u32 {
        stored.min(self.capacity() as u32)
    }

    /// Stores one after `stored` others.
    pub(super) fn store(&mut self, stored: u32, transition: Remembered) {
        let (width, o, a) = (Self::width(self.observation, self.action), self.observation, self.action);
        let place = stored as usize % self.capacity();
        let row = &mut self.rows[place * width..][..width];
        row[..o].copy_from_slice(transition.observation);
        row[o..2 * o].copy_from_slice(transition.next);
        row[2 * o..2 * o + a].copy_from_slice(transition.action);
        row[width - 2] = transition.reward;
        row[width - 1] = f32::from(u8::from(transition.terminated));
    }

    /// The one in this place.
    pub(super) fn get(&self, place: usize) -> Remembered<'_> {
        let (width, o, a) = (Self::width(self.observation, self.action), self.observation, self.action);
        let row = &self.rows[place * width..][..width];
        Remembered {
            observation: &row[..o],
            next: &row[o..2 * o],
            action: &row[2 * o..2 * o + a],
            reward: row[width - 2],
            terminated: row[width - 1] != 0.0,
        }
    }
}

/// The places of a minibatch among `len`: uniform draws, a place as often as it is drawn. `number` is the
/// minibatch's own under the agent's `key`.
pub(super) fn draw(key: Key, number: u32, len: u32, places: &mut [usize]) {
    for (group, places) in places.chunks_mut(4).enumerate() {
        let Block { a, b, c, d } = key.block([number, group as u32, 0, 0]);
        // ⌊len · u⌋ of a uniform u with 32 bits.
        places.iter_mut().zip([a, b, c, d]).for_each(|(place, word)| *place = high_mul(word, len) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedrl_core::random::Purpose;

    #[test]
    fn the_newest_takes_the_place_of_the_oldest() {
        let mut rows = vec![0.0; 3 * Replay::width(2, 3)];
        let mut replay = Replay::new(&mut rows, 2, 3);
        let observations: Vec<[f32; 2]> = (0..5).map(|i| [i as f32, -(i as f32)]).collect();
        for stored in 0..4 {
            let (observation, next) = (&observations[stored], &observations[stored + 1]);
            let (action, reward) = (&[0.1, 0.2, stored as f32], stored as f32);
            let transition = Remembered { observation, next, action, reward, terminated: stored == 3 };
            replay.store(stored as u32, transition);
            assert_eq!(replay.get(stored % 3), transition);
        }
        assert_eq!([0, 2, 3, 9].map(|stored| replay.len(stored)), [0, 2, 3, 3]);
        // Number 3 lies where number 0 lay; 1 and 2 are still there.
        assert_eq!([0, 1, 2].map(|place| replay.get(place).reward), [3.0, 1.0, 2.0]);
        assert_eq!([0, 1, 2].map(|place| replay.get(place).terminated), [true, false, false]);
    }

    #[test]
    fn every_place_is_drawn_about_equally_often() {
        let key = Key::new(1, Purpose::Replay);
        let (mut counts, mut places) = ([0; 7], [0; 70]);
        for number in 0..1000 {
            draw(key, number, 7, &mut places);
            places.iter().for_each(|&place| counts[place] += 1);
        }
        // Binomial(70000, 1/7): sd 92.6; five of them.
        assert!(counts.iter().all(|&n: &i32| (n - 10_000).abs() < 463), "{counts:?}");
    }
}
