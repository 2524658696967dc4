//! An event as the timeline and the JSON show it.

use std::sync::Arc;

use super::event::{CLOSED, DELETED, GONE, SessionAtEnd};
use super::{ClientIdentity, Contender, ContenderId, Deleter, HeldSince, LockEvent, LockName, LockQueue, WatchEvents};
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

    pub(super) fn milliseconds(now: Timestamp, since: Timestamp) -> u64 {
        u64::try_from(now.since(since).as_millis()).unwrap_or(u64::MAX)
    }
}
