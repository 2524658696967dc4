//! What is recorded of one contender: who it is, and between which times it came, acquired and ended.

use std::sync::Arc;

use lockscope_base::recipe::RequestMode;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};
use lockscope_model::queue::GONE;

/// Bytes of a node's data that the tables keep: a host name or an id, and more than people read. The segments have what was read.
const MAX_DATA: usize = 1024;

/// Between which times something happened: after the one, and at the other at the latest. Equal where it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBounds {
    /// It had not happened before that.
    pub after: Timestamp,
    /// It had happened by then.
    pub before: Timestamp,
}

impl TimeBounds {
    /// It was seen.
    pub fn exact(at: Timestamp) -> Self {
        Self { after: at, before: at }
    }

    /// Between these; a clock that was set back makes them equal.
    pub fn between(after: Timestamp, before: Timestamp) -> Self {
        Self { after: after.min(before), before }
    }

    /// When it happened, where that is known.
    pub fn exactly(self) -> Option<Timestamp> {
        (self.after == self.before).then_some(self.before)
    }
}

/// How the stay of a contender in its lock ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContenderEnd {
    /// It still stands.
    Open,
    /// Its node went while its session lived: its client released it or gave up, or another deleted
    /// it.
    Gone,
    /// Its client is proven to have released it.
    Released,
    /// Its client is proven to have given up before its turn.
    Left,
    /// Its session's time had run out.
    Expired,
    /// It was deleted by hand, as the audit log says.
    Deleted,
    /// It ended while nobody was looking; or, where the bounds of its end are equal, it was seen to
    /// go and nobody can tell whether its session had expired.
    Unknown,
}

impl ContenderEnd {
    /// Each of them.
    pub const ALL: [Self; 7] =
        [Self::Open, Self::Gone, Self::Released, Self::Left, Self::Expired, Self::Deleted, Self::Unknown];

    /// The name in JSON and in the tables.
    pub fn id(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Gone => GONE,
            Self::Released => "released",
            Self::Left => "left",
            Self::Expired => "expired",
            Self::Deleted => "deleted",
            Self::Unknown => "unknown",
        }
    }

    /// What it is called where nothing proves whose deletion ended it. So it is in recordings
    /// before [version 2](super::TABLES_VERSION), which call each one released or left.
    #[must_use]
    pub fn unproven(self) -> Self {
        match self {
            Self::Released | Self::Left => Self::Gone,
            end => end,
        }
    }

    /// The one with that name; what a newer version wrote is unknown.
    pub fn from_id(id: &str) -> Self {
        Self::ALL.into_iter().find(|end| end.id() == id).unwrap_or(Self::Unknown)
    }
}

/// Which lock, in words that outlive the table of locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RecordedLock {
    pub path: ZnodePath,
    /// Which of several queues of that parent.
    pub name: Option<Arc<str>>,
    pub recipe: &'static str,
    pub kind: &'static str,
}

/// Who a client is, as the tables keep it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct RecordedClient {
    pub address: Option<Arc<str>>,
    pub name: Option<Arc<str>>,
}

/// One contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContenderRecord {
    /// Its row; rises in the order in which they were first seen.
    pub id: i64,
    pub lock: Arc<RecordedLock>,
    pub client: RecordedClient,
    pub session: Option<SessionId>,
    pub first_seen_at: Timestamp,
    pub enqueued_at: Option<Timestamp>,
    pub acquired: Option<TimeBounds>,
    pub ended: Option<TimeBounds>,
    pub end: ContenderEnd,
    pub mode: RequestMode,
    pub node: Arc<str>,
    /// `None` while the node is not read.
    pub czxid: Option<Zxid>,
    pub data: Option<Box<[u8]>>,
    /// Whether it will be written with the next flush.
    pub is_listed: bool,
    /// During which look at the whole table it was found.
    pub look: u32,
}

impl ContenderRecord {
    /// The beginning of a node's data; `None` for none.
    pub fn keep(data: &[u8]) -> Option<Box<[u8]>> {
        let mut end = data.len().min(MAX_DATA);
        if let Ok(text) = std::str::from_utf8(data) {
            // A character is kept as a whole.
            while !text.is_char_boundary(end) {
                end -= 1;
            }
        }
        (end > 0).then(|| data[..end].into())
    }

    /// Nothing earlier is possible for what comes next.
    fn last_known(&self) -> Option<Timestamp> {
        self.acquired.map(|acquired| acquired.after).or(self.enqueued_at)
    }

    /// It became a holder between these times.
    pub fn acquires(&mut self, between: TimeBounds) {
        let after = self.enqueued_at.map_or(between.after, |came| between.after.max(came.min(between.before)));
        self.acquired.get_or_insert(TimeBounds { after, ..between });
    }

    /// It went between these times.
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
    fn of_long_data_a_beginning_is_kept_that_does_not_cut_a_character() {
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
