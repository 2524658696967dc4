//! Tests of locks with one holder.

use super::TableFixture;
use crate::queue::{Contender, ContenderState, HeldSince, LockEvent, WatchEvents};
use crate::testing::fixture::{events, said};
use crate::testing::{deleted, path};
use lockscope_base::recipe::{LockKind, Recipe};

#[test]
fn the_lowest_number_holds_and_every_other_contender_waits_for_its_predecessor() {
    let mut fixture = TableFixture::new();
    for session in 1..=3 {
        fixture.create("/locks/a/lock-", session);
    }
    let lock = fixture.lock("/locks/a");
    assert_eq!(
        (lock.recipe(), lock.kind(), lock.len(), lock.waiting()),
        (Recipe::TextbookQueue, LockKind::Exclusive, 3, 2)
    );
    let said = said(lock);
    assert_eq!(said[0].state, ContenderState::Holds);
    assert!(said[0].waits_for.is_empty());
    assert_eq!((said[2].state, &said[2].waits_for[..]), (ContenderState::Waits, &["lock-0000000001".to_owned()][..]));
    assert_eq!(lock.next_sequence(), Some(3));
}

#[test]
fn the_number_of_a_node_deleted_before_its_read_counts_as_used() {
    let mut fixture = TableFixture::new();
    fixture.create("/a/x-17-", 1);
    let unread = fixture.put_numbered("/a/x-18-", 2);
    fixture.delete(&unread);
    assert_eq!((fixture.lock("/a").len(), fixture.lock("/a").next_sequence()), (1, Some(2)));
}

#[test]
fn the_number_of_a_node_deleted_before_the_first_read_counts_as_used() {
    let mut fixture = TableFixture::new();
    let first = fixture.put_numbered("/a/x-17-", 1);
    let unread = fixture.put_numbered("/a/x-18-", 2);
    fixture.delete(&unread);
    let seen = fixture.observed(&first);
    fixture.apply(seen);
    assert_eq!((fixture.lock("/a").len(), fixture.lock("/a").next_sequence()), (1, Some(2)));
}

#[test]
fn a_deleted_node_that_is_no_contender_uses_no_number() {
    let mut fixture = TableFixture::new();
    fixture.create("/a/x-17-", 1);
    for name in ["backup-2026112201", "x-2147483640", "notes"] {
        fixture.apply(deleted(&path(&format!("/a/{name}"))));
    }
    assert_eq!(fixture.lock("/a").next_sequence(), Some(1));
}

#[test]
fn a_release_passes_the_lock_on_and_reports_waits_holds_and_costs() {
    let mut fixture = TableFixture::new();
    let first = fixture.create("/a/lock-", 1);
    for session in 2..=5 {
        fixture.create("/a/lock-", session);
    }
    let happenings = fixture.delete(&first);
    assert_eq!(events(&happenings), [LockEvent::Released, LockEvent::Acquired]);
    assert_eq!(happenings[0].watch_events, WatchEvents { herd: 4, chain: 1 });
    assert_eq!(happenings[0].held_ms, Some(50));
    assert_eq!(happenings[1].waited_ms, Some(40));
    assert_eq!(happenings[1].watch_events, WatchEvents::default());
    assert_eq!(happenings[1].queue, 4);
    assert_eq!(fixture.lock("/a").watch_cost(), Some(WatchEvents { herd: 3, chain: 1 }));
    assert!(matches!(fixture.lock("/a").held(), HeldSince::Since(_)));
}

#[test]
fn a_waiter_that_leaves_promotes_nobody_and_its_follower_waits_for_its_predecessor() {
    let mut fixture = TableFixture::new();
    let nodes: Vec<_> = (1..=3).map(|session| fixture.create("/a/lock-", session)).collect();
    let happenings = fixture.delete(&nodes[1]);
    assert_eq!(events(&happenings), [LockEvent::Left]);
    assert_eq!(happenings[0].watch_events, WatchEvents { herd: 1, chain: 1 });
    assert_eq!(said(fixture.lock("/a"))[1].waits_for, ["lock-0000000000"]);
}

#[test]
fn an_arrival_wakes_a_herd_but_no_chain() {
    let mut fixture = TableFixture::new();
    for session in 1..=4 {
        fixture.create("/a/lock-", session);
    }
    // The holder does not wait: 0, 0, 1 and 2 waiters were present when each contender arrived.
    assert_eq!(fixture.table.totals().watch_events, WatchEvents { herd: 3, chain: 0 });
}

#[test]
fn a_contender_that_acquires_at_once_has_not_held_yet() {
    let mut fixture = TableFixture::new();
    let node = fixture.put_numbered("/a/lock-", 1);
    let happenings = fixture.apply(fixture.observed(&node));
    assert_eq!(events(&happenings), [LockEvent::LockFound, LockEvent::Enqueued, LockEvent::Acquired]);
    assert!(happenings.iter().all(|happening| happening.held_ms.is_none()));
}

#[test]
fn equal_numbers_are_ordered_by_creation() {
    let mut fixture = TableFixture::new();
    let second = fixture.put("/a/n_0000000007", Some(1));
    let third = fixture.put("/a/x-1-0000000007", Some(1));
    for at in [&third, &second] {
        fixture.apply(fixture.observed(at));
    }
    assert_eq!(fixture.table.locks_at(&path("/a")).count(), 2, "two recipes in one parent are two queues");
}

#[test]
fn after_an_overflow_the_newest_node_is_the_head_as_the_libraries_see_it() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/a/lock-2147483647", Some(1));
    fixture.create_plain("/a/lock--2147483648", Some(2));
    let said = said(fixture.lock("/a"));
    assert_eq!(said[0].node, "lock--2147483648");
    assert_eq!((said[0].state, said[1].state), (ContenderState::Holds, ContenderState::Waits));
}

#[test]
fn a_single_node_lock_passes_from_owner_to_owner_under_one_path() {
    let mut fixture = TableFixture::new();
    let node = fixture.create_plain("/app/lock", Some(1));
    let lock = fixture.lock("/app/lock");
    assert_eq!((lock.kind(), lock.waiting(), lock.watch_cost()), (LockKind::SingleNode, 0, None));
    assert_eq!(events(&fixture.delete(&node)), [LockEvent::Released]);
    assert!(fixture.lock("/app/lock").is_empty());
    fixture.create_plain("/app/lock", Some(2));
    assert_eq!(fixture.lock("/app/lock").first_holder().and_then(Contender::session).map(|session| session.0), Some(2));
}

#[test]
fn a_directory_called_lock_is_no_lock() {
    let mut fixture = TableFixture::new();
    fixture.create_plain("/app/lock", None);
    assert_eq!(fixture.table.lock_count(), 0);
}

#[test]
fn several_names_in_one_parent_are_several_queues_and_a_single_queue_is_unnamed() {
    let mut fixture = TableFixture::new();
    fixture.create("/many/red_lock_", 1);
    assert_eq!(fixture.lock("/many").name(), None);
    let blue = fixture.create("/many/blue_lock_", 2);
    let names: Vec<_> = fixture.table.locks().map(|lock| lock.name().unwrap_or("").to_owned()).collect();
    assert_eq!(names, ["blue", "red"]);
    assert!(fixture.table.locks().all(|lock| lock.holding() == 1));
    fixture.delete(&blue);
    assert_eq!(fixture.lock("/many").name(), None);
}

#[test]
fn numbered_ephemerals_of_no_recipe_are_an_unknown_queue() {
    let mut fixture = TableFixture::new();
    fixture.create("/q/whatever:", 1);
    assert_eq!(fixture.lock("/q").recipe(), Recipe::UnknownQueue);
    fixture.create_plain("/p/whatever:0000000000", None);
    assert_eq!(fixture.table.lock_count(), 1, "persistent ones are work items, not contenders");
}

#[test]
fn in_a_queue_of_unknown_rules_nobody_is_known_to_wait() {
    let mut fixture = TableFixture::new();
    let nodes = [1, 2, 3].map(|session| fixture.create("/workers/worker-", session));
    let lock = fixture.lock("/workers");
    let states: Vec<_> = lock.rows(0..lock.len()).map(|row| row.state).collect();
    assert_eq!(states, [ContenderState::Holds, ContenderState::Unknown, ContenderState::Unknown]);
    assert_eq!((lock.is_assumed(), lock.waiting(), lock.len()), (true, 0, 3));
    assert!(lock.first_waiter().is_none());
    fixture.delete(&nodes[0]);
    assert_eq!(fixture.lock("/workers").first_holder().map(|holder| &*holder.node), Some(nodes[1].name()));
}
