//! Tests of `two leaders`.

use super::*;
use crate::diagnose::Severity;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, latch};
use lockscope_base::znode::ZnodePath;

pub fn examples() -> Vec<Example> {
    let mut several = came_back("10.0.0.1:5000", 0);
    let made = several.now;
    let other = several.client(8);
    (other.address, other.established) = ("10.0.0.1:5001".to_owned(), made);
    several.pass(15);
    [deleted_by_another(), came_back("10.0.0.1:5000", 15), several].map(|world| (Code::TwoLeaders, world)).into()
}

fn election() -> (DiagnosisFixture, ZnodePath) {
    let mut world = DiagnosisFixture::new();
    let leader = world.create_named(&latch("/e", 1), 1, "worker-1");
    world.create_named(&latch("/e", 2), 2, "worker-2");
    world.pass(30);
    (world, leader)
}

/// Plays that somebody else deletes the leader's node.
fn deleted_by_another() -> DiagnosisFixture {
    let (mut world, leader) = election();
    world.delete(&leader);
    world.pass(3);
    world
}

/// Plays that the leader's session expires. Then session 7 connects from `address`.
fn came_back(address: &str, seconds: u32) -> DiagnosisFixture {
    let (mut world, leader) = election();
    world.let_expire(1, &[&leader]);
    let made = world.now;
    let newer = world.client(7);
    (newer.address, newer.established) = (address.to_owned(), made);
    world.pass(seconds);
    world
}

#[test]
fn a_leader_that_did_not_delete_its_node_may_still_lead() {
    let mut world = deleted_by_another();
    assert_eq!(world.severity(Code::TwoLeaders), Some(Severity::Critical));
    world.client(1).cxid += 1;
    world.pass(5);
    assert!(world.found(Code::TwoLeaders).is_some(), "a request does not tell what it knows");
    world.create_named(&latch("/e", 1), 1, "worker-1");
    assert!(world.pass(1).1.contains(&Code::TwoLeaders), "it queues again, so it knows");
}

/// A mutex below a path that names an election: its recipe does not say that it is one.
#[test]
fn proven_danger_is_critical_where_only_the_path_names_an_election_and_a_suspicion_is_not() {
    let likely = |expires: bool| {
        let mut world = DiagnosisFixture::new();
        let leader = world.create_named(&curator("/app/leader", 1), 1, "worker-1");
        world.create_named(&curator("/app/leader", 2), 2, "worker-2");
        world.pass(30);
        if expires {
            world.let_expire(1, &[&leader]);
            let made = world.now;
            let newer = world.client(7);
            (newer.address, newer.established) = ("10.0.0.1:5000".to_owned(), made);
            world.pass(15);
        } else {
            world.delete(&leader);
            world.pass(3);
        }
        world.severity(Code::TwoLeaders)
    };
    assert_eq!(likely(false), Some(Severity::Critical));
    assert_eq!(likely(true), Some(Severity::Warning));
}

#[test]
fn a_leader_that_resigns_has_sent_the_deletion_itself() {
    let (mut world, leader) = election();
    world.client(1).cxid += 1;
    world.delete(&leader);
    world.pass(30);
    assert_eq!(world.found(Code::TwoLeaders), None);
}

#[test]
fn a_host_that_goes_on_after_its_leader_expired_is_suspect() {
    assert_eq!(came_back("10.0.0.1:5000", 5).found(Code::TwoLeaders), None);
    let mut world = came_back("10.0.0.1:5000", 15);
    assert_eq!(world.severity(Code::TwoLeaders), Some(Severity::Warning));
    world.create_named(&latch("/e", 1), 7, "worker-1");
    assert!(world.pass(1).1.contains(&Code::TwoLeaders));
    assert_eq!(came_back("10.0.0.9:5000", 30).found(Code::TwoLeaders), None, "another host");
}

#[test]
fn without_a_new_leader_there_are_no_two() {
    let mut world = DiagnosisFixture::new();
    let leader = world.create_named(&latch("/e", 1), 1, "worker-1");
    world.pass(3);
    world.delete(&leader);
    world.pass(30);
    assert_eq!(world.found(Code::TwoLeaders), None);
}
