//! Tests of `participant missing`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, latch};
use crate::queue::Expectation;
use lockscope_base::recipe::PathPattern;

pub fn examples() -> Vec<Example> {
    let mut deleted = election();
    let node = deleted.1.pop().expect("a candidate");
    deleted.0.delete(&node);
    deleted.0.pass(63);
    [deleted.0, came_back("10.0.0.2:5000", 63), too_few()].map(|world| (Code::ParticipantMissing, world)).into()
}

fn election() -> (DiagnosisFixture, Vec<lockscope_base::znode::ZnodePath>) {
    let mut world = DiagnosisFixture::new();
    let nodes =
        (1..=2).map(|number| world.create_named(&latch("/e", 1), number, &format!("worker-{number}"))).collect();
    world.pass(30);
    (world, nodes)
}

/// Plays that the second candidate's session expires. Then session 7 connects from `address`.
fn came_back(address: &str, seconds: u32) -> DiagnosisFixture {
    let (mut world, nodes) = election();
    world.let_expire(2, &[&nodes[1]]);
    let made = world.now;
    let newer = world.client(7);
    (newer.address, newer.established) = (address.to_owned(), made);
    world.pass(seconds);
    world
}

fn too_few() -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    let expected = Expectation {
        path: PathPattern::new("/e").expect("a pattern"),
        candidates: Some(3),
        leader_within: None,
        held_at_most: None,
    };
    world.table = world.table.clone().with_expectations(&[expected]);
    world.create_named(&latch("/e", 1), 1, "worker-1");
    let second = world.create_named(&latch("/e", 2), 2, "worker-2");
    world.pass(30);
    world.let_expire(2, &[&second]);
    world.pass(63);
    world
}

#[test]
fn a_candidate_whose_host_goes_on_without_it_is_missing_until_it_comes_back() {
    assert_eq!(came_back("10.0.0.2:5000", 50).found(Code::ParticipantMissing), None, "it may start again");
    let mut world = came_back("10.0.0.2:5000", 63);
    assert_eq!(world.severity(Code::ParticipantMissing), Some(Severity::Warning));
    world.create_named(&latch("/e", 2), 7, "worker-2");
    assert!(world.pass(1).1.contains(&Code::ParticipantMissing));
    assert_eq!(came_back("10.0.0.9:5000", 100).found(Code::ParticipantMissing), None, "another host");
}

#[test]
fn a_word_that_candidates_of_several_hosts_bear_is_the_name_of_none() {
    let mut world = DiagnosisFixture::new();
    let nodes: Vec<_> =
        (1..=3).map(|number| world.create_named(&latch("/e", number), number.into(), "candidate")).collect();
    world.pass(30);
    world.let_expire(3, &[&nodes[2]]);
    let made = world.now;
    let newer = world.client(7);
    (newer.address, newer.established) = ("10.0.0.3:5000".to_owned(), made);
    world.pass(63);
    assert_eq!(world.severity(Code::ParticipantMissing), Some(Severity::Warning), "the others do not stand for it");
}

/// Returns an election whose second candidate queued with session 7 before its old session 2
/// expired. Another process of its host connects, as any successor would.
fn queued_before_it_went() -> DiagnosisFixture {
    let (mut world, nodes) = election();
    world.client(7).address = "10.0.0.2:5001".to_owned();
    world.create_named(&latch("/e", 3), 7, "worker-2");
    world.let_expire(2, &[&nodes[1]]);
    let made = world.now;
    let other = world.client(8);
    (other.address, other.established) = ("10.0.0.2:5002".to_owned(), made);
    world
}

#[test]
fn a_candidate_that_queued_again_before_its_old_node_went_is_not_missing() {
    let mut world = queued_before_it_went();
    world.pass(100);
    assert_eq!(world.found(Code::ParticipantMissing), None);
}

#[test]
fn a_candidate_that_queued_again_and_then_gave_up_is_not_missing() {
    let mut world = queued_before_it_went();
    world.client(7).cxid += 1;
    let node = world.lock("/e").rows(0..9).last().map(|row| row.contender.node.clone()).expect("a candidate");
    world.delete(&crate::diagnose::testing::path("/e").child(&node));
    world.pass(100);
    assert_eq!(world.found(Code::ParticipantMissing), None);
}

#[test]
fn another_lockscope_on_the_host_is_not_the_candidate_that_is_missing() {
    let mut world = came_back("10.0.0.2:5000", 0);
    world.client(7).timeout_ms = 30_739;
    world.pass(100);
    assert_eq!(world.found(Code::ParticipantMissing), None);
}

#[test]
fn a_candidate_that_gave_up_by_itself_is_not_missing() {
    let (mut world, nodes) = election();
    world.client(2).cxid += 1;
    world.delete(&nodes[1]);
    world.pass(100);
    assert_eq!(world.found(Code::ParticipantMissing), None);
}

#[test]
fn fewer_candidates_than_expected_are_reported_with_the_last_that_went() {
    let mut world = too_few();
    let found = world.found(Code::ParticipantMissing).expect("the finding stands");
    assert!(found.summary.starts_with("1 of 3 expected candidates is here; last went worker-2"), "{}", found.summary);
    for session in 3..=4 {
        world.create(&latch("/e", 3), session);
    }
    assert_eq!(world.pass(1).1, [Code::ParticipantMissing]);
}
