//! What is known of a contender that a recorder saw and a transaction log has.

use crate::record::spans::Spans;
use crate::record::tables::contender::{ContenderEnd, ContenderRecord, RecordedClient};
use lockscope_base::znode::{TimeBounds, TimeRange, Timestamp};

/// A row of the recording, completed by the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Completed {
    pub record: ContenderRecord,
    /// Whether the log disproves something that the row claimed.
    pub is_contradicted: bool,
}

/// Completes a row. What the recorder saw exactly stays, with the time of its clock. What it has
/// only bounds of, or did not see, is taken from the log. `known` are the times that the log covers.
pub(super) fn complete(recorded: &ContenderRecord, log: &ContenderRecord, known: &Spans) -> Completed {
    let is_disproved = recorded.acquired.is_some() && log.acquired.is_none() && covers_stay(log, known);
    let claims_expiry = recorded.end == ContenderEnd::Expired && is_certain(log.end);
    let mut record = ContenderRecord {
        client: client(recorded, log),
        session: recorded.session.or(log.session),
        first_seen_at: first_seen_at(recorded, log),
        enqueued_at: recorded.enqueued_at.or(log.enqueued_at),
        acquired: narrowed(recorded.acquired, log.acquired).filter(|_| !is_disproved),
        ended: narrowed(recorded.ended, log.ended),
        source: recorded.source.and(log.source),
        mode: if recorded.czxid.is_some() { recorded.mode } else { log.mode },
        czxid: recorded.czxid.or(log.czxid),
        data: recorded.data.clone().or_else(|| log.data.clone()),
        ..recorded.clone()
    };
    if !is_in_order(&record) {
        take_times(&mut record, log);
    }
    take_end(&mut record, log);
    Completed { record, is_contradicted: is_disproved || claims_expiry && log.end != ContenderEnd::Expired }
}

/// Returns whether the log proves this end.
fn is_certain(end: ContenderEnd) -> bool {
    use ContenderEnd::{Closed, Deleted, Expired, Gone, Left, Open, Released, Unknown};
    match end {
        Released | Left | Expired | Closed | Deleted => true,
        Open | Gone | Unknown => false,
    }
}

/// Returns whether the log has seen everything from the arrival to the end.
fn covers_stay(log: &ContenderRecord, known: &Spans) -> bool {
    let ended = log.ended.and_then(TimeBounds::exactly).filter(|_| log.end != ContenderEnd::Unknown);
    log.enqueued_at
        .zip(ended)
        .is_some_and(|(from, to)| from >= log.first_seen_at && known.covers(TimeRange { from, to }))
}

/// Returns the client that the recorder knew. The log has only names.
fn client(recorded: &ContenderRecord, log: &ContenderRecord) -> RecordedClient {
    RecordedClient {
        address: recorded.client.address.clone().or_else(|| log.client.address.clone()),
        name: recorded.client.name.clone().or_else(|| log.client.name.clone()),
    }
}

/// Returns the earlier time for a contender that the recorder did not see coming.
fn first_seen_at(recorded: &ContenderRecord, log: &ContenderRecord) -> Timestamp {
    let saw_it_come = recorded.enqueued_at == Some(recorded.first_seen_at);
    if saw_it_come { recorded.first_seen_at } else { recorded.first_seen_at.min(log.first_seen_at) }
}

/// Returns the exact time if there is one, the recorder's first, or else what both bounds leave.
fn narrowed(recorded: Option<TimeBounds>, log: Option<TimeBounds>) -> Option<TimeBounds> {
    let (Some(recorded), Some(log)) = (recorded, log) else { return recorded.or(log) };
    if recorded.exactly().is_some() {
        return Some(recorded);
    }
    if log.exactly().is_some() {
        return Some(log);
    }
    let both = TimeBounds { after: recorded.after.max(log.after), before: recorded.before.min(log.before) };
    Some(if both.after < both.before { both } else { recorded })
}

/// Returns whether no step comes before an earlier one.
fn is_in_order(record: &ContenderRecord) -> bool {
    let ContenderRecord { enqueued_at, acquired, ended, .. } = record;
    let came = enqueued_at.unwrap_or(Timestamp(i64::MIN));
    let held = acquired.map_or(came, |acquired| acquired.before);
    acquired.is_none_or(|acquired| acquired.before >= came) && ended.is_none_or(|ended| ended.before >= held)
}

/// Takes all times that the log has. The recorder's clock differs from the leader's, so times of
/// both do not always make a stay.
fn take_times(record: &mut ContenderRecord, log: &ContenderRecord) {
    record.enqueued_at = log.enqueued_at.or(record.enqueued_at);
    record.acquired = record.acquired.map(|recorded| log.acquired.unwrap_or(recorded));
    record.ended = log.ended.or(record.ended);
}

/// Takes how the contender ended, where the log says more. An end that is still open is none.
fn take_end(record: &mut ContenderRecord, log: &ContenderRecord) {
    let says_more = match (record.end, log.end) {
        (_, ContenderEnd::Open) => false,
        (ContenderEnd::Open, _) | (ContenderEnd::Unknown, ContenderEnd::Gone) => true,
        (_, end) => is_certain(end),
    };
    if says_more {
        record.end = match log.end {
            // The log may begin after it came to hold.
            ContenderEnd::Left if record.acquired.is_some() => ContenderEnd::Released,
            end => end,
        };
        record.deleted_by = log.deleted_by.or(record.deleted_by);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::record::tables::contender::RecordedLock;
    use crate::record::tables::source::Source;
    use lockscope_base::recipe::RequestMode;
    use lockscope_base::znode::{SessionId, TimeBounds, ZnodePath, Zxid};

    fn row(
        source: Source,
        came: i64,
        acquired: Option<(i64, i64)>,
        end: ContenderEnd,
        ended: Option<(i64, i64)>,
    ) -> ContenderRecord {
        let bounds = |(after, before)| TimeBounds { after: Timestamp(after), before: Timestamp(before) };
        ContenderRecord {
            id: 1,
            lock: Arc::new(RecordedLock {
                path: ZnodePath::new("/a").unwrap(),
                name: None,
                recipe: "curator-mutex",
                kind: "exclusive",
            }),
            client: RecordedClient::default(),
            session: Some(SessionId(1)),
            first_seen_at: Timestamp(came),
            enqueued_at: Some(Timestamp(came)),
            acquired: acquired.map(bounds),
            ended: ended.map(bounds),
            end,
            deleted_by: None,
            source,
            mode: RequestMode::Exclusive,
            node: "lock-0".into(),
            czxid: Some(Zxid(7)),
            data: None,
            is_listed: false,
            look: 0,
        }
    }

    fn known() -> Spans {
        let mut known = Spans::default();
        known.add(TimeRange { from: Timestamp(0), to: Timestamp(1_000) }).unwrap();
        known
    }

    fn log(acquired: Option<(i64, i64)>, end: ContenderEnd, ended: Option<(i64, i64)>) -> ContenderRecord {
        row(Source::Log, 100, acquired, end, ended)
    }

    fn watched(acquired: Option<(i64, i64)>, end: ContenderEnd, ended: Option<(i64, i64)>) -> ContenderRecord {
        row(Source::Watched, 104, acquired, end, ended)
    }

    /// Returns what the row is completed to: when it came, acquired and ended, and how.
    fn told(recorded: &ContenderRecord, log: &ContenderRecord) -> String {
        let Completed { record, is_contradicted } = complete(recorded, log, &known());
        assert_eq!(record.source, Source::Both);
        let again = complete(&record, log, &known());
        assert_eq!(again, Completed { record: record.clone(), is_contradicted: false }, "completed again");
        let bounds = |bounds: Option<TimeBounds>| {
            bounds.map_or("-".to_owned(), |TimeBounds { after, before }| match before.0 - after.0 {
                0 => before.0.to_string(),
                _ => format!("{}..{}", after.0, before.0),
            })
        };
        let came = record.enqueued_at.map_or(-1, |came| came.0);
        let mark = if is_contradicted { "!" } else { "" };
        format!("{came} {} {} {}{mark}", bounds(record.acquired), bounds(record.ended), record.end.id())
    }

    #[test]
    fn bounds_become_the_times_of_the_log_and_what_was_seen_stays() {
        use ContenderEnd::{Expired, Gone, Left, Open, Released, Unknown};
        let released = log(Some((200, 200)), Released, Some((300, 300)));
        assert_eq!(told(&watched(Some((150, 400)), Unknown, Some((150, 400))), &released), "104 200 300 released");
        assert_eq!(told(&watched(Some((205, 205)), Gone, Some((303, 303))), &released), "104 205 303 released");
        assert_eq!(told(&watched(None, Open, None), &released), "104 200 300 released");
        assert_eq!(told(&watched(None, Unknown, Some((150, 400))), &released), "104 200 300 released");
        let stands = log(Some((200, 200)), Open, None);
        assert_eq!(told(&watched(Some((150, 250)), Open, None), &stands), "104 200 - open");
        assert_eq!(told(&watched(Some((205, 205)), Expired, Some((500, 500))), &stands), "104 205 500 expired");
        let left = log(None, Left, Some((300, 300)));
        assert_eq!(told(&watched(None, Gone, Some((303, 303))), &left), "104 - 303 left");
    }

    #[test]
    fn bounds_of_both_leave_what_lies_in_both() {
        use ContenderEnd::Unknown;
        let log = log(Some((120, 300)), Unknown, Some((300, 600)));
        assert_eq!(told(&watched(Some((200, 400)), Unknown, Some((350, 700))), &log), "104 200..300 350..600 unknown");
    }

    #[test]
    fn an_acquisition_that_the_log_disproves_goes() {
        use ContenderEnd::{Gone, Left, Released};
        let claimed = watched(Some((250, 250)), Gone, Some((303, 303)));
        assert_eq!(told(&claimed, &log(None, Left, Some((300, 300)))), "104 - 303 left!");
        // The log begins after the node was created: it may have held before.
        let stood = ContenderRecord { first_seen_at: Timestamp(280), ..log(None, Left, Some((300, 300))) };
        assert_eq!(told(&claimed, &stood), "104 250 303 released");
        assert_eq!(told(&claimed, &log(Some((240, 240)), Released, Some((300, 300)))), "104 250 303 released");
    }

    #[test]
    fn an_expiry_that_the_log_disproves_is_a_contradiction() {
        use ContenderEnd::{Expired, Released};
        let claimed = watched(Some((205, 205)), Expired, Some((303, 303)));
        assert_eq!(told(&claimed, &log(Some((200, 200)), Released, Some((300, 300)))), "104 205 303 released!");
    }

    #[test]
    fn a_recorder_whose_clock_is_wrong_makes_no_stay_that_ends_before_it_begins() {
        use ContenderEnd::{Open, Released};
        let ahead =
            ContenderRecord { enqueued_at: Some(Timestamp(5_100)), ..watched(Some((5_200, 5_200)), Open, None) };
        assert_eq!(told(&ahead, &log(Some((200, 200)), Released, Some((300, 300)))), "100 200 300 released");
    }

    #[test]
    fn the_recorder_knows_the_address_and_the_log_the_name() {
        let mut recorded = watched(None, ContenderEnd::Open, None);
        recorded.client.address = Some("10.0.0.1:5000".into());
        let mut named = log(None, ContenderEnd::Open, None);
        (named.client.name, named.data) = (Some("worker".into()), Some(b"worker"[..].into()));
        let record = complete(&recorded, &named, &known()).record;
        assert_eq!(record.client.address.as_deref(), Some("10.0.0.1:5000"));
        assert_eq!((record.client.name.as_deref(), record.data.as_deref()), (Some("worker"), Some(&b"worker"[..])));
    }
}
