//! Tests of `empty`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path};
use crate::queue::Change;
use lockscope_base::znode::{ZnodeStat, Zxid};

pub fn examples() -> Vec<Example> {
    let mut both = found_empty(900, true);
    use_and_leave(&mut both, 0..100);
    both.pass(603);
    let mut found = found_empty(1_503, true);
    found.pass(1);
    vec![
        (Code::EmptyParent, empty()),
        (Code::GrowingParents, left_empty(1_503)),
        (Code::GrowingParents, found),
        (Code::GrowingParents, both),
    ]
}

fn empty() -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    let node = world.create(&curator("/l", 1), 1);
    world.delete(&node);
    world.pass(603);
    world
}

fn use_and_leave(world: &mut DiagnosisFixture, locks: std::ops::Range<u32>) {
    for lock in locks {
        let node = world.create(&curator(&format!("/conductor/locks/{lock}"), lock), 1);
        world.delete(&node);
    }
}

fn left_empty(locks: u32) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    use_and_leave(&mut world, 0..locks);
    world.pass(603);
    world
}

/// Starts on nodes that are empty and had children before. `is_dated`: another node tells that
/// this was long ago.
fn found_empty(nodes: u32, is_dated: bool) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    let created = world.now.minus(std::time::Duration::from_secs(86_400));
    let stat = |czxid, pzxid, created| ZnodeStat {
        pzxid: Zxid(pzxid),
        cversion: 2,
        ..ZnodeStat::of_new(Zxid(czxid), created, None)
    };
    let listed = |path, stat| Change::Listed { path, stat };
    let many = (0..nodes).map(|node| listed(path(&format!("/conductor/locks/{node}")), stat(10, 20, created)));
    let later = listed(path("/other"), stat(30, 30, created));
    world.table = crate::testing::table(many.chain(is_dated.then_some(later)), world.now);
    world
}

#[test]
fn very_many_empty_lock_parents_below_one_node_are_one_finding() {
    let mut world = left_empty(1_503);
    assert_eq!(world.codes(Severity::Info), [Code::GrowingParents]);
    let found = world.found(Code::GrowingParents).expect("the finding stands").clone();
    assert_eq!((found.severity, found.lock.path.as_str()), (Severity::Warning, "/conductor/locks"));
    assert!(found.summary.contains("503 lock parents below /conductor/locks are empty"), "{}", found.summary);
    for lock in 0..1_450 {
        world.delete(&path(&format!("/conductor/locks/{lock}")));
    }
    assert_eq!(world.pass(1).1, [Code::GrowingParents]);
    assert_eq!(world.codes(Severity::Info), [Code::EmptyParent; 53]);
}

#[test]
fn parents_that_were_found_empty_count_at_once_where_that_is_dated_and_else_after_a_while() {
    assert_eq!(found_empty(150, true).pass(1).0, [Code::GrowingParents]);
    let mut world = found_empty(150, false);
    assert_eq!(world.pass(590).0, []);
    assert_eq!(world.pass(13).0, [Code::GrowingParents]);
    let found = world.found(Code::GrowingParents).expect("the finding stands");
    assert_eq!(found.severity, Severity::Info, "whether they are lock parents is not known");
}

#[test]
fn many_locks_that_are_free_between_uses_are_no_finding() {
    let mut world = found_empty(150, false);
    for _ in 0..8 {
        use_and_leave(&mut world, 0..150);
        world.pass(100);
    }
    assert_eq!(world.codes(Severity::Info), []);
}

#[test]
fn a_lock_that_is_used_between_the_looks_is_not_empty() {
    let mut world = DiagnosisFixture::new();
    for number in 0..8 {
        let node = world.create(&curator("/l", number), 1);
        world.delete(&node);
        world.pass(100);
    }
    assert_eq!(world.codes(Severity::Info), []);
}

#[test]
fn a_parent_that_stays_empty_is_reported_until_it_is_used_or_deleted() {
    let mut world = DiagnosisFixture::new();
    let node = world.create(&curator("/l", 1), 1);
    world.delete(&node);
    world.pass(600);
    assert_eq!(world.codes(Severity::Info), []);
    assert_eq!(world.pass(3).0, [Code::EmptyParent]);
    let node = world.create(&curator("/l", 2), 1);
    assert_eq!(world.pass(1).1, [Code::EmptyParent]);
    world.delete(&node);
    world.pass(603);
    world.delete(&path("/l"));
    assert_eq!(world.pass(1).1, [Code::EmptyParent]);
}
