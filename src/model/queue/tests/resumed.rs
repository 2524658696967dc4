//! A table that goes on with that of a recording.

use std::time::Duration;

use super::restored::restored;
use crate::queue::{HoldBounds, LockEvent, LockTable};
use crate::testing::fixture::{TableFixture, events};
use crate::testing::path;
use lockscope_base::znode::Timestamp;

const LOCK: &str = "/a/lock-";

/// Goes on with the fixture's table as a new start does, for the locks below these roots.
fn resume(fixture: &mut TableFixture, roots: &[&str]) {
    let roots: Vec<_> = roots.iter().map(|root| path(root)).collect();
    fixture.table = LockTable::new([]).resuming(restored(&fixture.table), &roots);
    assert!(!fixture.table.is_live());
}

fn bounds(fixture: &TableFixture, at: &str) -> HoldBounds {
    let holder = fixture.lock(at).first_holder().expect("a holder");
    fixture.table.clock().hold_bounds(holder, fixture.now).expect("it holds")
}

#[test]
fn what_was_known_of_holds_is_known_after_a_new_start() {
    let mut fixture = TableFixture::new();
    let first = fixture.create(LOCK, 1);
    fixture.create(LOCK, 2);
    fixture.delete(&first);
    let acquired = fixture.now;
    fixture.now = acquired.plus(Duration::from_secs(600));
    resume(&mut fixture, &[]);
    let happenings = fixture.reconnect();
    assert!(!events(&happenings).contains(&LockEvent::Acquired), "{happenings:?}");
    assert_eq!(bounds(&fixture, "/a").at_least, fixture.now.since(acquired));
    assert!(bounds(&fixture, "/a").is_exact());
}

#[test]
fn a_hand_over_between_two_starts_is_bounded_by_both() {
    let mut fixture = TableFixture::new();
    let first = fixture.create(LOCK, 1);
    fixture.create(LOCK, 2);
    fixture.now = Timestamp(fixture.now.0 + 900_000);
    let last = fixture.create("/other/lock-", 3);
    let seen = fixture.now;
    fixture.now = Timestamp(fixture.now.0 + 60_000);
    resume(&mut fixture, &[]);
    fixture.tree.remove(&first);
    let happenings = fixture.reconnect();
    let events = events(&happenings);
    assert!(events.contains(&LockEvent::Released) && events.contains(&LockEvent::Acquired), "{events:?}");
    let bounds = bounds(&fixture, "/a");
    assert_eq!(bounds.at_most, fixture.now.since(seen), "it still waited when the recording ended");
    assert!(fixture.tree.contains_key(&last));
}

#[test]
fn a_single_node_that_was_made_anew_is_another_hold() {
    let mut fixture = TableFixture::new();
    let node = path("/a/leader");
    fixture.table = LockTable::new([node.clone()]);
    fixture.put("/a/leader", Some(1));
    fixture.reconnect();
    fixture.tree.remove(&node);
    fixture.now = Timestamp(fixture.now.0 + 600_000);
    let recorded = restored(&fixture.table);
    assert_eq!(LockTable::new([]).resuming(recorded.clone(), &[]).lock_count(), 0, "other nodes are named as locks");
    fixture.table = LockTable::new([node]).resuming(recorded, &[]);
    fixture.put("/a/leader", Some(2));
    fixture.reconnect();
    assert!(bounds(&fixture, "/a/leader").at_most < Duration::from_secs(1), "{:?}", bounds(&fixture, "/a/leader"));
}

#[test]
fn locks_that_are_not_looked_at_any_more_leave_without_a_report() {
    let mut fixture = TableFixture::new();
    fixture.create(LOCK, 1);
    fixture.create("/b/lock-", 2);
    resume(&mut fixture, &["/a"]);
    assert_eq!(fixture.table.lock_count(), 1);
    fixture.tree.retain(|at, _| at.is_within(&path("/a")));
    let happenings = fixture.reconnect();
    assert!(!events(&happenings).contains(&LockEvent::Released), "{happenings:?}");
}

#[test]
fn a_recording_in_which_nothing_was_read_is_no_beginning() {
    let table = LockTable::new([]).resuming(LockTable::new([]), &[]);
    assert!(!table.is_reporting());
}
