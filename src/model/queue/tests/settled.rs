//! Ends that the servers settle after the node went.

use super::TableFixture;
use super::restored::restored;
use crate::queue::{DepartureEnd, ElectionRecord, LockEvent, LockQueue};
use crate::testing::fixture::{counted, events};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};

/// The holder's session, whose client is `worker-1`, runs out; that of the waiter stays.
struct Expiring {
    fixture: TableFixture,
    holder: ZnodePath,
    /// When the session runs out.
    over: i64,
}

impl Expiring {
    fn new(lock: &str) -> Self {
        let mut fixture = TableFixture::new();
        let holder = named(&mut fixture, lock, 1, "worker-1");
        named(&mut fixture, lock, 2, "worker-2");
        let over = fixture.now.0 + 20_000;
        for at in [over - 2_000, over - 1_000] {
            fixture.now = Timestamp(at);
            fixture.apply(counted(&[(1, over), (2, over + 60_000)], 3, at));
        }
        Self { fixture, holder, over }
    }

    /// Deletes the holder's node, so long after the session ran out.
    fn goes(&mut self, after_ms: i64) -> Vec<LockEvent> {
        self.fixture.now = Timestamp(self.over + after_ms);
        events(&self.fixture.delete(&self.holder.clone()))
    }

    /// The server no longer lists the holder's session, and says how many it expired.
    fn counts(&mut self, expired: u64, after_ms: i64) -> Vec<LockEvent> {
        self.fixture.now = Timestamp(self.over + after_ms + 20);
        events(&self.fixture.apply(counted(&[(2, self.over + 60_000)], expired, self.over + after_ms)))
    }

    fn expired_holder(&self) -> Option<SessionId> {
        self.fixture.table.locks().next().and_then(LockQueue::last_expiry).map(|expiry| expiry.session)
    }
}

fn named(fixture: &mut TableFixture, lock: &str, owner: i64, name: &str) -> ZnodePath {
    let node = fixture.put_numbered(lock, owner);
    fixture.write(&node, name.as_bytes());
    fixture.apply(fixture.observed(&node));
    node
}

#[test]
fn an_end_is_settled_when_the_server_has_counted_the_expiry() {
    let mut expiring = Expiring::new("/a/lock-");
    assert_eq!(expiring.goes(600), [LockEvent::Released, LockEvent::Acquired]);
    expiring.fixture.now = Timestamp(expiring.over + 720);
    let told = expiring.fixture.apply(counted(&[(2, expiring.over + 60_000)], 4, expiring.over + 700));
    assert_eq!(events(&told), [LockEvent::Settled]);
    let [settled] = &told[..] else { panic!("one event") };
    assert_eq!((settled.end(), settled.session), (Some("expired"), Some(SessionId(1))));
    assert_eq!(settled.node.as_deref(), Some(expiring.holder.name()));
    assert_eq!(settled.client.name.as_deref(), Some("worker-1"));
    assert_eq!(expiring.expired_holder(), Some(SessionId(1)));
    assert_eq!(expiring.counts(4, 1_700), [], "once");
}

#[test]
fn an_end_stays_unknown_when_the_server_counted_nothing() {
    let mut expiring = Expiring::new("/a/lock-");
    expiring.goes(600);
    assert_eq!(expiring.counts(3, 700), []);
    assert_eq!(expiring.counts(3, 1_700), [], "the count is not late");
    assert_eq!(expiring.counts(4, 2_700), [], "another one expired");
    assert_eq!(expiring.expired_holder(), None);
}

#[test]
fn a_node_that_is_seen_to_go_after_the_count_expired_at_once() {
    let mut expiring = Expiring::new("/a/lock-");
    assert_eq!(expiring.counts(4, 50), []);
    assert_eq!(expiring.goes(700), [LockEvent::Expired, LockEvent::Acquired]);
    assert_eq!(expiring.counts(4, 1_000), []);
    assert_eq!(expiring.expired_holder(), Some(SessionId(1)));
}

#[test]
fn a_client_that_came_back_before_its_end_was_settled_knows_that_it_lost_the_lock() {
    let mut expiring = Expiring::new("/a/lock-");
    expiring.goes(600);
    named(&mut expiring.fixture, "/a/lock-", 5, "worker-1");
    assert_eq!(expiring.counts(4, 700), [LockEvent::Settled]);
    assert_eq!(expiring.expired_holder(), None);
}

#[test]
fn an_end_is_settled_after_its_lock_is_gone() {
    let mut expiring = Expiring::new("/a/lock-");
    expiring.goes(600);
    let left: Vec<ZnodePath> = expiring.fixture.tree.keys().cloned().collect();
    for node in left {
        expiring.fixture.delete(&node);
    }
    expiring.fixture.apply(crate::testing::deleted(&crate::testing::path("/a")));
    assert_eq!(expiring.fixture.table.lock_count(), 0);
    assert_eq!(expiring.counts(4, 700), [LockEvent::Settled]);
}

#[test]
fn a_candidate_whose_end_is_settled_is_told_by_its_expiry() {
    let mut expiring = Expiring::new("/leader/_c_00000000-0000-4000-8000-000000000001-latch-");
    expiring.goes(600);
    let end = |expiring: &Expiring| {
        let table = &expiring.fixture.table;
        let record = table.locks().next().and_then(|lock| table.elections().record(lock));
        record.and_then(ElectionRecord::last_tenure).map(|left| left.end)
    };
    assert_eq!(end(&expiring), Some(DepartureEnd::Unknown));
    expiring.counts(4, 700);
    assert_eq!(end(&expiring), Some(DepartureEnd::Expired));
}

#[test]
fn a_table_from_a_recording_settles_the_same_ends() {
    for goes_before in [false, true] {
        let mut expiring = Expiring::new("/a/lock-");
        if goes_before {
            expiring.goes(600);
        }
        expiring.fixture.table = restored(&expiring.fixture.table);
        if !goes_before {
            expiring.goes(600);
        }
        assert_eq!(expiring.counts(4, 700), [LockEvent::Settled], "{goes_before}");
    }
}
