//! The hold bounds after the first look are true, and as tight as the evidence allows.

use std::time::Duration;

use proptest::prelude::*;

use super::hold_history::{History, begin, steps};
use crate::queue::{Change, LockTable};
use crate::testing::{deleted, lost, path, reading, table, uuid};
use lockscope_base::znode::{Node, NodeData, Timestamp, ZnodePath, ZnodeStat, Zxid};

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_bound_is_ever_wrong(before in steps(60), after in steps(20)) {
        let mut history = begin();
        history.take_all(&before);
        history.watch(&after)?;
    }

    #[test]
    fn no_bound_is_wrong_by_the_difference_of_the_clocks(
        before in steps(60), after in steps(20), ahead in -400_000_i64..400_000,
    ) {
        let mut history = begin();
        history.take_all(&before);
        history.ahead = ahead;
        history.watch(&after)?;
    }
}

/// Creates a lock where these sessions queue, one second apart.
fn queue(sessions: i64) -> (History, Vec<ZnodePath>) {
    let mut history = History::new();
    let nodes = (1..=sessions).map(|session| {
        history.now = history.now.plus(Duration::from_secs(1));
        history.create_numbered(&format!("/c/_c_{}-lock-", uuid(u32::try_from(session).expect("small"))), session)
    });
    let nodes = nodes.collect();
    history.now = history.now.plus(Duration::from_secs(900));
    (history, nodes)
}

fn first_bounds(table: &LockTable, now: Timestamp) -> (u64, u64) {
    let lock = table.locks().find(|lock| lock.path().as_str() == "/c").expect("a lock");
    let holder = lock.first_holder().expect("a holder");
    let bounds = table.clock().hold_bounds(holder, now).expect("it holds");
    (bounds.at_least.as_secs(), bounds.at_most.as_secs())
}

#[test]
fn without_any_deletion_the_holder_has_held_since_it_came() {
    let (history, _) = queue(3);
    assert_eq!(first_bounds(&history.first_look(), history.now), (902, 902));
}

#[test]
fn without_a_deletion_since_the_newest_contender_the_holder_has_held_since_then() {
    let (mut history, nodes) = queue(3);
    history.delete(&nodes[0]);
    history.create_numbered(&format!("/c/_c_{}-lock-", uuid(9)), 9);
    history.now = history.now.plus(Duration::from_secs(60));
    assert_eq!(first_bounds(&history.first_look(), history.now), (60, 961));
}

#[test]
fn a_deletion_was_before_the_next_creation_anywhere() {
    let (mut history, nodes) = queue(3);
    history.delete(&nodes[0]);
    let mut table = history.first_look();
    assert_eq!(first_bounds(&table, history.now), (0, 901), "nothing tells when that was");
    history.now = history.now.plus(Duration::from_secs(5));
    assert_eq!(first_bounds(&table, history.now), (5, 906), "it was watched since");
    history.create(&path("/elsewhere/lock"), Some(5));
    history.now = history.now.plus(Duration::from_secs(70));
    table = history.first_look();
    assert_eq!(first_bounds(&table, history.now), (70, 976));
}

#[test]
fn a_deletion_during_the_reading_removes_the_proof() {
    let (mut history, nodes) = queue(3);
    let listed = Change::Listed { path: path("/c"), stat: history.nodes[&path("/c")] };
    let read = nodes[1..].iter().map(|at| history.observed(at));
    let table = table([listed].into_iter().chain(read).chain([deleted(&nodes[0])]), history.now);
    assert_eq!(first_bounds(&table, history.now).0, 0);
    history.now = history.now.plus(Duration::from_secs(5));
    assert_eq!(first_bounds(&table, history.now).0, 5);
}

#[test]
fn a_hold_goes_on_while_the_connection_is_cut() {
    let (mut history, nodes) = queue(3);
    history.delete(&nodes[2]);
    let mut table = history.first_look();
    table.apply(lost(), history.now);
    history.now = history.now.plus(Duration::from_secs(100));
    let listed = Change::Listed { path: path("/c"), stat: history.nodes[&path("/c")] };
    let nodes = nodes[..2].iter().map(|at| history.observed(at));
    reading([listed].into_iter().chain(nodes)).for_each(|change| drop(table.apply(change, history.now)));
    assert_eq!(first_bounds(&table, history.now), (100, 1002));
}

#[test]
fn a_clock_that_is_ahead_makes_no_hold_longer() {
    let (mut history, nodes) = queue(2);
    let mut table = history.first_look();
    let ours = history.now.plus(Duration::from_secs(300));
    let stat = ZnodeStat { ctime: history.now, ..history.nodes[&nodes[1]] };
    let fresh = Node { stat: ZnodeStat { czxid: Zxid(9_999), ..stat }, data: NodeData::keep(b"") };
    table.apply(Change::Seen { path: path("/elsewhere/lock"), node: fresh }, ours);
    history.now = ours;
    let (at_least, at_most) = first_bounds(&table, history.now);
    assert!(at_least <= 901 && at_most >= 901, "{at_least} to {at_most}");
}

#[test]
fn at_the_first_look_our_own_connection_shows_how_far_our_clock_is_ahead() {
    for ahead in [300_000, -300_000] {
        let (mut history, nodes) = queue(3);
        history.delete(&nodes[0]);
        history.create_numbered(&format!("/c/_c_{}-lock-", uuid(9)), 9);
        history.now = history.now.plus(Duration::from_secs(60));
        history.ahead = ahead;
        assert_eq!(first_bounds(&history.first_look(), history.ours()), (59, 961), "{ahead}");
    }
}

#[test]
fn a_recreated_queue_proves_nothing_about_older_leases() {
    let mut history = begin();
    let lease = format!("/s/leases/_c_{}-lease-", uuid(2));
    let queued = history.create_numbered(&format!("/s/locks/_c_{}-lock-", uuid(1)), 1);
    history.create_numbered(&lease, 1);
    // The contender waited for 100 s and now holds.
    history.now = history.now.plus(Duration::from_secs(100));
    history.delete(&queued);
    history.delete(&path("/s/locks"));
    history.now = history.now.plus(Duration::from_secs(30));
    history.create_numbered(&format!("/s/locks/_c_{}-lock-", uuid(3)), 2);
    history.now = history.now.plus(Duration::from_secs(7));
    let table = history.first_look();
    let lock = table.locks().find(|lock| lock.path().as_str() == "/s").expect("a semaphore");
    let bounds = table.clock().hold_bounds(lock.first_holder().expect("a holder"), history.now).expect("it holds");
    assert_eq!((bounds.at_least.as_secs(), bounds.at_most.as_secs()), (7, 137), "in truth 37 s");
}
