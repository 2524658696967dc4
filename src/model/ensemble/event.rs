//! What happened to the ensemble as a whole, as a bounded list of events.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use lockscope_base::znode::{TimeBounds, TimeRange, Timestamp};

/// The most events that are over and kept; the oldest go first.
const MAX_CLOSED: usize = 1_000;

/// Something that happened to the ensemble as a whole. Times are by this machine's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnsembleEvent {
    /// Rises in the order in which the events were noticed.
    pub id: u64,
    /// What happened.
    pub what: EnsembleEventKind,
    /// The member that it happened to, or that leads since. Unescaped.
    pub member: Option<Arc<str>>,
    /// The epoch that began with it.
    pub epoch: Option<u32>,
    /// When it began. [`BEFORE_THE_FIRST_LOOK`] is no time at which it had not happened.
    pub began: TimeBounds,
    /// When it was over; `None` while it lasts.
    pub ended: Option<TimeBounds>,
    /// What else is known, in a sentence. Unescaped.
    pub detail: Option<Arc<str>>,
    /// The revision of the list with which it last changed.
    revision: u64,
}

/// Stands for the time before which something may have begun that was found at the first look.
pub const BEFORE_THE_FIRST_LOOK: Timestamp = Timestamp(0);

impl EnsembleEvent {
    /// Creates an event that lasts.
    pub fn lasting(what: EnsembleEventKind, member: Option<Arc<str>>, began: TimeBounds) -> Self {
        Self { id: 0, what, member, epoch: None, began, ended: None, detail: None, revision: 0 }
    }

    /// Creates an event that happened in a moment between these bounds.
    pub fn moment(what: EnsembleEventKind, member: Option<Arc<str>>, at: TimeBounds) -> Self {
        Self::lasting(what, member, at).with_end(at)
    }

    /// Returns the event with its end.
    #[must_use]
    pub fn with_end(self, ended: TimeBounds) -> Self {
        Self { ended: Some(ended), ..self }
    }

    /// Returns the event with the epoch that began with it.
    #[must_use]
    pub fn with_epoch(self, epoch: Option<u32>) -> Self {
        Self { epoch, ..self }
    }

    /// Returns the event with a sentence that says more.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<Arc<str>>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// Returns whether the event may have happened or lasted within a time range.
    pub fn may_touch(&self, time: TimeRange) -> bool {
        self.earliest() <= time.to && self.ended.is_none_or(|ended| ended.before >= time.from)
    }

    /// Returns the earliest time at which it may have begun, as far as somebody looked.
    pub fn earliest(&self) -> Timestamp {
        if self.began.after == BEFORE_THE_FIRST_LOOK { self.began.before } else { self.began.after }
    }
}

/// The events, the latest of which may last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnsembleEvents {
    open: Vec<EnsembleEvent>,
    closed: VecDeque<EnsembleEvent>,
    next_id: u64,
    revision: u64,
}

impl EnsembleEvents {
    /// Adds an event, unless one of its kind lasts for its member.
    pub fn add(&mut self, event: EnsembleEvent) {
        if self.open(event.what, event.member.as_deref()).is_some() {
            return;
        }
        self.revision = self.revision.saturating_add(1);
        let event = EnsembleEvent { id: self.next_id, revision: self.revision, ..event };
        self.next_id = self.next_id.saturating_add(1);
        self.keep(event);
    }

    /// Ends the event of this kind that lasts for a member.
    pub fn end(&mut self, what: EnsembleEventKind, member: Option<&str>, ended: TimeBounds) {
        let is_it = |event: &EnsembleEvent| event.what == what && event.member.as_deref() == member;
        let Some(place) = self.open.iter().position(is_it) else { return };
        let mut event = self.open.remove(place);
        self.revision = self.revision.saturating_add(1);
        event.revision = self.revision;
        let after = ended.after.max(event.began.after);
        event.ended = Some(TimeBounds::between(after, ended.before.max(after)));
        self.keep(event);
    }

    fn keep(&mut self, event: EnsembleEvent) {
        if event.ended.is_none() {
            self.open.push(event);
            return;
        }
        while self.closed.len() >= MAX_CLOSED {
            self.closed.pop_front();
        }
        self.closed.push_back(event);
    }

    /// Returns the event of this kind that lasts for a member.
    pub fn open(&self, what: EnsembleEventKind, member: Option<&str>) -> Option<&EnsembleEvent> {
        self.open.iter().find(|event| event.what == what && event.member.as_deref() == member)
    }

    /// Names the leader of an epoch that began without one being known.
    pub fn name_leader(&mut self, leader: &Arc<str>, epoch: u32) {
        let is_it = |event: &&mut EnsembleEvent| {
            event.what == EnsembleEventKind::LeaderChanged && event.member.is_none() && event.epoch == Some(epoch)
        };
        if let Some(event) = self.closed.iter_mut().rev().find(is_it) {
            self.revision = self.revision.saturating_add(1);
            (event.member, event.revision) = (Some(Arc::clone(leader)), self.revision);
        }
    }

    /// Returns all events, those that are over first.
    pub fn all(&self) -> impl Iterator<Item = &EnsembleEvent> {
        self.closed.iter().chain(&self.open)
    }

    /// Returns the number of the last change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the events that changed after a revision. Takes no time where there are none.
    pub fn changed_after(&self, revision: u64) -> impl Iterator<Item = &EnsembleEvent> {
        let is_new = self.revision > revision;
        self.all().filter(move |event| is_new && event.revision > revision)
    }
}

/// What happened to the ensemble as a whole. Recordings store a variant by its position: new ones
/// go to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnsembleEventKind {
    /// No member served clients, because a majority of the members did not work together.
    NoMajority,
    /// The members elected a leader; which one is not known.
    Election,
    /// Another member leads, or the same one again after an election.
    LeaderChanged,
    /// A member did not answer, while others served.
    MemberMissing,
    /// Writes took a second or longer.
    SlowWrites,
    /// We saw nothing: the connection was lost, or what it showed was outdated.
    NotSeen,
    /// The clock that gives transactions their times went back: times before may be wrong by as
    /// much.
    ClockSetBack,
}

impl EnsembleEventKind {
    /// All variants.
    pub const ALL: [Self; 7] = [
        Self::NoMajority,
        Self::Election,
        Self::LeaderChanged,
        Self::MemberMissing,
        Self::SlowWrites,
        Self::NotSeen,
        Self::ClockSetBack,
    ];

    /// Returns the name in JSON and in the tables of recordings.
    pub fn id(self) -> &'static str {
        match self {
            Self::NoMajority => "no-majority",
            Self::Election => "election",
            Self::LeaderChanged => "leader-changed",
            Self::MemberMissing => "member-missing",
            Self::SlowWrites => "slow-writes",
            Self::NotSeen => "not-seen",
            Self::ClockSetBack => "clock-set-back",
        }
    }

    /// Returns the words for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::NoMajority => "no majority",
            Self::Election => "election",
            Self::LeaderChanged => "another leader",
            Self::MemberMissing => "member missing",
            Self::SlowWrites => "slow writes",
            Self::NotSeen => "not seen",
            Self::ClockSetBack => "clock set back",
        }
    }

    /// Returns the variant with this name; `None` for names of newer versions.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_by_its_name_and_has_the_same_in_json() {
        for kind in EnsembleEventKind::ALL {
            assert_eq!(EnsembleEventKind::from_id(kind.id()), Some(kind));
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.id()));
        }
        assert_eq!(EnsembleEventKind::from_id("a-newer-one"), None);
    }
}
