//! Tests of `idle`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, queue};

pub fn examples() -> Vec<Example> {
    vec![(Code::IdleHolder, idle())]
}

fn idle() -> DiagnosisFixture {
    let mut world = queue(&[1, 2]);
    world.pass(65);
    world
}

fn held(path: &str) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    world.create(&curator(path, 1), 1);
    world.create(&curator(path, 2), 2);
    world
}

#[test]
fn a_holder_that_sends_only_heartbeats_is_reported_until_its_next_request() {
    let mut world = held("/l");
    assert_eq!(world.pass(60).0, []);
    world.pass(5);
    assert_eq!(world.codes(Severity::Info), [Code::Stuck, Code::IdleHolder]);
    assert_eq!(world.severity(Code::IdleHolder), Some(Severity::Info), "it may work");
    world.client(1).cxid += 1;
    world.pass(1);
    assert_eq!(world.found(Code::IdleHolder), None);
}

#[test]
fn idle_time_before_the_acquisition_does_not_count() {
    let mut world = held("/a");
    let head = world.create(&curator("/b", 3), 3);
    world.create(&curator("/b", 1), 1);
    world.create(&curator("/b", 2), 2);
    world.pass(65);
    world.delete(&head);
    world.pass(5);
    let is_idle = |world: &DiagnosisFixture, lock| {
        world.diagnosis.of(world.id(lock)).any(|finding| finding.code == Code::IdleHolder)
    };
    assert!(is_idle(&world, "/a") && !is_idle(&world, "/b"));
    world.pass(60);
    assert!(is_idle(&world, "/b"));
}

#[test]
fn an_idle_leader_is_not_reported() {
    let mut world = held("/app/leader-election");
    world.pass(100);
    assert_eq!(world.codes(Severity::Warning), []);
}

#[test]
fn an_idle_holder_without_waiters_is_not_reported() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/l", 1), 1);
    world.pass(100);
    assert_eq!(world.codes(Severity::Info), []);
}

#[test]
fn a_client_whose_forgotten_node_holds_waits_behind_itself() {
    let mut world = DiagnosisFixture::new();
    let head = world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    world.create(&curator("/l", 3), 2);
    world.pass(5);
    world.delete(&head);
    world.pass(65);
    let found = world.found(Code::IdleHolder).expect("the finding stands");
    assert!(found.summary.contains("it waits behind itself by node 2"), "{}", found.summary);
    assert_eq!(found.severity, Severity::Warning);
}
