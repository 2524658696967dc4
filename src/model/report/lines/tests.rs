//! Tests of `lines`.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::diagnose::Thresholds;
use crate::queue::{Change, ClientIdentity, ContenderId, LockId, LockName};
use crate::server_view::{MemberView, ServerMode};
use crate::testing::{path, seen, table};
use crate::text::width;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};

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

#[test]
fn a_client_at_the_start_is_named_as_later_on() {
    let at = Timestamp(1_714_574_467_250);
    let found = [(3, "worker-3"), (4, "worker-4")].map(|(number, name)| {
        let stat = ZnodeStat::of_new(Zxid(number), Timestamp(at.0 - 60_000), Some(SessionId(number)));
        seen(&format!("/a/{number:032x}__lock__000000000{number}"), stat, name.as_bytes())
    });
    let table = table(found, at);
    let lock = table.locks().next().unwrap();
    let lines: Vec<String> =
        Initial::of_lock(lock, at, &table).iter().map(|initial| initial.for_people(true)).collect();
    insta::assert_snapshot!(lines.concat(), @r"
        14:41:07.250 lock-found    /a  there at the start
        14:41:07.250 acquired      /a  00000000000000000000000000000003__lock__0000000003  worker-3 (session 0x3)  queue 2  there at the start, held for 0.0s to 1m00s
        14:41:07.250 enqueued      /a  00000000000000000000000000000004__lock__0000000004  worker-4 (session 0x4)  queue 2  there at the start
        ");
}

#[test]
fn a_sample_contains_its_counts_and_times() {
    let lock = LockName { id: LockId(7), path: ZnodePath::new("/locks/a").unwrap(), name: None };
    let counts = SampledCounts {
        at: Timestamp(1_714_574_467_250),
        since: Timestamp(1_714_574_457_250),
        children: 128,
        created: 500,
        deleted: 480,
        per_second: Some(ChildRates { created: 50.04, deleted: 48.0 }),
    };
    let line = serde_json::to_value(SampleLine::new(&lock, counts)).unwrap();
    let expected = json!({
        "at": "2024-05-01T14:41:07.250Z", "since": "2024-05-01T14:40:57.250Z", "event": "sampled", "lock": "/locks/a", "name": null,
        "children": 128, "created": 500, "deleted": 480, "created_per_second": 50.0, "deleted_per_second": 48.0,
    });
    assert_eq!(line, expected);
    let first = serde_json::to_value(SampleLine::new(&lock, SampledCounts { per_second: None, ..counts })).unwrap();
    assert!(first["created_per_second"].is_null() && first["deleted_per_second"].is_null());
}

fn acquired() -> Happening {
    let path = ZnodePath::new("/locks/bill\u{1b}ing").unwrap();
    Happening {
        ends_hold: false,
        at: Timestamp(1_714_574_467_250),
        event: LockEvent::Acquired,
        lock: Some(LockName { id: LockId(7), path, name: Some("db".into()) }),
        node: Some("db_lock_0000000042".into()),
        contender: Some(ContenderId { node: "db_lock_0000000042".into(), czxid: Zxid(77) }),
        session: Some(SessionId(0x1b)),
        client: ClientIdentity {
            given: None,
            name: Some("worker\u{1b}-3".into()),
            address: Some("10.0.4.17:51586".into()),
            last_listed: Some(Timestamp(1_714_574_457_250)),
            session: Some(SessionId(0x1b)),
            unread: false,
        },
        waited_ms: Some(1250),
        held_ms: None,
        may_have_expired: false,
        deleted_by: None,
        deleter: None,
        queue: 3,
        watch_events: WatchEvents { herd: 2, chain: 1 },
    }
}

#[test]
fn a_sample_is_a_line_of_counts() {
    let lock = acquired().lock.expect("the event has a lock");
    let first = SampledCounts {
        at: acquired().at,
        since: acquired().at,
        children: 128,
        created: 0,
        deleted: 0,
        per_second: None,
    };
    let second = SampledCounts {
        children: 1,
        created: 51,
        deleted: 178,
        per_second: Some(ChildRates { created: 51.4, deleted: 178.0 }),
        ..first
    };
    insta::assert_snapshot!(sample(&lock, first, true) + &sample(&lock, second, true), @r"
        14:41:07.250 sampled       /locks/bill\u{1b}ing db  128 children
        14:41:07.250 sampled       /locks/bill\u{1b}ing db  1 child  created 51/s  deleted 178/s
        ");
}

#[test]
fn a_line_for_people_contains_the_known_facts_and_no_control_characters() {
    let disconnected = Happening::of_connection(LockEvent::Disconnected, acquired().at);
    let shown = happening(&acquired(), None, true) + &happening(&disconnected, Some("reset by\u{7} peer"), true);
    insta::assert_snapshot!(shown, @r"
        14:41:07.250 acquired      /locks/bill\u{1b}ing db  db_lock_0000000042  worker\u{1b}-3 (was 10.0.4.17:51586 until 10s ago)  0x1b  waited 1.2s  queue 3  herd 2 chain 1
        14:41:07.250 disconnected  reset by\u{7} peer
        ");
}

const NOW: Timestamp = Timestamp(1_000_000);

fn stat(czxid: i64, age_ms: i64) -> ZnodeStat {
    let stat = ZnodeStat::of_new(Zxid(czxid), Timestamp(NOW.0 - age_ms), Some(SessionId(czxid)));
    ZnodeStat { cversion: 3, num_children: 3, ..stat }
}

fn node(at: &str, czxid: i64, age_ms: i64, data: &str) -> Change {
    seen(at, stat(czxid, age_ms), data.as_bytes())
}

fn printed(changes: Vec<Change>) -> String {
    let table = table(changes, NOW);
    let mut out = Vec::new();
    let mut diagnosis = Diagnosis::new(Thresholds::default());
    diagnosis.examine(&table, NOW);
    locks(&mut out, &table, &diagnosis, &[path("/")], NOW).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn each_lock_is_a_line_and_all_text_from_znodes_is_escaped() {
    let shown = printed(vec![
        Change::Listed { path: path("/locks/billing"), stat: stat(1, 900_000) },
        node("/locks/billing/lock-0000000000", 0x10, 842_000, "10.0.4.17"),
        node("/locks/billing/lock-0000000001", 0x11, 38_000, ""),
        node("/锁/r-0000000000", 0x20, 5_000, &"long".repeat(1_000)),
        node("/shared/read-0000000003", 0x30, 1_000, "\u{1b}[2J\n"),
        node("/shared/read-0000000004", 0x31, 900, ""),
        Change::Unreadable { path: path("/se\u{7}cret"), why: "no READ\u{1b}".to_owned() },
    ]);
    insta::assert_snapshot!(shown, @r"
        LOCK            RECIPE         HOLDER            HELD  WAIT  OLDEST  NEXT  FINDING
        /locks/billing  queue          10.0.4.17 0x10  14m02s     1     38s     3
        /shared         shared lock    0x30 +1          ≤1.0s     0       -     5
        /锁             unknown queue  0x20 (assumed)   ≤5.0s     0       -     1
        Not readable: /se\u{7}cret: no READ\u{1b}
        ");
}

#[test]
fn one_name_that_is_too_long_does_not_widen_every_line() {
    let long = format!("/locks/{}", "x".repeat(5_000));
    let shown = printed(vec![
        node(&format!("{long}/lock-0000000000"), 0x10, 1_000, ""),
        node("/locks/a/lock-0000000000", 0x11, 1_000, ""),
    ]);
    assert!(shown.lines().all(|line| width(line) < 130), "{shown}");
    assert!(shown.contains("/locks/xxx") && shown.contains('…'), "{shown}");
}

#[test]
fn an_ensemble_without_locks_says_so() {
    assert_eq!(printed(vec![]), "No locks below /.\n");
}

#[test]
fn the_number_of_locks_is_grammatical_and_missing_kinds_are_named() {
    let printed = |locks: &[&str], seconds| {
        let stat = ZnodeStat::of_new(Zxid(2), Timestamp(0), Some(SessionId(7)));
        let table = table(locks.iter().map(|path| seen(path, stat, b"")), Timestamp(0));
        let mut diagnosis = Diagnosis::new(Thresholds::default());
        diagnosis.examine(&table, Timestamp(0));
        let verdict = Verdict::of(&table, &diagnosis, Duration::from_secs(seconds), Timestamp(0), Severity::Warning);
        let mut out = Vec::new();
        check(&mut out, &table, &diagnosis, &verdict, true, true).expect("memory takes it");
        String::from_utf8(out).expect("text")
    };
    let one = printed(&["/a/lock-0000000000"], 3_600);
    assert!(one.starts_with("No finding at 1 lock, looked at for 1h00m.\n"), "{one}");
    let two = printed(&["/a/lock-0000000000", "/b/lock-0000000000"], 6);
    let lines: Vec<&str> = two.lines().collect();
    assert_eq!(lines[0], "No finding at 2 locks, looked at for 6.0s.");
    let short = "Could not be checked in so short a time (look longer with --for): member-disagrees 11s, empty-parent ";
    assert!(lines[1].starts_with(short), "{two}");
    let servers = "Could not be checked without the servers' answers: ghost, orphan-suspected, lost-wake-up, ";
    assert!(lines[2].starts_with(servers), "{two}");
}

#[test]
fn a_server_that_refuses_a_word_is_not_one_that_does_not_answer() {
    let member = |address: &str, mode, why: &str| MemberView {
        mode,
        error: Some(why.to_owned()),
        ..MemberView::unasked(address.to_owned())
    };
    let refusing = member("zk1:2181", Some(ServerMode::Leader), "cons is not in the whitelist");
    let members = vec![refusing, member("zk2:2181", None, "refused the connection")];
    let mut out = Vec::new();
    missing_answers(&mut out, &ServerView { members, ..ServerView::default() }).expect("memory takes it");
    let expected = "No answer from zk2:2181: refused the connection\n\
                        Not everything is answered by zk1:2181: cons is not in the whitelist\n";
    assert_eq!(String::from_utf8(out).expect("text"), expected);
}

#[test]
fn a_long_name_loses_its_middle_and_the_rest_of_its_sentence_stays() {
    let long = format!("{}0000000042", "x".repeat(5_000));
    let shown = short_name(&long);
    assert_eq!(shown.chars().count(), 64);
    assert!(shown.starts_with("xxx") && shown.contains('…') && shown.ends_with("0000000042"));
    assert_eq!(short_name("/locks/bill\u{1b}ing"), r"/locks/bill\u{1b}ing");
    let shown = short_sentence(&format!(r"it is the turn of {long}, but \u{{1b}} its session watched nothing"));
    assert!(shown.starts_with("it is the turn of xxx") && shown.chars().count() < 200, "{shown}");
    assert!(shown.ends_with(r"0000000042, but \u{1b} its session watched nothing"), "{shown}");
    assert!(short_sentence(&"a b ".repeat(5_000)).chars().count() <= 1_024);
}
