//! Tests of `silent`.

use super::*;
use crate::diagnose::OwnerState;
use crate::diagnose::testing::{DiagnosisFixture, Example, queue};

pub fn examples() -> Vec<Example> {
    vec![(Code::SilentHolder, silent(17))]
}

/// Returns a lock whose holder, with a session timeout of 30 s, was last heard `seconds` ago.
fn silent(seconds: u32) -> DiagnosisFixture {
    let mut world = queue(&[1, 2]);
    world.pass(2);
    world.client(1).heard = Some(world.now);
    world.pass(seconds);
    world
}

fn owner(world: &DiagnosisFixture) -> OwnerState {
    let holder = world.lock("/l").first_holder().expect("the lock has a holder");
    crate::diagnose::TableAt::new(&world.table, world.now).owner_of(holder).0
}

#[test]
fn a_holder_that_missed_its_heartbeats_is_reported_until_it_is_heard() {
    let mut world = silent(14);
    assert_eq!((owner(&world), world.found(Code::SilentHolder)), (OwnerState::Live, None));
    assert_eq!(world.pass(3).0, [Code::SilentHolder]);
    assert_eq!(owner(&world), OwnerState::Silent);
    let finding = world.found(Code::SilentHolder).expect("the finding stands");
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.summary.contains("no heartbeat for 17s"), "{}", finding.summary);
    assert!(finding.summary.ends_with("expires in 13s"), "{}", finding.summary);
    world.client(1).heard = None;
    assert_eq!(world.pass(1).1, [Code::SilentHolder]);
    assert_eq!(owner(&world), OwnerState::Live);
}

#[test]
fn a_heartbeat_in_each_third_of_the_timeout_is_enough() {
    let mut world = queue(&[1, 2]);
    for _ in 0..10 {
        world.client(1).heard = Some(world.now);
        assert!(!world.pass(11).0.contains(&Code::SilentHolder));
        assert_eq!(owner(&world), OwnerState::Live);
    }
}

#[test]
fn a_client_without_a_connection_is_expiring_and_not_silent() {
    let mut world = silent(17);
    world.client(1).connected = false;
    world.pass(2);
    assert_eq!(world.codes(Severity::Info), [Code::ExpiringHolder]);
    assert_eq!(owner(&world), OwnerState::Expiring);
}
