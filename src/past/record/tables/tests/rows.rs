//! Tests of each way to begin and to end, and of the written identities.

use rusqlite::Connection;

use super::fixture::{RecordedFixture, Row};
use crate::fixture::{TableFixture, counted, session_runs_out};
use crate::record::history::{History, HistoryQuery};
use crate::record::tables::{ContenderEnd, RecordedDeletion, TableRecorder, forget_before};
use crate::testing::path;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};
use lockscope_model::queue::Change;
use lockscope_model::server_view::{Connection as ListedConnection, Listing};

fn row(path: &ZnodePath, times: [i64; 3], ending: &str) -> Row {
    let [enqueued_at, acquired, ended] = times;
    let seen = |at: i64| (at > 0).then_some((at, at));
    Row {
        node: path.name().to_owned(),
        enqueued_at: Some(enqueued_at),
        acquired: seen(acquired),
        ended: seen(ended),
        ending: ending.to_owned(),
    }
}

#[test]
fn seen_events_have_exact_times() {
    let mut fixture = RecordedFixture::new();
    let (holder, t1) = fixture.create("/a/lock-", 1);
    let (next, t2) = fixture.create("/a/lock-", 2);
    let (impatient, t3) = fixture.create("/a/lock-", 3);
    let t4 = fixture.delete(&impatient);
    let t5 = fixture.delete(&holder);
    fixture.finish();
    let rows = [
        row(&holder, [t1.0, t1.0, t5.0], "gone"),
        row(&next, [t2.0, t5.0, 0], "open"),
        row(&impatient, [t3.0, 0, t4.0], "gone"),
    ];
    assert_eq!(fixture.rows(), rows);
    let held = format!(
        "SELECT held_at_least_ms || ' ' || held_at_most_ms || ' ' || waited_ms FROM hold WHERE node = '{}'",
        holder.name()
    );
    assert_eq!(fixture.texts(&held), [format!("{0} {0} 0", t5.0 - t1.0)]);
    assert_eq!(fixture.texts("SELECT node FROM wait"), [impatient.name()]);
    assert_eq!(fixture.texts("SELECT session FROM hold"), ["0x1", "0x2"]);
    assert_eq!(fixture.texts("SELECT DISTINCT source FROM hold WHERE deleted_by IS NULL"), ["watched"]);
    assert_eq!(fixture.tables.standing(), 1);
}

#[test]
fn the_end_of_an_expired_session_is_expired() {
    let mut fixture = RecordedFixture::new();
    let (holder, t1) = fixture.create("/a/lock-", 1);
    fixture.pass(5_000);
    fixture.apply(session_runs_out(1, fixture.ensemble.now));
    let t2 = fixture.delete(&holder);
    fixture.flush();
    assert_eq!(fixture.rows(), [row(&holder, [t1.0, t1.0, t2.0], "expired")]);
    assert_eq!(fixture.texts("SELECT CAST(expired_at AS TEXT) FROM session"), [t2.0.to_string()]);
}

/// Returns a survey in which the servers list this session, or none.
fn listed(session: Option<i64>, at: Timestamp) -> Change {
    session_runs_out(session.unwrap_or(99), at)
}

#[test]
fn an_end_that_may_be_an_expiry_is_unknown_until_the_servers_list_the_session_again() {
    for (session, after_ms, ending) in [(1, 2_000, "gone"), (1, 500, "unknown"), (2, 2_000, "unknown")] {
        let mut fixture = RecordedFixture::new();
        let (holder, t1) = fixture.create("/a/lock-", 1);
        fixture.pass(60_000);
        let t2 = fixture.delete(&holder);
        fixture.flush();
        assert_eq!(fixture.rows(), [row(&holder, [t1.0, t1.0, t2.0], "unknown")]);
        fixture.pass(after_ms);
        fixture.apply(listed(Some(session), fixture.ensemble.now));
        fixture.flush();
        assert_eq!(fixture.rows(), [row(&holder, [t1.0, t1.0, t2.0], ending)], "session {session} after {after_ms} ms");
        // Once it is gone, no later list makes it live.
        fixture.pass(10_000);
        fixture.apply(listed((session == 2).then_some(1), fixture.ensemble.now));
        fixture.flush();
        assert_eq!(fixture.rows()[0].ending, ending);
    }
}

#[test]
fn an_end_that_the_server_counted_as_an_expiry_is_expired() {
    let mut fixture = RecordedFixture::new();
    let (holder, t1) = fixture.create("/a/lock-", 1);
    let over = fixture.ensemble.now.0 + 20_000;
    for at in [over - 2_000, over - 1_000] {
        fixture.ensemble.now = Timestamp(at);
        fixture.apply(counted(&[(1, over)], 3, at));
    }
    fixture.ensemble.now = Timestamp(over + 600);
    let t2 = fixture.delete(&holder);
    fixture.flush();
    assert_eq!(fixture.rows(), [row(&holder, [t1.0, t1.0, t2.0], "unknown")]);
    fixture.pass(2_000);
    fixture.apply(counted(&[], 4, over + 2_600));
    fixture.flush();
    assert_eq!(fixture.rows(), [row(&holder, [t1.0, t1.0, t2.0], "expired")]);
}

/// Returns a survey in which the only server lists a session some time later, with its last request
/// and the zxid of its last reply.
fn asked_last(fixture: &RecordedFixture, session: i64, operation: &str, zxid: i64) -> Change {
    let Change::Surveyed { view } = session_runs_out(session, fixture.ensemble.now) else { panic!("a view") };
    let mut view = (*view).clone();
    let member = &mut view.members[0];
    let at = member.sessions.as_ref().expect("a list").at;
    let connection = ListedConnection {
        session: SessionId(session),
        client: "10.0.0.1:4000".to_owned(),
        timeout_ms: Some(30_000),
        established: Some(at),
        last_operation: Some(operation.to_owned()),
        last_cxid: Some(7),
        last_zxid: Some(Zxid(zxid)),
        last_response: None,
        last_heard: Some(at),
        received: 1,
        sent: 1,
    };
    member.connections = Some(Listing::new(vec![connection], true, at));
    Change::Surveyed { view: view.into() }
}

#[test]
fn only_the_clients_own_deletion_proves_a_release() {
    for (by, session, operation, zxid, endings) in [
        (Some(500), 1, "DELE", 500, ["released", "left"]),
        // It deleted another node, sent another request since, or another client deleted the node.
        (Some(500), 1, "DELE", 499, ["gone"; 2]),
        (Some(500), 1, "CREA", 500, ["gone"; 2]),
        (Some(500), 3, "DELE", 500, ["gone"; 2]),
        // Servers before 3.9 do not report the deleting transaction.
        (None, 1, "DELE", 500, ["gone"; 2]),
    ] {
        for (waits, ending) in [false, true].into_iter().zip(endings) {
            let mut fixture = RecordedFixture::new();
            if waits {
                fixture.create("/a/lock-", 2);
            }
            let (node, _) = fixture.create("/a/lock-", 1);
            fixture.ensemble.tree.remove(&node);
            fixture.apply(Change::Deleted { path: node.clone(), zxid: by.map(Zxid) });
            let written_before = zxid % 2 == 0;
            if written_before {
                fixture.flush();
            }
            fixture.pass(300);
            fixture.apply(asked_last(&fixture, session, operation, zxid));
            fixture.flush();
            let row = fixture.rows().into_iter().find(|row| row.node == node.name()).expect("a row");
            assert_eq!(row.ending, ending, "{by:?} {session} {operation} {zxid} {waits}");
        }
    }
}

#[test]
fn released_in_an_older_version_is_read_as_gone() {
    for (tables_version, end) in [(1, ContenderEnd::Gone), (2, ContenderEnd::Released)] {
        let mut fixture = RecordedFixture::new();
        let (holder, _) = fixture.create("/a/lock-", 1);
        fixture.delete(&holder);
        fixture.finish();
        let as_then =
            format!("UPDATE contender SET ending = 'released'; UPDATE recording SET tables_version = {tables_version}");
        fixture.connection.execute_batch(&as_then).unwrap();
        let query = HistoryQuery { limit: 10, ..HistoryQuery::default() };
        let read_end = |connection: &mut Connection| History::from_tables(connection, &query).unwrap().holds[0].end;
        assert_eq!(read_end(&mut fixture.connection), end, "version {tables_version}");
        // A later run of this version does not change earlier rows.
        fixture
            .connection
            .execute("INSERT INTO recording VALUES (9, 2, 9000000000000, 9000000000001, NULL)", [])
            .unwrap();
        assert_eq!(read_end(&mut fixture.connection), end, "version {tables_version}");
    }
}

fn deletion(path: &ZnodePath, czxid: i64, at: Timestamp, result: &str) -> RecordedDeletion {
    RecordedDeletion {
        at,
        lock: "/a".to_owned(),
        path: path.to_string(),
        czxid: Some(Zxid(czxid)),
        by: Some("anna".to_owned()),
        result: result.to_owned(),
        reason: None,
    }
}

#[test]
fn a_deletion_in_the_audit_log_is_the_end_whichever_is_seen_first() {
    for (order, written_between) in [("before", false), ("behind", false), ("behind", true)] {
        let mut fixture = RecordedFixture::new();
        let (holder, t1) = fixture.create("/a/lock-", 1);
        let (other, _) = fixture.create("/a/lock-", 2);
        let czxid = |fixture: &RecordedFixture, path| fixture.ensemble.tree[path].stat.czxid.0;
        let (of_holder, of_other) = (czxid(&fixture, &holder), czxid(&fixture, &other));
        let audited = deletion(&holder, of_holder, fixture.ensemble.now, "deleted");
        if order == "before" {
            fixture.tables.deleted(audited.clone());
        }
        let t2 = fixture.delete(&holder);
        if written_between {
            fixture.flush();
        }
        if order == "behind" {
            fixture.tables.deleted(audited);
        }
        // A failed deletion changes nothing.
        fixture.tables.deleted(deletion(&other, of_other, t2, "changed"));
        fixture.delete(&other);
        fixture.flush();
        let rows = fixture.rows();
        assert_eq!(rows[0], row(&holder, [t1.0, t1.0, t2.0], "deleted"), "{order} {written_between}");
        assert_eq!(rows[1].ending, "gone");
        assert_eq!(
            fixture.texts("SELECT by || ' ' || result FROM deletion ORDER BY id"),
            ["anna deleted", "anna changed"]
        );
    }
}

#[test]
fn short_holds_are_written_once_and_long_ones_as_open_until_they_end() {
    let mut fixture = RecordedFixture::new();
    let (long, t1) = fixture.create("/a/lock-", 1);
    fixture.flush();
    assert_eq!(fixture.rows(), [], "it may be over before the next flush");
    fixture.pass(1_000);
    fixture.flush();
    assert_eq!(fixture.rows(), [row(&long, [t1.0, t1.0, 0], "open")]);
    let t2 = fixture.delete(&long);
    for session in 2..20 {
        let (short, _) = fixture.create("/a/lock-", session);
        fixture.delete(&short);
    }
    fixture.flush();
    let rows = fixture.rows();
    assert_eq!(rows[0], row(&long, [t1.0, t1.0, t2.0], "gone"));
    assert_eq!((rows.len(), fixture.tables.standing()), (19, 0));
    // Waiters are written too, and again when they hold.
    let (holder, _) = fixture.create("/a/lock-", 1);
    let (waiter, t3) = fixture.create("/a/lock-", 2);
    fixture.flush();
    fixture.flush();
    assert_eq!(fixture.rows()[20], row(&waiter, [t3.0, 0, 0], "open"));
    let t4 = fixture.delete(&holder);
    fixture.flush();
    assert_eq!(fixture.rows()[20], row(&waiter, [t3.0, t4.0, 0], "open"));
}

#[test]
fn a_transaction_that_fails_is_written_again() {
    let mut fixture = RecordedFixture::new();
    let (first, _) = fixture.create("/<a>/lock-", 1);
    fixture.delete(&first);
    let rows = fixture.tables.take_rows(&fixture.ensemble.table, fixture.ensemble.now, false);
    let transaction = fixture.connection.transaction().unwrap();
    fixture.writer.write(&transaction, &rows).unwrap();
    transaction.rollback().unwrap();
    fixture.writer.start_over();
    assert_eq!(fixture.rows(), []);
    for _ in 0..2 {
        let transaction = fixture.connection.transaction().unwrap();
        fixture.writer.write(&transaction, &rows).unwrap();
        transaction.commit().unwrap();
    }
    let (second, _) = fixture.create("/<a>/lock-", 2);
    fixture.delete(&second);
    fixture.flush();
    assert_eq!(fixture.texts("SELECT node FROM hold ORDER BY id"), [first.name(), second.name()]);
    assert_eq!(fixture.texts("SELECT lock || ' ' || client_name FROM hold"), ["/<a> 10.0.0.1", "/<a> 10.0.0.1"]);
}

#[test]
fn hostile_names_and_data_are_values_and_never_statements() {
    let mut fixture = RecordedFixture::new();
    let hostile = "/'); DROP TABLE contender; --\u{202e}\u{1b}[2J/x\"lock-";
    let mut path = ZnodePath::root();
    for data in [&b"'; DELETE FROM lock; --"[..], b"\xff\xfe", b"a\0b"] {
        path = fixture.ensemble.put_numbered(hostile, 1);
        fixture.ensemble.write(&path, data);
        fixture.apply(fixture.ensemble.observed(&path));
        fixture.finish();
        let query = "SELECT CAST(data AS BLOB) FROM contender ORDER BY id DESC LIMIT 1";
        let read: Vec<u8> = fixture.connection.query_row(query, [], |row| row.get(0)).unwrap();
        assert_eq!(read, data);
    }
    fixture.delete(&path);
    fixture.finish();
    assert_eq!(fixture.texts("SELECT lock || '/' || node FROM wait ORDER BY id DESC LIMIT 1"), [path.as_str()]);
    assert_eq!(fixture.texts("SELECT typeof(data) FROM contender ORDER BY id"), ["text", "blob", "blob"]);
}

#[test]
fn without_data_no_column_has_any_of_it() {
    let mut fixture = RecordedFixture::with(TableFixture::new(), true);
    let (held, _) = fixture.create("/a/lock-", 1);
    fixture.create("/a/lock-", 2);
    fixture.flush();
    fixture.pass(1_000);
    fixture.flush();
    fixture.delete(&held);
    fixture.finish();
    assert_eq!(fixture.texts("SELECT data FROM contender"), ["null", "null"]);
    assert_eq!(fixture.texts("SELECT name FROM client"), [""; 0]);
    assert_eq!(fixture.texts("SELECT CAST(client_id AS TEXT) FROM session"), ["null", "null"]);
}

#[test]
fn old_rows_are_deleted_with_their_lock_and_client_and_open_rows_stay() {
    let mut fixture = RecordedFixture::new();
    let (old, _) = fixture.create("/old/lock-", 1);
    let (stands, _) = fixture.create("/new/lock-", 2);
    let gone = fixture.delete(&old);
    fixture.flush();
    fixture.pass(60_000);
    fixture.flush();
    let transaction = fixture.connection.transaction().unwrap();
    forget_before(&transaction, Timestamp(gone.0 + 1)).unwrap();
    transaction.commit().unwrap();
    fixture.writer.start_over();
    assert_eq!(fixture.texts("SELECT node FROM contender"), [stands.name()]);
    assert_eq!(fixture.texts("SELECT path FROM lock"), ["/new"]);
    // The lock is created again when it is used again.
    let (again, _) = fixture.create("/old/lock-", 3);
    fixture.delete(&again);
    fixture.flush();
    assert_eq!(fixture.texts("SELECT lock FROM hold ORDER BY id"), ["/new", "/old"]);
}

#[test]
fn a_node_that_turns_out_to_be_no_contender_leaves_no_open_row() {
    let mut fixture = RecordedFixture::new();
    fixture.create("/a/lock-", 1);
    let path = path("/a/lock-0000000007");
    fixture.apply(Change::Appeared { path: path.clone() });
    fixture.flush();
    fixture.pass(1_000);
    fixture.flush();
    assert_eq!(fixture.tables.standing(), 2);
    fixture.apply(Change::Unreadable { path, why: "no permission".to_owned() });
    for _ in 0..3 {
        fixture.flush();
    }
    assert_eq!(fixture.tables.standing(), 1);
    assert_eq!(fixture.texts("SELECT ending FROM contender ORDER BY id"), ["open", "unknown"]);
}

#[test]
fn a_waiter_of_a_semaphore_whose_leases_vanish_and_return_is_one_row() {
    let mut fixture = RecordedFixture::new();
    let leases = fixture.ensemble.create_plain("/s/leases", None);
    let client = |number: u32| format!("/s/locks/_c_0000000{number}-0000-4000-8000-000000000000-lock-");
    let (first, t1) = fixture.create(&client(1), 1);
    let (second, t2) = fixture.create(&client(2), 2);
    fixture.flush();
    fixture.pass(1_000);
    fixture.flush();
    let where_it_stands =
        "SELECT lock.path FROM contender JOIN lock ON lock.id = contender.lock_id ORDER BY contender.id";
    assert_eq!(fixture.texts(where_it_stands), ["/s", "/s"]);
    let held = fixture.delete(&leases);
    fixture.pass(2_000);
    fixture.flush();
    fixture.flush();
    assert_eq!(fixture.texts(where_it_stands), ["/s/locks", "/s/locks"]);
    assert_eq!(fixture.rows(), [row(&first, [t1.0, held.0, 0], "open"), row(&second, [t2.0, 0, 0], "open")]);
    fixture.apply(Change::Appeared { path: leases });
    let left = fixture.delete(&second);
    fixture.finish();
    assert_eq!(fixture.texts(where_it_stands), ["/s", "/s"]);
    assert_eq!(fixture.rows(), [row(&first, [t1.0, 0, 0], "open"), row(&second, [t2.0, 0, left.0], "gone")]);
}

#[test]
fn the_tables_can_be_made_twice_and_name_their_version() {
    let mut fixture = RecordedFixture::new();
    super::super::create(&fixture.connection).unwrap();
    fixture.finish();
    let version: i64 =
        fixture.connection.query_row("SELECT max(tables_version) FROM recording", [], |row| row.get(0)).unwrap();
    assert_eq!(version, super::super::TABLES_VERSION);
    let (path, at) = fixture.create("/a/lock-", 1);
    fixture.delete(&path);
    fixture.finish();
    for view in ["hold_utc", "wait_utc", "finding_utc", "session_utc", "gap_utc", "deletion_utc"] {
        fixture.connection.prepare(&format!("SELECT * FROM {view}")).unwrap();
    }
    let shown = lockscope_model::report::rfc3339(at);
    assert_eq!(fixture.texts("SELECT acquired_at FROM hold_utc"), [shown.unwrap()]);
    drop(TableRecorder::resume(&fixture.connection, false).unwrap());
}
