//! The thresholds of findings, and how long they take to find.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Code;
use super::code::FoundAfter;

/// Maximum interval between looks at a table, for callers that want findings.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Most locks that are held for longer than this are not busy.
const MAX_BUSY_HOLD: Duration = Duration::from_secs(2);

/// How long one session must take a lock more than once a second before that is churn.
pub(super) const CHURN_TIME: Duration = Duration::from_secs(30);

/// The thresholds of findings. Each only makes findings later or rarer, never bolder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thresholds {
    /// How long a lock may be held while others wait, before it counts as stuck.
    ///
    /// 60 s by default, longer than applications wait for a lock of short work. Raise this if
    /// longer holds are normal. [Proven](crate::queue::HoldBounds) time before the first look
    /// counts.
    pub stuck_after: Duration,
    /// How long a state must last that also occurs for a moment in sound hand-overs, such as a
    /// waiter that watches nothing, or sessions that wait for each other.
    ///
    /// 3 s by default, which is at least three rounds of asking the servers.
    pub settled_after: Duration,
    /// How long a node must outlive its session before it counts as a ghost, and how long a deleted
    /// node must be shown again before its member disagrees.
    ///
    /// 10 s by default: one transaction ends the session and deletes its nodes, and no server that
    /// answers is that far behind.
    pub ghost_after: Duration,
    /// How long a lock parent must have been empty.
    ///
    /// 10 minutes by default: ZooKeeper deletes empty container nodes once a minute, so a parent
    /// that stays is no container.
    pub empty_after: Duration,
    /// The minimum number of unused sequence numbers of a parent, out of 2,147,483,648. 10,000,000
    /// by default.
    pub numbers_left: i64,
    /// The number of leaked watches in one queue from which the finding is a warning. 1,000 by
    /// default.
    pub leaked_watches: usize,
    /// When leadership flaps. Recordings store it apart.
    #[serde(skip)]
    pub flapping: Flapping,
}

/// The number of changes of leader within a time that counts as flapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flapping {
    /// How many changes. 6 by default.
    pub changes: u32,
    /// Within which time, at most a day. 10 minutes by default: a rolling restart changes the leader
    /// once for each member and takes longer.
    pub within: Duration,
}

impl Default for Flapping {
    fn default() -> Self {
        Self { changes: 6, within: Duration::from_secs(600) }
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            stuck_after: Duration::from_secs(60),
            settled_after: Duration::from_secs(3),
            ghost_after: Duration::from_secs(10),
            empty_after: Duration::from_secs(600),
            numbers_left: 10_000_000,
            leaked_watches: 1_000,
            flapping: Flapping::default(),
        }
    }
}

impl Thresholds {
    /// Returns how long a table must be watched to find every finding with this code. Zero if the
    /// first look suffices.
    ///
    /// This assumes that there was no look before and that the nodes prove nothing about earlier
    /// times.
    pub fn least_time_to_find(&self, code: Code) -> Duration {
        match code.traits().found_after {
            FoundAfter::FirstLook | FoundAfter::FlappingTime | FoundAfter::PromisedTime => Duration::ZERO,
            FoundAfter::TwoLooks => LOOK_INTERVAL,
            FoundAfter::Lasted => self.settled_after,
            FoundAfter::HoldTime => self.settled_after.min(MAX_BUSY_HOLD),
            FoundAfter::Settled => self.settled_after.saturating_add(LOOK_INTERVAL),
            FoundAfter::GhostTime => self.ghost_after.saturating_add(LOOK_INTERVAL),
            FoundAfter::StuckTime | FoundAfter::StuckTimeAtMost => self.stuck_after.saturating_add(LOOK_INTERVAL),
            FoundAfter::ChurnTime => CHURN_TIME.saturating_add(LOOK_INTERVAL),
            FoundAfter::EmptyTime => self.empty_after.saturating_add(LOOK_INTERVAL),
        }
    }
}
