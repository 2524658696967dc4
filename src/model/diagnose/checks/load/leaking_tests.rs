//! Tests of `leaking`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, work};
use lockscope_base::znode::ZnodePath;

pub fn examples() -> Vec<Example> {
    vec![(Code::LeakingSession, nodes("/l/_c_", 40, false)), (Code::LeakingSession, nodes("/l/node-", 40, false))]
}

/// One session makes nodes, behind another that holds. `waits`: it watches what it waits for.
fn nodes(prefix: &str, count: u32, waits: bool) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    let prefix = |number| if prefix.ends_with("_c_") { curator("/l", number) } else { prefix.to_owned() };
    world.create(&prefix(1_000), 2);
    world.client(1).sound = waits;
    for number in 0..count {
        world.create(&prefix(number), 1);
        world.pass(1);
    }
    work(&mut world, 65);
    world
}

#[test]
fn a_session_that_leaves_its_nodes_is_reported_once_and_for_all_of_them() {
    let world = nodes("/l/_c_", 40, false);
    let found = world.found(Code::LeakingSession).expect("the finding stands");
    assert_eq!(found.severity, Severity::Warning);
    assert!(found.summary.starts_with("10.0.0.1:4000 has 40 nodes here"), "{}", found.summary);
    assert_eq!(world.found(Code::OrphanSuspected), None, "that is why");
}

#[test]
fn threads_that_wait_for_their_turn_and_few_nodes_are_no_leak() {
    for world in [nodes("/l/_c_", 40, true), nodes("/l/_c_", 8, false), nodes("/l/node-", 8, false)] {
        assert_eq!(world.found(Code::LeakingSession), None);
    }
}

#[test]
fn a_session_that_releases_its_first_nodes_in_turn_leaks_none() {
    let mut world = nodes("/l/node-", 19, false);
    for _ in 0..80 {
        let first = world.lock("/l").contender_at(1).expect("a second node").clone();
        let node: ZnodePath = world.lock("/l").path_of(&first);
        world.delete(&node);
        world.create("/l/node-", 1);
        world.pass(2);
        assert_eq!(world.found(Code::LeakingSession), None);
    }
}
