//! Tests of queries on recorded histories.

use rusqlite::{Connection, params};

use super::*;
use crate::record::tables;

/// Returns tables with `holds` holds, over `locks` locks and a few clients, 10 ms apart.
fn recorded(holds: i64, locks: i64) -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    tables::create(&connection).unwrap();
    let transaction = connection.transaction().unwrap();
    for lock in 1..=locks {
        let path = format!("/locks/{lock}");
        transaction
            .execute("INSERT INTO lock VALUES (?1, ?2, NULL, 'curator-mutex', 'exclusive')", params![lock, path])
            .unwrap();
    }
    for client in 1..=5 {
        let address = format!("10.0.0.{client}:5000{client}");
        transaction
            .execute("INSERT INTO client VALUES (?1, ?2, ?3)", params![client, address, format!("worker-{client}")])
            .unwrap();
    }
    let mut insert = transaction
        .prepare("INSERT INTO contender VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?6, ?7, ?7, 'released', 'exclusive', ?8, ?1, 'host', NULL, NULL)")
        .unwrap();
    for id in 1..=holds {
        let (came, waits, stays) = (1_000_000 + id * 10, id % 7, 1 + id % 100);
        let node = format!("_c_00000000-0000-4000-8000-000000000000-lock-{id:010}");
        insert
            .execute(params![id, 1 + id % locks, 1 + id % 5, id % 5, came, came + waits, came + waits + stays, node])
            .unwrap();
    }
    drop(insert);
    transaction
        .execute("INSERT INTO recording VALUES (1, 1, 1000000, ?1, NULL)", [1_000_000 + holds * 10 + 1_000])
        .unwrap();
    transaction.commit().unwrap();
    connection
}

fn query() -> HistoryQuery {
    HistoryQuery { limit: 100, ..HistoryQuery::default() }
}

fn read(connection: &mut Connection, query: &HistoryQuery) -> History {
    History::from_tables(connection, query).unwrap()
}

#[test]
fn each_filter_keeps_only_matching_rows() {
    let mut connection = recorded(1_000, 10);
    let all = read(&mut connection, &query());
    assert_eq!((all.hold_count, all.holds.len(), all.wait_count), (1_000, 100, 0));
    assert_eq!(all.holds.last().map(|hold| hold.id), Some(1_000), "those that came last are listed");
    let count = |connection: &mut Connection, query: HistoryQuery| read(connection, &query).hold_count;
    let lock = ZnodePath::new("/locks/3").ok();
    assert_eq!(count(&mut connection, HistoryQuery { lock: lock.clone(), ..query() }), 100);
    assert_eq!(count(&mut connection, HistoryQuery { session: Some(SessionId(3)), ..query() }), 200);
    for client in ["worker-2", "10.0.0.2", "10.0.0.2:50002"] {
        assert_eq!(
            count(&mut connection, HistoryQuery { client: Some(client.to_owned()), ..query() }),
            200,
            "{client}"
        );
    }
    for client in ["10.0.0", "10.0.0.2:5", "worker", ""] {
        assert_eq!(count(&mut connection, HistoryQuery { client: Some(client.to_owned()), ..query() }), 0, "{client}");
    }
    let both = HistoryQuery { lock, session: Some(SessionId(2)), client: Some("worker-3".to_owned()), ..query() };
    assert_eq!(count(&mut connection, both), 100);
    let none = HistoryQuery { lock: ZnodePath::new("/other").ok(), ..query() };
    assert_eq!(count(&mut connection, none), 0);
}

#[test]
fn a_time_range_includes_everything_that_overlaps_it() {
    let mut connection = recorded(1_000, 10);
    let between = |connection: &mut Connection, from: i64, to: i64| {
        let query = HistoryQuery { from: Some(Timestamp(from)), to: Some(Timestamp(to)), ..query() };
        read(connection, &query).holds.iter().map(|hold| hold.id).collect::<Vec<_>>()
    };
    // Number 50 came at 1 000 500, acquired a millisecond later, and held for 51 ms.
    let found = between(&mut connection, 1_000_550, 1_000_552);
    assert!(found.contains(&50) && found.contains(&55) && !found.contains(&56), "{found:?}");
    assert!(!between(&mut connection, 1_000_553, 1_000_553).contains(&50));
    assert_eq!(between(&mut connection, 0, 999), [0; 0]);
}

#[test]
fn contenders_that_came_in_a_gap_are_found_in_that_time() {
    let mut connection = recorded(1_000, 10);
    let gap = "INSERT INTO gap VALUES (1, 1004000, 1005000, 'cut'), (2, 900000, 1000015, 'not read')";
    connection.execute(gap, []).unwrap();
    // Both were found at the end of a gap, with the times of their nodes.
    for (id, first_seen_at, came) in [(1, 1_000_015, 970_000), (451, 1_005_000, 1_004_200)] {
        let found = "UPDATE contender SET first_seen_at = ?2, enqueued_at = ?3, acquired_after = ?3, ended_after = ?2 + 400, \
                     ended_before = ?2 + 400 WHERE id = ?1";
        connection.execute(found, [id, first_seen_at, came]).unwrap();
    }
    let mut found = |from: Option<i64>, to: i64| {
        let query = HistoryQuery { from: from.map(Timestamp), to: Some(Timestamp(to)), ..query() };
        read(&mut connection, &query).holds.iter().map(|hold| hold.id).collect::<Vec<_>>()
    };
    assert!(found(Some(1_004_300), 1_004_400).contains(&451));
    assert!(!found(Some(1_004_000), 1_004_100).contains(&451), "it had not come");
    assert_eq!(found(None, 980_000), [1], "before anything was recorded");
    assert_eq!(found(None, 960_000), [0; 0]);
}

#[test]
fn ranks_use_the_requested_order_and_only_the_requested_time() {
    let mut connection = recorded(100, 2);
    connection
        .execute(
            "UPDATE contender SET ended_after = ended_after + 90000, ended_before = ended_before + 90000 WHERE id = 8",
            [],
        )
        .unwrap();
    connection.execute("UPDATE contender SET enqueued_at = enqueued_at - 50000 WHERE id = 9", []).unwrap();
    let first = |connection: &mut Connection, by, to: Option<i64>| {
        let query = HistoryQuery { rank_by: Some(by), to: to.map(Timestamp), ..query() };
        let ranking = read(connection, &query).ranking.unwrap();
        (ranking.locks[0].clone(), ranking.clients[0].clone())
    };
    let (lock, client) = first(&mut connection, RankBy::Hold, None);
    assert_eq!((&*lock.lock, lock.sums.longest_hold_ms), ("/locks/1", 90_009));
    assert_eq!(client.client_name.as_deref(), Some("worker-4"));
    let (lock, client) = first(&mut connection, RankBy::Wait, None);
    assert_eq!((&*lock.lock, lock.sums.longest_wait_ms), ("/locks/2", 50_002));
    assert_eq!(client.client.as_deref(), Some("10.0.0.5:50005"));
    let (lock, _) = first(&mut connection, RankBy::Handovers, None);
    assert_eq!(lock.sums.handovers, 50);
    let (lock, _) = first(&mut connection, RankBy::Hold, Some(1_001_000));
    assert!(lock.sums.longest_hold_ms < 1_000, "{lock:?}");
}

#[test]
fn unknown_lengths_are_in_no_percentile() {
    let mut connection = recorded(10, 1);
    connection
        .execute("UPDATE contender SET ended_before = ended_before + 900000, ending = 'unknown' WHERE id = 3", [])
        .unwrap();
    connection
        .execute("UPDATE contender SET ended_after = NULL, ended_before = NULL, ending = 'open' WHERE id = 4", [])
        .unwrap();
    connection.execute("UPDATE contender SET acquired_after = acquired_after - 3 WHERE id = 5", []).unwrap();
    let history = read(&mut connection, &query());
    assert_eq!((history.hold_count, history.hold_ms.count, history.hold_ms.max, history.wait_ms.count), (10, 7, 11, 9));
    let by_id = |id: i64| history.holds.iter().find(|hold| hold.id == id).unwrap();
    assert_eq!((by_id(3).held_at_least_ms(), by_id(3).held_at_most_ms()), (Some(4), Some(900_004)));
    assert_eq!(by_id(5).waited_ms(), None);
    assert_eq!(by_id(4).known_until, history.recorded_until.unwrap());
    let empty = read(&mut recorded(0, 1), &query());
    assert_eq!((empty.hold_count, empty.hold_ms), (0, Percentiles::default()));
}

#[test]
fn many_holds_are_ranked_like_few() {
    let mut connection = recorded(50_000, 500);
    let query = HistoryQuery { rank_by: Some(RankBy::Wait), ..query() };
    let history = read(&mut connection, &query);
    assert_eq!((history.hold_count, history.hold_ms.max), (50_000, 100));
}

fn ids(history: &History) -> Vec<i64> {
    history.holds.iter().chain(&history.waits).map(|past| past.id).collect()
}

#[test]
fn only_contenders_with_the_requested_end_and_length_are_listed_and_counted() {
    let mut connection = recorded(10, 1);
    for (id, end) in [(2, "gone"), (4, "expired"), (6, "deleted")] {
        connection.execute("UPDATE contender SET ending = ?2 WHERE id = ?1", params![id, end]).unwrap();
    }
    // Number 8 waited in vain; only bounds of the hold of number 9 are known.
    let waits = "UPDATE contender SET acquired_after = NULL, acquired_before = NULL, ended_after = enqueued_at + 5000, \
                 ended_before = enqueued_at + 5000, ending = 'expired' WHERE id = 8";
    connection.execute_batch(waits).unwrap();
    connection.execute("UPDATE contender SET ended_before = ended_before + 60000 WHERE id = 9", []).unwrap();
    let mut found = |query: HistoryQuery| {
        let history = read(&mut connection, &query);
        assert_eq!(history.hold_count + history.wait_count, ids(&history).len());
        ids(&history)
    };
    let ends = |ends: &[ContenderEnd]| HistoryQuery { ends: ends.to_vec(), ..query() };
    assert_eq!(found(ends(&[ContenderEnd::Expired, ContenderEnd::Deleted])), [4, 6, 8]);
    // Called released by an older version.
    assert_eq!(found(ends(&[ContenderEnd::Gone])), [1, 2, 3, 5, 7, 9, 10]);
    assert_eq!(found(ends(&[ContenderEnd::Released])), [0; 0]);
    assert_eq!(found(HistoryQuery { min_hold_ms: Some(10), ..query() }), [9, 10], "those that may have, too");
    assert_eq!(found(HistoryQuery { min_wait_ms: Some(6), ..query() }), [6, 8]);
    let both = HistoryQuery { min_hold_ms: Some(1), min_wait_ms: Some(6), ..query() };
    assert_eq!(found(both), [6]);
}

#[test]
fn the_worst_are_those_that_held_or_waited_longest() {
    let mut connection = recorded(1_000, 10);
    connection.execute("UPDATE contender SET enqueued_at = enqueued_at - 9000 WHERE id = 500", []).unwrap();
    connection.execute("UPDATE contender SET ended_before = ended_before + 90000 WHERE id = 501", []).unwrap();
    let worst = HistoryQuery { order: HistoryOrder::Worst, limit: 3, ..query() };
    let history = read(&mut connection, &worst);
    // Those with a hold of 100 ms come in their order; the long hold of number 501 is not certain.
    assert_eq!((ids(&history), history.hold_count), (vec![500, 99, 199], 1_000));
    let mut out = Vec::new();
    lines(&mut out, &history, true).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("997 that held or waited for less time are not listed"), "{text}");
    let first = text.lines().skip_while(|line| !line.starts_with("CAME")).nth(1);
    assert!(first.is_some_and(|line| line.contains(" 9.00s ")), "{text}");
    let facts = serde_json::to_value(HistoryFacts::from(&history)).unwrap();
    assert_eq!((&facts["order"], &facts["left_out"]), (&"worst".into(), &997.into()));
    let of_one_lock = HistoryQuery { lock: ZnodePath::new("/locks/1").ok(), ..worst };
    assert_eq!(ids(&read(&mut connection, &of_one_lock))[0], 500);
}

#[test]
fn a_client_that_reconnects_is_one_row_if_host_and_name_match() {
    let mut connection = recorded(100, 1);
    let client = |connection: &Connection, id: i64, address: &str, name: Option<&str>| {
        let named = "UPDATE client SET address = ?2, name = ?3 WHERE id = ?1";
        connection.execute(named, params![id, address, name]).unwrap();
    };
    client(&connection, 1, "10.0.0.1:50001", Some("worker"));
    client(&connection, 2, "10.0.0.1:50002", Some("worker"));
    // Another host, another name, and two without a known name.
    client(&connection, 3, "10.0.0.2:50003", Some("worker"));
    client(&connection, 4, "10.0.0.1:50004", None);
    client(&connection, 5, "10.0.0.1:50005", None);
    let ranked = HistoryQuery { rank_by: Some(RankBy::Handovers), ..query() };
    let history = read(&mut connection, &ranked);
    let ranking = history.ranking.as_ref().unwrap();
    let first = &ranking.clients[0];
    assert_eq!((ranking.client_count, first.sums.handovers, first.addresses), (4, 40, 2));
    assert_eq!((first.client.as_deref(), first.client_name.as_deref()), (Some("10.0.0.1:50002"), Some("worker")));
    let mut out = Vec::new();
    lines(&mut out, &history, true).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("worker (10.0.0.1, 2 addresses)") && text.contains("worker (10.0.0.2:50003)"), "{text}");
}

/// Returns the tables of two locks, with attempts in vain and a storm of contenders that left.
fn with_attempts() -> Connection {
    let connection = recorded(4, 2);
    let rows = "INSERT INTO session VALUES (1, 2, 1000000, 1000050, NULL);
        INSERT INTO attempt (lock, session, from_at, to_at, count) VALUES
            ('/locks/1', 1, 1000010, 1000020, 30), ('/locks/1', 1, 1000030, 1000040, 5), ('/locks/1', 9, 1000010, 1000011, 70),
            (NULL, 9, 1009000, 1009000, 2);
        WITH RECURSIVE number (n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM number WHERE n < 249)
        INSERT INTO contender SELECT n, 2, 3, 3, 1020000 + n, 1020000 + n, NULL, NULL, 1020000 + n, 1020000 + n, 'left', 'exclusive',
            'lock-' || n, n, NULL, NULL, NULL FROM number";
    connection.execute_batch(rows).unwrap();
    connection
}

#[test]
fn attempts_in_vain_are_counted_by_lock_and_session_within_the_requested_time() {
    let mut connection = with_attempts();
    let mut tried = |query: HistoryQuery| {
        let attempts = read(&mut connection, &query).attempts.into_iter();
        attempts.map(|tried| (tried.lock.is_some(), tried.session.map(|id| id.0), tried.count)).collect::<Vec<_>>()
    };
    assert_eq!(tried(query()), [(true, Some(9), 70), (true, Some(1), 35), (false, Some(9), 2)]);
    assert_eq!(tried(HistoryQuery { lock: ZnodePath::new("/locks/2").ok(), ..query() }), []);
    assert_eq!(tried(HistoryQuery { session: Some(SessionId(1)), ..query() }), [(true, Some(1), 35)]);
    assert_eq!(tried(HistoryQuery { client: Some("worker-2".to_owned()), ..query() }), [(true, Some(1), 35)]);
    assert_eq!(
        tried(HistoryQuery { from: Some(Timestamp(1_000_025)), ..query() }),
        [(true, Some(1), 5), (false, Some(9), 2)]
    );
}

#[test]
fn requests_in_vain_are_ranked_and_their_storms_are_told() {
    let mut connection = with_attempts();
    let ranked = HistoryQuery { rank_by: Some(RankBy::InVain), ..query() };
    let history = read(&mut connection, &ranked);
    let ranking = history.ranking.as_ref().unwrap();
    let locks: Vec<_> = ranking.locks.iter().map(|lock| (&*lock.lock, lock.sums.in_vain)).collect();
    assert_eq!(locks, [("/locks/2", 150), ("/locks/1", 105)]);
    let clients: Vec<_> = ranking.clients.iter().map(|one| (one.client_name.as_deref(), one.sums.in_vain)).collect();
    assert_eq!(clients[..2], [(Some("worker-3"), 150), (Some("worker-2"), 35)]);
    let storms: Vec<_> =
        history.storms.iter().map(|storm| (&*storm.lock, storm.from.0, storm.left, storm.refused)).collect();
    assert_eq!(storms, [("/locks/2", 1_020_000, 150, 0), ("/locks/1", 1_000_000, 0, 105)]);
    let mut out = Vec::new();
    lines(&mut out, &read(&mut connection, &query()), true).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("A storm at /locks/1: 105 requests in vain within 10 s"), "{text}");
    assert!(text.contains("TRIED IN VAIN") && text.contains("worker-2") && text.contains("0x9"), "{text}");
    connection.execute_batch("DROP TABLE attempt").unwrap();
    assert_eq!(read(&mut connection, &ranked).attempts, [], "an earlier version has no such table");
}

#[test]
fn counts_of_a_damaged_recording_overflow_nothing() {
    let mut connection = with_attempts();
    let ranked = HistoryQuery { rank_by: Some(RankBy::InVain), ..query() };
    for count in [i64::MAX, i64::MIN, -1] {
        connection.execute("UPDATE attempt SET count = ?1, from_at = 1000010", [count]).unwrap();
        let history = read(&mut connection, &ranked);
        assert_eq!(history.attempts.len(), 3, "{count}");
        let window = PastWindow::from_tables(&mut connection, None, None).unwrap().unwrap();
        let page = crate::incident::html(&crate::incident::Incident::new(&window), true);
        assert!(page.contains("tried-in-vain"), "{count}");
    }
}

#[test]
fn what_happened_to_the_ensemble_is_told_with_both_bounds_as_json_and_shortly_to_people() {
    let mut connection = recorded(10, 1);
    let insert = "INSERT INTO ensemble_event (what, member, epoch, began_after, began_before, ended_after, ended_before, detail, source)
        VALUES ('no-majority', NULL, NULL, 1000010, 1000020, 1000050, 1000060, 'zk1 has no leader\u{1b}', 'watched'),
            ('leader-changed', 'zk2:2181', 7, 1000050, 1000060, 1000050, 1000060, NULL, 'watched'),
            ('not-seen', NULL, NULL, 1000080, 1000080, NULL, NULL, 'cut', 'watched')";
    connection.execute(insert, []).unwrap();
    let history = read(&mut connection, &query());
    let mut out = Vec::new();
    lines(&mut out, &history, true).unwrap();
    let text = String::from_utf8(out).unwrap();
    let told: Vec<&str> = text.lines().filter(|line| line.starts_with("The ensemble")).collect();
    let [lost, changed] = told[..] else { panic!("{text}") };
    assert!(lost.starts_with("The ensemble: no majority from ") && lost.contains(": zk1 has no leader"), "{lost}");
    assert!(changed.starts_with("The ensemble: another leader zk2:2181, epoch 7 by "), "{changed}");
    assert!(!text.contains('\u{1b}'), "{text}");
    let facts = serde_json::to_value(HistoryFacts::from(&history)).unwrap();
    let events = facts["ensemble_events"].as_array().unwrap();
    assert_eq!(
        (events.len(), &events[0]["what"], &events[2]["to"]),
        (3, &"no-majority".into(), &serde_json::Value::Null)
    );
    let bounds = ["began_after", "from", "ended_after", "to"].map(|name| events[0][name].as_str().unwrap_or_default());
    assert_eq!(bounds.map(|time| &time[20..23]), ["010", "020", "050", "060"]);
}
