//! Tests of `snapshot`.

use serde_json::{Value, json};

use super::*;
use crate::queue::{Change, ConnectionState};
use crate::testing::{lost, path, reading, seen};
use lockscope_base::znode::{MAX_KEPT_DATA, SessionId, ZnodeStat, Zxid};

const NOW: Timestamp = Timestamp(1_714_574_467_250);

fn stat(czxid: i64, owner: Option<i64>, children: i32) -> ZnodeStat {
    let created = Timestamp(NOW.0 - 1000 * (100 - czxid));
    let stat = ZnodeStat::of_new(Zxid(czxid), created, owner.map(SessionId));
    ZnodeStat { version: 2, cversion: children, num_children: children, ..stat }
}

fn node(at: &str, czxid: i64, owner: Option<i64>, data: &[u8]) -> Change {
    seen(at, stat(czxid, owner, 0), data)
}

fn parent(at: &str, children: i32) -> Change {
    Change::Listed { path: path(at), stat: stat(1, None, children) }
}

fn table(changes: Vec<Change>) -> LockTable {
    let mut table = LockTable::new([path("/jobs/nightly")]);
    reading(changes).for_each(|change| drop(table.apply(change, NOW)));
    table
}

fn reported(table: &LockTable) -> Value {
    let ensemble = ReportedEnsemble::new("zk1,zk2:2182/prod", Some(SessionId(-2)));
    serde_json::to_value(Snapshot::new(&ensemble, table, NOW)).unwrap()
}

#[test]
fn all_fields_of_the_contract_exist_and_unknown_facts_are_not_invented() {
    let snapshot = reported(&table(vec![
        parent("/locks/a", 2),
        node("/locks/a/lock-0000000000", 10, Some(-1), b"10.0.4.17"),
        node("/locks/a/lock-0000000001", 11, Some(7), b"\xac\xed"),
        Change::Unreadable { path: path("/secret"), why: "no READ permission".to_owned() },
    ]));
    let contender = |number: u32, czxid: u32, session: &str| {
        json!({
            "node": format!("lock-000000000{number}"), "path": format!("/locks/a/lock-000000000{number}"),
            "sequence": number, "mode": "exclusive", "state": "holds", "by": "order", "session": session, "ephemeral": true,
            "created_at": "2024-05-01T14:39:37.250Z", "age_ms": 90_000, "czxid": czxid, "version": 2,
            "data": "10.0.4.17", "data_encoding": "utf8", "data_length": 9, "data_truncated": false,
            "waits_for": [], "waits_for_by": null,
            "watches": "unknown", "client": null, "client_name": "10.0.4.17", "was_client": null,
            "client_last_seen_at": null, "client_connected_at": null, "client_last_request": null, "session_timeout_ms": null,
            "expires_in_ms": null, "liveness": "unknown", "silent_ms": null,
            "held_at_least_ms": 90_000, "held_at_most_ms": 90_000, "locked_until": null,
        })
    };
    let mut waiter = contender(1, 11, "0x7");
    waiter["state"] = "waits".into();
    waiter["by"] = Value::Null;
    waiter["created_at"] = "2024-05-01T14:39:38.250Z".into();
    waiter["age_ms"] = 89_000.into();
    waiter["data"] = "rO0=".into();
    waiter["client_name"] = Value::Null;
    waiter["data_encoding"] = "base64".into();
    waiter["data_length"] = 2.into();
    waiter["waits_for"] = json!(["lock-0000000000"]);
    waiter["waits_for_by"] = json!("recipe");
    waiter["held_at_least_ms"] = Value::Null;
    waiter["held_at_most_ms"] = Value::Null;
    let server = |address: &str| json!({ "address": address, "mode": null, "version": null, "software": "unknown", "view": "none", "plain_beside_tls": false, "error": null });
    let expected = json!({
        "schema": 1,
        "taken_at": "2024-05-01T14:41:07.250Z",
        "ensemble": {
            "connect": "zk1,zk2:2182/prod", "chroot": "/prod", "session": "0xfffffffffffffffe",
            "servers": [server("zk1:2181"), server("zk2:2182")],
        },
        "locks": [{
            "path": "/locks/a", "name": null, "recipe": "textbook-queue", "kind": "exclusive", "assumed": false, "next_sequence": 2,
            "no_handover_since": "2024-05-01T14:39:37.250Z", "sampled": null,
            "contenders": [contender(0, 10, "0xffffffffffffffff"), waiter],
            "watch_cost": { "herd_per_release": 1, "chain_per_release": 1 },
            "findings": [],
        }],
        "ensemble_events": [],
        "unreadable": [{ "path": "/secret", "reason": "no READ permission" }],
    });
    assert_eq!(snapshot, expected);
}

#[test]
fn locks_are_ordered_by_path_and_several_queues_of_a_parent_are_named() {
    let snapshot = reported(&table(vec![
        node("/b/mutex", 12, Some(7), b""),
        parent("/a", 2),
        node("/a/y_lock_0000000001", 11, Some(7), b""),
        node("/a/x_lock_0000000000", 10, Some(7), b""),
    ]));
    let locks: Vec<_> =
        snapshot["locks"].as_array().unwrap().iter().map(|lock| (&lock["path"], &lock["name"])).collect();
    let expected = [("/a".into(), "x".into()), ("/a".into(), "y".into()), ("/b/mutex".into(), Value::Null)];
    assert_eq!(locks, expected.iter().map(|(path, name)| (path, name)).collect::<Vec<_>>());
}

#[test]
fn a_single_node_has_no_watch_cost_since_its_waiters_are_not_in_the_tree() {
    let snapshot = reported(&table(vec![node("/jobs/nightly", 10, Some(7), b"worker-3")]));
    let lock = &snapshot["locks"][0];
    assert_eq!((&lock["path"], &lock["kind"]), (&"/jobs/nightly".into(), &"single-node".into()));
    assert_eq!(lock["contenders"][0]["path"], "/jobs/nightly");
    assert_eq!(lock["contenders"][0]["sequence"], Value::Null);
    assert!(lock["watch_cost"].is_null() && lock["next_sequence"].is_null());
}

#[test]
fn a_contender_without_a_session_is_ownerless() {
    let snapshot = reported(&table(vec![node("/hive/t/LOCK-EXCLUSIVE-0000000000", 10, None, b"q:1:IMPLICIT:x")]));
    let contender = &snapshot["locks"][0]["contenders"][0];
    assert_eq!((&contender["ephemeral"], &contender["liveness"]), (&false.into(), &"ownerless".into()));
    assert!(contender["session"].is_null());
}

#[test]
fn large_data_is_truncated_and_marked() {
    let data = "ö".repeat(MAX_KEPT_DATA);
    let data = format!("x{data}");
    let snapshot = reported(&table(vec![node("/a/lock-0000000000", 10, Some(7), data.as_bytes())]));
    let contender = &snapshot["locks"][0]["contenders"][0];
    assert_eq!(contender["data_encoding"], "utf8");
    assert_eq!((&contender["data_truncated"], &contender["data_length"]), (&true.into(), &data.len().into()));
    assert_eq!(contender["data"].as_str().unwrap().len(), MAX_KEPT_DATA - 1, "the cut character is left out");
}

#[test]
fn while_the_connection_is_lost_all_states_are_unknown() {
    let mut table = table(vec![node("/a/lock-0000000000", 10, Some(7), b"")]);
    table.apply(lost(), NOW);
    let lock = &reported(&table)["locks"][0];
    assert_eq!(lock["contenders"][0]["state"], "unknown");
    assert!(lock["contenders"][0]["held_at_least_ms"].is_null() && lock["no_handover_since"].is_null());
}

#[test]
fn during_an_overload_a_lock_has_sampled_counts() {
    let mut table = table(vec![node("/a/lock-0000000000", 10, Some(7), b""), parent("/a", 1)]);
    table.apply(Change::Connection(ConnectionState::Overloaded { reason: "too much".to_owned() }), NOW);
    let sample = ZnodeStat { cversion: 250, num_children: 50, ..stat(1, None, 0) };
    table.apply(Change::Sampled { path: path("/a"), stat: sample }, NOW);
    let lock = &reported(&table)["locks"][0];
    assert_eq!(lock["contenders"][0]["state"], "unknown", "it is the one of before");
    assert_eq!((&lock["sampled"]["children"], &lock["sampled"]["created"]), (&50.into(), &0.into()));
    assert_eq!(lock["sampled"]["at"], "2024-05-01T14:41:07.250Z");
}

#[test]
fn only_filtered_locks_are_reported() {
    let table = table(vec![node("/a/lock-0000000000", 10, Some(7), b""), node("/b/lock-0000000000", 11, Some(7), b"")]);
    let ensemble = ReportedEnsemble::new("zk1", None);
    let left = table.locks().filter(|lock| lock.path().as_str() == "/b").collect();
    let snapshot = serde_json::to_value(Snapshot::new(&ensemble, &table, NOW).with_locks(left)).unwrap();
    assert_eq!(snapshot["locks"].as_array().unwrap().len(), 1);
    assert_eq!(snapshot["locks"][0]["path"], "/b");
}
