//! Tests of `lost wake up`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator};
use lockscope_base::znode::ZnodePath;

pub fn examples() -> Vec<Example> {
    let unnoticed = {
        let mut world = turn_unnoticed();
        world.pass(6);
        (Code::UnawareHolder, world)
    };
    [false, true]
        .map(|at_its_turn| (Code::LostWakeUp, lost_wake_up(at_its_turn)))
        .into_iter()
        .chain([unnoticed])
        .collect()
}

/// A sound waiter whose turn has just come.
fn turn_unnoticed() -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    let head = world.create(&curator("/l", 1), 1);
    for session in [2, 3] {
        world.create(&curator("/l", session), session.into());
    }
    world.pass(10);
    world.delete(&head);
    world
}

#[test]
fn a_turn_that_a_client_has_not_noticed_is_reported_until_it_sends_a_request() {
    let mut world = turn_unnoticed();
    assert_eq!(world.pass(2).0, []);
    world.pass(4);
    assert_eq!(world.codes(Severity::Info), [Code::UnawareHolder]);
    world.client(2).cxid += 1;
    assert_eq!(world.pass(1).1, [Code::UnawareHolder]);
}

#[test]
fn a_client_that_lists_the_queue_at_its_turn_has_noticed() {
    let mut world = turn_unnoticed();
    world.client(2).cxid += 1;
    world.pass(10);
    assert_eq!(world.codes(Severity::Info), []);
}

fn lost_wake_up(at_its_turn: bool) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    let head = world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    world.client(2).sound = false;
    world.pass(10);
    if at_its_turn {
        world.delete(&head);
        world.pass(3);
    }
    world
}

fn queue() -> (DiagnosisFixture, ZnodePath, ZnodePath) {
    let mut world = DiagnosisFixture::new();
    let head = world.create(&curator("/l", 1), 1);
    let waiter = world.create(&curator("/l", 2), 2);
    world.client(2).sound = false;
    (world, head, waiter)
}

#[test]
fn a_waiter_that_watches_nothing_is_reported_until_it_watches() {
    let (mut world, head, waiter) = queue();
    assert_eq!(world.pass(3).0, []);
    assert_eq!(world.pass(2).0, [Code::LostWakeUp]);
    let finding = world.found(Code::LostWakeUp).expect("the finding stands");
    assert_eq!((finding.severity, finding.node.as_deref()), (Severity::Warning, Some(waiter.name())));
    world.client(2).watches = vec![head];
    assert_eq!(world.pass(1).1, [Code::LostWakeUp]);
}

#[test]
fn a_herd_and_a_server_without_watch_lists_raise_nothing() {
    let (mut world, ..) = queue();
    world.child_watches = 1;
    world.pass(20);
    assert_eq!(world.codes(Severity::Info), []);
    (world.child_watches, world.lists_watches) = (0, false);
    world.pass(20);
    assert_eq!(world.codes(Severity::Info), []);
}

#[test]
fn beside_watchers_of_children_a_waiter_is_recognized_by_its_silence() {
    let (mut world, ..) = queue();
    world.child_watches = 7;
    world.pass(5);
    let third = world.create(&curator("/l", 3), 3);
    assert_eq!(world.pass(12).0, [Code::LostWakeUp]);
    world.delete(&third);
    world.client(2).cxid += 1;
    world.pass(1);
    assert_eq!(world.codes(Severity::Info), [], "who asks something may have listed the children");
}

#[test]
fn a_herd_that_lists_the_children_after_each_event_is_not_reported() {
    let (mut world, ..) = queue();
    world.client(3).sound = false;
    world.child_watches = 2;
    for number in 0..30 {
        let node = world.create(&curator("/l", 3), 3);
        if number % 3 == 0 {
            world.clients.iter_mut().for_each(|client| client.cxid += 1);
        }
        world.pass(1);
        world.delete(&node);
    }
    assert_eq!(world.codes(Severity::Info), []);
}

#[test]
fn members_of_a_group_wait_for_nobody() {
    let mut world = DiagnosisFixture::new();
    for number in 1..=3 {
        world.create("/workers/worker-", number);
        world.client(number).sound = false;
    }
    world.pass(200);
    assert_eq!(world.codes(Severity::Info), []);
}

#[test]
fn a_waiter_that_watches_another_node_of_the_queue_is_not_reported() {
    let mut world = DiagnosisFixture::new();
    let head = world.create(&curator("/l", 1), 1);
    let second = world.create(&curator("/l", 2), 2);
    world.create(&curator("/l", 3), 3);
    let client = world.client(3);
    (client.sound, client.watches) = (false, vec![head]);
    world.pass(20);
    assert_eq!(world.codes(Severity::Info), [], "{second}");
}

#[test]
fn a_queue_that_moves_on_each_second_has_waiters_between_two_watches() {
    let mut world = DiagnosisFixture::new();
    let mut nodes: Vec<_> = (1..=30).map(|number| world.create(&curator("/l", number), i64::from(number))).collect();
    for next in 2..=30 {
        // The next contender does not seem to watch, and holds a second later.
        world.client(next).sound = false;
        world.pass(1);
        assert_eq!(world.found(Code::LostWakeUp), None, "{next} is next");
        if next < 30 {
            world.delete(&nodes.remove(0));
        }
    }
    world.pass(10);
    assert_eq!(world.severity(Code::LostWakeUp), Some(Severity::Warning), "the queue stands, and the last has waited");
}

#[test]
fn a_frozen_client_is_not_reported_before_it_is_heard_again() {
    let (mut world, ..) = queue();
    world.client(2).heard = Some(world.now);
    world.pass(20);
    assert_eq!(world.codes(Severity::Info), []);
    world.client(2).heard = None;
    world.pass(1);
    assert_eq!(world.codes(Severity::Info), [Code::LostWakeUp]);
}

#[test]
fn a_client_that_lost_its_wake_up_does_not_know_that_it_holds() {
    let (mut world, head, _) = queue();
    world.create(&curator("/l", 3), 3);
    world.client(3).watches =
        vec![crate::diagnose::testing::path("/l").child(&world.lock("/l").row(1).expect("a waiter").contender.node)];
    world.pass(10);
    world.delete(&head);
    world.pass(3);
    assert_eq!(world.severity(Code::LostWakeUp), Some(Severity::Critical));
    world.client(2).cxid += 1;
    world.pass(1);
    assert_eq!(world.severity(Code::LostWakeUp), None, "it asked something: it woke up");
}
