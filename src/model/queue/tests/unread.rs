//! Contenders that are not read yet are still counted and timed, and all their events are reported.

use crate::queue::{Change, ContenderState, HoldBounds, LockEvent, LockTable};
use crate::testing::fixture::TableFixture;
use crate::testing::{path, uuid};
use lockscope_base::znode::{Node, ZnodePath, ZnodeStat, Zxid};

const QUEUE: &str = "/q/_c_c3d2e1f0-0000-4000-8000-000000000000-lock-";

/// Creates and announces a node that is not read.
fn appear(world: &mut TableFixture, at: &ZnodePath) -> Vec<LockEvent> {
    let path = at.clone();
    world.apply(Change::Appeared { path }).iter().map(|happening| happening.event).collect()
}

fn first(table: &LockTable) -> &crate::queue::LockQueue {
    table.locks().next().expect("a lock")
}

#[test]
fn an_unread_waiter_keeps_its_place_when_its_semaphore_becomes_a_plain_queue() {
    let mut world = TableFixture::new();
    world.create_plain("/s/locks", None);
    world.create_plain("/s/leases", None);
    let [head, next] = [1, 2].map(|session| {
        let prefix = format!("/s/locks/_c_{}-lock-", uuid(session));
        world.put_numbered(&prefix, i64::from(session))
    });
    assert_eq!(appear(&mut world, &head), []);
    let cleaned_up: Vec<LockEvent> = world.delete(&path("/s/leases")).iter().map(|happening| happening.event).collect();
    assert_eq!(cleaned_up, [LockEvent::LockFound, LockEvent::Enqueued, LockEvent::Acquired]);
    assert_eq!(appear(&mut world, &next), [LockEvent::Enqueued]);
}

#[test]
fn a_contender_deleted_before_its_read_is_reported_as_enqueued_acquired_and_released() {
    let mut world = TableFixture::new();
    let (a, b) = (world.put_numbered(QUEUE, 7), world.put_numbered(QUEUE, 8));
    assert_eq!(appear(&mut world, &a), [LockEvent::LockFound, LockEvent::Enqueued, LockEvent::Acquired]);
    assert_eq!(appear(&mut world, &b), [LockEvent::Enqueued]);
    let gone = world.delete(&a);
    assert_eq!(
        gone.iter().map(|happening| happening.event).collect::<Vec<_>>(),
        [LockEvent::Released, LockEvent::Acquired]
    );
    assert_eq!((gone[0].session, gone[0].held_ms), (None, Some(20)));
    assert_eq!(gone[1].waited_ms, Some(10));
    assert_eq!(world.table.contender_count(), 1);
    assert_ne!(gone[0].contender, gone[1].contender);
}

#[test]
fn unknown_fields_stay_empty() {
    let mut world = TableFixture::new();
    let a = world.put_numbered(QUEUE, 7);
    appear(&mut world, &a);
    let holder = first(&world.table).first_holder().expect("a holder").clone();
    assert!(!holder.is_read());
    assert_eq!((holder.session(), holder.data.bytes()), (None, &b""[..]));
    assert!(world.table.clients().identity_of(&holder).unread);
    assert!(world.table.clock().hold_bounds(&holder, world.now).is_some_and(HoldBounds::is_exact));
}

#[test]
fn a_contender_that_is_read_later_keeps_its_identity_and_times() {
    let mut world = TableFixture::new();
    let a = world.put_numbered(QUEUE, 7);
    appear(&mut world, &a);
    let before = first(&world.table).first_holder().expect("a holder").clone();
    assert!(world.apply(world.observed(&a)).is_empty(), "nothing happens by a read");
    let after = first(&world.table).first_holder().expect("a holder").clone();
    assert_eq!(before.id(), after.id());
    assert_eq!((before.enqueued_at(), before.acquired_at()), (after.enqueued_at(), after.acquired_at()));
    assert_eq!((after.czxid, after.session().map(|session| session.0)), (world.tree[&a].stat.czxid, Some(7)));
    assert!(after.is_read());
    // Another read and another announcement add nothing.
    assert!(world.apply(world.observed(&a)).is_empty() && appear(&mut world, &a).is_empty());
    let gone = world.delete(&a);
    assert_eq!((gone[0].event, gone[0].contender.clone()), (LockEvent::Released, Some(before.id())));
}

#[test]
fn a_contender_that_cannot_be_read_leaves_without_a_report() {
    let mut world = TableFixture::new();
    let (a, b) = (world.put_numbered(QUEUE, 7), world.put_numbered(QUEUE, 8));
    appear(&mut world, &a);
    world.apply(world.observed(&b));
    let why = "no".to_owned();
    let happened = world.apply(Change::Unreadable { path: a, why });
    assert_eq!(happened.iter().map(|happening| happening.event).collect::<Vec<_>>(), [LockEvent::Acquired]);
    assert_eq!(world.table.contender_count(), 1);
}

#[test]
fn a_node_that_must_be_ephemeral_counts_only_where_there_is_such_a_lock() {
    let mut world = TableFixture::new();
    let lock = world.put("/a/lock", Some(7));
    assert!(appear(&mut world, &lock).is_empty());
    world.apply(world.observed(&lock));
    world.delete(&lock);
    let lock = world.put("/a/lock", Some(8));
    assert_eq!(appear(&mut world, &lock), [LockEvent::Enqueued, LockEvent::Acquired]);
    // A node that turns out not to be ephemeral is no contender.
    let lock = world.put("/a/lock", None);
    assert!(world.apply(world.observed(&lock)).is_empty());
    assert_eq!(world.table.contender_count(), 0);
}

#[test]
fn a_reader_that_is_not_read_stands_behind_the_writer_of_the_same_number() {
    let mut world = TableFixture::new();
    let name = "/rw/_c_c3d2e1f0-0000-4000-8000-000000000000-";
    let writer = world.put(&format!("{name}__WRIT__0000000003"), Some(7));
    let reader = world.put(&format!("{name}__READ__0000000003"), Some(7));
    world.apply(world.observed(&writer));
    appear(&mut world, &reader);
    let lock = first(&world.table);
    let rows: Vec<_> = lock.rows(0..2).map(|row| (row.contender.node.contains("WRIT"), row.state)).collect();
    assert_eq!(rows[0], (true, ContenderState::Holds));
    world.apply(world.observed(&reader));
    let lock = first(&world.table);
    assert!(lock.rows(0..2).all(|row| row.state == ContenderState::Holds), "the read under one's own write");
}

#[test]
fn a_contender_with_a_reused_name_that_is_read_after_a_cut_has_no_times() {
    let mut world = TableFixture::new();
    let lock = world.create_plain("/a/lock", Some(7));
    world.delete(&lock);
    let lock = world.put("/a/lock", Some(8));
    appear(&mut world, &lock);
    world.apply(Change::Syncing);
    world.apply(world.observed(&path("/a/lock")));
    world.apply(Change::Synced);
    let holder = first(&world.table).first_holder().expect("a holder").clone();
    assert_eq!((holder.enqueued_at(), holder.acquired_at(), holder.is_read()), (None, None, true));
}

#[test]
fn a_node_with_the_lowest_number_for_its_transaction_has_a_place() {
    let mut world = TableFixture::new();
    let own = world.create(QUEUE, 7);
    let Change::Seen { path, node } = world.observed(&own) else { panic!("the node is there") };
    for czxid in [i64::MIN, i64::MIN + 1, -1] {
        let stat = ZnodeStat { czxid: Zxid(czxid), ..node.stat };
        world.apply(Change::Seen { path: path.clone(), node: Node { stat, data: node.data.clone() } });
        assert_eq!(world.table.contender_count(), 1, "{czxid}");
    }
}
