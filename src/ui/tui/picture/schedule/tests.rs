//! The causes of events in traces of a few entries.

use std::time::Duration;

use super::*;
use crate::testing::path;
use lockscope_base::znode::Zxid;

fn noted(steps: impl IntoIterator<Item = (u32, TraceStep)>) -> WakeCauses {
    let mut causes = WakeCauses::default();
    for (client, step) in steps {
        causes.add_entry(&TraceEntry { at: Duration::ZERO, client: ClientId(client), step });
    }
    causes
}

fn of(causes: &mut WakeCauses, client: u32, place: &WatchPlace) -> Option<u32> {
    causes.of(ClientId(client), place, std::iter::empty()).map(|client| client.0)
}

#[test]
fn the_cause_of_an_event_of_a_single_node_is_its_deleter_not_its_new_owner() {
    use TraceStep::{Created, Deleted, Sent, Watches};
    let node = path("/lock");
    let place = WatchPlace::Node(node.clone());
    let mut steps = vec![
        (1, Created(node.clone())),
        (2, Watches(place.clone())),
        (3, Watches(place.clone())),
        (1, Sent(RequestKind::Delete)),
        (1, Deleted(node.clone())),
    ];
    assert_eq!(of(&mut noted(steps.clone()), 2, &place), Some(1));
    steps.extend([(2, Sent(RequestKind::Create)), (2, Created(node))]);
    assert_eq!(of(&mut noted(steps), 3, &place), Some(1), "also where the next has it already");
}

#[test]
fn a_late_event_does_not_count_for_a_watch_that_the_next_holder_set_meanwhile() {
    use TraceStep::{Created, Deleted, Sent, Watches, Woken};
    let node = path("/lock");
    let place = WatchPlace::Node(node.clone());
    let mut causes = noted([
        (1, Created(node.clone())),
        (1, Watches(place.clone())),
        (2, Watches(place.clone())),
        (1, Sent(RequestKind::Delete)),
        (1, Deleted(node.clone())),
    ]);
    let add = |causes: &mut WakeCauses, client: u32, step: TraceStep| {
        causes.add_entry(&TraceEntry { at: Duration::ZERO, client: ClientId(client), step });
    };
    assert_eq!(of(&mut causes, 2, &place), Some(1));
    add(&mut causes, 2, Woken(place.clone()));
    add(&mut causes, 2, Sent(RequestKind::Create));
    add(&mut causes, 2, Created(node.clone()));
    add(&mut causes, 2, Watches(place.clone()));
    assert_eq!(of(&mut causes, 1, &place), Some(1), "its own deletion, late");
    add(&mut causes, 1, Woken(place.clone()));
    add(&mut causes, 1, Watches(place.clone()));
    add(&mut causes, 2, Sent(RequestKind::Delete));
    add(&mut causes, 2, Deleted(node));
    assert_eq!((of(&mut causes, 2, &place), of(&mut causes, 1, &place)), (Some(2), Some(2)));
}

#[test]
fn a_late_event_of_the_last_holder_alone_says_nothing_about_the_next_holders_watch() {
    use TraceStep::{Created, Deleted, Sent, Watches, Woken};
    let node = path("/l/lock");
    let place = WatchPlace::Node(node.clone());
    let mut causes = noted([
        (3, Created(node.clone())),
        (3, Watches(place.clone())),
        (3, Sent(RequestKind::Delete)),
        (3, Deleted(node.clone())),
        (2, Sent(RequestKind::Create)),
        (2, Created(node.clone())),
        (2, Watches(place.clone())),
    ]);
    let add = |causes: &mut WakeCauses, client: u32, step: TraceStep| {
        causes.add_entry(&TraceEntry { at: Duration::ZERO, client: ClientId(client), step });
    };
    assert_eq!(of(&mut causes, 3, &place), Some(3));
    add(&mut causes, 3, Woken(place.clone()));
    add(&mut causes, 2, Sent(RequestKind::Delete));
    add(&mut causes, 2, Deleted(node));
    assert_eq!(of(&mut causes, 2, &place), Some(2));
}

#[test]
fn a_failed_create_wakes_nobody_and_one_without_a_reply_may() {
    use TraceStep::{Sent, Watches};
    let place = WatchPlace::Children(path("/l"));
    let asked = vec![(2, Watches(place.clone())), (1, Sent(RequestKind::Create))];
    assert_eq!(of(&mut noted(asked.clone()), 2, &place), Some(1));
    let failed = asked.iter().cloned().chain([(1, Watches(place.clone()))]);
    assert_eq!(of(&mut noted(failed), 2, &place), None);
    let both = asked.into_iter().chain([(3, Sent(RequestKind::Create))]);
    let mut causes = noted(both);
    assert_eq!(of(&mut causes.clone(), 2, &place), None, "nobody knows which of the two");
    let step = TraceStep::Created(path("/l/x"));
    let later = [TraceEntry { at: Duration::ZERO, client: ClientId(3), step }];
    assert_eq!(causes.of(ClientId(2), &place, later.iter()), Some(ClientId(3)), "unless the answer comes behind it");
}

#[test]
fn a_change_before_the_watch_is_not_its_cause_even_when_its_reply_is_late() {
    use TraceStep::{Deleted, Sent, Watches};
    let place = WatchPlace::Children(path("/l"));
    let steps = [
        (1, Sent(RequestKind::Delete)),
        (3, Watches(place.clone())),
        (1, Deleted(path("/l/1"))),
        (2, Sent(RequestKind::Delete)),
        (2, Deleted(path("/l/2"))),
    ];
    assert_eq!(of(&mut noted(steps.clone()), 3, &place), Some(2));
    assert_eq!(of(&mut noted(steps.into_iter().take(3)), 3, &place), Some(1), "where there is no other it is");
}

#[test]
fn a_client_is_not_woken_by_its_own_create_but_by_a_deletion_under_way() {
    use TraceStep::{Created, Sent, Watches};
    let place = WatchPlace::Children(path("/l"));
    let mut causes = noted([
        (1, Created(path("/l/1"))),
        (2, Sent(RequestKind::Create)),
        (2, Sent(RequestKind::List)),
        (2, Watches(place.clone())),
        (2, Created(path("/l/2"))),
        (1, Sent(RequestKind::Delete)),
    ]);
    assert_eq!(of(&mut causes, 2, &place), Some(1));
}

#[test]
fn one_change_wakes_all_watchers_and_their_changes_wake_those_who_watch_again() {
    use TraceStep::{Crashes, Created, Sent, Watches, Woken};
    let place = WatchPlace::Children(path("/l"));
    let mut causes =
        noted([(1, Created(path("/l/lock"))), (2, Watches(place.clone())), (3, Watches(place.clone())), (1, Crashes)]);
    causes.changes.clear();
    let add = |causes: &mut WakeCauses, client: u32, step: TraceStep| {
        causes.add_entry(&TraceEntry { at: Duration::ZERO, client: ClientId(client), step });
    };
    assert_eq!(of(&mut causes, 2, &place), Some(1));
    add(&mut causes, 2, Woken(place.clone()));
    add(&mut causes, 2, Sent(RequestKind::Create));
    assert_eq!(of(&mut causes, 3, &place), Some(1), "its event was under way");
    add(&mut causes, 3, Woken(place.clone()));
    add(&mut causes, 3, Watches(place.clone()));
    add(&mut causes, 2, Created(path("/l/lock")));
    assert_eq!(of(&mut causes, 3, &place), Some(2));
}

#[test]
fn a_silent_client_may_have_lost_its_session_and_node() {
    use TraceStep::{Crashes, Created, Freezes, Thaws};
    let place = WatchPlace::Children(path("/l"));
    let both = [(1, Created(path("/l/1"))), (2, Created(path("/m/2")))];
    let with = |more: &[(u32, TraceStep)]| {
        let mut causes = noted(both.iter().cloned().chain(more.iter().cloned()));
        causes.changes.clear();
        of(&mut causes, 3, &place)
    };
    assert_eq!(with(&[(1, Freezes)]), Some(1));
    assert_eq!(with(&[(1, Freezes), (1, Thaws)]), None);
    assert_eq!(with(&[(1, Crashes), (2, Crashes)]), Some(1), "the other's node lies elsewhere");
}

#[test]
fn a_client_with_a_lease_deletes_its_queue_node_before_the_reply_comes() {
    use TraceStep::{Acquires, Created, Sent, Watches};
    let queued = WatchPlace::Node(path("/l/locks/5"));
    let leases = WatchPlace::Children(path("/l/leases"));
    let causes = noted([
        (3, Created(path("/l/locks/3"))),
        (3, Watches(queued.clone())),
        (5, Created(path("/l/leases/5"))),
        (2, Watches(leases.clone())),
        (5, Sent(RequestKind::Delete)),
        (5, Acquires(Zxid(1))),
    ]);
    assert_eq!(of(&mut causes.clone(), 3, &queued), Some(5), "though nobody saw it make that node");
    assert_eq!(of(&mut causes.clone(), 2, &leases), None, "its lease stays");
    assert_eq!(of(&mut causes.clone(), 2, &WatchPlace::Node(path("/l/locks/3"))), Some(3), "that node is another's");
}

#[test]
fn watches_set_during_a_create_are_fired_by_it_and_not_by_a_later_one() {
    use TraceStep::{Created, Sent, Watches, Woken};
    let place = WatchPlace::Children(path("/l"));
    // A reply is noted right after its request.
    let mut causes = noted([
        (4, Watches(place.clone())),
        (2, Sent(RequestKind::Create)),
        (2, Created(path("/l/lock"))),
        (1, Watches(place.clone())),
    ]);
    assert_eq!(of(&mut causes, 4, &place), Some(2));
    for step in [Woken(place.clone()), Sent(RequestKind::Create)] {
        causes.add_entry(&TraceEntry { at: Duration::ZERO, client: ClientId(4), step });
    }
    assert_eq!(of(&mut causes, 1, &place), Some(2));
}
