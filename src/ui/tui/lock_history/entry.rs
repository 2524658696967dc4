//! What stands in a history: stays in the queue, and findings.

use std::sync::Arc;
use std::time::Duration;

use lockscope_base::recipe::RequestMode;
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::diagnose::Finding;
use lockscope_model::queue::{ClientIdentity, Contender, ContenderId, GONE, HoldBounds, LockEvent, LockTable};

/// Bytes of a contender's data that are kept.
const MAX_DATA: usize = 64;

/// One line of a lock's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryEntry {
    /// Somebody held the lock, or waited for it in vain.
    Stay(Stay),
    /// Something was wrong.
    Finding {
        /// When it was found, by this machine's clock; `None` once that is forgotten.
        raised_at: Option<Timestamp>,
        /// When it was mended; `None` while it is not.
        cleared_at: Option<Timestamp>,
        finding: Arc<Finding>,
    },
}

impl HistoryEntry {
    /// When it ended, as far as that is known.
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
    /// It holds still.
    Open,
    /// The holder's node is gone, and nothing proves that its session had expired: its client
    /// released it, or another deleted it.
    HolderGone,
    /// Its session expired.
    Expired,
    /// A waiter's node is gone before its turn; the same holds.
    WaiterGone,
    /// It was deleted from this console.
    Deleted,
}

impl StayEnd {
    /// The name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::HolderGone | Self::WaiterGone => GONE,
            Self::Expired => "expired",
            Self::Deleted => "deleted",
        }
    }

    /// What the event says of who is gone; `None` for other events.
    pub(super) fn of(event: LockEvent) -> Option<Self> {
        match event {
            LockEvent::Released => Some(Self::HolderGone),
            LockEvent::Expired => Some(Self::Expired),
            LockEvent::Left => Some(Self::WaiterGone),
            _ => None,
        }
    }
}

/// One contender in the queue of a lock, from its coming to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The node by which it stood there at the end.
    pub node: Arc<str>,
    pub contender: Option<ContenderId>,
    pub session: Option<SessionId>,
    /// Who it was, as far as was known when it ended.
    pub client: ClientIdentity,
    /// What is known of it besides; `None` where nobody looked at it before it was gone.
    pub known: Option<Box<StayDetails>>,
    /// How long it waited until it held or left; `None` where that was not seen.
    pub waited: Option<Duration>,
    /// How long it held; `None` when it never did.
    pub held: Option<HoldBounds>,
    /// When it ended, or up to when it is counted while it has not, by this machine's clock.
    pub until: Timestamp,
    pub end: StayEnd,
    /// Whether it ended while there was no connection: some time before `until`.
    pub end_unseen: bool,
    /// Whether its session may have expired in place of a release: nobody can tell.
    pub may_have_expired: bool,
}

/// What is known of a contender as long as it stands in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StayDetails {
    pub mode: RequestMode,
    /// The beginning of its data, where that is text.
    pub data: Option<String>,
    /// When its node was created, by the server's clock.
    pub created_at: Timestamp,
    /// When it was seen to come, by this machine's clock; `None` when it was there already.
    pub came_at: Option<Timestamp>,
    /// When it was seen to become a holder, by this machine's clock; `None` for who never did, and for who held already.
    pub acquired_at: Option<Timestamp>,
}

impl Stay {
    /// A contender as it stands in its queue, counted up to a time.
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

    /// Since when it has held, by this machine's clock: the earliest and the latest time, the same twice where it is known.
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

    /// What it asked for; `None` where nobody looked at it before it was gone.
    pub fn mode(&self) -> Option<RequestMode> {
        Some(self.known.as_ref()?.mode)
    }

    /// The beginning of its data; `None` where that is empty, no text or not known.
    pub fn data(&self) -> Option<&str> {
        self.known.as_ref()?.data.as_deref()
    }
}
