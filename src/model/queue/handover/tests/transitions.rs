//! Each transition of the hand-over, alone: what goes in, step by step, and what comes out of each step.

use super::Step::{
    Announced, Found, Gone as NodeIsGone, GoneAs, GoneAtFirst, GoneFromListing, GoneMeanwhile, LeaseGone, Listed,
    LockGone, OrderChanged, OrderChanges, Read, ReadingBegins, ReadingEnds, UnreadQueueNodeGone, Unreadable,
};
use super::{Stood, after, bound, contender, holding, key, lease, named, queue, say, take, whole};
use crate::queue::LockEvent;
use crate::queue::handover::Input;
use lockscope_base::recipe::Role;

// From the queue.

#[test]
fn who_leaves_the_queue_while_no_lease_is_unread_left() {
    whole([(NodeIsGone(queue(1), Stood::Head), &["left queue-1"])]);
}

#[test]
fn who_leaves_the_queue_while_a_lease_is_unread_departs() {
    let handover = after([(Announced { lease: 1, head: Some(1) }, &[]), (NodeIsGone(queue(1), Stood::Head), &[])]);
    assert!(handover.awaits_something());
}

#[test]
fn who_stood_behind_the_head_left_whatever_is_unread() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(2), Stood::Elsewhere), &["left queue-2"]),
        (NodeIsGone(queue(1), Stood::Head), &[]),
        (Read(lease(1)), &["is of queue-1"]),
    ]);
}

#[test]
fn whose_session_expired_is_reported_as_expired_at_once() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (GoneAs(queue(1), LockEvent::Expired), &["expired queue-1"]),
        (LeaseGone(1), &[]),
    ]);
}

#[test]
fn where_leases_are_listed_the_head_departs_until_the_next_listing() {
    whole([(GoneFromListing(queue(1)), &[]), (Listed, &["left queue-1"])]);
    whole([
        (GoneFromListing(queue(1)), &[]),
        (Announced { lease: 1, head: None }, &[]),
        (Listed, &[]),
        (Read(lease(1)), &["is of queue-1"]),
    ]);
}

#[test]
fn behind_a_cut_anybody_may_have_moved_on_and_departs_until_everything_is_read() {
    whole([(ReadingBegins, &[]), (GoneMeanwhile(queue(2)), &[]), (ReadingEnds(vec![]), &["left queue-2"])]);
}

#[test]
fn what_the_first_reading_finds_gone_is_not_reported() {
    whole([(GoneAtFirst(queue(1)), &[])]);
}

#[test]
fn that_a_returned_node_is_gone_was_reported_before() {
    let mut returned = queue(1);
    returned.returned = true;
    whole([(NodeIsGone(returned, Stood::Head), &[])]);
}

// From departed.

#[test]
fn a_lease_that_is_read_is_of_who_departed_for_it() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), Stood::Head), &[]),
        (Read(lease(1)), &["is of queue-1"]),
    ]);
}

#[test]
fn a_lease_of_another_session_is_its_own_and_who_departed_left() {
    whole([
        (Announced { lease: 2, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), Stood::Head), &[]),
        (Read(lease(2)), &["left queue-1"]),
    ]);
}

#[test]
fn a_lease_is_of_who_headed_the_queue_when_it_was_made_though_another_of_its_session_departed_first() {
    let second = named(queue(1), "queue-9");
    let head = Some(second.id());
    let mut handover = after([(Announced { lease: 1, head: Some(1) }, &[]), (NodeIsGone(queue(1), Stood::Head), &[])]);
    let _ = handover.handle(Input::LeaseAnnounced { node: "lease-2", head });
    assert_eq!(take(&mut handover, NodeIsGone(second, Stood::Head)).len(), 0);
    let of_second = named(lease(1), "lease-2");
    let said: Vec<String> = take(&mut handover, Read(of_second)).iter().map(say).collect();
    assert_eq!(said, ["is of queue-9"]);
}

#[test]
fn a_lease_that_was_announced_after_somebody_departed_is_not_its_own() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), Stood::Head), &[]),
        (Announced { lease: 3, head: None }, &[]),
        (LeaseGone(3), &[]),
        (Unreadable(1), &["left queue-1"]),
    ]);
}

#[test]
fn a_lease_older_than_the_place_in_the_queue_is_another_of_that_session() {
    let older = contender(Role::Lease, 1, 50);
    whole([
        (Announced { lease: 1, head: None }, &[]),
        (NodeIsGone(queue(1), Stood::Head), &[]),
        (Read(older), &["left queue-1"]),
    ]);
}

#[test]
fn a_lease_that_is_gone_unread_was_held_by_who_departed_for_it() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), Stood::Head), &[]),
        (LeaseGone(1), &["held queue-1 by lease-1"]),
    ]);
}

#[test]
fn a_lease_that_cannot_be_read_is_nobodys_and_who_departed_left() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), Stood::Head), &[]),
        (Unreadable(1), &["left queue-1"]),
    ]);
}

#[test]
fn a_lease_that_is_gone_before_its_head_departs_is_nobodys() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (LeaseGone(1), &[]),
        (NodeIsGone(queue(1), Stood::Head), &["left queue-1"]),
    ]);
}

#[test]
fn a_lease_that_was_never_announced_or_was_read_is_gone_without_a_word() {
    whole([(LeaseGone(1), &[]), (Unreadable(1), &[])]);
}

#[test]
fn who_departed_unseen_owns_the_lease_that_was_made_with_nobody_at_the_head() {
    whole([
        (Announced { lease: 1, head: None }, &[]),
        (UnreadQueueNodeGone, &[]),
        (Read(lease(1)), &["is of lease-1"]),
    ]);
    whole([(Announced { lease: 1, head: None }, &[]), (UnreadQueueNodeGone, &[]), (LeaseGone(1), &[])]);
}

#[test]
fn nobody_departs_unseen_while_no_lease_is_unread() {
    whole([(UnreadQueueNodeGone, &[])]);
}

#[test]
fn who_departed_and_waits_for_reads_waits_for_the_reading_of_everything_after_a_cut() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), Stood::Head), &[]),
        (UnreadQueueNodeGone, &[]),
        (ReadingBegins, &[]),
        (LeaseGone(1), &[]),
        (Found(lease(1)), &[]),
        (ReadingEnds(vec![lease(1)]), &["lease-1 is of queue-1"]),
    ]);
}

#[test]
fn who_departed_with_a_lock_that_is_dropped_left() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), Stood::Head), &[]),
        (LockGone, &["left queue-1"]),
    ]);
}

// A reading of everything.

#[test]
fn found_leases_are_given_out_in_the_order_in_which_they_were_made() {
    whole([
        (ReadingBegins, &[]),
        (Found(lease(2)), &[]),
        (Found(lease(1)), &[]),
        (GoneMeanwhile(queue(1)), &[]),
        (ReadingEnds(vec![lease(2), lease(1)]), &["lease-1 is of queue-1", "lease-2 is new"]),
    ]);
}

#[test]
fn who_departed_is_not_asked_about_when_its_lease_was_known_before_the_cut() {
    whole([(ReadingBegins, &[]), (GoneMeanwhile(queue(1)), &[]), (ReadingEnds(vec![bound(1)]), &[])]);
}

#[test]
fn a_found_lease_that_is_gone_before_the_reading_ends_is_not_reported() {
    whole([
        (ReadingBegins, &[]),
        (Found(lease(1)), &[]),
        (NodeIsGone(holding(lease(1)), Stood::Elsewhere), &[]),
        (ReadingEnds(vec![]), &[]),
    ]);
}

#[test]
fn a_lease_that_was_found_by_a_reading_that_was_cut_short_is_told_after_the_next_one() {
    whole([
        (ReadingBegins, &[]),
        (Found(lease(1)), &[]),
        (ReadingBegins, &[]),
        (ReadingEnds(vec![lease(1)]), &["lease-1 is new"]),
    ]);
}

#[test]
fn nobody_waits_for_a_lease_that_was_announced_and_found_while_everything_is_read() {
    whole([
        (ReadingBegins, &[]),
        (Announced { lease: 1, head: None }, &[]),
        (Found(lease(1)), &[]),
        (ReadingEnds(vec![lease(1)]), &["lease-1 is new"]),
        (NodeIsGone(queue(2), Stood::Head), &["left queue-2"]),
    ]);
}

// Pending.

#[test]
fn the_head_is_pending_when_its_session_made_the_last_lease() {
    let handover = after([(
        OrderChanged { before_last: None, last: lease(1), head: queue(1) },
        &["bind lease-1 to queue-1", "hide queue-1"],
    )]);
    assert_eq!(handover.hidden(), Some(key(&queue(1))));
    assert!(!handover.awaits_something() && !handover.is_idle());
}

#[test]
fn the_head_is_not_pending_beside_the_lease_of_another_or_one_that_held_or_is_older() {
    whole([(OrderChanged { before_last: None, last: lease(2), head: queue(1) }, &[])]);
    whole([(OrderChanged { before_last: None, last: holding(lease(1)), head: queue(1) }, &[])]);
    let older = contender(Role::Lease, 1, 50);
    whole([(OrderChanged { before_last: None, last: older, head: queue(1) }, &[])]);
    whole([(OrderChanged { before_last: None, last: bound(1), head: contender(Role::Queue, 1, 190) }, &[])]);
}

#[test]
fn a_newer_lease_of_its_session_is_that_of_the_head_and_the_one_before_is_not() {
    let newer = contender(Role::Lease, 1, 209);
    after([(
        OrderChanged { before_last: Some(bound(1)), last: newer, head: queue(1) },
        &["unbind lease-1", "bind lease-9 to queue-1", "hide queue-1"],
    )]);
}

#[test]
fn who_is_pending_is_shown_again_before_the_order_changes_and_hidden_after_it() {
    after([
        (
            OrderChanged { before_last: None, last: lease(1), head: queue(1) },
            &["bind lease-1 to queue-1", "hide queue-1"],
        ),
        (OrderChanges, &["show queue-1"]),
        (OrderChanges, &[]),
        (OrderChanged { before_last: None, last: bound(1), head: queue(1) }, &["hide queue-1"]),
        (OrderChanged { before_last: None, last: bound(1), head: queue(1) }, &[]),
    ]);
}

#[test]
fn who_is_pending_goes_on_by_its_lease_when_its_queue_node_is_gone() {
    whole([
        (
            OrderChanged { before_last: None, last: lease(1), head: queue(1) },
            &["bind lease-1 to queue-1", "hide queue-1"],
        ),
        (OrderChanges, &["show queue-1"]),
        (NodeIsGone(queue(1), Stood::Hidden), &[]),
    ]);
}

#[test]
fn who_is_pending_goes_on_in_the_queue_when_its_lease_is_gone() {
    whole([(NodeIsGone(bound(1), Stood::PendingLease), &[])]);
}

#[test]
fn who_is_pending_has_left_when_its_queue_node_and_then_its_lease_are_gone() {
    whole([
        (
            OrderChanged { before_last: None, last: lease(1), head: queue(1) },
            &["bind lease-1 to queue-1", "hide queue-1"],
        ),
        (OrderChanges, &["show queue-1"]),
        (NodeIsGone(queue(1), Stood::Hidden), &[]),
        (NodeIsGone(bound(1), Stood::Elsewhere), &["left lease-1"]),
    ]);
}

#[test]
fn who_is_pending_stays_so_through_a_cut() {
    let handover = after([
        (
            OrderChanged { before_last: None, last: lease(1), head: queue(1) },
            &["bind lease-1 to queue-1", "hide queue-1"],
        ),
        (ReadingBegins, &[]),
        (ReadingEnds(vec![bound(1)]), &[]),
    ]);
    assert_eq!(handover.hidden(), Some(key(&queue(1))));
}

// From holding.

#[test]
fn who_holds_releases_by_deleting_its_lease() {
    whole([(NodeIsGone(holding(bound(1)), Stood::Elsewhere), &["released lease-1"])]);
    whole([(GoneAs(holding(bound(1)), LockEvent::Expired), &["expired lease-1"])]);
}
