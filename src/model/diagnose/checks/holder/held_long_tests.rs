//! Tests of `held long`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, queue, work};
use crate::queue::Expectation;
use lockscope_base::recipe::PathPattern;

pub fn examples() -> Vec<Example> {
    let mut waited_for = queue(&[1, 2, 3]);
    promise(&mut waited_for, "/*", 30);
    work(&mut waited_for, 32);
    vec![(Code::HeldLong, held("/jobs/*")), (Code::HeldLong, waited_for)]
}

fn promise(world: &mut DiagnosisFixture, path: &str, seconds: u64) {
    let path = PathPattern::new(path).expect("a pattern");
    let held_at_most = Some(Duration::from_secs(seconds));
    let expected = Expectation { path, candidates: None, leader_within: None, held_at_most };
    world.table = world.table.clone().with_expectations(&[expected]);
}

/// One client holds for a little longer than the promise for this pattern, and nobody waits.
fn held(promised: &str) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    promise(&mut world, promised, 600);
    world.create_named(&curator("/jobs/nightly", 1), 1, "worker-1");
    work(&mut world, 602);
    world
}

#[test]
fn a_hold_past_its_promise_is_reported_until_the_release_though_nobody_waits() {
    let mut world = held("/jobs/*");
    let found = world.found(Code::HeldLong).expect("the finding stands");
    assert_eq!(found.severity, Severity::Warning);
    assert!(found.summary.starts_with("worker-1 (10.0.0.1:4000) has held for 10m02s"), "{}", found.summary);
    let holder = world.lock("/jobs/nightly").first_holder().expect("a holder").clone();
    let node = world.lock("/jobs/nightly").path_of(&holder);
    world.delete(&node);
    assert_eq!(world.pass(1).1, [Code::HeldLong]);
}

#[test]
fn a_hold_within_its_promise_or_without_one_is_no_finding_and_no_election() {
    let mut world = DiagnosisFixture::new();
    promise(&mut world, "/jobs/*", 600);
    let node = world.create(&curator("/jobs/nightly", 1), 1);
    work(&mut world, 599);
    world.delete(&node);
    work(&mut world, 70);
    assert_eq!(world.codes(Severity::Info), []);
    assert_eq!(held("/other/*").codes(Severity::Info), []);
}

#[test]
fn a_hold_that_may_be_past_its_promise_stays_open_until_it_is() {
    let mut world = queue(&[1, 2]);
    promise(&mut world, "/l", 30);
    let expected = world.table.elections().expectations().to_vec();
    work(&mut world, 40);
    let first = world.lock("/l").path_of(world.lock("/l").first_holder().expect("a holder"));
    world.delete(&first);
    world.begin_anew();
    world.table = world.table.clone().with_expectations(&expected);
    work(&mut world, 3);
    assert_eq!(world.found(Code::HeldLong), None, "the second may have held for a moment only");
    let open = world.diagnosis.last_look().expect("a look").open();
    assert!(open.iter().any(|open| open.check == Code::HeldLong), "{open:?}");
    work(&mut world, 30);
    assert!(world.found(Code::HeldLong).is_some());
}
