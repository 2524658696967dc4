//! The entries of a history: stays in the queue, and findings.

use std::sync::Arc;
use std::time::Duration;

use lockscope_base::recipe::RequestMode;
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::diagnose::Finding;
use lockscope_model::queue::{ClientIdentity, Contender, ContenderId, GONE, HoldBounds, LockEvent, LockTable};

/// Maximum bytes of a contender's data in an entry.
const MAX_DATA: usize = 64;

/// An entry of a lock's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryEntry {
    /// The stay of a contender that held the lock, or that left without having held it.
    Stay(Stay),
    /// A finding.
    Finding {
        /// When the finding was raised, by this machine's clock; `None` once the time was
        /// forgotten.
        raised_at: Option<Timestamp>,
        /// When the finding was cleared; `None` while it stands.
        cleared_at: Option<Timestamp>,
        finding: Arc<Finding>,
    },
}

impl HistoryEntry {
    /// Returns when the entry ended, as far as known.
    pub fn ended_at(&self) -> Option<Timestamp> {
        match self {
            Self::Stay(stay) => Some(stay.until),
            Self::Finding { cleared_at, .. } => *cleared_at,
        }
    }
}

/// How a stay in the queue ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StayEnd {
    /// The contender still holds.
    Open,
    /// The holder's node is gone, and nothing proves that its session expired: the client released
    /// it, or another client deleted it.
    HolderGone,
    /// The session expired.
    Expired,
    /// A waiter's node is gone before its turn, and nothing proves that its session expired.
    WaiterGone,
    /// The node was deleted from this console.
    Deleted,
}

impl StayEnd {
    /// Returns the name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::HolderGone | Self::WaiterGone => GONE,
            Self::Expired => "expired",
            Self::Deleted => "deleted",
        }
    }

    /// Returns the end that an event means for the contender; `None` for other events.
    pub(super) fn of(event: LockEvent) -> Option<Self> {
        match event {
            LockEvent::Released => Some(Self::HolderGone),
            LockEvent::Expired => Some(Self::Expired),
            LockEvent::Left => Some(Self::WaiterGone),
            _ => None,
        }
    }
}

/// A contender's stay in the queue of a lock, from its arrival to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The name of the contender's last node.
    pub node: Arc<str>,
    pub contender: Option<ContenderId>,
    pub session: Option<SessionId>,
    /// The client, as far as it was known at the end.
    pub client: ClientIdentity,
    /// Further details; `None` for a contender that was gone before it could be read.
    pub known: Option<Box<StayDetails>>,
    /// How long the contender waited before it held or left; `None` where the wait was not seen.
    pub waited: Option<Duration>,
    /// How long the contender held; `None` when it never did.
    pub held: Option<HoldBounds>,
    /// When the stay ended or, while it lasts, the time up to which it is counted; by this
    /// machine's clock.
    pub until: Timestamp,
    pub end: StayEnd,
    /// Whether the stay ended at some unknown time before `until`, while there was no connection.
    pub end_unseen: bool,
    /// Whether the session may have expired instead of a release; the tree cannot tell.
    pub may_have_expired: bool,
}

/// The details of a contender that are read while it is in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StayDetails {
    pub mode: RequestMode,
    /// The beginning of the data, if the data is text.
    pub data: Option<String>,
    /// When the node was created, by the server's clock.
    pub created_at: Timestamp,
    /// When the contender was seen to arrive, by this machine's clock; `None` if it was there at
    /// the first look.
    pub came_at: Option<Timestamp>,
    /// When the contender was seen to acquire, by this machine's clock; `None` if it never did, or
    /// held at the first look.
    pub acquired_at: Option<Timestamp>,
}

impl Stay {
    /// Creates the stay of a contender that is in the queue, counted up to `until`.
    pub fn of(contender: &Contender, table: &LockTable, until: Timestamp) -> Self {
        let came_at = contender.contends_since(table.clock_ahead_ms());
        let bytes = contender.data.bytes();
        let text = std::str::from_utf8(bytes).ok().map(|text| text.chars().take(MAX_DATA).collect::<String>());
        Self {
            node: Arc::clone(&contender.node),
            contender: Some(contender.id()),
            session: contender.session(),
            client: table.identity_of(contender),
            waited: contender.acquired_at().map(|acquired| acquired.since(came_at)),
            held: table.hold_bounds(contender, until),
            until,
            end: StayEnd::Open,
            end_unseen: false,
            may_have_expired: false,
            known: Some(Box::new(StayDetails {
                mode: contender.mode,
                data: text.filter(|text| !text.trim().is_empty()),
                created_at: contender.created_at,
                came_at: contender.enqueued_at(),
                acquired_at: contender.acquired_at(),
            })),
        }
    }

    /// Returns the earliest and the latest time at which the hold can have begun, by this machine's
    /// clock. Both are equal where the time is known.
    pub fn held_since(&self) -> Option<(Timestamp, Timestamp)> {
        let held = self.held?;
        let before = |held: Duration| {
            Timestamp(self.until.0.saturating_sub(i64::try_from(held.as_millis()).unwrap_or(i64::MAX)))
        };
        match self.known.as_ref().and_then(|known| known.acquired_at) {
            Some(acquired) => Some((acquired, acquired)),
            None => Some((before(held.at_most), before(held.at_least))),
        }
    }

    /// Returns the requested mode; `None` for a contender that was gone before it could be read.
    pub fn mode(&self) -> Option<RequestMode> {
        Some(self.known.as_ref()?.mode)
    }

    /// Returns the beginning of the data; `None` where the data is empty, unknown or no text.
    pub fn data(&self) -> Option<&str> {
        self.known.as_ref()?.data.as_deref()
    }
}
