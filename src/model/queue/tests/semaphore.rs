//! Tests of semaphores: leases before the queue, and the holders.

use super::TableFixture;
use crate::queue::{Change, ContenderState, Happening, LockEvent};
use crate::testing::fixture::{events, said};
use crate::testing::{path, uuid};
use lockscope_base::recipe::{Definition, LockKind, Recipe};

fn queue(number: u32) -> String {
    format!("/s/locks/_c_{}-lock-", uuid(number))
}

fn lease(number: u32) -> String {
    format!("/s/leases/_c_{}-lease-", uuid(number + 1000))
}

/// Takes one session through Curator's recipe: queue, lease, out of the queue.
fn acquire(fixture: &mut TableFixture, session: u32) {
    let node = fixture.create(&queue(session), i64::from(session));
    fixture.create(&lease(session), i64::from(session));
    fixture.delete(&node);
}

#[test]
fn a_semaphore_is_one_lock_at_its_own_path_with_its_leases_before_its_queue() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/s/leases", None);
    acquire(&mut fixture, 1);
    acquire(&mut fixture, 2);
    fixture.create(&queue(3), 3);
    fixture.create(&queue(4), 4);
    assert_eq!(fixture.table.lock_count(), 1);
    let lock = fixture.lock("/s");
    assert_eq!(
        (lock.recipe(), lock.kind(), lock.holding(), lock.waiting()),
        (Recipe::CuratorSemaphore, LockKind::Semaphore, 2, 2)
    );
    let said = said(lock);
    assert!(said[0].node.contains("lease") && said[2].node.contains("lock"));
    assert_eq!(said[3].waits_for, [said[2].node.clone()]);
    assert!(said[2].waits_for.is_empty(), "Curator does not store how many leases there may be");
}

#[test]
fn a_lease_whose_session_still_heads_the_queue_waits_and_counts_once() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/s/leases", None);
    acquire(&mut fixture, 1);
    let node = fixture.create(&queue(2), 2);
    fixture.create(&lease(2), 2);
    let lock = fixture.lock("/s");
    let rows = said(lock);
    assert_eq!(rows.iter().map(|said| said.state).collect::<Vec<_>>(), [ContenderState::Holds, ContenderState::Waits]);
    assert_eq!(rows[1].waits_for, [rows[0].node.clone()]);
    let happenings = fixture.delete(&node);
    assert_eq!(events(&happenings), [LockEvent::Acquired]);
    assert_eq!(happenings[0].waited_ms, Some(20), "from when it came to queue");
    assert_eq!(fixture.lock("/s").holding(), 2);
}

#[test]
fn an_older_lease_of_the_same_session_does_not_belong_to_its_new_request() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/s/leases", None);
    acquire(&mut fixture, 1);
    fixture.create(&queue(1), 1);
    let rows = said(fixture.lock("/s"));
    assert_eq!(rows.iter().map(|said| said.state).collect::<Vec<_>>(), [ContenderState::Holds, ContenderState::Waits]);
}

#[test]
fn a_contender_whose_lease_is_read_later_has_not_left() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/s/leases", None);
    let node = fixture.create(&queue(1), 1);
    let lease = fixture.put_numbered(&lease(1), 1);
    fixture.apply(Change::Appeared { path: lease.clone() });
    assert_eq!(events(&fixture.delete(&node)), []);
    let happenings = fixture.apply(fixture.observed(&lease));
    assert_eq!(events(&happenings), [LockEvent::Acquired]);
}

#[test]
fn a_lease_of_a_head_that_is_read_later_does_not_belong_to_the_waiter_behind_it() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/s/leases", None);
    let head = fixture.put_numbered(&queue(1), 1);
    fixture.apply(Change::Appeared { path: head.clone() });
    fixture.create(&queue(2), 2);
    let lease = fixture.put_numbered(&lease(1), 1);
    fixture.apply(Change::Appeared { path: lease.clone() });
    assert_eq!(events(&fixture.apply(fixture.observed(&head))), [LockEvent::Enqueued]);
    assert_eq!(events(&fixture.delete(&head)), []);
    let happenings = fixture.apply(fixture.observed(&lease));
    assert_eq!(events(&happenings), [LockEvent::Acquired]);
    assert_eq!(happenings[0].session.map(|session| session.0), Some(1));
    assert_eq!(happenings[0].contender.as_ref().map(|contender| &*contender.node), Some(head.name()));
}

#[test]
fn a_contender_that_leaves_the_queue_without_a_lease_has_left() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/s/leases", None);
    let node = fixture.create(&queue(1), 1);
    let happenings = fixture.delete(&node);
    assert_eq!(events(&happenings), [LockEvent::Left]);
    assert_eq!(happenings[0].session.map(|session| session.0), Some(1));
}

#[test]
fn a_queue_below_locks_is_a_semaphore_while_leases_exist_and_a_mutex_otherwise() {
    let mut fixture = TableFixture::new();
    fixture.create(&queue(1), 1);
    assert_eq!(fixture.lock("/s/locks").recipe(), Recipe::CuratorMutex);
    let leases = fixture.create_plain("/s/leases", None);
    assert_eq!(fixture.lock("/s").recipe(), Recipe::CuratorSemaphore);
    assert_eq!(fixture.table.find(&path("/s/locks"), None), None);
    fixture.delete(&leases);
    assert_eq!(fixture.lock("/s/locks").recipe(), Recipe::CuratorMutex);
    assert_eq!(fixture.table.find(&path("/s"), None), None);
}

#[test]
fn waiters_are_reported_in_their_new_lock_when_leases_go_and_come_back() {
    let mut fixture = TableFixture::new();
    let leases = fixture.create_plain("/s/leases", None);
    // The names and the numbers are in different orders.
    for client in [9, 5, 7] {
        fixture.create(&queue(client), i64::from(client));
    }
    let told = |happenings: &[Happening]| -> Vec<(LockEvent, String, Option<i64>)> {
        let name =
            |happening: &Happening| happening.lock.as_ref().map_or_else(String::new, |lock| lock.path.to_string());
        let session = |happening: &Happening| happening.session.map(|session| session.0);
        happenings.iter().map(|happening| (happening.event, name(happening), session(happening))).collect()
    };
    let moved = |from: &str, to: &str| {
        let of = |event, lock: &str, session| (event, lock.to_owned(), session);
        let came = [9, 5, 7].map(|session| of(LockEvent::Enqueued, to, Some(session)));
        [vec![of(LockEvent::LockFound, to, None), of(LockEvent::LockGone, from, None)], came.to_vec()].concat()
    };
    let mut expected = moved("/s", "/s/locks");
    expected.push((LockEvent::Acquired, "/s/locks".to_owned(), Some(9)));
    assert_eq!(told(&fixture.delete(&leases)), expected);
    fixture.put("/s/leases", None);
    assert_eq!(told(&fixture.apply(Change::Appeared { path: leases })), moved("/s/locks", "/s"));
}

#[test]
fn nothing_stays_of_a_semaphore_whose_held_leases_are_deleted() {
    let mut fixture = TableFixture::new();
    let leases = fixture.create_plain("/s/leases", None);
    let node = fixture.create(&queue(1), 1);
    let lease = fixture.create(&lease(1), 1);
    fixture.delete(&node);
    fixture.create(&queue(2), 2);
    fixture.delete(&lease);
    fixture.delete(&leases);
    assert_eq!(fixture.table.find(&path("/s"), None), None);
    assert_eq!(fixture.lock("/s/locks").len(), 1);
}

#[test]
fn kazoos_semaphore_knows_its_maximum_and_its_head_waits_for_the_leases() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/k-__lock__", None);
    let base = fixture.put("/k", None);
    fixture.write(&base, b"1");
    fixture.create_plain(&format!("/k/{:032x}", 7), Some(1));
    fixture.create(&format!("/k-__lock__/{:032x}__lock__", 8), 2);
    fixture.apply(fixture.observed(&base));
    let lock = fixture.lock("/k");
    assert_eq!((lock.recipe(), lock.maximum(), lock.holding()), (Recipe::KazooSemaphore, Some(1), 1));
    let rows = said(lock);
    assert_eq!(rows[1].waits_for, [rows[0].node.clone()]);
    let waiter = lock.row(1).expect("a waiter").contender;
    assert_eq!(lock.path_of(waiter).as_str(), format!("/k-__lock__/{}", rows[1].node));
}

#[test]
fn the_next_number_is_that_of_the_queue_not_of_the_leases() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/s/leases", None);
    let gave_up = fixture.create(&queue(1), 1);
    fixture.delete(&gave_up);
    acquire(&mut fixture, 2);
    let node = fixture.create(&queue(3), 3);
    fixture.create(&lease(3), 3);
    assert_eq!(fixture.lock("/s").next_sequence(), Some(3));
    fixture.delete(&node);
    fixture.create_plain("/k-__lock__", None);
    fixture.create_plain(&format!("/k/{:032x}", 7), Some(1));
    fixture.create(&format!("/k-__lock__/{:032x}__lock__", 8), 2);
    fixture.create(&format!("/k-__lock__/{:032x}__lock__", 9), 3);
    for change in fixture.walk() {
        fixture.apply(change);
    }
    for (lock, next) in [("/s", 3), ("/k", 2)] {
        assert_eq!(fixture.lock(lock).next_sequence(), Some(next), "{lock}");
    }
}

fn permits(leases: u32) -> TableFixture {
    let own = Recipe::define(Definition {
        name: format!("permits-{leases}"),
        pattern: "permit-{sequence}".to_owned(),
        kind: LockKind::Semaphore,
        roles: Vec::new(),
        lock: true,
        persistent: false,
        below: None,
        leases: Some(leases),
        name_from: None,
    });
    let mut fixture = TableFixture::new();
    fixture.table = fixture.table.clone().with_recipes(&[own.expect("a recipe")]);
    fixture
}

#[test]
fn the_first_of_one_queue_hold_as_many_leases_as_there_are() {
    let mut fixture = permits(2);
    let nodes: Vec<_> = (1..=5).map(|session| fixture.create("/p/permit-", session)).collect();
    let lock = fixture.lock("/p");
    assert_eq!((lock.holding(), lock.waiting(), lock.maximum()), (2, 3, Some(2)));
    assert_eq!(lock.parents(), [path("/p")]);
    let rows = said(lock);
    assert_eq!(rows[0].waits_for, Vec::<String>::new());
    assert_eq!(rows[2].waits_for, [rows[0].node.clone(), rows[1].node.clone()], "any lease does");
    assert_eq!(rows[4].waits_for, [rows[3].node.clone()]);
    // The second lease is returned, and the first in line gets it at once.
    assert_eq!(events(&fixture.delete(&nodes[1])), [LockEvent::Released, LockEvent::Acquired]);
    // A waiter that leaves is told at once: it cannot have a lease elsewhere.
    assert_eq!(events(&fixture.delete(&nodes[4])), [LockEvent::Left]);
    let lock = fixture.lock("/p");
    assert_eq!((lock.holding(), lock.waiting()), (2, 1));
    assert!(fixture.table.is_consistent());
}

#[test]
fn leases_are_free_where_fewer_stand_in_the_queue() {
    let mut fixture = permits(3);
    let node = fixture.create("/p/permit-", 1);
    fixture.create("/p/permit-", 2);
    assert_eq!((fixture.lock("/p").holding(), fixture.lock("/p").waiting()), (2, 0));
    assert_eq!(events(&fixture.delete(&node)), [LockEvent::Released]);
    assert_eq!(fixture.lock("/p").holding(), 1);
}

#[test]
fn a_queue_with_leases_is_found_and_recorded_as_it_is() {
    let mut fixture = permits(2);
    for session in 1..=4 {
        fixture.put_numbered("/p/permit-", session);
    }
    for change in fixture.walk() {
        fixture.apply(change);
    }
    assert_eq!((fixture.lock("/p").holding(), fixture.lock("/p").waiting()), (2, 2));
    let bytes = postcard::to_allocvec(&fixture.table).expect("bytes");
    let read: crate::queue::LockTable = postcard::from_bytes(&bytes).expect("a table");
    let lock = read.locks_at(&path("/p")).next().expect("the lock").clone();
    assert!(read.is_consistent());
    assert_eq!((lock.holding(), lock.maximum()), (2, Some(2)));
}
