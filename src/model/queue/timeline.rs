//! The last happenings, at most a fixed number of them.

use std::collections::VecDeque;

use super::Happening;

/// For how many more room is made at least.
const MIN_GROWTH: usize = 16;

/// The last happenings, oldest first, at most a fixed number of them; or what else stands between them.
#[derive(Clone, Debug)]
pub struct Timeline<T = Happening> {
    kept: VecDeque<T>,
    capacity: usize,
    dropped: u64,
}

impl<T> Timeline<T> {
    /// Keeps the last `capacity` happenings.
    pub fn new(capacity: usize) -> Self {
        Self { kept: VecDeque::new(), capacity: capacity.max(1), dropped: 0 }
    }

    /// Adds one, and forgets the oldest when there are too many.
    pub fn push(&mut self, happening: T) {
        if self.kept.len() == self.capacity {
            self.kept.pop_front();
            self.dropped += 1;
        }
        if self.kept.len() == self.kept.capacity() {
            // By itself it would double beyond what it is to keep.
            let more = (self.kept.len() / 2).max(MIN_GROWTH).min(self.capacity - self.kept.len());
            self.kept.reserve_exact(more);
        }
        self.kept.push_back(happening);
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether nothing happened yet.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The number of the oldest that is kept, counting all that were ever pushed from 0.
    pub fn first(&self) -> u64 {
        self.dropped
    }

    /// The one with that number; `None` once it is forgotten.
    pub fn get(&self, number: u64) -> Option<&T> {
        self.kept.get(usize::try_from(number.checked_sub(self.dropped)?).ok()?)
    }

    /// How many of those that are kept come first: where each is before all that are not.
    pub fn partition_point(&self, comes_first: impl FnMut(&T) -> bool) -> usize {
        self.kept.partition_point(comes_first)
    }

    /// All that are kept, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.kept.iter()
    }
}
