//! Which locks have series of their own, when there are more locks than series are allowed.
//!
//! A lock gets a place when one is free: at once when something happens to it, and else when the figures are read, those first that somebody
//! waits for or that have a finding. It keeps its place as long as it is there, so that its series goes on. Only when all places are taken, and
//! somebody waits for a lock that has none, a lock gives its place away of which for ten minutes nothing was to be said: nobody waited,
//! nothing happened, nothing was found. So a series changes its lock once in ten minutes at most.

use std::cmp::Reverse;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::LockCounts;
use crate::diagnose::{Diagnosis, Severity};
use crate::queue::{LockId, LockQueue, LockTable};
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{Timestamp, ZnodePath};

/// How many locks have series of their own when nothing else is said.
pub const DEFAULT_MAX_LOCKS: usize = 1_000;

/// A lock with a longer path has no series of its own, in bytes.
const MAX_PATH_BYTES: usize = 512;

/// A place is kept for this long after something was last to be said of its lock.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// A lock that has series of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub counts: LockCounts,
    /// When something happened to it, somebody waited or something was found, the last time; 0 when never.
    last_busy: Timestamp,
    /// Of kazoo's locks only a reader tells which they are: the name that was seen then stays.
    had_readers: bool,
}

impl Place {
    fn new(last_busy: Timestamp) -> Self {
        Self { counts: LockCounts::default(), last_busy, had_readers: false }
    }

    /// The recipe by which its series is named.
    pub fn recipe(&mut self, lock: &LockQueue) -> Recipe {
        self.had_readers |= lock.recipe() == Recipe::KazooReadWrite;
        if self.had_readers { Recipe::KazooReadWrite } else { lock.recipe() }
    }
}

/// The locks that have series of their own.
#[derive(Clone, Debug)]
pub(super) struct NamedLocks {
    max: usize,
    places: FxHashMap<LockId, Place>,
}

impl NamedLocks {
    pub fn new(max: usize) -> Self {
        Self { max, places: FxHashMap::default() }
    }

    /// The place of a lock to which something happens, given to it if one is free.
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

    /// Those that are gone have no series any more.
    pub fn drop_gone(&mut self, table: &LockTable) {
        self.places.retain(|id, _| table.lock(*id).is_some());
    }

    /// Gives places to those that have none. Linear in the number of locks.
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
        // Of equals, those stand first whose paths do: the sort is stable.
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

    /// The locks that give their places away, the first of them last.
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
