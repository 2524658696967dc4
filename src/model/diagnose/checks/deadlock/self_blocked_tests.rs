//! Tests of `self blocked`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, one_session_twice};

pub fn examples() -> Vec<Example> {
    [5, 70].map(|seconds| (Code::SelfBlocked, one_session_twice(1, 2, seconds))).into()
}

#[test]
fn a_session_that_waits_for_its_own_lock_is_reported_and_becomes_a_warning() {
    let mut world = DiagnosisFixture::new();
    let head = world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 1);
    assert_eq!(world.pass(5).0, [Code::SelfBlocked]);
    assert_eq!(world.severity(Code::SelfBlocked), Some(Severity::Info));
    world.pass(60);
    assert_eq!(world.severity(Code::SelfBlocked), Some(Severity::Warning));
    assert_eq!(world.found(Code::Stuck), None, "this says why");
    world.delete(&head);
    assert!(world.pass(1).1.contains(&Code::SelfBlocked));
}

#[test]
fn a_hold_of_unknown_length_before_the_first_look_does_not_count() {
    let mut world = DiagnosisFixture::new();
    let earlier = world.create(&curator("/l", 9), 2);
    world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 1);
    world.now = world.now.plus(Duration::from_secs(600));
    world.delete(&earlier);
    world.begin_anew();
    world.pass(50);
    assert_eq!(world.severity(Code::SelfBlocked), Some(Severity::Info));
}

#[test]
fn a_proven_hold_before_the_first_look_is_a_warning_at_once() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 1);
    world.now = world.now.plus(Duration::from_secs(600));
    world.begin_anew();
    world.diagnosis.examine(&world.table, world.now);
    assert_eq!(world.severity(Code::SelfBlocked), Some(Severity::Warning));
}

#[test]
fn threads_that_queued_before_the_other_held_take_turns() {
    let mut world = DiagnosisFixture::new();
    let mut nodes: Vec<_> = (0..12).map(|number| world.create(&curator("/l", number), 1)).collect();
    let head = world.create(&curator("/l", 99), 2);
    nodes.push(head);
    world.delete(&nodes.remove(0));
    while nodes.len() > 1 {
        world.pass(10);
        world.delete(&nodes.remove(0));
        world.client(1).cxid += 1;
    }
    assert_eq!(world.codes(Severity::Warning), []);
}
