//! What happened to the ensemble as a whole, as JSON.

use serde::Serialize;

use super::rfc3339;
use crate::ensemble::{BEFORE_THE_FIRST_LOOK, EnsembleEvent, EnsembleEventKind};
use lockscope_base::znode::{TimeBounds, Timestamp};

/// An event of the ensemble's time line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnsembleEventFacts<'a> {
    what: EnsembleEventKind,
    member: Option<&'a str>,
    epoch: Option<u32>,
    /// A time by which it had begun.
    from: Option<String>,
    /// A time by which it was over; `null` while it lasts.
    to: Option<String>,
    /// A time at which it had not begun; `null` if nobody looked before.
    began_after: Option<String>,
    /// A time at which it was not over.
    ended_after: Option<String>,
    detail: Option<&'a str>,
}

/// An event of the ensemble's time line, as a line of `lockscope watch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnsembleEventLine<'a> {
    at: Option<String>,
    event: &'static str,
    #[serde(flatten)]
    facts: EnsembleEventFacts<'a>,
}

impl<'a> EnsembleEventLine<'a> {
    /// The value of `event`.
    pub const EVENT: &'static str = "ensemble";

    /// Creates the line of an event that began or ended at `at`, as far as is known.
    pub fn new(event: &'a EnsembleEvent, at: Timestamp) -> Self {
        Self { at: rfc3339(at), event: Self::EVENT, facts: event.into() }
    }
}

impl<'a> EnsembleEventFacts<'a> {
    /// Creates an event from the bounds of its beginning and its end.
    pub fn new(what: EnsembleEventKind, (began, ended): (TimeBounds, Option<TimeBounds>)) -> Self {
        let looked = |at: Timestamp| Some(at).filter(|at| *at != BEFORE_THE_FIRST_LOOK).and_then(rfc3339);
        Self {
            what,
            member: None,
            epoch: None,
            from: rfc3339(began.before),
            to: ended.and_then(|ended| rfc3339(ended.before)),
            began_after: looked(began.after),
            ended_after: ended.and_then(|ended| looked(ended.after)),
            detail: None,
        }
    }

    /// Adds the epoch that began.
    #[must_use]
    pub fn with_epoch(self, epoch: Option<u32>) -> Self {
        Self { epoch, ..self }
    }

    /// Adds the member and what else is known.
    #[must_use]
    pub fn with_texts(self, member: Option<&'a str>, detail: Option<&'a str>) -> Self {
        Self { member, detail, ..self }
    }
}

impl<'a> From<&'a EnsembleEvent> for EnsembleEventFacts<'a> {
    fn from(event: &'a EnsembleEvent) -> Self {
        Self::new(event.what, (event.began, event.ended))
            .with_epoch(event.epoch)
            .with_texts(event.member.as_deref(), event.detail.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_both_bounds_of_its_times_and_none_before_the_first_look() {
        let bounds = |after, before| TimeBounds::between(Timestamp(after), Timestamp(before));
        let began = bounds(0, 1_714_574_467_250);
        let event = EnsembleEvent::lasting(EnsembleEventKind::MemberMissing, Some("zk1:2181".into()), began);
        let facts = serde_json::to_value(EnsembleEventFacts::from(&event)).unwrap();
        let expected = serde_json::json!({
            "what": "member-missing", "member": "zk1:2181", "epoch": null, "from": "2024-05-01T14:41:07.250Z", "to": null,
            "began_after": null, "ended_after": null, "detail": null,
        });
        assert_eq!(facts, expected);
        let at = bounds(1_714_574_467_250, 1_714_574_467_251);
        let event = EnsembleEvent::moment(EnsembleEventKind::LeaderChanged, None, at).with_epoch(Some(7));
        let facts = serde_json::to_value(EnsembleEventFacts::from(&event)).unwrap();
        let names = ["from", "to", "began_after", "ended_after"].map(|name| facts[name].as_str().unwrap_or_default());
        assert_eq!(names.map(|time| &time[20..23]), ["251", "251", "250", "250"]);
        assert_eq!(facts["epoch"], 7);
    }
}
