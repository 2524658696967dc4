//! The table of all kinds of findings, with one row per kind.

use std::fmt;

use serde::{Deserialize, Serialize};

pub(super) use super::traits::{AmongReturned, Evidence, Explains, FoundAfter, Traits};

macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident(
        $id:literal, $title:literal, $evidence:ident, $explains:ident, $found_after:ident, $among_returned:ident
    ))*) => {
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
                    $(Self::$code => Traits {
                        id: $id,
                        title: $title,
                        evidence: Evidence::$evidence,
                        explains: Explains::$explains,
                        found_after: FoundAfter::$found_after,
                        among_returned: AmongReturned::$among_returned,
                    },)*
                }
            }
        }
    };
}

// The columns are those of `Traits`.
codes! {
    /// Sessions that wait for each other in a cycle, across locks.
    Deadlock("deadlock", "deadlock", Znodes, Cause, Lasted, Falls)
    /// A node whose session no longer exists.
    Ghost("ghost", "ghost", Liveness, Cause, GhostTime, StandsOfOthers)
    /// A member has other nodes than the others.
    MemberDisagrees("member-disagrees", "stale member", Znodes, Cause, GhostTime, Stands)
    /// Two nodes of one attempt: the reply to the first create was lost.
    Orphan("orphan", "orphan", Znodes, Cause, TwoLooks, Falls)
    /// A waiter whose session queues a second time and does not watch for the first node.
    OrphanSuspected("orphan-suspected", "orphan?", Servers, Beside, Settled, Falls)
    /// A session waits for a lock that it holds itself.
    SelfBlocked("self-blocked", "self-blocked", Znodes, Cause, Lasted, Falls)
    /// A waiter that watches nothing.
    LostWakeUp("lost-wake-up", "lost-wake-up", Liveness, Cause, Settled, Falls)
    /// A holder whose client is gone. Its node is deleted when the session expires.
    ExpiringHolder("expiring-holder", "expiring", Liveness, Cause, TwoLooks, StandsOfOthers)
    /// A holder whose client is connected but misses its heartbeats.
    SilentHolder("silent-holder", "silent", Liveness, Beside, TwoLooks, StandsOfOthers)
    /// A holder whose client sends only heartbeats.
    IdleHolder("idle-holder", "idle-holder", Servers, Cause, StuckTime, StandsOfOthers)
    /// A lock without a hand-over for long, though others wait.
    Stuck("stuck", "stuck", Znodes, Symptom, StuckTimeAtMost, Falls)
    /// A lease that was not returned for long, though others wait.
    StuckLease("stuck-lease", "stuck-lease", Znodes, Symptom, StuckTimeAtMost, Falls)
    /// The sequence numbers of the queue are about to overflow, or have overflowed.
    SequenceOverflow("sequence-overflow", "overflow", Znodes, Beside, FirstLook, Stands)
    /// A persistent contender, which no session's end deletes.
    PersistentContender("persistent-contender", "persistent", Znodes, Cause, FirstLook, StandsOfOthers)
    /// Nodes of another recipe in the lock parent.
    ForeignChild("foreign-child", "foreign node", Znodes, Beside, TwoLooks, Stands)
    /// A node whose session is about to end, while the same host goes on with a newer session.
    AdoptedNode("adopted-node", "adopted-node", Liveness, Beside, TwoLooks, StandsOfOthers)
    /// The previous holder lost the lock because its session expired.
    HeadChangedByExpiry("head-changed-by-expiry", "expired head", Servers, Beside, FirstLook, StandsOfOthers)
    /// Watches on deleted nodes whose names never come back.
    LeakedWatch("leaked-watch", "leaked-watch", Servers, Beside, Settled, StandsOfOthers)
    /// A lock parent without contenders.
    EmptyParent("empty-parent", "empty-parent", Znodes, Beside, EmptyTime, Stands)
    /// An election that had a leader or candidates has no leader.
    NobodyLeads("nobody-leads", "nobody leads", Znodes, Cause, StuckTimeAtMost, Falls)
    /// A former leader may think that it still leads, while another one leads.
    TwoLeaders("two-leaders", "two leaders", Liveness, Beside, TwoLooks, Falls)
    /// A leader or holder whose node belongs to an earlier session of a process that goes on with
    /// another one.
    StaleOwner("stale-owner", "stale owner", Liveness, Cause, GhostTime, StandsOfOthers)
    /// Leadership that changes hands again and again.
    Flapping("flapping", "flapping", Znodes, Beside, FlappingTime, Falls)
    /// A candidate has gone and not come back, or there are fewer candidates than expected.
    ParticipantMissing("participant-missing", "missing", Liveness, Beside, StuckTime, Falls)
    /// A lock whose first waiter has waited for long. It is not known whether it was handed on
    /// meanwhile.
    MayBeStuck("may-be-stuck", "stuck?", Znodes, Symptom, HoldTime, Falls)
    /// Contenders wait, and nobody holds.
    NobodyHolds("nobody-holds", "nobody holds", Servers, Cause, Settled, Falls)
    /// A holder whose client has not noticed that it is its turn.
    UnawareHolder("unaware-holder", "unaware", Liveness, Cause, Settled, Falls)
    /// A lock that is held longer than its owner promised.
    HeldLong("held-long", "held-long", Znodes, Beside, PromisedTime, StandsOfOthers)
    /// Very many lock parents below one node that nobody uses.
    GrowingParents("growing-parents", "many empty", Znodes, Beside, EmptyTime, Stands)
    /// A session with very many nodes in one queue that it does not use.
    LeakingSession("leaking-session", "leaks nodes", Servers, Beside, StuckTimeAtMost, Falls)
    /// A lock that one session takes and gives up again and again, while nobody else contends.
    Churning("churning", "churning", Znodes, Beside, ChurnTime, Falls)
    /// Hand-overs of which each wakes very many clients.
    HerdStorm("herd-storm", "herd-storm", Servers, Beside, Settled, Falls)
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
