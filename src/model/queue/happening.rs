//! The output of the table: events as the timeline and the JSON show them, the most recent ones,
//! and the locks that one session takes again and again while nobody else contends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::event::{CLOSED, DELETED, GONE, SessionAtEnd};
use super::{
    ClientIdentity, Contender, ContenderId, Deleter, HeldSince, LockEvent, LockId, LockName, LockQueue, WatchEvents,
};
use lockscope_base::znode::{SessionId, Timestamp, Zxid};

/// An event with its lock, its contender and its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// When the event was seen, by this machine's clock.
    pub at: Timestamp,
    /// The kind of event.
    pub event: LockEvent,
    /// The lock; `None` for an event of the connection.
    pub lock: Option<LockName>,
    /// The contender's node; `None` for an event of the whole lock or of the connection.
    pub node: Option<Arc<str>>,
    /// The contender. The identity is the same in all of a contender's events, even when its node
    /// changes. `None` whenever `node` is.
    pub contender: Option<ContenderId>,
    /// The session that owns the node; `None` without one.
    pub session: Option<SessionId>,
    /// The contender's client, as far as it was known at the time of the event.
    pub client: ClientIdentity,
    /// How long the contender waited, in milliseconds. `None` unless both ends were seen or the
    /// server's clock shows them.
    pub waited_ms: Option<u64>,
    /// How long the contender held, in milliseconds. `None` unless both ends were seen.
    pub held_ms: Option<u64>,
    /// Whether the contender held until this event, which ends its hold.
    pub ends_hold: bool,
    /// Whether the session may have expired, since the servers were last asked too long before.
    ///
    /// Only for contenders that released or left. See [`LockEvent::Released`].
    pub may_have_expired: bool,
    /// The transaction that deleted the node of a contender that released or left. Servers report
    /// it from ZooKeeper 3.9 on. `None` if the node may have gone during a cut, before another node
    /// of its name.
    pub deleted_by: Option<Zxid>,
    /// The deleter of the node of a contender that released, left or expired. Only transaction logs
    /// show it.
    pub deleter: Option<Deleter>,
    /// The number of contenders in the queue after the event.
    pub queue: usize,
    /// The cost of the event. An acquisition has none of its own: the release before it was
    /// counted.
    pub watch_events: WatchEvents,
}

impl Happening {
    pub(super) fn new(event: LockEvent, lock: &LockQueue, contender: Option<&Contender>, now: Timestamp) -> Self {
        let ends_holding = matches!(event, LockEvent::Released | LockEvent::Expired);
        let held = contender.map_or(HeldSince::Free, Contender::held);
        Self {
            at: now,
            event,
            lock: Some(lock.lock_name()),
            node: contender.map(|contender| Arc::clone(&contender.node)),
            contender: contender.map(Contender::id),
            session: contender.and_then(Contender::session),
            client: contender.map(ClientIdentity::of_node).unwrap_or_default(),
            waited_ms: None,
            held_ms: match held {
                HeldSince::Since(since) if ends_holding => Some(Self::milliseconds(now, since)),
                _ => None,
            },
            ends_hold: ends_holding && held != HeldSince::Free,
            may_have_expired: false,
            deleted_by: None,
            deleter: None,
            queue: lock.len(),
            watch_events: WatchEvents::default(),
        }
    }

    /// Creates the event for a lock that existed before the first reading.
    pub fn lock_found(lock: &LockQueue, now: Timestamp) -> Self {
        Self::new(LockEvent::LockFound, lock, None, now)
    }

    /// Creates an event of the connection: it was cut, it is back, or everything was read again.
    pub fn of_connection(event: LockEvent, now: Timestamp) -> Self {
        Self {
            at: now,
            event,
            lock: None,
            node: None,
            contender: None,
            session: None,
            client: ClientIdentity::default(),
            waited_ms: None,
            held_ms: None,
            ends_hold: false,
            may_have_expired: false,
            deleted_by: None,
            deleter: None,
            queue: 0,
            watch_events: WatchEvents::default(),
        }
    }

    /// Sets the wait, which began at `since` by this machine's clock and ends with this event.
    pub(super) fn after_waiting(mut self, since: Timestamp) -> Self {
        self.waited_ms = Some(Self::milliseconds(self.at, since));
        self
    }

    pub(super) fn costing(mut self, watch_events: WatchEvents) -> Self {
        self.watch_events = watch_events;
        self
    }

    /// Sets what was known about the session, and about who deleted the node, at this event.
    pub(super) fn ending(mut self, at_end: SessionAtEnd, deleter: Option<Deleter>) -> Self {
        (self.may_have_expired, self.deleter) = (at_end == SessionAtEnd::MayHaveExpired, deleter);
        self
    }

    /// Returns the JSON name for the end of a contender; `None` for other events.
    pub fn end(&self) -> Option<&'static str> {
        match self.event {
            LockEvent::Released | LockEvent::Left => Some(match (self.deleter, self.session) {
                (Some(Deleter::Session(by)), Some(owner)) if by == owner => self.event.id(),
                (Some(Deleter::Session(_)), Some(_)) => DELETED,
                (Some(Deleter::Close), _) => CLOSED,
                _ if self.may_have_expired => "unknown",
                _ => GONE,
            }),
            LockEvent::Expired | LockEvent::Settled => Some(LockEvent::Expired.id()),
            _ => None,
        }
    }

    fn milliseconds(now: Timestamp, since: Timestamp) -> u64 {
        u64::try_from(now.since(since).as_millis()).unwrap_or(u64::MAX)
    }
}

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
