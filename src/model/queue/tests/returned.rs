//! Tests of a member that shows nodes again after the ensemble deleted them.

use super::TableFixture;
use crate::queue::contender::MAX_DELETED;
use crate::queue::{Change, ConnectionState, ContenderState, LockEvent};
use crate::testing::fixture::{events, said};
use crate::testing::path;
use lockscope_base::znode::{Node, SessionId, ZnodePath};

const QUIET: [LockEvent; 3] = [LockEvent::Disconnected, LockEvent::Reconnected, LockEvent::Resynced];

/// Deletes a node, and restores it unchanged without telling the table.
fn delete_and_return(fixture: &mut TableFixture, at: &ZnodePath) -> Node {
    let node = fixture.tree[at].clone();
    fixture.delete(at);
    fixture.tree.insert(at.clone(), node.clone());
    node
}

fn returned(fixture: &TableFixture) -> usize {
    fixture.table.locks().map(crate::queue::LockQueue::returned).sum()
}

#[test]
fn a_deleted_head_that_returns_is_no_new_contender_and_causes_no_hand_over() {
    let mut fixture = TableFixture::new();
    let head = fixture.create("/a/lock-", 1);
    fixture.create("/a/lock-", 2);
    fixture.create("/a/lock-", 3);
    let id = fixture.lock("/a").row(0).expect("a holder").contender.id();
    delete_and_return(&mut fixture, &head);
    assert_eq!(events(&fixture.reconnect()), QUIET);
    let lock = fixture.lock("/a");
    let row = lock.row(0).expect("the contender is shown");
    assert_eq!((lock.returned(), row.contender.id(), row.state), (1, id, ContenderState::Holds));
    assert!(row.contender.returned);

    assert_eq!(events(&fixture.delete(&head)), [], "it was reported before that it released, and who acquired then");
    assert_eq!(returned(&fixture), 0);
    let holder = fixture.lock("/a").first_holder().cloned().expect("the second");
    assert!(holder.acquired_at().is_some(), "since when it holds is not forgotten");
    let second = path("/a").child(&holder.node);
    assert_eq!(events(&fixture.delete(&second)), [LockEvent::Released, LockEvent::Acquired]);
}

#[test]
fn a_holder_behind_a_returned_node_still_releases_its_lock() {
    let mut fixture = TableFixture::new();
    let head = fixture.create("/a/lock-", 1);
    let second = fixture.create("/a/lock-", 2);
    delete_and_return(&mut fixture, &head);
    fixture.reconnect();
    assert_eq!(events(&fixture.delete(&second)), [LockEvent::Released]);
}

#[test]
fn a_returned_node_that_disappears_is_not_reported_and_may_return_again() {
    let mut fixture = TableFixture::new();
    fixture.create("/a/lock-", 1);
    let waiter = fixture.create("/a/lock-", 2);
    for _ in 0..3 {
        let node = delete_and_return(&mut fixture, &waiter);
        assert_eq!(events(&fixture.reconnect()), QUIET);
        assert_eq!((returned(&fixture), said(fixture.lock("/a")).len()), (1, 2));
        fixture.tree.remove(&waiter);
        assert_eq!(events(&fixture.reconnect()), QUIET);
        assert_eq!((returned(&fixture), said(fixture.lock("/a")).len()), (0, 1));
        fixture.tree.insert(waiter.clone(), node);
        assert_eq!(events(&fixture.reconnect()), QUIET);
    }
}

#[test]
fn a_returned_lease_keeps_its_contender() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/s/leases", None);
    let queued = fixture.create("/s/locks/_c_00000001-0000-4000-8000-000000000000-lock-", 1);
    let lease = fixture.create("/s/leases/_c_00000002-0000-4000-8000-000000000000-lease-", 1);
    fixture.delete(&queued);
    let id = fixture.lock("/s").row(0).expect("a holder").contender.id();
    assert_eq!(&*id.node, queued.name());
    delete_and_return(&mut fixture, &lease);
    assert_eq!(events(&fixture.reconnect()), QUIET);
    assert_eq!(fixture.lock("/s").row(0).expect("the contender is shown").contender.id(), id);
    assert_eq!(events(&fixture.delete(&lease)), []);
}

#[test]
fn a_node_found_again_by_the_same_reading_was_never_deleted() {
    let mut fixture = TableFixture::new();
    let head = fixture.create("/a/lock-", 1);
    delete_and_return(&mut fixture, &head);
    fixture.apply(fixture.observed(&head));
    assert_eq!(returned(&fixture), 0);
    fixture.reconnect();
    assert_eq!(returned(&fixture), 0);
}

#[test]
fn a_node_that_could_not_be_read_was_not_deleted() {
    let mut fixture = TableFixture::new();
    let head = fixture.create("/a/lock-", 1);
    fixture.apply(Change::Syncing);
    fixture.apply(Change::Unreadable { path: path("/a"), why: "no READ".into() });
    fixture.apply(Change::Synced);
    assert_eq!(fixture.table.contender_count(), 0);
    fixture.reconnect();
    assert_eq!((returned(&fixture), said(fixture.lock("/a")).len()), (0, 1), "{head}");
}

#[test]
fn without_recursive_watches_a_deletion_is_inferred_and_proves_nothing() {
    let mut fixture = TableFixture::new();
    let head = fixture.create("/a/lock-", 1);
    fixture.apply(Change::Connection(ConnectionState::Connected { session: SessionId(1), recursive: false }));
    delete_and_return(&mut fixture, &head);
    fixture.reconnect();
    assert_eq!(returned(&fixture), 0);
}

#[test]
fn a_node_of_a_rebuilt_ensemble_is_another_one() {
    let mut fixture = TableFixture::new();
    let head = fixture.create("/a/lock-", 1);
    let mut node = delete_and_return(&mut fixture, &head);
    node.stat.ctime.0 += 60_000;
    fixture.tree.insert(head, node);
    fixture.reconnect();
    assert_eq!(returned(&fixture), 0);
}

#[test]
fn the_number_of_remembered_deletions_is_bounded() {
    let mut fixture = TableFixture::new();
    fixture.create("/a/lock-", 1);
    let [first, second] = [2, 3].map(|session| fixture.create("/a/lock-", session));
    for at in [&first, &second] {
        delete_and_return(&mut fixture, at);
    }
    for _ in 0..MAX_DELETED - 1 {
        let at = fixture.create("/b/lock-", 4);
        fixture.delete(&at);
    }
    let happenings = fixture.reconnect();
    assert_eq!(events(&happenings).iter().filter(|event| **event == LockEvent::Enqueued).count(), 1, "the oldest");
    assert_eq!(returned(&fixture), 1);
}
