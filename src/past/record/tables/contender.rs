//! The record of one contender: its identity, and the bounds of when it came, acquired and ended.

use std::sync::Arc;

use super::source::Source;
use lockscope_base::recipe::RequestMode;
use lockscope_base::znode::{SessionId, TimeBounds, Timestamp, ZnodePath, Zxid};
use lockscope_model::queue::{CLOSED, DELETED, GONE, Happening};

/// The most bytes of a node's data in the tables: enough for a host name or an id. The segments
/// have all data that were read.
const MAX_DATA: usize = 1024;

/// How a contender's stay in its lock ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContenderEnd {
    /// The contender is still there.
    Open,
    /// The node vanished while its session lived: its client released it or gave up, or another
    /// client deleted it.
    Gone,
    /// The client is proven to have released it.
    Released,
    /// The client is proven to have given up before its turn.
    Left,
    /// The session had expired.
    Expired,
    /// Another session deleted the node, according to the transaction logs; or it was deleted by
    /// hand, according to the audit log.
    Deleted,
    /// The client closed its session, according to the transaction logs.
    Closed,
    /// The end was not seen; or, if its bounds are equal, it was seen, but whether the session had
    /// expired is unknown.
    Unknown,
}

impl ContenderEnd {
    /// All variants.
    pub const ALL: [Self; 8] =
        [Self::Open, Self::Gone, Self::Released, Self::Left, Self::Expired, Self::Deleted, Self::Closed, Self::Unknown];

    /// Returns the name in JSON and in the tables.
    pub fn id(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Gone => GONE,
            Self::Released => "released",
            Self::Left => "left",
            Self::Expired => "expired",
            Self::Deleted => DELETED,
            Self::Closed => CLOSED,
            Self::Unknown => "unknown",
        }
    }

    /// Returns the ending without proof of who deleted the node. Used for recordings before
    /// [version 2](super::TABLES_VERSION), which call each end released or left.
    #[must_use]
    pub fn unproven(self) -> Self {
        match self {
            Self::Released | Self::Left => Self::Gone,
            end => end,
        }
    }

    /// Returns the end that a transaction log proves.
    pub(super) fn proven_by(happening: &Happening) -> Option<Self> {
        happening.deleter.and_then(|_| happening.end()).map(Self::from_id)
    }

    /// Returns the variant with this name; names of newer versions are read as unknown.
    pub fn from_id(id: &str) -> Self {
        Self::ALL.into_iter().find(|end| end.id() == id).unwrap_or(Self::Unknown)
    }
}

/// The identity of a lock, independent of the lock table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RecordedLock {
    pub path: ZnodePath,
    /// The name of the queue, if its parent has several.
    pub name: Option<Arc<str>>,
    pub recipe: &'static str,
    pub kind: &'static str,
}

/// The identity of a client, as the tables store it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct RecordedClient {
    pub address: Option<Arc<str>>,
    pub name: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContenderRecord {
    /// The id of the row; it rises in the order in which contenders were first seen.
    pub id: i64,
    pub lock: Arc<RecordedLock>,
    pub client: RecordedClient,
    pub session: Option<SessionId>,
    pub first_seen_at: Timestamp,
    pub enqueued_at: Option<Timestamp>,
    pub acquired: Option<TimeBounds>,
    pub ended: Option<TimeBounds>,
    pub end: ContenderEnd,
    /// The session that deleted the node, if a transaction log shows it.
    pub deleted_by: Option<SessionId>,
    /// Where the record comes from.
    pub source: Source,
    pub mode: RequestMode,
    pub node: Arc<str>,
    /// The creating transaction; `None` while the node is not read.
    pub czxid: Option<Zxid>,
    pub data: Option<Box<[u8]>>,
    /// Whether the record is queued for the next flush.
    pub is_listed: bool,
    /// The number of the last look at the whole table that found it.
    pub look: u32,
}

impl ContenderRecord {
    /// Returns the beginning of a node's data; `None` if empty.
    pub fn keep(data: &[u8]) -> Option<Box<[u8]>> {
        let mut end = data.len().min(MAX_DATA);
        if let Ok(text) = std::str::from_utf8(data) {
            // Only whole characters are kept.
            while !text.is_char_boundary(end) {
                end -= 1;
            }
        }
        (end > 0).then(|| data[..end].into())
    }

    /// Returns the time before which the next step cannot have happened.
    fn last_known(&self) -> Option<Timestamp> {
        self.acquired.map(|acquired| acquired.after).or(self.enqueued_at)
    }

    /// Records that it became a holder within these bounds.
    pub fn acquires(&mut self, between: TimeBounds) {
        let after = self.enqueued_at.map_or(between.after, |came| between.after.max(came.min(between.before)));
        self.acquired.get_or_insert(TimeBounds { after, ..between });
    }

    /// Records that it ended within these bounds.
    pub fn ends(&mut self, end: ContenderEnd, between: TimeBounds) {
        let earliest = self.last_known().map_or(between.after, |known| between.after.max(known.min(between.before)));
        self.ended = Some(TimeBounds { after: earliest, ..between });
        self.end = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_data_are_cut_between_characters() {
        assert_eq!(ContenderRecord::keep(b""), None);
        assert_eq!(ContenderRecord::keep(&[0xff; 2000]).map(|data| data.len()), Some(MAX_DATA));
        let text = format!("{}é", "a".repeat(MAX_DATA - 1));
        assert_eq!(ContenderRecord::keep(text.as_bytes()).map(|data| data.len()), Some(MAX_DATA - 1));
    }

    #[test]
    fn every_end_has_a_name_that_is_read_back() {
        for end in ContenderEnd::ALL {
            assert_eq!(ContenderEnd::from_id(end.id()), end);
        }
        assert_eq!(ContenderEnd::from_id("evaporated"), ContenderEnd::Unknown);
    }
}
