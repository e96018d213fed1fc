//! Memory that is used again: blocks come and go many times a round, and fresh memory has to be cleared.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use fedrl_core::wide::Pack;

/// Memory to spare.
#[derive(Debug, Clone, Default)]
pub(super) struct Pool(Arc<Mutex<Vec<Vec<Pack>>>>);

impl Pool {
    /// So many packs. What is in them has no meaning.
    pub(super) fn take(&self, count: usize) -> Room {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut packs = spare.unwrap_or_default();
        packs.resize(packs.len().max(count), Pack::ZERO);
        Room { packs, count, home: self.clone() }
    }

    /// So many packs of zeros.
    pub(super) fn take_zeros(&self, count: usize) -> Room {
        let mut room = self.take(count);
        room.fill(Pack::ZERO);
        room
    }
}

/// Packs on loan.
#[derive(Debug)]
pub struct Room {
    packs: Vec<Pack>,
    count: usize,
    home: Pool,
}

impl Deref for Room {
    type Target = [Pack];

    #[inline(always)]
    fn deref(&self) -> &[Pack] {
        &self.packs[..self.count]
    }
}

impl DerefMut for Room {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Pack] {
        &mut self.packs[..self.count]
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.home.0.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.packs));
    }
}
