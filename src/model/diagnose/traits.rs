//! What the rows of the [table of codes](super::code) tell of a kind of finding.

/// The properties of a kind of finding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    /// The name in JSON and on the screen. The name is an interface and does not change.
    pub id: &'static str,
    /// The name where space is short, in at most [`MAX_TITLE_WIDTH`](super::MAX_TITLE_WIDTH) columns.
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
