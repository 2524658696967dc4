//! Tests each transition of the hand-over alone: the inputs, step by step, and the outputs of each.

use super::Step::{
    Announced, Found, Gone as NodeIsGone, GoneAs, GoneAtFirst, GoneFromListing, GoneMeanwhile, LeaseGone, Listed,
    LockGone, OrderChanged, OrderChanges, Read, ReadingBegins, ReadingEnds, UnreadQueueNodeGone, Unreadable,
};
use super::{NodesBefore, after, apply_step, bound, contender, holding, key, lease, named, queue, say, whole};
use crate::queue::LockEvent;
use crate::queue::handover::HandoverInput;
use lockscope_base::recipe::Role;

// From the queue.

#[test]
fn a_contender_that_leaves_the_queue_without_an_unread_lease_has_left() {
    whole([(NodeIsGone(queue(1), NodesBefore::Head), &["left queue-1"])]);
}

#[test]
fn a_contender_that_leaves_the_queue_beside_an_unread_lease_departs() {
    let handover =
        after([(Announced { lease: 1, head: Some(1) }, &[]), (NodeIsGone(queue(1), NodesBefore::Head), &[])]);
    assert!(handover.awaits_something());
}

#[test]
fn a_contender_behind_the_head_has_left_whatever_is_unread() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(2), NodesBefore::Elsewhere), &["left queue-2"]),
        (NodeIsGone(queue(1), NodesBefore::Head), &[]),
        (Read(lease(1)), &["is of queue-1"]),
    ]);
}

#[test]
fn an_expired_session_is_reported_at_once() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (GoneAs(queue(1), LockEvent::Expired), &["expired queue-1"]),
        (LeaseGone(1), &[]),
    ]);
}

#[test]
fn with_listed_leases_the_head_departs_until_the_next_listing() {
    whole([(GoneFromListing(queue(1)), &[]), (Listed, &["left queue-1"])]);
    whole([
        (GoneFromListing(queue(1)), &[]),
        (Announced { lease: 1, head: None }, &[]),
        (Listed, &[]),
        (Read(lease(1)), &["is of queue-1"]),
    ]);
}

#[test]
fn after_a_cut_any_contender_departs_until_everything_is_read() {
    whole([(ReadingBegins, &[]), (GoneMeanwhile(queue(2)), &[]), (ReadingEnds(vec![]), &["left queue-2"])]);
}

#[test]
fn nodes_that_the_first_reading_finds_gone_are_not_reported() {
    whole([(GoneAtFirst(queue(1)), &[])]);
}

#[test]
fn the_second_deletion_of_a_returned_node_is_not_reported() {
    let mut returned = queue(1);
    returned.returned = true;
    whole([(NodeIsGone(returned, NodesBefore::Head), &[])]);
}

// From departed.

#[test]
fn a_lease_that_is_read_belongs_to_the_contender_that_departed_for_it() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), NodesBefore::Head), &[]),
        (Read(lease(1)), &["is of queue-1"]),
    ]);
}

#[test]
fn a_lease_of_another_session_stands_alone_and_the_departed_contender_left() {
    whole([
        (Announced { lease: 2, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), NodesBefore::Head), &[]),
        (Read(lease(2)), &["left queue-1"]),
    ]);
}

#[test]
fn a_lease_belongs_to_the_head_at_its_creation_though_another_of_its_session_departed_first() {
    let second = named(queue(1), "queue-9");
    let head = Some(second.id());
    let mut handover =
        after([(Announced { lease: 1, head: Some(1) }, &[]), (NodeIsGone(queue(1), NodesBefore::Head), &[])]);
    let _ = handover.handle(HandoverInput::LeaseAnnounced { node: "lease-2", head });
    assert_eq!(apply_step(&mut handover, NodeIsGone(second, NodesBefore::Head)).len(), 0);
    let of_second = named(lease(1), "lease-2");
    let said: Vec<String> = apply_step(&mut handover, Read(of_second)).iter().map(say).collect();
    assert_eq!(said, ["is of queue-9"]);
}

#[test]
fn a_lease_announced_after_the_departure_does_not_belong_to_the_departed_contender() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), NodesBefore::Head), &[]),
        (Announced { lease: 3, head: None }, &[]),
        (LeaseGone(3), &[]),
        (Unreadable(1), &["left queue-1"]),
    ]);
}

#[test]
fn a_lease_older_than_the_queue_node_belongs_to_another_thread_of_that_session() {
    let older = contender(Role::Lease, 1, 50);
    whole([
        (Announced { lease: 1, head: None }, &[]),
        (NodeIsGone(queue(1), NodesBefore::Head), &[]),
        (Read(older), &["left queue-1"]),
    ]);
}

#[test]
fn a_lease_that_is_gone_unread_was_held_by_the_contender_that_departed_for_it() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), NodesBefore::Head), &[]),
        (LeaseGone(1), &["held queue-1 by lease-1"]),
    ]);
}

#[test]
fn a_lease_that_cannot_be_read_has_no_owner_and_the_departed_contender_left() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), NodesBefore::Head), &[]),
        (Unreadable(1), &["left queue-1"]),
    ]);
}

#[test]
fn a_lease_that_is_gone_before_its_head_departs_has_no_owner() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (LeaseGone(1), &[]),
        (NodeIsGone(queue(1), NodesBefore::Head), &["left queue-1"]),
    ]);
}

#[test]
fn a_lease_that_was_read_or_never_announced_goes_without_a_report() {
    whole([(LeaseGone(1), &[]), (Unreadable(1), &[])]);
}

#[test]
fn a_contender_that_departed_unseen_owns_the_lease_created_over_an_empty_queue() {
    whole([
        (Announced { lease: 1, head: None }, &[]),
        (UnreadQueueNodeGone, &[]),
        (Read(lease(1)), &["is of lease-1"]),
    ]);
    whole([(Announced { lease: 1, head: None }, &[]), (UnreadQueueNodeGone, &[]), (LeaseGone(1), &[])]);
}

#[test]
fn no_contender_departs_unseen_without_an_unread_lease() {
    whole([(UnreadQueueNodeGone, &[])]);
}

#[test]
fn after_a_cut_a_departed_contender_waits_for_the_complete_reading() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), NodesBefore::Head), &[]),
        (UnreadQueueNodeGone, &[]),
        (ReadingBegins, &[]),
        (LeaseGone(1), &[]),
        (Found(lease(1)), &[]),
        (ReadingEnds(vec![lease(1)]), &["lease-1 is of queue-1"]),
    ]);
}

#[test]
fn departed_contenders_of_a_dropped_lock_have_left() {
    whole([
        (Announced { lease: 1, head: Some(1) }, &[]),
        (NodeIsGone(queue(1), NodesBefore::Head), &[]),
        (LockGone, &["left queue-1"]),
    ]);
}

// A complete reading.

#[test]
fn found_leases_are_assigned_in_order_of_creation() {
    whole([
        (ReadingBegins, &[]),
        (Found(lease(2)), &[]),
        (Found(lease(1)), &[]),
        (GoneMeanwhile(queue(1)), &[]),
        (ReadingEnds(vec![lease(2), lease(1)]), &["lease-1 is of queue-1", "lease-2 is new"]),
    ]);
}

#[test]
fn a_departed_contender_is_dropped_when_its_lease_was_known_before_the_cut() {
    whole([(ReadingBegins, &[]), (GoneMeanwhile(queue(1)), &[]), (ReadingEnds(vec![bound(1)]), &[])]);
}

#[test]
fn a_found_lease_that_is_gone_before_the_reading_ends_is_not_reported() {
    whole([
        (ReadingBegins, &[]),
        (Found(lease(1)), &[]),
        (NodeIsGone(holding(lease(1)), NodesBefore::Elsewhere), &[]),
        (ReadingEnds(vec![]), &[]),
    ]);
}

#[test]
fn a_lease_found_by_an_interrupted_reading_is_reported_after_the_next_one() {
    whole([
        (ReadingBegins, &[]),
        (Found(lease(1)), &[]),
        (ReadingBegins, &[]),
        (ReadingEnds(vec![lease(1)]), &["lease-1 is new"]),
    ]);
}

#[test]
fn a_lease_announced_and_found_during_a_reading_keeps_nobody_waiting() {
    whole([
        (ReadingBegins, &[]),
        (Announced { lease: 1, head: None }, &[]),
        (Found(lease(1)), &[]),
        (ReadingEnds(vec![lease(1)]), &["lease-1 is new"]),
        (NodeIsGone(queue(2), NodesBefore::Head), &["left queue-2"]),
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
fn the_head_is_not_pending_beside_a_foreign_a_former_or_an_older_lease() {
    whole([(OrderChanged { before_last: None, last: lease(2), head: queue(1) }, &[])]);
    whole([(OrderChanged { before_last: None, last: holding(lease(1)), head: queue(1) }, &[])]);
    let older = contender(Role::Lease, 1, 50);
    whole([(OrderChanged { before_last: None, last: older, head: queue(1) }, &[])]);
    whole([(OrderChanged { before_last: None, last: bound(1), head: contender(Role::Queue, 1, 190) }, &[])]);
}

#[test]
fn the_newer_of_two_leases_of_its_session_belongs_to_the_head() {
    let newer = contender(Role::Lease, 1, 209);
    after([(
        OrderChanged { before_last: Some(bound(1)), last: newer, head: queue(1) },
        &["unbind lease-1", "bind lease-9 to queue-1", "hide queue-1"],
    )]);
}

#[test]
fn the_pending_queue_node_is_shown_before_the_order_changes_and_hidden_after_it() {
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
fn a_pending_contender_goes_on_by_its_lease_when_its_queue_node_is_gone() {
    whole([
        (
            OrderChanged { before_last: None, last: lease(1), head: queue(1) },
            &["bind lease-1 to queue-1", "hide queue-1"],
        ),
        (OrderChanges, &["show queue-1"]),
        (NodeIsGone(queue(1), NodesBefore::Hidden), &[]),
    ]);
}

#[test]
fn a_pending_contender_goes_on_in_the_queue_when_its_lease_is_gone() {
    whole([(NodeIsGone(bound(1), NodesBefore::PendingLease), &[])]);
}

#[test]
fn a_pending_contender_has_left_when_its_queue_node_and_then_its_lease_are_gone() {
    whole([
        (
            OrderChanged { before_last: None, last: lease(1), head: queue(1) },
            &["bind lease-1 to queue-1", "hide queue-1"],
        ),
        (OrderChanges, &["show queue-1"]),
        (NodeIsGone(queue(1), NodesBefore::Hidden), &[]),
        (NodeIsGone(bound(1), NodesBefore::Elsewhere), &["left lease-1"]),
    ]);
}

#[test]
fn a_pending_contender_stays_pending_through_a_cut() {
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
fn a_holder_releases_by_deleting_its_lease() {
    whole([(NodeIsGone(holding(bound(1)), NodesBefore::Elsewhere), &["released lease-1"])]);
    whole([(GoneAs(holding(bound(1)), LockEvent::Expired), &["expired lease-1"])]);
}
