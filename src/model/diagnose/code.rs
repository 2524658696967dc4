//! The table of the kinds of findings: one row a kind, with all that is particular about it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is particular about a kind of finding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    /// Its name in JSON and on the screen. An interface: it stays.
    pub id: &'static str,
    /// What stands on the screen where there is no room for its name, in at most
    /// [`MAX_TITLE_WIDTH`] columns.
    pub title: &'static str,
    pub evidence: Evidence,
    pub explains: Explains,
    pub found_after: FoundAfter,
    pub among_returned: AmongReturned,
}

/// What a finding rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The znodes alone.
    Znodes,
    /// What the servers say about clients: in plain text beside a session over TLS that proves nothing.
    Servers,
}

/// Whether a finding says why nobody gets the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Explains {
    /// It says why.
    Cause,
    /// It only says that nobody does: left out where a cause is known.
    Symptom,
    /// It is about something else.
    Beside,
}

/// How long a table must be looked at before a finding can come of it: see [`Thresholds`](super::Thresholds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundAfter {
    FirstLook,
    TwoLooks,
    /// Longer than it may last in a sound hand-over; what the nodes prove of the time before the first look counts.
    Lasted,
    /// Longer than it may last in a sound hand-over.
    Settled,
    GhostTime,
    StuckTime,
    /// The same; what the nodes prove of the time before the first look counts.
    StuckTimeAtMost,
    EmptyTime,
}

/// What becomes of a finding at a lock whose queue shows nodes that were deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AmongReturned {
    /// It is as true as elsewhere.
    Stands,
    /// It is true only of nodes that were not deleted.
    StandsOfOthers,
    /// It rests on the order of the queue, which is not the ensemble's.
    Falls,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident { $($traits:tt)* })*) => {
        /// What is wrong: one for each kind of finding, the worst first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Code {
            $($(#[$doc])* $code,)*
        }

        impl Code {
            /// Every code, the worst first.
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
        evidence: Evidence::Servers,
        explains: Explains::Cause,
        found_after: FoundAfter::GhostTime,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// A node that was deleted is there again: the member that is read shows what the others have not.
    MemberDisagrees {
        id: "member-disagrees",
        title: "stale member",
        evidence: Evidence::Znodes,
        explains: Explains::Cause,
        found_after: FoundAfter::GhostTime,
        among_returned: AmongReturned::Stands,
    }
    /// Two nodes of one attempt: the first was made by a create whose reply was lost.
    Orphan {
        id: "orphan",
        title: "orphan",
        evidence: Evidence::Znodes,
        explains: Explains::Cause,
        found_after: FoundAfter::TwoLooks,
        among_returned: AmongReturned::Falls,
    }
    /// A waiter whose session queues a second time and does not watch for the first.
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
        evidence: Evidence::Servers,
        explains: Explains::Cause,
        found_after: FoundAfter::Settled,
        among_returned: AmongReturned::Falls,
    }
    /// A holder whose client is gone: it goes when its session expires.
    ExpiringHolder {
        id: "expiring-holder",
        title: "expiring",
        evidence: Evidence::Servers,
        explains: Explains::Cause,
        found_after: FoundAfter::TwoLooks,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// A holder whose client is connected and misses its heartbeats.
    SilentHolder {
        id: "silent-holder",
        title: "silent",
        evidence: Evidence::Servers,
        explains: Explains::Beside,
        found_after: FoundAfter::TwoLooks,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// A holder that sends heartbeats and nothing else.
    IdleHolder {
        id: "idle-holder",
        title: "idle-holder",
        evidence: Evidence::Servers,
        explains: Explains::Cause,
        found_after: FoundAfter::StuckTime,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// A lock that was not handed on for long, though others wait.
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
    /// The numbers of the queue run out.
    SequenceOverflow {
        id: "sequence-overflow",
        title: "overflow",
        evidence: Evidence::Znodes,
        explains: Explains::Beside,
        found_after: FoundAfter::FirstLook,
        among_returned: AmongReturned::Stands,
    }
    /// A contender that goes with no session.
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
    /// A node of a session that ends, while a newer session of the same host goes on.
    AdoptedNode {
        id: "adopted-node",
        title: "adopted-node",
        evidence: Evidence::Servers,
        explains: Explains::Beside,
        found_after: FoundAfter::TwoLooks,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// The holder before this one lost the lock to the end of its session.
    HeadChangedByExpiry {
        id: "head-changed-by-expiry",
        title: "expired head",
        evidence: Evidence::Servers,
        explains: Explains::Beside,
        found_after: FoundAfter::FirstLook,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// Watches on nodes that are gone and never come back.
    LeakedWatch {
        id: "leaked-watch",
        title: "leaked-watch",
        evidence: Evidence::Servers,
        explains: Explains::Beside,
        found_after: FoundAfter::Settled,
        among_returned: AmongReturned::StandsOfOthers,
    }
    /// A lock parent that nobody uses.
    EmptyParent {
        id: "empty-parent",
        title: "empty-parent",
        evidence: Evidence::Znodes,
        explains: Explains::Beside,
        found_after: FoundAfter::EmptyTime,
        among_returned: AmongReturned::Stands,
    }
}

/// Columns that a title takes at the most. No column for findings is narrower.
pub const MAX_TITLE_WIDTH: usize = 12;

impl Code {
    /// The name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        self.traits().id
    }

    /// The name where there is no room for [`id`](Self::id): it says the same, and fits into
    /// [`MAX_TITLE_WIDTH`] columns.
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
        }
    }

    #[test]
    fn no_title_is_longer_than_the_narrowest_column_and_none_stands_for_two() {
        for code in Code::ALL {
            assert!((1..=MAX_TITLE_WIDTH).contains(&code.title().len()), "{code}: {}", code.title());
            let same = Code::ALL.into_iter().filter(|other| other.title() == code.title());
            assert_eq!(same.count(), 1, "{}", code.title());
        }
    }
}
