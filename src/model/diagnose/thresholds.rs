//! When a state becomes a finding: the thresholds, how long to look for each kind, and how often to
//! look.
//!
//! A look that is too short proves nothing about the kinds in [`not_seen`]. A large table is looked
//! at less often ([`rest_between_checks`]).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Code;
use super::finding::FoundAfter;
use crate::queue::LockTable;

/// Maximum interval between looks at a table, for callers that want findings.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Most locks that are held for longer than this are not busy.
const MAX_BUSY_HOLD: Duration = Duration::from_secs(2);

/// How long one session must take a lock more than once a second before that is churn.
pub const CHURN_TIME: Duration = Duration::from_secs(30);

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
    pub flapping: FlappingLimit,
}

/// The number of changes of leader within a time that counts as flapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlappingLimit {
    /// How many changes. 6 by default.
    pub changes: u32,
    /// Within which time, at most a day. 10 minutes by default: a rolling restart changes the leader
    /// once for each member and takes longer.
    pub within: Duration,
}

impl Default for FlappingLimit {
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
            flapping: FlappingLimit::default(),
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

/// A kind of finding that was not possible in the time of the look, so that its absence proves
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSeen {
    /// The kind of finding.
    pub code: Code,
    /// How long the table must be watched to find it.
    pub needs: Duration,
}

/// Returns the kinds of findings that a look of length `looked` could not find, in the order of the
/// codes.
///
/// Kinds that the proven time before the look can show (`StuckTimeAtMost`) are left out. For `stuck`
/// and `stuck-lease`, what remains in doubt is a finding itself, `may-be-stuck`.
pub fn not_seen(thresholds: &Thresholds, looked: Duration) -> Vec<NotSeen> {
    let undecided = Code::ALL.into_iter().filter(|code| code.traits().found_after != FoundAfter::StuckTimeAtMost);
    let all = undecided.map(|code| NotSeen { code, needs: thresholds.least_time_to_find(code) });
    all.filter(|not_seen| not_seen.needs > looked).collect()
}

/// Maximum number of locks and contenders that are checked in about 20 ms.
const FEW: usize = 25_000;

/// Maximum pause between two checks, however many locks there are.
const MAX_REST: Duration = Duration::from_secs(10);

/// Returns the pause between two checks, in addition to the second that always lies between them.
///
/// The pause is a second for each 25,000 locks and contenders, at most 10 s, and zero below 25,000.
/// A check takes about 1 µs for each of them. So checks use about 3 % of a core up to 250,000.
pub fn rest_between_checks(table: &LockTable) -> Duration {
    rest_between_checks_at(table.lock_count() + table.contender_count())
}

fn rest_between_checks_at(nodes: usize) -> Duration {
    Duration::from_secs((nodes / FEW) as u64).min(MAX_REST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, curator};

    #[test]
    fn findings_that_need_more_time_than_the_look_are_listed() {
        let codes = |seconds| -> Vec<Code> {
            let found = not_seen(&Thresholds::default(), Duration::from_secs(seconds));
            found.into_iter().map(|not_seen| not_seen.code).collect()
        };
        assert!(codes(2).contains(&Code::Deadlock) && !codes(3).contains(&Code::Deadlock));
        assert!(codes(1).contains(&Code::MayBeStuck) && !codes(2).contains(&Code::MayBeStuck));
        let of_six_seconds = [
            Code::Ghost,
            Code::MemberDisagrees,
            Code::IdleHolder,
            Code::EmptyParent,
            Code::StaleOwner,
            Code::ParticipantMissing,
            Code::GrowingParents,
            Code::Churning,
        ];
        assert_eq!(codes(6), of_six_seconds);
        assert_eq!(codes(3_600), []);
    }

    #[test]
    fn the_pause_is_zero_for_few_locks_and_grows_up_to_a_bound() {
        let seconds =
            [0, 24_999, 25_000, 100_000, 275_000, usize::MAX].map(|nodes| rest_between_checks_at(nodes).as_secs());
        assert_eq!(seconds, [0, 0, 1, 4, 10, 10]);
    }

    #[test]
    fn locks_count_and_contenders_too() {
        let mut world = DiagnosisFixture::new();
        for lock in 0..12_500 {
            world.create(&curator(&format!("/{lock}"), 1), 1);
        }
        assert_eq!(rest_between_checks(&world.table), Duration::from_secs(1));
    }
}
