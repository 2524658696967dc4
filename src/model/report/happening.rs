//! An event as a line of JSON.

use serde::Serialize;

use super::client::ClientFacts;
use super::rfc3339;
use crate::queue::{Happening, LockEvent, WatchEvents};

/// An event as a line of `lockscope watch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HappeningLine<'a> {
    at: Option<String>,
    event: LockEvent,
    /// The lock's path. `null` for an event of the connection, as are `queue` and `watch_events`.
    lock: Option<&'a str>,
    /// The queue's name, where the parent has several queues.
    name: Option<&'a str>,
    node: Option<&'a str>,
    /// The contender's identity. The same in all lines of a contender, even when its node changes.
    contender: Option<String>,
    session: Option<String>,
    #[serde(flatten)]
    client: ClientFacts,
    waited_ms: Option<u64>,
    held_ms: Option<u64>,
    /// Whether the session may have expired, for `released` and `left`; `null` for other events.
    may_have_expired: Option<bool>,
    /// How a contender ended, for `released`, `left` and `expired`. `gone` means that it released,
    /// left, or that another client deleted its node. `expired` for `settled`.
    end: Option<&'static str>,
    /// The number of contenders in the queue after the event.
    queue: Option<usize>,
    watch_events: Option<WatchEvents>,
    /// Why the connection was cut, for `disconnected`.
    reason: Option<&'a str>,
}

impl<'a> HappeningLine<'a> {
    /// Creates the line of an event. `reason` is the cause, where it is known.
    pub fn new(happening: &'a Happening, reason: Option<&'a str>) -> Self {
        let lock = happening.lock.as_ref();
        Self {
            at: rfc3339(happening.at),
            event: happening.event,
            lock: lock.map(|lock| lock.path.as_str()),
            name: lock.and_then(|lock| lock.name.as_deref()),
            node: happening.node.as_deref(),
            contender: happening.contender.as_ref().map(ToString::to_string),
            session: happening.session.map(|session| session.to_string()),
            client: (&happening.client).into(),
            waited_ms: happening.waited_ms,
            held_ms: happening.held_ms,
            may_have_expired: matches!(happening.event, LockEvent::Released | LockEvent::Left)
                .then_some(happening.may_have_expired),
            end: happening.end(),
            queue: lock.map(|_| happening.queue),
            watch_events: lock.map(|_| happening.watch_events),
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::queue::{ClientIdentity, ContenderId, LockId, LockName};
    use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};

    #[test]
    fn an_acquisition_has_all_fields_of_the_contract() {
        let path = ZnodePath::new("/locks/billing").unwrap();
        let happening = Happening {
            ends_hold: false,
            at: Timestamp(1_714_574_467_250),
            event: LockEvent::Acquired,
            lock: Some(LockName { id: LockId(7), path, name: Some("db".into()) }),
            node: Some("db_lock_0000000042".into()),
            contender: Some(ContenderId { node: "db_lock_0000000042".into(), czxid: Zxid(77) }),
            session: Some(SessionId(-2)),
            client: ClientIdentity { address: Some("10.0.4.17:51586".into()), ..ClientIdentity::default() },
            waited_ms: Some(1250),
            held_ms: None,
            may_have_expired: false,
            deleted_by: None,
            deleter: None,
            queue: 3,
            watch_events: WatchEvents { herd: 2, chain: 1 },
        };
        let expected = json!({
            "at": "2024-05-01T14:41:07.250Z", "event": "acquired", "lock": "/locks/billing", "name": "db",
            "node": "db_lock_0000000042", "contender": "db_lock_0000000042@77", "session": "0xfffffffffffffffe",
            "client": "10.0.4.17:51586", "client_name": null, "was_client": null, "client_last_seen_at": null, "waited_ms": 1250, "held_ms": null,
            "may_have_expired": null, "end": null,
            "queue": 3, "watch_events": { "herd": 2, "chain": 1 }, "reason": null,
        });
        assert_eq!(serde_json::to_value(HappeningLine::new(&happening, None)).unwrap(), expected);
    }

    #[test]
    fn the_end_is_unknown_without_proof() {
        let gone = |event, may_have_expired| {
            let happening = Happening { may_have_expired, ..Happening::of_connection(event, Timestamp(0)) };
            serde_json::to_value(HappeningLine::new(&happening, None)).unwrap()
        };
        for (event, may_have_expired, name, end) in [
            (LockEvent::Released, false, "released", "gone"),
            (LockEvent::Left, false, "left", "gone"),
            (LockEvent::Released, true, "released", "unknown"),
            (LockEvent::Expired, false, "expired", "expired"),
            (LockEvent::Settled, false, "settled", "expired"),
        ] {
            let line = gone(event, may_have_expired);
            assert_eq!((&line["event"], &line["end"]), (&name.into(), &end.into()), "{line}");
        }
    }

    #[test]
    fn a_cut_connection_names_its_reason_and_no_lock() {
        let happening = Happening::of_connection(LockEvent::Disconnected, Timestamp(0));
        let line = serde_json::to_value(HappeningLine::new(&happening, Some("connection reset"))).unwrap();
        assert_eq!(line["event"], "disconnected");
        assert_eq!(line["reason"], "connection reset");
        assert!(line["lock"].is_null() && line["queue"].is_null() && line["watch_events"].is_null());
    }
}
