//! The table of all kinds of findings, with one row per kind.

use std::fmt;

use serde::{Deserialize, Serialize};

pub(super) use super::traits::{AmongReturned, Evidence, Explains, FoundAfter, Traits};

macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident { $($traits:tt)* })*) => {
        /// The kind of a finding, ordered from the worst to the mildest. Kinds that were added later
        /// come last, since recordings store the position.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Code {
            $($(#[$doc])* $code,)*
        }

        impl Code {
            /// All codes, the worst first.
            pub const ALL: [Self; [$(Self::$code),*].len()] = [$(Self::$code),*];

            pub(super) const fn traits(self) -> Traits {
                match self {
                    $(Self::$code => Traits { $($traits)* },)*
                }
            }
        }
    };
}

codes! {
    /// Sessions that wait for each other in a cycle, across locks.
    Deadlock {
        id: "deadlock",
        title: "deadlock",
        evidence: Evidence::Znodes,
        explains: Explains::Cause,
        found_after: FoundAfter::Lasted,
        among_returned: AmongReturned::Falls,
    }
    /// A node whose session no longer exists.
    Ghost {
        id: "ghost",
        title: "ghost",
        evidence: Evidence::Liveness,
        explains: Explains::Cause,
        found_after: FoundAfter::GhostTime,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// A member has other nodes than the others.
    MemberDisagrees {
        id: "member-disagrees",
        title: "stale member",
        evidence: Evidence::Znodes,
        explains: Explains::Cause,
        found_after: FoundAfter::GhostTime,
        among_returned: AmongReturned::Stands,
    }
    /// Two nodes of one attempt: the reply to the first create was lost.
    Orphan {
        id: "orphan",
        title: "orphan",
        evidence: Evidence::Znodes,
        explains: Explains::Cause,
        found_after: FoundAfter::TwoLooks,
        among_returned: AmongReturned::Falls,
    }
    /// A waiter whose session queues a second time and does not watch for the first node.
    OrphanSuspected {
        id: "orphan-suspected",
        title: "orphan?",
        evidence: Evidence::Servers,
        explains: Explains::Beside,
        found_after: FoundAfter::Settled,
        among_returned: AmongReturned::Falls,
    }
    /// A session waits for a lock that it holds itself.
    SelfBlocked {
        id: "self-blocked",
        title: "self-blocked",
        evidence: Evidence::Znodes,
        explains: Explains::Cause,
        found_after: FoundAfter::Lasted,
        among_returned: AmongReturned::Falls,
    }
    /// A waiter that watches nothing.
    LostWakeUp {
        id: "lost-wake-up",
        title: "lost-wake-up",
        evidence: Evidence::Liveness,
        explains: Explains::Cause,
        found_after: FoundAfter::Settled,
        among_returned: AmongReturned::Falls,
    }
    /// A holder whose client is gone. Its node is deleted when the session expires.
    ExpiringHolder {
        id: "expiring-holder",
        title: "expiring",
        evidence: Evidence::Liveness,
        explains: Explains::Cause,
        found_after: FoundAfter::TwoLooks,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// A holder whose client is connected but misses its heartbeats.
    SilentHolder {
        id: "silent-holder",
        title: "silent",
        evidence: Evidence::Liveness,
        explains: Explains::Beside,
        found_after: FoundAfter::TwoLooks,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// A holder whose client sends only heartbeats.
    IdleHolder {
        id: "idle-holder",
        title: "idle-holder",
        evidence: Evidence::Servers,
        explains: Explains::Cause,
        found_after: FoundAfter::StuckTime,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// A lock without a hand-over for long, though others wait.
    Stuck {
        id: "stuck",
        title: "stuck",
        evidence: Evidence::Znodes,
        explains: Explains::Symptom,
        found_after: FoundAfter::StuckTimeAtMost,
        among_returned: AmongReturned::Falls,
    }
    /// A lease that was not returned for long, though others wait.
    StuckLease {
        id: "stuck-lease",
        title: "stuck-lease",
        evidence: Evidence::Znodes,
        explains: Explains::Symptom,
        found_after: FoundAfter::StuckTimeAtMost,
        among_returned: AmongReturned::Falls,
    }
    /// The sequence numbers of the queue are about to overflow, or have overflowed.
    SequenceOverflow {
        id: "sequence-overflow",
        title: "overflow",
        evidence: Evidence::Znodes,
        explains: Explains::Beside,
        found_after: FoundAfter::FirstLook,
        among_returned: AmongReturned::Stands,
    }
    /// A persistent contender, which no session's end deletes.
    PersistentContender {
        id: "persistent-contender",
        title: "persistent",
        evidence: Evidence::Znodes,
        explains: Explains::Cause,
        found_after: FoundAfter::FirstLook,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// Nodes of another recipe in the lock parent.
    ForeignChild {
        id: "foreign-child",
        title: "foreign node",
        evidence: Evidence::Znodes,
        explains: Explains::Beside,
        found_after: FoundAfter::TwoLooks,
        among_returned: AmongReturned::Stands,
    }
    /// A node whose session is about to end, while the same host goes on with a newer session.
    AdoptedNode {
        id: "adopted-node",
        title: "adopted-node",
        evidence: Evidence::Liveness,
        explains: Explains::Beside,
        found_after: FoundAfter::TwoLooks,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// The previous holder lost the lock because its session expired.
    HeadChangedByExpiry {
        id: "head-changed-by-expiry",
        title: "expired head",
        evidence: Evidence::Servers,
        explains: Explains::Beside,
        found_after: FoundAfter::FirstLook,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// Watches on deleted nodes whose names never come back.
    LeakedWatch {
        id: "leaked-watch",
        title: "leaked-watch",
        evidence: Evidence::Servers,
        explains: Explains::Beside,
        found_after: FoundAfter::Settled,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// A lock parent without contenders.
    EmptyParent {
        id: "empty-parent",
        title: "empty-parent",
        evidence: Evidence::Znodes,
        explains: Explains::Beside,
        found_after: FoundAfter::EmptyTime,
        among_returned: AmongReturned::Stands,
    }
    /// An election that had a leader or candidates has no leader.
    NobodyLeads {
        id: "nobody-leads",
        title: "nobody leads",
        evidence: Evidence::Znodes,
        explains: Explains::Cause,
        found_after: FoundAfter::StuckTimeAtMost,
        among_returned: AmongReturned::Falls,
    }
    /// A former leader may think that it still leads, while another one leads.
    TwoLeaders {
        id: "two-leaders",
        title: "two leaders",
        evidence: Evidence::Liveness,
        explains: Explains::Beside,
        found_after: FoundAfter::TwoLooks,
        among_returned: AmongReturned::Falls,
    }
    /// A leader or holder whose node belongs to an earlier session of a process that goes on with
    /// another one.
    StaleOwner {
        id: "stale-owner",
        title: "stale owner",
        evidence: Evidence::Liveness,
        explains: Explains::Cause,
        found_after: FoundAfter::GhostTime,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// Leadership that changes hands again and again.
    Flapping {
        id: "flapping",
        title: "flapping",
        evidence: Evidence::Znodes,
        explains: Explains::Beside,
        found_after: FoundAfter::FlappingTime,
        among_returned: AmongReturned::Falls,
    }
    /// A candidate has gone and not come back, or there are fewer candidates than expected.
    ParticipantMissing {
        id: "participant-missing",
        title: "missing",
        evidence: Evidence::Liveness,
        explains: Explains::Beside,
        found_after: FoundAfter::StuckTime,
        among_returned: AmongReturned::Falls,
    }
    /// A lock whose first waiter has waited for long. It is not known whether it was handed on
    /// meanwhile.
    MayBeStuck {
        id: "may-be-stuck",
        title: "stuck?",
        evidence: Evidence::Znodes,
        explains: Explains::Symptom,
        found_after: FoundAfter::HoldTime,
        among_returned: AmongReturned::Falls,
    }
    /// A lock that is held longer than its owner promised.
    HeldLong {
        id: "held-long",
        title: "held-long",
        evidence: Evidence::Znodes,
        explains: Explains::Beside,
        found_after: FoundAfter::PromisedTime,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// Very many lock parents below one node that nobody uses.
    GrowingParents {
        id: "growing-parents",
        title: "many empty",
        evidence: Evidence::Znodes,
        explains: Explains::Beside,
        found_after: FoundAfter::EmptyTime,
        among_returned: AmongReturned::Stands,
    }
    /// A session with very many nodes in one queue that it does not use.
    LeakingSession {
        id: "leaking-session",
        title: "leaks nodes",
        evidence: Evidence::Servers,
        explains: Explains::Beside,
        found_after: FoundAfter::StuckTimeAtMost,
        among_returned: AmongReturned::Falls,
    }
    /// A lock that one session takes and gives up again and again, while nobody else contends.
    Churning {
        id: "churning",
        title: "churning",
        evidence: Evidence::Znodes,
        explains: Explains::Beside,
        found_after: FoundAfter::ChurnTime,
        among_returned: AmongReturned::Falls,
    }
    /// Hand-overs of which each wakes very many clients.
    HerdStorm {
        id: "herd-storm",
        title: "herd-storm",
        evidence: Evidence::Servers,
        explains: Explains::Beside,
        found_after: FoundAfter::Settled,
        among_returned: AmongReturned::Falls,
    }
}

/// Maximum width of a title, in columns. No column for findings is narrower.
pub const MAX_TITLE_WIDTH: usize = 12;

impl Code {
    /// Returns the name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        self.traits().id
    }

    /// Returns the code with this name.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.id() == id)
    }

    /// Returns whether such a finding, while it stands, can be why others wait. An idle holder works
    /// as it is meant to; an owner that is silent or replaced does not, whether or not it is the only
    /// cause.
    pub fn explains_waits(self) -> bool {
        match self {
            Self::IdleHolder => false,
            Self::SilentHolder | Self::AdoptedNode => true,
            _ => self.traits().explains == Explains::Cause,
        }
    }

    /// Returns whether such a finding only tells that others wait.
    pub fn is_symptom(self) -> bool {
        self == Self::IdleHolder || self.traits().explains == Explains::Symptom
    }

    /// Returns whether only the servers' answers show such a finding.
    pub fn needs_servers(self) -> bool {
        self.traits().evidence != Evidence::Znodes
    }

    /// Returns the name for places too narrow for [`id`](Self::id), in at most [`MAX_TITLE_WIDTH`]
    /// columns.
    pub fn title(self) -> &'static str {
        self.traits().title
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_json_are_those_of_the_codes() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).expect("a name"), code.id());
            assert_eq!(Code::from_id(code.id()), Some(code));
            assert!(!(code.explains_waits() && code.is_symptom()), "{code}");
        }
    }

    #[test]
    fn titles_fit_into_the_narrowest_column_and_are_distinct() {
        for code in Code::ALL {
            assert!((1..=MAX_TITLE_WIDTH).contains(&code.title().len()), "{code}: {}", code.title());
            let same = Code::ALL.into_iter().filter(|other| other.title() == code.title());
            assert_eq!(same.count(), 1, "{}", code.title());
        }
    }
}
