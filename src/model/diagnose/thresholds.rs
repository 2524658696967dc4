//! From when on something is called a finding, and how long that takes to see.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Code;
use super::code::FoundAfter;

/// How often a table is examined, at least, by who wants findings.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// From when on something is called a finding. Each of these only makes findings later or rarer, never bolder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thresholds {
    /// How long a lock may be held while others wait, before it is called stuck. By default 60 s: longer than an application
    /// waits for a lock of short work. Who holds locks for longer by design raises it. What is [proven](crate::queue::HoldBounds) of the
    /// time before the first look counts.
    pub stuck_after: Duration,
    /// How long a state must last that also occurs for a moment in sound hand-overs: a waiter that watches nothing,
    /// sessions that wait for each other. By default 3 s, which is at least three rounds of asking the servers.
    pub settled_after: Duration,
    /// How long a node must outlive its session before it is called a ghost, and how long a deleted node must be there again before
    /// its member is said to disagree. By default 10 s: the session's end is one transaction with the deletion of its nodes, and
    /// no server that answers is that far behind.
    pub ghost_after: Duration,
    /// How long a lock parent must have been seen empty. By default 10 minutes: ZooKeeper removes empty container nodes
    /// once a minute, so that what stays is none.
    pub empty_after: Duration,
    /// How many numbers must be left of the 2,147,483,648 that a parent gives. By default ten million.
    pub numbers_left: i64,
    /// How many watches on vanished nodes of one queue are more than a curiosity. By default a thousand.
    pub leaked_watches: usize,
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
        }
    }
}

impl Thresholds {
    /// For how long a table must be looked at before every finding of this code has come of it, when nothing was seen before and the
    /// nodes prove nothing of the time before. Zero for what the first look tells.
    pub fn least_time_to_find(&self, code: Code) -> Duration {
        match code.traits().found_after {
            FoundAfter::FirstLook => Duration::ZERO,
            FoundAfter::TwoLooks => LOOK_INTERVAL,
            FoundAfter::Lasted => self.settled_after,
            FoundAfter::Settled => self.settled_after.saturating_add(LOOK_INTERVAL),
            FoundAfter::GhostTime => self.ghost_after.saturating_add(LOOK_INTERVAL),
            FoundAfter::StuckTime | FoundAfter::StuckTimeAtMost => self.stuck_after.saturating_add(LOOK_INTERVAL),
            FoundAfter::EmptyTime => self.empty_after.saturating_add(LOOK_INTERVAL),
        }
    }
}
