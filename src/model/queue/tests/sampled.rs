//! Tests of the counts of a lock during an overload.

use super::*;
use crate::queue::{Change, ConnectionState, ContenderState};
use crate::testing::fixture::said;
use crate::testing::{connected, lost, path};
use lockscope_base::znode::{Timestamp, ZnodeStat, Zxid};

/// Returns the stat of a lock parent after this many creations and deletions of children.
fn parent(czxid: i64, created: i32, deleted: i32) -> ZnodeStat {
    let (cversion, num_children) = (created.wrapping_add(deleted), created.wrapping_sub(deleted));
    ZnodeStat { cversion, num_children, ..ZnodeStat::of_new(Zxid(czxid), Timestamp(0), None) }
}

impl TableFixture {
    /// Returns a fixture with a holder and a waiter at `/a`, during an overload.
    fn overloaded() -> Self {
        let mut fixture = Self::new();
        fixture.create("/a/lock-", 1);
        fixture.create("/a/lock-", 2);
        fixture.apply(Change::Connection(ConnectionState::Overloaded { reason: "too much".into() }));
        fixture
    }

    /// Applies a sample of `/a`, `later_ms` milliseconds after the last change.
    fn sample(&mut self, later_ms: i64, stat: ZnodeStat) {
        self.now = Timestamp(self.now.0 + later_ms - 10);
        let happenings = self.apply(Change::Sampled { path: path("/a"), stat });
        assert_eq!(happenings, [], "who came and who went is not known");
    }

    fn sampled(&self) -> Option<SampledCounts> {
        self.table.sampled(self.lock("/a"))
    }
}

#[test]
fn samples_of_a_parent_update_the_counts_and_not_the_holders() {
    let mut fixture = TableFixture::overloaded();
    assert_eq!(fixture.sampled(), None);
    fixture.sample(10, parent(5, 2, 0));
    let first = fixture.sampled().expect("a sample");
    assert_eq!((first.children, first.created, first.deleted, first.per_second), (2, 0, 0, None));
    assert_eq!((first.at, first.since), (fixture.now, fixture.now));

    fixture.sample(1_000, parent(5, 52, 40));
    fixture.sample(2_000, parent(5, 152, 120));
    let counts = fixture.sampled().expect("a sample");
    assert_eq!((counts.children, counts.created, counts.deleted), (32, 150, 120));
    let rates = counts.per_second.expect("two samples make a rate");
    assert!((rates.created - 50.0).abs() < 0.1 && (rates.deleted - 40.0).abs() < 0.1, "{rates:?}");
    assert_eq!((counts.since, counts.at), (first.at, fixture.now));
    assert!(!fixture.table.is_live() && fixture.table.last_true() < Some(counts.since));
    assert_eq!(said(fixture.lock("/a")).len(), 2, "the queue stays as it was when it was last true");
}

#[test]
fn samples_end_when_everything_was_read_again_and_when_there_is_no_connection() {
    let mut fixture = TableFixture::overloaded();
    fixture.sample(10, parent(5, 2, 0));
    fixture.apply(connected());
    fixture.apply(Change::Syncing);
    assert!(fixture.sampled().is_some(), "the queue is still old");
    for change in fixture.walk().into_iter().skip(1) {
        fixture.apply(change);
    }
    assert!(fixture.sampled().is_none() && fixture.table.is_live());
    fixture.sample(10, parent(5, 9, 0));
    assert!(fixture.sampled().is_none(), "what is live needs no samples");
    assert_eq!(said(fixture.lock("/a"))[0].state, ContenderState::Holds);

    let mut fixture = TableFixture::overloaded();
    fixture.sample(10, parent(5, 2, 0));
    fixture.apply(lost());
    assert!(fixture.sampled().is_none());
}

#[test]
fn a_recreated_parent_starts_at_zero_and_wrapped_counters_go_on() {
    let mut fixture = TableFixture::overloaded();
    fixture.sample(10, parent(5, 1_000, 900));
    fixture.sample(1_000, parent(9, 3, 1));
    let counts = fixture.sampled().expect("a sample");
    assert_eq!((counts.children, counts.created, counts.deleted, counts.per_second), (2, 0, 0, None));

    let mut fixture = TableFixture::overloaded();
    fixture.sample(10, parent(5, i32::MAX - 4, i32::MAX - 6));
    fixture.sample(1_000, parent(5, i32::MAX.wrapping_add(6), i32::MAX.wrapping_add(3)));
    let counts = fixture.sampled().expect("a sample");
    assert_eq!((counts.children, counts.created, counts.deleted), (3, 10, 9));
}
