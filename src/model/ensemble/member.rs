//! One member: what its last answers say about the ensemble.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::server_view::{Absence, AbsenceReason, MAX_ANSWER_AGE, MemberView, SLOW_WRITES, ServerMode, SyncSettings};
use lockscope_base::znode::{TimeBounds, Timestamp};

/// How long a member may say that it serves after it lost the others, where its settings are not
/// known. It is that of the sample config, with a margin.
const ASSUMED_SYNC_TIME: Duration = Duration::from_millis(13_750);

/// What a member said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberWord {
    /// It serves clients. It was asked and had answered at these times.
    Serves { asked_at: Timestamp, answered_at: Timestamp },
    /// It serves none.
    Absent(Absence),
    /// Nothing that counts.
    Unknown,
}

impl MemberWord {
    /// Returns what a member says in a view of `at`. An old answer says nothing.
    pub fn of(member: &MemberView, at: Timestamp) -> Self {
        let answered_at = member.answered_at.unwrap_or(at);
        let asked_at = member.extras.progress.map_or(answered_at, |progress| progress.asked_at);
        match (member.extras.absence, member.mode) {
            (Some(Absence { why: AbsenceReason::NotAsked, .. }), _) | (None, None) => Self::Unknown,
            (Some(absence), _) => Self::Absent(absence),
            _ if at.since(answered_at) > MAX_ANSWER_AGE => Self::Unknown,
            (None, Some(ServerMode::ReadOnly)) => Self::Absent(Absence { asked_at, why: AbsenceReason::Leaderless }),
            (None, Some(_)) => Self::Serves { asked_at, answered_at },
        }
    }
}

/// Returns since when the answer of a serving member certainly proves that a majority worked: a
/// member that is cut off says for a while that it serves.
pub fn proves_since(member: &MemberView, asked_at: Timestamp) -> Timestamp {
    let doubt = match member.mode {
        Some(ServerMode::Standalone) => Duration::ZERO,
        _ => member.extras.sync_settings.map_or(ASSUMED_SYNC_TIME, SyncSettings::safe_session_timeout),
    };
    asked_at.minus(doubt)
}

/// The time of a member's absence, as far as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentTime {
    /// When it was first known.
    pub first: Timestamp,
    /// When the last round began that it did not answer.
    pub last: Timestamp,
}

/// A member that does not serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentMember {
    pub why: AbsenceReason,
    pub time: AbsentTime,
    /// The rounds without an answer.
    pub rounds: u32,
    /// For how long it is proven that the member serves nobody. A server that is only silent may
    /// serve others.
    pub proven: Option<AbsentTime>,
}

impl AbsentMember {
    fn new(at: Timestamp, Absence { asked_at, why }: Absence) -> Self {
        let time = AbsentTime { first: at, last: asked_at };
        Self { why, time, rounds: 1, proven: (why != AbsenceReason::Silent).then_some(time) }
    }

    fn again(&mut self, at: Timestamp, Absence { asked_at, why }: Absence) {
        if asked_at <= self.time.last {
            return;
        }
        (self.why, self.time.last) = (why, asked_at);
        self.rounds = self.rounds.saturating_add(1);
        let since = self.proven.map_or(at, |proven| proven.first);
        self.proven = (why != AbsenceReason::Silent).then_some(AbsentTime { first: since, last: asked_at });
    }

    /// Says why it does not serve, as the end of a sentence about it.
    pub fn reason(&self) -> &'static str {
        match self.why {
            AbsenceReason::Refused => "refuses connections",
            AbsenceReason::Silent => "does not answer in time",
            AbsenceReason::Leaderless => "has no leader",
            AbsenceReason::NotAsked => "could not be asked",
        }
    }
}

/// A figure and when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReadFigure {
    number: u64,
    at: Timestamp,
}

/// The beginning or the end of slow writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritesChange {
    Slow { began: TimeBounds, time: Duration },
    Fast { ended: TimeBounds },
}

/// How the times of writes of a member went. One figure alone is no change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct WriteTimes {
    read_at: Option<Timestamp>,
    is_slow: bool,
    /// The last figure of the present state.
    last: Option<Timestamp>,
    /// The first figure that contradicts it.
    differs: Option<Timestamp>,
}

impl WriteTimes {
    fn read(&mut self, time: Duration, at: Timestamp) -> Option<WritesChange> {
        if self.read_at.is_some_and(|last| at <= last) {
            return None;
        }
        self.read_at = Some(at);
        if (time >= SLOW_WRITES) == self.is_slow {
            (self.last, self.differs) = (Some(at), None);
            return None;
        }
        let Some(first) = self.differs else {
            self.differs = Some(at);
            return None;
        };
        let bounds = TimeBounds::between(self.last.unwrap_or(super::BEFORE_THE_FIRST_LOOK), first);
        *self = Self { read_at: self.read_at, is_slow: !self.is_slow, last: Some(at), differs: None };
        Some(if self.is_slow {
            WritesChange::Slow { began: bounds, time }
        } else {
            WritesChange::Fast { ended: bounds }
        })
    }
}

/// What is known of one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownMember {
    /// Whether it answered, and its role, in the last view that had asked it.
    pub standing: Option<(bool, Option<ServerMode>)>,
    pub is_observer: bool,
    /// When it was asked for its last answer that it serves.
    pub served_at: Option<Timestamp>,
    pub absent: Option<AbsentMember>,
    elections: Option<ReadFigure>,
    writes: WriteTimes,
}

impl KnownMember {
    /// Takes over a member's last word. Returns the absence that it ended.
    pub fn said(&mut self, word: MemberWord, mode: Option<ServerMode>, at: Timestamp) -> Option<AbsentMember> {
        match word {
            MemberWord::Serves { asked_at, .. } => {
                (self.served_at, self.is_observer) = (Some(asked_at), mode == Some(ServerMode::Observer));
                self.absent.take()
            }
            MemberWord::Absent(absence) => {
                if absence.why != AbsenceReason::Leaderless {
                    // It may start anew, and count from zero.
                    self.elections = None;
                }
                match &mut self.absent {
                    Some(absent) => absent.again(at, absence),
                    none => *none = Some(AbsentMember::new(at, absence)),
                }
                None
            }
            MemberWord::Unknown => None,
        }
    }

    /// Takes over how often it took part in an election. Returns between which times it did so
    /// again.
    pub fn elected(&mut self, member: &MemberView) -> Option<TimeBounds> {
        let (number, at) = (member.extras.elections?, member.counted_at?);
        let before = self.elections.replace(ReadFigure { number, at })?;
        (number > before.number && at > before.at).then(|| TimeBounds::between(before.at, at))
    }

    /// Takes over how long writes take.
    pub fn wrote(&mut self, member: &MemberView) -> Option<WritesChange> {
        let time = Duration::from_millis(member.extras.write_p99_ms?.into());
        self.writes.read(time, member.counted_at?)
    }

    /// Forgets the times of writes, which nobody reports any more. Returns until when they were
    /// slow.
    pub fn forget_writes(&mut self) -> Option<Timestamp> {
        let writes = std::mem::take(&mut self.writes);
        writes.last.filter(|_| writes.is_slow)
    }
}
