//! Tests of `foreign`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, queue};

pub fn examples() -> Vec<Example> {
    vec![(Code::ForeignChild, foreign())]
}

fn foreign() -> DiagnosisFixture {
    let mut world = queue(&[1, 2]);
    world.create("/l/member-", 3);
    world.pass(3);
    world
}

#[test]
fn another_recipes_node_among_curators_is_reported_until_it_is_moved() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    let other = world.create("/l/member-", 3);
    world.pass(3);
    let finding = world.found(Code::ForeignChild).expect("the finding stands");
    assert_eq!((finding.severity, finding.node.as_deref()), (Severity::Warning, Some(other.name())));
    world.delete(&other);
    assert_eq!(world.pass(1).1, [Code::ForeignChild]);
}

#[test]
fn several_named_queues_and_other_parents_are_not_reported() {
    let mut world = DiagnosisFixture::new();
    world.create("/l/a_lock_", 1);
    world.create("/l/b_lock_", 2);
    world.create(&curator("/l/sub", 1), 1);
    world.pass(5);
    assert_eq!(world.codes(Severity::Info), []);
}
