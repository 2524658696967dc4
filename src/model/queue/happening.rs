//! What a change means for a lock, as the timeline and JSON say it.

use std::sync::Arc;

use super::event::{GONE, SessionAtEnd};
use super::{ClientIdentity, Contender, ContenderId, HeldSince, LockEvent, LockName, LockQueue, WatchEvents};
use lockscope_base::znode::{SessionId, Timestamp, Zxid};

/// What happened to a lock, at what price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// When it was seen, by this machine's clock.
    pub at: Timestamp,
    /// What happened.
    pub event: LockEvent,
    /// To which lock; `None` when it concerns the connection.
    pub lock: Option<LockName>,
    /// The contender's node; `None` when it concerns the whole lock or the connection.
    pub node: Option<Arc<str>>,
    /// The contender: the same for all that happens to it, also where its node changes. `None` as for `node`.
    pub contender: Option<ContenderId>,
    /// The session that owns the node; `None` when none does.
    pub session: Option<SessionId>,
    /// Who the contender is or was, as far as that was known then.
    pub client: ClientIdentity,
    /// How long it waited, in milliseconds, where both ends were seen or the server's clock shows it; `None` otherwise.
    pub waited_ms: Option<u64>,
    /// How long it held, in milliseconds, where both ends were seen; `None` otherwise.
    pub held_ms: Option<u64>,
    /// Whether nobody can tell that its session had not expired: of who released or left, that the servers were last asked too long
    /// before. See [`LockEvent::Released`].
    pub may_have_expired: bool,
    /// The transaction that deleted its node, where the server says so, as it does from 3.9 on; of
    /// who released or left.
    pub deleted_by: Option<Zxid>,
    /// Contenders in the queue afterwards.
    pub queue: usize,
    /// What the change cost. An acquisition costs nothing of its own: the release before it was paid.
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
            may_have_expired: false,
            deleted_by: None,
            queue: lock.len(),
            watch_events: WatchEvents::default(),
        }
    }

    /// A lock was there already when everything was first read.
    pub fn lock_found(lock: &LockQueue, now: Timestamp) -> Self {
        Self::new(LockEvent::LockFound, lock, None, now)
    }

    /// What happened to the connection, and so to no lock: that it was cut, is there again, or that everything was read again.
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
            may_have_expired: false,
            deleted_by: None,
            queue: 0,
            watch_events: WatchEvents::default(),
        }
    }

    /// Its wait ended with this; it had begun at `since`, by this machine's clock.
    pub(super) fn after_waiting(mut self, since: Timestamp) -> Self {
        self.waited_ms = Some(Self::milliseconds(self.at, since));
        self
    }

    pub(super) fn costing(mut self, watch_events: WatchEvents) -> Self {
        self.watch_events = watch_events;
        self
    }

    /// What was known of its session then.
    pub(super) fn ending(mut self, at_end: SessionAtEnd) -> Self {
        self.may_have_expired = at_end == SessionAtEnd::MayHaveExpired;
        self
    }

    /// What the JSON calls the end of a contender; `None` for other events.
    pub fn end(&self) -> Option<&'static str> {
        match self.event {
            LockEvent::Released | LockEvent::Left if self.may_have_expired => Some("unknown"),
            LockEvent::Released | LockEvent::Left => Some(GONE),
            LockEvent::Expired => Some(LockEvent::Expired.id()),
            _ => None,
        }
    }

    pub(super) fn milliseconds(now: Timestamp, since: Timestamp) -> u64 {
        u64::try_from(now.since(since).as_millis()).unwrap_or(u64::MAX)
    }
}
