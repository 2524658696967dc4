//! Findings: what is wrong with a lock, how severe it is, and what to do.
//!
//! [`Code`] is the table of all kinds, with one row per kind. [`CodeTraits`] has the columns of
//! that table: which evidence a kind rests on, whether it explains why others wait, how long to
//! look for it, and whether it stands in a queue that shows deleted nodes.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::queue::{ClientIdentity, LockName, MutableFinding, Mute, MutedFinding};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing, and possibly intended.
    Info,
    /// A person should look.
    Warning,
    /// The lock will not be granted again unless somebody acts.
    Critical,
}

impl Severity {
    /// Returns the name in JSON and on the command line.
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

/// A reason why a lock is or may be stuck: the evidence and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind of the finding.
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// The lock.
    pub lock: LockName,
    /// The lock's node, where the finding is about one.
    pub node: Option<Arc<str>>,
    /// The client of that node, as of the last look. For a `deadlock`, the client that holds the
    /// lock.
    pub client: Option<Arc<ClientIdentity>>,
    /// The evidence in one sentence. Names from the tree are
    /// [escaped](lockscope_base::znode::escaped).
    pub summary: String,
    /// A safe action, in one sentence.
    pub remedy: Cow<'static, str>,
    /// What somebody said of it who need not be told again. It follows from the
    /// [mutes](crate::queue::Mutes) at each look.
    #[serde(skip)]
    pub muted: Option<Arc<Mute>>,
}

impl Finding {
    /// Returns whether the finding tells that a lock stands still, or may do so. All such findings of a lock
    /// share one headline, whatever the cause.
    pub fn is_standstill(&self) -> bool {
        matches!(self.code, Code::Stuck | Code::StuckLease | Code::IdleHolder | Code::MayBeStuck)
    }

    /// Returns the headline, such as `stuck 13m42s, 2 wait`, and the details behind it, if any,
    /// which name the holders.
    pub fn headline(&self) -> (Cow<'_, str>, Option<&str>) {
        match self.summary.split_once(": ").filter(|(headline, _)| self.is_headline(headline)) {
            Some((headline, details)) => (headline.into(), Some(details)),
            None => (format!("{}: {}", self.code, self.summary).into(), None),
        }
    }

    /// Returns the whole finding in one sentence.
    pub fn sentence(&self) -> Cow<'_, str> {
        if self.is_headline(&self.summary) { (&*self.summary).into() } else { self.headline().0 }
    }

    /// Returns the finding, as mutes know it.
    pub(super) fn to_mute(&self) -> MutableFinding<'_> {
        MutableFinding {
            lock: &self.lock.path,
            name: self.lock.name.as_deref(),
            code: self.code.id(),
            node: self.node.as_deref(),
            severity: self.severity.id(),
            is_of_liveness: self.code.traits().evidence == Evidence::Liveness,
        }
    }

    /// Returns what a mute of this finding covers.
    pub fn to_muted(&self) -> MutedFinding {
        MutedFinding {
            lock: self.lock.path.clone(),
            name: self.lock.name.clone(),
            code: self.code.id().into(),
            node: self.node.clone(),
            severity: self.severity.id().into(),
        }
    }

    /// Returns whether the text is a headline. Older versions recorded such findings without one.
    fn is_headline(&self, text: &str) -> bool {
        self.is_standstill() && (text.starts_with("stuck ") || text.starts_with("may be stuck, "))
    }
}

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

            pub(super) const fn traits(self) -> CodeTraits {
                match self {
                    $(Self::$code => CodeTraits {
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

// The columns are those of `CodeTraits`.
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
    /// Clients that wait for each other in a cycle, across ensembles.
    CrossDeadlock("cross-deadlock", "cross-cycle", Znodes, Cause, FirstLook, Falls)
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

/// The properties of a kind of finding.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeTraits {
    /// The name in JSON and on the screen. The name is an interface and does not change.
    pub id: &'static str,
    /// The name where space is short, in at most [`MAX_TITLE_WIDTH`] columns.
    pub title: &'static str,
    pub evidence: Evidence,
    pub explains: Explains,
    pub found_after: FoundAfter,
    pub among_returned: AmongReturned,
}

/// The evidence behind a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// The znodes alone.
    Znodes,
    /// The servers' answers about clients. In plain text beside a session over TLS they prove
    /// nothing.
    Servers,
    /// The servers' answers about which clients are connected and heard. They wait for a full round
    /// of answers after an upheaval of the ensemble, since sessions move then.
    Liveness,
}

/// Whether a finding explains why waiters do not get the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Explains {
    /// The finding is the cause.
    Cause,
    /// The finding only tells that the lock is stuck. It is left out where a cause is known.
    Symptom,
    /// The finding is about something else.
    Beside,
}

/// How long a table must be watched before such a finding is possible. See
/// [`Thresholds`](super::Thresholds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundAfter {
    FirstLook,
    TwoLooks,
    /// Longer than a sound hand-over may take. Proven time before the first look counts.
    Lasted,
    /// Longer than a sound hand-over may take.
    Settled,
    GhostTime,
    StuckTime,
    /// Longer than a busy lock is usually held.
    HoldTime,
    /// As `StuckTime`, but proven time before the first look counts.
    StuckTimeAtMost,
    EmptyTime,
    FlappingTime,
    /// Longer than a client hurries now and then.
    ChurnTime,
    /// Longer than a promise. Each lock of which that is open says so.
    PromisedTime,
}

/// The effect on a finding when its lock's queue shows deleted nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AmongReturned {
    /// The finding stands.
    Stands,
    /// The finding stands unless it is about a deleted node.
    StandsOfOthers,
    /// The finding falls, since it depends on the order of the queue, which is not the ensemble's.
    Falls,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::LockId;
    use lockscope_base::znode::ZnodePath;

    #[test]
    fn names_in_json_are_those_of_the_severities() {
        for severity in [Severity::Info, Severity::Warning, Severity::Critical] {
            assert_eq!(serde_json::to_value(severity).expect("a name"), severity.id());
        }
        assert!(Severity::Info < Severity::Warning && Severity::Warning < Severity::Critical);
    }

    #[test]
    fn a_headline_is_complete_by_itself() {
        let of = |code, summary: &str| Finding {
            code,
            severity: Severity::Warning,
            lock: LockName { id: LockId(1), path: ZnodePath::root(), name: None },
            node: None,
            client: None,
            summary: summary.to_owned(),
            remedy: "wait".into(),
            muted: None,
        };
        let stuck = of(Code::IdleHolder, "stuck 2m00s, 1 waits: a holds: it only sends heartbeats");
        assert_eq!(stuck.headline(), ("stuck 2m00s, 1 waits".into(), Some("a holds: it only sends heartbeats")));
        assert_eq!(stuck.sentence(), stuck.summary);
        let doubt = of(Code::MayBeStuck, "may be stuck, 1 waits: a holds");
        assert_eq!(doubt.headline(), ("may be stuck, 1 waits".into(), Some("a holds")));
        for other in [of(Code::Ghost, "stuck: it is gone"), of(Code::Stuck, "a has held for 2m00s, and 1 waits")] {
            let whole = format!("{}: {}", other.code, other.summary);
            assert_eq!((other.headline(), other.sentence()), ((whole.as_str().into(), None), whole.as_str().into()));
        }
    }

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
