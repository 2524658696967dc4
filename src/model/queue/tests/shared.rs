//! Tests of read/write locks.

use super::TableFixture;
use crate::queue::{ContenderState, LockEvent, WatchEvents};
use crate::testing::fixture::{Said, events, said};
use crate::testing::uuid;
use lockscope_base::recipe::{Recipe, RequestMode};

fn states(said: &[Said]) -> Vec<ContenderState> {
    said.iter().map(|said| said.state).collect()
}

#[test]
fn readers_share_and_a_writer_waits_for_the_last_of_them() {
    let mut fixture = TableFixture::new();
    for (session, kind) in ["read-", "read-", "write-", "read-"].into_iter().enumerate() {
        fixture.create(&format!("/rw/{kind}"), i64::try_from(session).expect("small"));
    }
    let said = said(fixture.lock("/rw"));
    assert_eq!(
        states(&said),
        [ContenderState::Holds, ContenderState::Holds, ContenderState::Waits, ContenderState::Waits]
    );
    assert_eq!(said[2].waits_for, [said[1].node.clone()]);
    assert_eq!(said[3].waits_for, [said[2].node.clone()]);
    assert_eq!(fixture.lock("/rw").watch_cost(), Some(WatchEvents { herd: 2, chain: 1 }));
}

#[test]
fn a_writer_is_blocked_by_the_run_of_readers_or_the_writer_right_before_it() {
    let mut fixture = TableFixture::new();
    for (session, kind) in ["read-", "read-", "write-", "write-", "read-", "read-", "write-"].into_iter().enumerate() {
        fixture.create(&format!("/rw/{kind}"), i64::try_from(session).expect("small"));
    }
    let lock = fixture.lock("/rw");
    let blockers = |position, most| {
        let numbers = lock.blockers(position, most).into_iter().map(|node| node[node.len() - 1..].to_owned());
        numbers.collect::<Vec<_>>().join(" ")
    };
    assert_eq!((0..7).map(|at| blockers(at, 9)).collect::<Vec<_>>(), ["", "", "0 1", "2", "3", "3", "4 5"]);
    assert_eq!(blockers(2, 1), "0");
}

#[test]
fn when_a_writer_goes_all_readers_behind_it_acquire_at_once() {
    let mut fixture = TableFixture::new();
    let writer = fixture.create("/rw/write-", 1);
    for session in 2..=4 {
        fixture.create("/rw/read-", session);
    }
    fixture.create("/rw/write-", 5);
    assert_eq!(fixture.lock("/rw").watch_cost(), Some(WatchEvents { herd: 4, chain: 3 }));
    let happenings = fixture.delete(&writer);
    assert_eq!(
        events(&happenings),
        [LockEvent::Released, LockEvent::Acquired, LockEvent::Acquired, LockEvent::Acquired]
    );
    assert_eq!(happenings[0].watch_events, WatchEvents { herd: 4, chain: 3 });
    assert_eq!(fixture.lock("/rw").holding(), 3);
}

#[test]
fn a_reader_of_curators_waits_for_the_lowest_writer_and_of_kazoos_for_the_nearest() {
    let mut fixture = TableFixture::new();
    let names = |mode: &str, number| format!("/c/_c_{}-__{mode}__", uuid(number));
    for (number, mode) in [(1, "WRIT"), (2, "READ"), (3, "WRIT"), (4, "READ")] {
        fixture.create(&names(mode, number), i64::from(number));
    }
    let curator = said(fixture.lock("/c"));
    assert_eq!(curator[3].waits_for, [curator[0].node.clone()]);
    for (number, kind) in [(1, "lock"), (2, "rlock"), (3, "lock"), (4, "rlock")] {
        fixture.create(&format!("/k/{number:032x}__{kind}__"), i64::from(number));
    }
    let kazoo = said(fixture.lock("/k"));
    assert_eq!(kazoo[3].waits_for, [kazoo[2].node.clone()]);
}

#[test]
fn kazoos_lock_counts_as_a_writer_once_there_is_a_reader() {
    let mut fixture = TableFixture::new();
    let node = |number: u32, kind: &str| format!("/k/{number:032x}__{kind}__");
    fixture.create(&node(1, "lock"), 1);
    fixture.create(&node(2, "lock"), 2);
    assert_eq!(
        (fixture.lock("/k").recipe(), said(fixture.lock("/k"))[1].mode),
        (Recipe::KazooLock, RequestMode::Exclusive)
    );
    let reader = fixture.create(&node(3, "rlock"), 3);
    assert_eq!(
        (fixture.lock("/k").recipe(), said(fixture.lock("/k"))[1].mode),
        (Recipe::KazooReadWrite, RequestMode::Write)
    );
    fixture.delete(&reader);
    assert_eq!(fixture.lock("/k").recipe(), Recipe::KazooLock);
}

#[test]
fn a_writer_of_curators_that_also_reads_holds_both_and_keeps_the_read_when_it_downgrades() {
    let mut fixture = TableFixture::new();
    let writer = fixture.create(&format!("/c/_c_{}-__WRIT__", uuid(1)), 1);
    fixture.create(&format!("/c/_c_{}-__READ__", uuid(2)), 2);
    let own_read = format!("/c/_c_{}-__READ__0000000000", uuid(3));
    fixture.create_plain(&own_read, Some(1));
    assert_eq!(
        states(&said(fixture.lock("/c"))),
        [ContenderState::Holds, ContenderState::Holds, ContenderState::Waits]
    );
    fixture.delete(&writer);
    assert_eq!(states(&said(fixture.lock("/c"))), [ContenderState::Holds, ContenderState::Holds]);
}

#[test]
fn a_writer_that_queues_behind_a_write_and_its_own_read_stands_behind_the_write() {
    let mut fixture = TableFixture::new();
    let name = |mode: &str, number| format!("/c/_c_{}-__{mode}__", uuid(number));
    let write = fixture.create(&name("WRIT", 1), 1);
    let second = fixture.create(&name("WRIT", 2), 2);
    let read = fixture.create_plain(&format!("{}0000000000", name("READ", 3)), Some(1));
    fixture.create(&name("READ", 4), 4);
    let rows = said(fixture.lock("/c"));
    assert_eq!(
        states(&rows),
        [ContenderState::Holds, ContenderState::Holds, ContenderState::Waits, ContenderState::Waits]
    );
    assert_eq!([&rows[2].waits_for, &rows[3].waits_for], [&[write.name()], &[write.name()]]);
    let costs: Vec<u64> = (0..4).map(|at| fixture.lock("/c").cost_of_removal(at).chain).collect();
    assert_eq!(costs, [2, 0, 0, 0], "the writer and the reader watch the write, and nobody the read under it");
    // The write is released and the read is kept, so the writer now waits for the read.
    fixture.delete(&write);
    let rows = said(fixture.lock("/c"));
    assert_eq!((rows[0].node.as_str(), rows[1].node.as_str()), (read.name(), second.name()));
    assert_eq!(rows[1].waits_for, [read.name()]);
    assert_eq!(fixture.lock("/c").cost_of_removal(0).chain, 1);
}

#[test]
fn the_state_of_a_read_behind_the_write_of_its_own_session_is_unknown() {
    let mut fixture = TableFixture::new();
    fixture.create(&format!("/c/_c_{}-__WRIT__", uuid(1)), 1);
    fixture.create(&format!("/c/_c_{}-__READ__", uuid(2)), 1);
    fixture.create(&format!("/c/_c_{}-__READ__", uuid(3)), 2);
    assert_eq!(
        states(&said(fixture.lock("/c"))),
        [ContenderState::Holds, ContenderState::Unknown, ContenderState::Waits]
    );
}
