//! Locks that are found and dropped, cuts, and complete readings.

use super::TableFixture;
use crate::queue::{Change, ConnectionState, HeldSince, LockEvent, LockTable};
use crate::testing::fixture::{events, said, session_runs_out};
use crate::testing::{connected, deleted, lost, path, table};
use lockscope_base::znode::{Timestamp, ZnodePath, Zxid};

#[test]
fn locks_that_exist_at_the_start_are_not_reported_as_events() {
    let mut fixture = TableFixture::new();
    for session in 1..=3 {
        fixture.put_numbered("/a/lock-", session);
    }
    let mut table = LockTable::new([]);
    let happenings: Vec<_> = fixture.walk().into_iter().flat_map(|change| table.apply(change, fixture.now)).collect();
    assert_eq!(events(&happenings), []);
    let lock = table.locks().next().expect("a lock");
    assert!(matches!(lock.held(), HeldSince::AtMostSince(_)));
    assert_eq!(table.totals().acquisitions, 0);
}

#[test]
fn missed_events_are_reported_after_a_reconnect_without_invented_times_or_costs() {
    let mut fixture = TableFixture::new();
    let first = fixture.create("/a/lock-", 1);
    fixture.create("/a/lock-", 2);
    fixture.tree.remove(&first);
    fixture.put_numbered("/a/lock-", 3);
    let before = fixture.table.totals().clone();
    let happenings = fixture.reconnect();
    assert_eq!(
        events(&happenings),
        [
            LockEvent::Disconnected,
            LockEvent::Reconnected,
            LockEvent::Enqueued,
            LockEvent::Released,
            LockEvent::Acquired,
            LockEvent::Resynced
        ]
    );
    assert_eq!(happenings[4].waited_ms, None);
    assert_eq!(fixture.table.totals().watch_events, before.watch_events);
    assert_eq!(said(fixture.lock("/a")).len(), 2);
    assert!(matches!(fixture.lock("/a").held(), HeldSince::AtMostSince(_)));
}

#[test]
fn a_silent_ensemble_is_not_live_and_is_again_without_a_reading_unless_the_connection_is_lost() {
    let mut fixture = TableFixture::new();
    fixture.create("/a/lock-", 1);
    let made = fixture.now;
    let silent = || Change::Connection(ConnectionState::Silent { since: made });
    assert_eq!(events(&fixture.apply(silent())), []);
    assert!(!fixture.table.is_live() && fixture.table.is_in_step());
    assert_eq!(fixture.table.last_true(), Some(made));
    assert_eq!(events(&fixture.apply(connected())), []);
    assert!(fixture.table.is_live());

    fixture.apply(silent());
    assert_eq!(events(&fixture.apply(lost())), [LockEvent::Disconnected]);
    fixture.apply(connected());
    assert!(!fixture.table.is_live(), "events may have been missed");
}

#[test]
fn a_disconnected_table_is_not_live_and_says_until_when_it_was() {
    let mut fixture = TableFixture::new();
    fixture.create("/a/lock-", 1);
    assert!(fixture.table.is_live());
    let made = fixture.now;
    fixture.apply(lost());
    assert!(!fixture.table.is_live());
    assert_eq!(fixture.table.last_true(), Some(made));
    fixture.apply(connected());
    assert!(!fixture.table.is_live(), "connected is not yet in step");
}

#[test]
fn what_is_shown_is_as_of_the_servers_last_message_and_not_of_when_its_silence_was_noticed() {
    let deleted = || deleted(&path("/gone"));
    let surveyed = || Change::Surveyed { view: std::sync::Arc::default() };
    let heard = |at| Change::Heard { at: Timestamp(at) };
    let as_of = |changes: Vec<(Change, i64)>| {
        let mut table = table([], Timestamp(1_000));
        for (change, at) in changes {
            table.apply(change, Timestamp(at));
        }
        table.last_true()
    };
    assert_eq!(as_of(vec![(lost(), 9_000)]), Some(Timestamp(1_000)));
    assert_eq!(as_of(vec![(deleted(), 5_000), (lost(), 9_000)]), Some(Timestamp(5_000)));
    assert_eq!(as_of(vec![(heard(7_000), 9_000), (lost(), 9_000)]), Some(Timestamp(7_000)));
    assert_eq!(as_of(vec![(deleted(), 8_000), (heard(7_000), 9_000), (lost(), 9_000)]), Some(Timestamp(8_000)));
    assert_eq!(as_of(vec![(surveyed(), 8_000), (lost(), 9_000)]), Some(Timestamp(1_000)), "other connections");
    assert_eq!(as_of(vec![(heard(20_000), 9_000), (lost(), 9_000)]), Some(Timestamp(9_000)), "a clock that jumped");
    assert_eq!(as_of(vec![(lost(), 9_000), (heard(8_000), 9_500)]), Some(Timestamp(1_000)), "too late to count");
}

#[test]
fn a_reconnect_is_reported_after_a_cut_during_the_first_reading() {
    let mut table = LockTable::new([]);
    let changes = [lost(), connected(), Change::Syncing, lost(), lost(), connected(), Change::Syncing, Change::Synced];
    let happenings: Vec<_> = changes.into_iter().flat_map(|change| table.apply(change, Timestamp(1))).collect();
    assert_eq!(events(&happenings), [LockEvent::Disconnected, LockEvent::Reconnected]);
}

#[test]
fn after_an_overload_nothing_is_live_until_everything_is_read_again() {
    let mut fixture = TableFixture::new();
    fixture.create("/a/lock-", 1);
    let overloaded = || Change::Connection(ConnectionState::Overloaded { reason: "too much".into() });
    assert_eq!(events(&fixture.apply(overloaded())), [LockEvent::Overloaded]);
    assert!(!fixture.table.is_live());
    assert_eq!(events(&fixture.apply(connected())), [], "it was never cut off");
    for change in [Change::Syncing, fixture.observed(&path("/a/lock-0000000000"))] {
        assert_eq!(events(&fixture.apply(change)), []);
    }
    assert_eq!(events(&fixture.apply(Change::Synced)), [LockEvent::Resynced]);
    assert!(fixture.table.is_live());

    fixture.apply(overloaded());
    let lost = lost();
    assert_eq!(events(&fixture.apply(lost)), [LockEvent::Disconnected]);
    assert_eq!(events(&fixture.apply(connected())), [LockEvent::Reconnected]);
}

#[test]
fn an_emptied_lock_stays_until_its_parent_goes() {
    let mut fixture = TableFixture::new();
    let node = fixture.create("/a/lock-", 1);
    fixture.delete(&node);
    assert!(fixture.lock("/a").is_empty());
    assert_eq!(fixture.lock("/a").held(), HeldSince::Free);
    assert_eq!(events(&fixture.delete(&path("/a"))), [LockEvent::LockGone]);
    assert_eq!(fixture.table.lock_count(), 0);
}

#[test]
fn a_deleted_parent_takes_its_contenders_along_though_their_deletions_were_missed() {
    let mut fixture = TableFixture::new();
    fixture.create("/a/lock-", 1);
    let happenings = fixture.delete(&path("/a"));
    assert_eq!(events(&happenings), [LockEvent::Released, LockEvent::LockGone]);
    assert_eq!(fixture.table.contender_count(), 0);
}

#[test]
fn the_same_change_twice_and_an_older_read_change_nothing() {
    let mut fixture = TableFixture::new();
    let node = fixture.create("/a/lock-", 1);
    let seen = fixture.observed(&node);
    assert!(fixture.apply(seen.clone()).is_empty());
    fixture.write(&node, b"__REVOKE__");
    fixture.apply(fixture.observed(&node));
    fixture.apply(seen);
    assert_eq!(said(fixture.lock("/a"))[0].data, b"__REVOKE__");
    assert_eq!(fixture.table.contender_count(), 1);
}

#[test]
fn a_node_that_may_no_longer_be_read_leaves_the_table_without_a_report() {
    let mut fixture = TableFixture::new();
    fixture.create("/a/lock-", 1);
    fixture.apply(lost());
    fixture.apply(connected());
    fixture.apply(Change::Syncing);
    fixture.apply(Change::Unreadable { path: path("/a"), why: "no".into() });
    let happenings = fixture.apply(Change::Synced);
    assert_eq!(events(&happenings), [LockEvent::LockGone, LockEvent::Resynced]);
    assert_eq!(fixture.table.unreadable().len(), 1);
}

#[test]
fn free_single_nodes_are_forgotten_when_there_are_too_many() {
    let mut fixture = TableFixture::new();
    for number in 0..1_500 {
        let node = fixture.create_plain(&format!("/jobs/{number}.lock"), Some(1));
        fixture.delete(&node);
    }
    assert_eq!(fixture.table.lock_count(), 1_000);
}

#[test]
fn the_table_lists_the_locks_that_changed_since_the_last_call() {
    let mut fixture = TableFixture::new();
    fixture.create("/a/lock-", 1);
    let at = fixture.table.find(&path("/a"), None).expect("the lock");
    assert_eq!(fixture.table.take_touched(), [at]);
    assert!(fixture.table.take_touched().is_empty());
    fixture.table.apply(session_runs_out(9, Timestamp(0)), Timestamp(0));
    assert!(fixture.table.take_touched().is_empty());
}

#[test]
fn a_free_single_node_is_forgotten_with_its_parent() {
    let mut fixture = TableFixture::new();
    let node = fixture.create_plain("/app/lock", Some(1));
    let other = fixture.create_plain("/application/lock", Some(1));
    fixture.delete(&node);
    fixture.delete(&other);
    assert_eq!(events(&fixture.delete(&path("/app"))), [LockEvent::LockGone]);
    assert_eq!(fixture.table.lock_count(), 1);
}

#[test]
fn an_unreadable_node_is_forgotten_with_its_parent_and_not_with_its_neighbours() {
    let mut fixture = TableFixture::new();
    for place in ["/a", "/a/b", "/a-b", "/ab"] {
        fixture.apply(Change::Unreadable { path: path(place), why: "no".into() });
    }
    fixture.delete(&path("/a"));
    assert_eq!(fixture.table.unreadable().keys().map(ZnodePath::as_str).collect::<Vec<_>>(), ["/a-b", "/ab"]);
}

#[test]
fn a_deletion_during_a_reading_names_its_transaction_only_for_a_node_that_was_seen_again() {
    for seen_again in [false, true] {
        let mut fixture = TableFixture::new();
        let lock = fixture.create_plain("/a/lock", Some(1));
        for change in [lost(), connected(), Change::Syncing] {
            fixture.apply(change);
        }
        if seen_again {
            fixture.apply(fixture.observed(&lock));
        }
        let told = fixture.apply(Change::Deleted { path: lock, zxid: Some(Zxid(900)) });
        let by: Vec<_> = told.iter().map(|happening| (happening.event, happening.deleted_by)).collect();
        assert_eq!(by, [(LockEvent::Released, seen_again.then_some(Zxid(900)))]);
    }
}
