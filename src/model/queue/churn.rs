//! Notes which locks one session takes again and again while nobody else contends.

use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{Happening, LockEvent, LockId, LockQueue, LockTable};
use lockscope_base::znode::{SessionId, Timestamp};

/// Maximum number of locks with a run. Those that ended make room first.
const MAX_RUNS: usize = 10_000;

/// A run ends when its session does not take the lock for this long.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// The acquisitions of a lock by one session, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenAgain {
    /// The session.
    pub session: SessionId,
    /// When the first of them was seen, by this machine's clock.
    pub since: Timestamp,
    /// When the last of them was seen.
    pub last: Timestamp,
    /// How many there were.
    pub times: u32,
}

/// The runs of all locks. Recordings store them beside the table, because older ones have no place
/// for them there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunsOfOne(FxHashMap<LockId, TakenAgain>);

impl RunsOfOne {
    fn take_in(&mut self, lock: LockId, happening: &Happening) {
        let is_contended = happening.queue > 1;
        match (happening.event, happening.session) {
            (LockEvent::Acquired, Some(session)) if !is_contended => self.acquired(lock, session, happening.at),
            (LockEvent::Enqueued, _) if !is_contended => {}
            (LockEvent::Acquired | LockEvent::Enqueued | LockEvent::LockGone, _) => _ = self.0.remove(&lock),
            _ => {}
        }
    }

    fn acquired(&mut self, lock: LockId, session: SessionId, at: Timestamp) {
        if self.0.len() >= MAX_RUNS && !self.0.contains_key(&lock) {
            self.0.retain(|_, run| at.since(run.last) <= MAX_PAUSE);
            if self.0.len() >= MAX_RUNS {
                return;
            }
        }
        let first = TakenAgain { session, since: at, last: at, times: 0 };
        let run = self.0.entry(lock).or_insert(first);
        if run.session != session || at.since(run.last) > MAX_PAUSE {
            *run = first;
        }
        (run.last, run.times) = (at, run.times.saturating_add(1));
    }
}

impl LockTable {
    pub(super) fn note_runs(&mut self, happenings: &[Happening]) {
        for happening in happenings {
            if let Some(lock) = &happening.lock {
                self.runs.take_in(lock.id, happening);
            }
        }
    }

    /// Returns how one session takes a lock again and again, up to `now`, while nobody else is in its
    /// queue.
    pub fn taken_again(&self, lock: &LockQueue, now: Timestamp) -> Option<TakenAgain> {
        self.runs.0.get(&lock.id()).copied().filter(|run| now.since(run.last) <= MAX_PAUSE)
    }

    /// Returns the runs of all locks. They are not part of the serialized table.
    pub fn runs_of_one(&self) -> &RunsOfOne {
        &self.runs
    }

    /// Returns the table with the runs that were stored beside it.
    #[must_use]
    pub fn with_runs_of_one(mut self, runs: RunsOfOne) -> Self {
        *self.runs = runs;
        let locks = &self.locks;
        self.runs.0.retain(|id, _| locks.contains_key(id));
        self
    }
}
