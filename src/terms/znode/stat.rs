//! The result of reading a node, with the ids of sessions and transactions, points in time and
//! their bounds, and the session timeouts by which lockscope's sessions recognise each other.
//!
//! Servers list each session's timeout to the millisecond, and change only those beyond their
//! bounds. So a [marked timeout](marked_timeout) is the one thing that a session can tell all
//! others without writing anything.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The number of bytes of a node's data that [`NodeData`] keeps. A node may hold 1 MiB
/// (`jute.maxbuffer`); a lock's data is a host name or an id.
pub const MAX_KEPT_DATA: usize = 4096;

/// Stands in for a `pzxid` that tells nothing. No transaction has this number.
const UNKNOWN_PZXID: Zxid = Zxid(i64::MAX);

/// The stat of a node, as ZooKeeper's `Stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZnodeStat {
    /// The transaction that created the node: no other node of that path has it.
    pub czxid: Zxid,
    /// The transaction that last changed the node's data.
    pub mzxid: Zxid,
    /// The transaction that last created or deleted a child of the node.
    pub pzxid: Zxid,
    /// The time of the node's creation, by the server's clock.
    pub ctime: Timestamp,
    /// The time of the last change of the node's data, by the server's clock.
    pub mtime: Timestamp,
    /// The number of changes of the node's data.
    pub version: i32,
    /// The number of creations and deletions of children.
    pub cversion: i32,
    /// The number of changes of the node's ACL.
    pub aversion: i32,
    /// The session whose end deletes the node; `None` for persistent, container and TTL nodes.
    pub ephemeral_owner: Option<SessionId>,
    /// The size of the node's data, in bytes.
    pub data_length: i32,
    /// The number of the node's children, without their own children.
    pub num_children: i32,
}

impl ZnodeStat {
    /// Returns the number of the next sequential child: half of `cversion`, which counts creations
    /// and deletions, plus half of `num_children` (measured on ZooKeeper 3.8.0). It wraps like the
    /// server's counter.
    ///
    /// `None` without a [history of children](Self::without_child_history).
    #[must_use]
    pub fn next_sequence(&self) -> Option<i64> {
        self.has_child_history().then(|| self.numbers_given())
    }

    /// Returns the stat of a server whose `pzxid` and `cversion` do not count as `ZooKeeper`'s do:
    /// nothing follows from them.
    #[must_use]
    pub fn without_child_history(self) -> Self {
        Self { pzxid: UNKNOWN_PZXID, cversion: -1, ..self }
    }

    /// Returns whether `pzxid` and `cversion` tell which children were created and deleted.
    pub fn has_child_history(&self) -> bool {
        self.pzxid != UNKNOWN_PZXID
    }

    fn numbers_given(&self) -> i64 {
        i64::midpoint(i64::from(self.cversion), i64::from(self.num_children))
    }

    /// Returns the stat of a node without data and children that this transaction created.
    pub fn of_new(czxid: Zxid, at: Timestamp, ephemeral_owner: Option<SessionId>) -> Self {
        Self {
            czxid,
            mzxid: czxid,
            pzxid: czxid,
            ctime: at,
            mtime: at,
            version: 0,
            cversion: 0,
            aversion: 0,
            ephemeral_owner,
            data_length: 0,
            num_children: 0,
        }
    }
}

/// The first [`MAX_KEPT_DATA`] bytes of a node's data.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Box<[u8]>", into = "Box<[u8]>")]
pub struct NodeData(Kept);

/// The number of bytes that need no allocation: enough for most addresses and host names.
const MAX_INLINE: usize = 22;

#[derive(Clone, Debug)]
enum Kept {
    Inline { length: u8, bytes: [u8; MAX_INLINE] },
    Apart(Box<[u8]>),
}

impl NodeData {
    /// Keeps the first [`MAX_KEPT_DATA`] bytes.
    #[must_use]
    pub fn keep(bytes: &[u8]) -> Self {
        let kept = &bytes[..bytes.len().min(MAX_KEPT_DATA)];
        let mut inline = [0; MAX_INLINE];
        Self(match (u8::try_from(kept.len()), inline.get_mut(..kept.len())) {
            (Ok(length), Some(first)) => {
                first.copy_from_slice(kept);
                Kept::Inline { length, bytes: inline }
            }
            _ => Kept::Apart(kept.into()),
        })
    }

    /// Returns the kept bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Kept::Inline { length, bytes } => &bytes[..usize::from(*length).min(MAX_INLINE)],
            Kept::Apart(bytes) => bytes,
        }
    }
}

impl Default for NodeData {
    fn default() -> Self {
        Self::keep(&[])
    }
}

impl PartialEq for NodeData {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for NodeData {}

impl From<Box<[u8]>> for NodeData {
    fn from(bytes: Box<[u8]>) -> Self {
        Self::keep(&bytes)
    }
}

impl From<NodeData> for Box<[u8]> {
    fn from(data: NodeData) -> Self {
        data.bytes().into()
    }
}

/// A node, as one read returned it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The node's stat.
    pub stat: ZnodeStat,
    /// The node's data, or its first bytes if `stat.data_length` is larger.
    pub data: NodeData,
}

/// A ZooKeeper session's id: 64 bits, of which the top byte names the server that created it.
///
/// Displayed as unsigned hex (`0x10000a2b3c40001`), like ZooKeeper's four-letter words. AdminServer
/// and the names of Java's `WriteLock` print the same bits as a signed decimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub i64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The id of a ZooKeeper transaction. It only rises as long as an ensemble keeps its data. No two
/// nodes that ever had the same path have the same creation zxid (`czxid`), so it serves as a
/// lock's fencing token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Zxid(pub i64);

impl Zxid {
    /// Returns the number of the leader that made the transaction.
    pub fn epoch(self) -> i64 {
        self.0 >> 32
    }

    /// Returns the number of the transaction within its epoch, from 1 on.
    pub fn counter(self) -> i64 {
        self.0 & 0xffff_ffff
    }
}

impl fmt::Display for Zxid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A point in time: milliseconds since 1970-01-01 UTC, like ZooKeeper's `ctime` and `mtime`.
///
/// Pure modules have no clock: the caller passes the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns the time since `earlier`. Returns zero if `earlier` is later, since the clocks of
    /// two machines differ.
    #[must_use]
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Returns the time `by` later, at most the end of time.
    #[must_use]
    pub fn plus(self, by: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns the time `by` earlier, at least the beginning of time.
    #[must_use]
    pub fn minus(self, by: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// The time from one moment to another, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeRange {
    /// The first moment.
    pub from: Timestamp,
    /// The last moment.
    pub to: Timestamp,
}

impl TimeRange {
    /// Returns whether the range contains a moment.
    pub fn contains(self, at: Timestamp) -> bool {
        self.from <= at && at <= self.to
    }

    /// Returns the intersection with another range; `None` if it is empty or a single moment.
    #[must_use]
    pub fn within(self, other: TimeRange) -> Option<TimeRange> {
        let part = TimeRange { from: self.from.max(other.from), to: self.to.min(other.to) };
        (part.from < part.to).then_some(part)
    }

    /// Returns the length of the range.
    pub fn length(self) -> Duration {
        self.to.since(self.from)
    }
}

/// The bounds of when something happened: after the first time, and at the second at the latest.
/// Equal if it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeBounds {
    /// A time at which it had not happened.
    pub after: Timestamp,
    /// A time by which it had happened.
    pub before: Timestamp,
}

impl TimeBounds {
    /// Returns the bounds of something that was seen.
    pub fn exact(at: Timestamp) -> Self {
        Self { after: at, before: at }
    }

    /// Returns bounds between two times; a clock that was set back makes them equal.
    pub fn between(after: Timestamp, before: Timestamp) -> Self {
        Self { after: after.min(before), before }
    }

    /// Returns the exact time, if it is known.
    pub fn exactly(self) -> Option<Timestamp> {
        (self.after == self.before).then_some(self.before)
    }
}

/// The last three digits, in milliseconds, of the session timeouts that consoles and recorders ask
/// for. Applications ask for whole seconds, or for a multiple of the tick.
const MARK_MS: u64 = 739;

const SECOND_MS: u64 = 1_000;

/// Shorter timeouts are not marked: the mark would change them too much.
const MIN_MARKED_MS: u64 = 2_000;

/// Returns the next timeout, at most a second longer, that marks a session as one of lockscope's.
/// Returns timeouts below two seconds as they are.
pub fn marked_timeout(timeout: Duration) -> Duration {
    let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    if millis < MIN_MARKED_MS {
        return timeout;
    }
    let missing = (MARK_MS + SECOND_MS - millis % SECOND_MS) % SECOND_MS;
    Duration::from_millis(millis.saturating_add(missing))
}

/// Returns whether a session with this timeout is one of lockscope's. Another program that asks for
/// such a timeout looks the same.
pub fn is_marked_timeout(timeout_ms: u64) -> bool {
    timeout_ms >= MIN_MARKED_MS && timeout_ms % SECOND_MS == MARK_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_a_large_nodes_data_is_kept() {
        assert_eq!(NodeData::keep(&vec![7; 1 << 20]).bytes().len(), MAX_KEPT_DATA);
        for length in [0, 1, MAX_INLINE, MAX_INLINE + 1, MAX_KEPT_DATA] {
            let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
            let data = NodeData::keep(&bytes);
            assert_eq!(data.bytes(), bytes);
            let json = serde_json::to_string(&data).expect("JSON");
            assert_eq!(json, serde_json::to_string(&bytes).expect("JSON"));
            assert_eq!(serde_json::from_str::<NodeData>(&json).expect("data"), data);
        }
    }

    #[test]
    fn a_session_with_a_high_server_id_is_shown_as_unsigned_hex() {
        assert_eq!(SessionId(-2).to_string(), "0xfffffffffffffffe");
        assert_eq!(SessionId(0x1_0000_a2b3_c400).to_string(), "0x10000a2b3c400");
    }

    #[test]
    fn the_part_of_a_time_within_another_is_longer_than_a_moment() {
        let range = |from, to| TimeRange { from: Timestamp(from), to: Timestamp(to) };
        assert_eq!(range(1, 9).within(range(4, 20)), Some(range(4, 9)));
        assert_eq!(range(1, 4).within(range(4, 20)), None);
        assert!(range(1, 4).contains(Timestamp(4)) && !range(1, 4).contains(Timestamp(5)));
        assert_eq!(range(4, 1).length(), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_went_back_gives_no_negative_age() {
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
        assert_eq!(Timestamp(i64::MIN).since(Timestamp(i64::MAX)), Duration::ZERO);
        assert_eq!(Timestamp(1_500).since(Timestamp(500)), Duration::from_secs(1));
    }

    #[test]
    fn a_marked_timeout_is_less_than_a_second_longer_and_recognised() {
        for (asked, marked) in [(30_000, 30_739), (2_000, 2_739), (6_739, 6_739), (6_740, 7_739), (6_999, 7_739)] {
            let found = marked_timeout(Duration::from_millis(asked));
            assert_eq!(found, Duration::from_millis(marked), "{asked}");
            assert!(is_marked_timeout(marked), "{asked}");
        }
        assert_eq!(marked_timeout(Duration::from_millis(1_999)), Duration::from_millis(1_999));
        for other in [0, 739, 1_739, 2_738, 30_000, 40_000] {
            assert!(!is_marked_timeout(other), "{other}");
        }
    }
}
