//! Tests of `orphan suspected`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, queue};

pub fn examples() -> Vec<Example> {
    vec![(Code::OrphanSuspected, orphan_suspected())]
}

fn orphan_suspected() -> DiagnosisFixture {
    let mut world = queue(&[1]);
    let orphan = world.create(&curator("/l", 2), 2);
    world.create(&curator("/l", 3), 2);
    let client = world.client(2);
    (client.sound, client.watches) = (false, vec![orphan]);
    world.pass(7);
    world
}

/// Plays that session 1 holds; session 2 queues, forgets its node, and queues again with a
/// watch.
fn forgotten() -> (DiagnosisFixture, lockscope_base::znode::ZnodePath) {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/l", 1), 1);
    let orphan = world.create(&curator("/l", 2), 2);
    world.create(&curator("/l", 3), 2);
    let client = world.client(2);
    (client.sound, client.watches) = (false, vec![orphan.clone()]);
    (world, orphan)
}

#[test]
fn an_earlier_node_without_a_watch_is_suspect() {
    let (mut world, orphan) = forgotten();
    let (raised, _) = world.pass(7);
    assert_eq!(raised.iter().filter(|code| **code == Code::OrphanSuspected).count(), 1, "{raised:?}");
    assert_eq!(world.found(Code::OrphanSuspected).and_then(|found| found.node.as_deref()), Some(orphan.name()));
    assert!(world.found(Code::LostWakeUp).is_none());
    world.delete(&orphan);
    assert_eq!(world.pass(1).1, [Code::OrphanSuspected]);
}

#[test]
fn threads_that_share_a_session_each_with_its_watch_are_sound() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    world.create(&curator("/l", 3), 2);
    world.pass(30);
    assert_eq!(world.codes(Severity::Warning), []);
}

#[test]
fn beside_watchers_of_children_nothing_is_reported() {
    let (mut world, _) = forgotten();
    world.child_watches = 1;
    world.pass(20);
    assert_eq!(world.codes(Severity::Warning), []);
}
