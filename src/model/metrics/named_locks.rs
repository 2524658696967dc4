//! Selects the locks with series of their own, when there are more locks than series.
//!
//! A lock gets a free place immediately when an event happens to it. Otherwise it gets one at a
//! scrape, where locks with waiters or findings come first. A lock keeps its place as long as it
//! exists, so that its series continues.
//!
//! If all places are taken, a lock with waiters or findings can replace an idle one: a lock that
//! had no waiters, no events and no findings for ten minutes. So a place changes its lock at most
//! once in ten minutes. Findings of severity `info` do not count.

use std::cmp::Reverse;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::LockCounts;
use crate::diagnose::{Diagnosis, Severity};
use crate::queue::{LockId, LockQueue, LockTable};
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{Timestamp, ZnodePath};

/// The default number of locks with series of their own.
pub const DEFAULT_MAX_LOCKS: usize = 1_000;

/// Maximum length of a path with series of its own, in bytes.
const MAX_PATH_BYTES: usize = 512;

/// How long a lock must be idle before it loses its place.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// A lock with series of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub counts: LockCounts,
    /// When the lock last had an event, a waiter or a finding; 0 for never.
    last_busy: Timestamp,
    /// Whether readers were ever seen. Only readers reveal which of kazoo's locks this is, and the
    /// name of a series must not change.
    had_readers: bool,
}

impl Place {
    fn new(last_busy: Timestamp) -> Self {
        Self { counts: LockCounts::default(), last_busy, had_readers: false }
    }

    /// Returns the recipe in the labels of the lock's series.
    pub fn recipe(&mut self, lock: &LockQueue) -> Recipe {
        self.had_readers |= lock.recipe() == Recipe::KazooReadWrite;
        if self.had_readers { Recipe::KazooReadWrite } else { lock.recipe() }
    }
}

/// The locks with series of their own.
#[derive(Clone, Debug)]
pub(super) struct NamedLocks {
    max: usize,
    places: FxHashMap<LockId, Place>,
}

impl NamedLocks {
    pub fn new(max: usize) -> Self {
        Self { max, places: FxHashMap::default() }
    }

    /// Returns the place of a lock with an event, taking a free one if needed.
    pub fn on_event(&mut self, id: LockId, path: &ZnodePath, at: Timestamp) -> Option<&mut Place> {
        if !self.places.contains_key(&id) {
            if self.places.len() >= self.max || !can_be_named(path) {
                return None;
            }
            self.places.insert(id, Place::new(at));
        }
        let place = self.places.get_mut(&id)?;
        place.last_busy = place.last_busy.max(at);
        Some(place)
    }

    pub fn get_mut(&mut self, id: LockId) -> Option<&mut Place> {
        self.places.get_mut(&id)
    }

    pub fn clear(&mut self) {
        self.places.clear();
    }

    /// Drops the places of locks that no longer exist.
    pub fn drop_gone(&mut self, table: &LockTable) {
        self.places.retain(|id, _| table.lock(*id).is_some());
    }

    /// Allots places to locks without one. Linear in the number of locks.
    pub fn allot(&mut self, table: &LockTable, diagnosis: &Diagnosis, now: Timestamp) {
        let mut waiting = Vec::new();
        for lock in table.locks() {
            let worst =
                diagnosis.worst(lock.id()).map(|finding| finding.severity).filter(|worst| *worst > Severity::Info);
            let is_busy = worst.is_some() || lock.waiting() > 0;
            if let Some(place) = self.places.get_mut(&lock.id()) {
                place.last_busy = if is_busy { place.last_busy.max(now) } else { place.last_busy };
            } else if can_be_named(lock.path()) {
                waiting.push((Reverse((is_busy, worst, lock.waiting())), lock.id()));
            }
        }
        // The sort is stable, so locks of equal rank stay ordered by path.
        waiting.sort_by_key(|(rank, _)| *rank);
        let mut idle = None;
        for (Reverse((is_busy, ..)), id) in waiting {
            let last_busy = if is_busy { now } else { Timestamp(0) };
            if self.places.len() >= self.max {
                let idle = idle.get_or_insert_with(|| self.idle(now));
                let Some(gives_way) = idle.pop().filter(|_| is_busy) else { return };
                self.places.remove(&gives_way);
            }
            self.places.insert(id, Place::new(last_busy));
        }
    }

    /// Returns the locks that can lose their places, the longest idle one last.
    fn idle(&self, now: Timestamp) -> Vec<LockId> {
        let idle = self.places.iter().filter(|(_, place)| now.since(place.last_busy) >= KEPT_FOR);
        let mut idle: Vec<_> = idle.map(|(id, place)| (Reverse(place.last_busy), *id)).collect();
        idle.sort_unstable();
        idle.into_iter().map(|(_, id)| id).collect()
    }
}

fn can_be_named(path: &ZnodePath) -> bool {
    path.as_str().len() <= MAX_PATH_BYTES
}
