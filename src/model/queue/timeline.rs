//! The most recent events, up to a fixed number.

use std::collections::VecDeque;

use super::Happening;

/// Minimum number of entries by which the timeline grows.
const MIN_GROWTH: usize = 16;

/// The most recent events, oldest first, up to a fixed number. `T` may include other entries, such
/// as separators.
#[derive(Clone, Debug)]
pub struct Timeline<T = Happening> {
    kept: VecDeque<T>,
    capacity: usize,
    dropped: u64,
}

impl<T> Timeline<T> {
    /// Creates a timeline that keeps the last `capacity` entries, at least one.
    pub fn new(capacity: usize) -> Self {
        Self { kept: VecDeque::new(), capacity: capacity.max(1), dropped: 0 }
    }

    /// Adds an entry, and drops the oldest one when the timeline is full.
    pub fn push(&mut self, happening: T) {
        if self.kept.len() == self.capacity {
            self.kept.pop_front();
            self.dropped += 1;
        }
        if self.kept.len() == self.kept.capacity() {
            // A plain `push_back` would double the room, beyond `capacity`.
            let more = (self.kept.len() / 2).max(MIN_GROWTH).min(self.capacity - self.kept.len());
            self.kept.reserve_exact(more);
        }
        self.kept.push_back(happening);
    }

    /// Returns the number of kept entries.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Returns whether the timeline has no entries.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns the number of the oldest kept entry. All entries that were ever pushed are numbered
    /// from 0.
    pub fn first(&self) -> u64 {
        self.dropped
    }

    /// Returns the entry with this number; `None` once it was dropped.
    pub fn get(&self, number: u64) -> Option<&T> {
        self.kept.get(usize::try_from(number.checked_sub(self.dropped)?).ok()?)
    }

    /// Returns how many kept entries satisfy `comes_first`. They must all come before those that do
    /// not.
    pub fn partition_point(&self, comes_first: impl FnMut(&T) -> bool) -> usize {
        self.kept.partition_point(comes_first)
    }

    /// Returns all kept entries, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.kept.iter()
    }
}
