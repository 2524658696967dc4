//! A member that shows again what the ensemble deleted.

use super::World;
use super::world::{events, path, said};
use crate::queue::deleted::MAX_DELETED;
use crate::queue::{Change, ConnectionState, ContenderState, LockEvent};
use crate::znode::{Node, SessionId, ZnodePath};

const QUIET: [LockEvent; 3] = [LockEvent::Disconnected, LockEvent::Reconnected, LockEvent::Resynced];

/// Deletes a node, and brings it back as it was behind the table's back.
fn delete_and_return(world: &mut World, at: &ZnodePath) -> Node {
    let node = world.tree[at].clone();
    world.delete(at);
    world.tree.insert(at.clone(), node.clone());
    node
}

fn returned(world: &World) -> usize {
    world.table.locks().map(crate::queue::LockQueue::returned).sum()
}

#[test]
fn a_deleted_head_that_is_there_again_is_no_new_contender_and_hands_nothing_over() {
    let mut world = World::new();
    let head = world.create("/a/lock-", 1);
    world.create("/a/lock-", 2);
    world.create("/a/lock-", 3);
    let id = world.lock("/a").row(0).expect("a holder").contender.id();
    delete_and_return(&mut world, &head);
    assert_eq!(events(&world.reconnect()), QUIET);
    let lock = world.lock("/a");
    let row = lock.row(0).expect("it is shown");
    assert_eq!((lock.returned(), row.contender.id(), row.state), (1, id, ContenderState::Holds));
    assert!(row.contender.returned_at.is_some());

    assert_eq!(events(&world.delete(&head)), [], "it was reported before that it released, and who acquired then");
    assert_eq!(returned(&world), 0);
    let holder = world.lock("/a").first_holder().cloned().expect("the second");
    assert!(holder.acquired_at.is_some(), "since when it holds is not forgotten");
    let second = path("/a").child(&holder.node);
    assert_eq!(events(&world.delete(&second)), [LockEvent::Released, LockEvent::Acquired]);
}

#[test]
fn a_holder_behind_a_returned_node_releases_what_it_held() {
    let mut world = World::new();
    let head = world.create("/a/lock-", 1);
    let second = world.create("/a/lock-", 2);
    delete_and_return(&mut world, &head);
    world.reconnect();
    assert_eq!(events(&world.delete(&second)), [LockEvent::Released]);
}

#[test]
fn a_returned_node_that_a_later_reading_does_not_find_goes_quietly_and_may_return_again() {
    let mut world = World::new();
    world.create("/a/lock-", 1);
    let waiter = world.create("/a/lock-", 2);
    for _ in 0..3 {
        let node = delete_and_return(&mut world, &waiter);
        assert_eq!(events(&world.reconnect()), QUIET);
        assert_eq!((returned(&world), said(world.lock("/a")).len()), (1, 2));
        world.tree.remove(&waiter);
        assert_eq!(events(&world.reconnect()), QUIET);
        assert_eq!((returned(&world), said(world.lock("/a")).len()), (0, 1));
        world.tree.insert(waiter.clone(), node);
        assert_eq!(events(&world.reconnect()), QUIET);
    }
}

#[test]
fn a_returned_lease_is_the_contender_that_it_was() {
    let mut world = World::new();
    world.create_plain("/s/leases", None);
    let queued = world.create("/s/locks/_c_00000001-0000-4000-8000-000000000000-lock-", 1);
    let lease = world.create("/s/leases/_c_00000002-0000-4000-8000-000000000000-lease-", 1);
    world.delete(&queued);
    let id = world.lock("/s").row(0).expect("a holder").contender.id();
    assert_eq!(&*id.node, queued.name());
    delete_and_return(&mut world, &lease);
    assert_eq!(events(&world.reconnect()), QUIET);
    assert_eq!(world.lock("/s").row(0).expect("it is shown").contender.id(), id);
    assert_eq!(events(&world.delete(&lease)), []);
}

#[test]
fn what_an_answer_of_the_same_reading_brings_back_was_never_deleted() {
    let mut world = World::new();
    let head = world.create("/a/lock-", 1);
    delete_and_return(&mut world, &head);
    world.apply(world.telling(&head));
    assert_eq!(returned(&world), 0);
    world.reconnect();
    assert_eq!(returned(&world), 0);
}

#[test]
fn what_could_not_be_read_was_not_deleted() {
    let mut world = World::new();
    let head = world.create("/a/lock-", 1);
    world.apply(Change::Syncing);
    world.apply(Change::Unreadable { path: path("/a"), why: "no READ".into() });
    world.apply(Change::Synced);
    assert_eq!(world.table.contender_count(), 0);
    world.reconnect();
    assert_eq!((returned(&world), said(world.lock("/a")).len()), (0, 1), "{head}");
}

#[test]
fn without_recursive_watches_a_deletion_is_inferred_and_proves_nothing() {
    let mut world = World::new();
    let head = world.create("/a/lock-", 1);
    world.apply(Change::Connection(ConnectionState::Connected { session: SessionId(1), recursive: false }));
    delete_and_return(&mut world, &head);
    world.reconnect();
    assert_eq!(returned(&world), 0);
}

#[test]
fn a_node_of_an_ensemble_that_was_set_up_anew_is_another_one() {
    let mut world = World::new();
    let head = world.create("/a/lock-", 1);
    let mut node = delete_and_return(&mut world, &head);
    node.stat.ctime.0 += 60_000;
    world.tree.insert(head, node);
    world.reconnect();
    assert_eq!(returned(&world), 0);
}

#[test]
fn only_so_many_deletions_are_remembered() {
    let mut world = World::new();
    world.create("/a/lock-", 1);
    let [first, second] = [2, 3].map(|session| world.create("/a/lock-", session));
    for at in [&first, &second] {
        delete_and_return(&mut world, at);
    }
    for _ in 0..MAX_DELETED - 1 {
        let at = world.create("/b/lock-", 4);
        world.delete(&at);
    }
    let happenings = world.reconnect();
    assert_eq!(events(&happenings).iter().filter(|event| **event == LockEvent::Enqueued).count(), 1, "the oldest");
    assert_eq!(returned(&world), 1);
}
