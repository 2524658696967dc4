//! The locks that one session takes again and again while nobody else contends.

use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{Happening, LockEvent, LockId};
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
    /// Takes in an event of a lock.
    pub(super) fn take_in(&mut self, lock: LockId, happening: &Happening) {
        let is_contended = happening.queue > 1;
        match (happening.event, happening.session) {
            (LockEvent::Acquired, Some(session)) if !is_contended => self.acquired(lock, session, happening.at),
            (LockEvent::Enqueued, _) if !is_contended => {}
            (LockEvent::Acquired | LockEvent::Enqueued | LockEvent::LockGone, _) => _ = self.0.remove(&lock),
            _ => {}
        }
    }

    /// Returns the run of a lock, if its last acquisition is not longer ago than a pause.
    pub(super) fn of(&self, lock: LockId, now: Timestamp) -> Option<TakenAgain> {
        self.0.get(&lock).copied().filter(|run| now.since(run.last) <= MAX_PAUSE)
    }

    /// Forgets the runs of all locks for which `stays` does not hold.
    pub(super) fn retain(&mut self, stays: impl Fn(LockId) -> bool) {
        self.0.retain(|id, _| stays(*id));
    }

    /// Forgets the runs of all sessions for which `stays` does not hold.
    pub(super) fn retain_sessions(&mut self, stays: impl Fn(SessionId) -> bool) {
        self.0.retain(|_, run| stays(run.session));
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
