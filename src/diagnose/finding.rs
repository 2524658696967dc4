use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::queue::LockName;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; it may well be meant so.
    Info,
    /// Somebody should look.
    Warning,
    /// A lock will not be granted again before somebody does something.
    Critical,
}

impl Severity {
    /// The name in JSON and on the command line.
    pub fn id(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// What is wrong: one for each kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// Sessions that wait for each other in a cycle, across locks.
    Deadlock,
    /// A node whose session no longer exists.
    Ghost,
    /// A node that was deleted is there again: the member that is read shows what the others have not.
    MemberDisagrees,
    /// Two nodes of one attempt: the first was made by a create whose reply was lost.
    Orphan,
    /// A waiter whose session queues a second time and does not watch for the first.
    OrphanSuspected,
    /// A session waits for a lock that it holds itself.
    SelfBlocked,
    /// A waiter that watches nothing.
    LostWakeUp,
    /// A holder whose client is gone: it goes when its session expires.
    ExpiringHolder,
    /// A holder that sends heartbeats and nothing else.
    IdleHolder,
    /// A lock that was not handed on for long, though others wait.
    Stuck,
    /// A lease that was not returned for long, though others wait.
    StuckLease,
    /// The numbers of the queue run out.
    SequenceOverflow,
    /// A contender that goes with no session.
    PersistentContender,
    /// Nodes of another recipe in the lock parent.
    ForeignChild,
    /// A node of a session that ends, while a newer session of the same host goes on.
    AdoptedNode,
    /// The holder before this one lost the lock to the end of its session.
    HeadChangedByExpiry,
    /// Watches on nodes that are gone and never come back.
    LeakedWatch,
    /// A lock parent that nobody uses.
    EmptyParent,
}

impl Code {
    /// Every code, the worst first.
    pub const ALL: [Self; 18] = [
        Self::Deadlock,
        Self::Ghost,
        Self::MemberDisagrees,
        Self::Orphan,
        Self::OrphanSuspected,
        Self::SelfBlocked,
        Self::LostWakeUp,
        Self::ExpiringHolder,
        Self::IdleHolder,
        Self::Stuck,
        Self::StuckLease,
        Self::SequenceOverflow,
        Self::PersistentContender,
        Self::ForeignChild,
        Self::AdoptedNode,
        Self::HeadChangedByExpiry,
        Self::LeakedWatch,
        Self::EmptyParent,
    ];

    /// Whether it rests on what the servers say about clients, and not on the znodes alone.
    pub(super) fn builds_on_servers(self) -> bool {
        matches!(
            self,
            Self::Ghost
                | Self::OrphanSuspected
                | Self::LostWakeUp
                | Self::ExpiringHolder
                | Self::IdleHolder
                | Self::AdoptedNode
                | Self::HeadChangedByExpiry
                | Self::LeakedWatch
        )
    }

    /// The name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::Ghost => "ghost",
            Self::MemberDisagrees => "member-disagrees",
            Self::Orphan => "orphan",
            Self::OrphanSuspected => "orphan-suspected",
            Self::SelfBlocked => "self-blocked",
            Self::LostWakeUp => "lost-wake-up",
            Self::ExpiringHolder => "expiring-holder",
            Self::IdleHolder => "idle-holder",
            Self::Stuck => "stuck",
            Self::StuckLease => "stuck-lease",
            Self::SequenceOverflow => "sequence-overflow",
            Self::PersistentContender => "persistent-contender",
            Self::ForeignChild => "foreign-child",
            Self::AdoptedNode => "adopted-node",
            Self::HeadChangedByExpiry => "head-changed-by-expiry",
            Self::LeakedWatch => "leaked-watch",
            Self::EmptyParent => "empty-parent",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// Why a lock is stuck, or may be: what was seen, and what may be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
    /// With which lock.
    pub lock: LockName,
    /// With which of its nodes, where it is about one.
    pub node: Option<Arc<str>>,
    /// The evidence in one sentence. Names that come from the tree are escaped in it ([`escaped`](crate::znode::escaped)).
    pub summary: String,
    /// What is safe to do, in one sentence.
    pub remedy: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_json_are_those_of_the_types() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).expect("a name"), code.id());
        }
        for severity in [Severity::Info, Severity::Warning, Severity::Critical] {
            assert_eq!(serde_json::to_value(severity).expect("a name"), severity.id());
        }
        assert!(Severity::Info < Severity::Warning && Severity::Warning < Severity::Critical);
    }
}
