//! The bounds of histories, and that a busy lock displaces no entries of a quiet one.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{HistoryEntry, LockHistories, MAX_ENTRIES, MAX_ENTRIES_OF_LOCK, Stay, StayEnd};
use crate::testing::path;
use lockscope_base::znode::{SessionId, Timestamp, Zxid};
use lockscope_model::diagnose::{Code, Finding, Severity};
use lockscope_model::queue::{ClientIdentity, ContenderId, Happening, LockEvent, LockId, LockName, WatchEvents};

fn lock(id: u64) -> LockName {
    LockName { id: LockId(id), path: path(&format!("/locks/{id}")), name: None }
}

fn happening(event: LockEvent, id: u64, node: i64) -> Happening {
    Happening {
        ends_hold: false,
        at: Timestamp(node * 1000),
        event,
        lock: Some(lock(id)),
        node: Some(format!("lock-{node:010}").into()),
        contender: None,
        session: Some(SessionId(node)),
        client: ClientIdentity::default(),
        waited_ms: Some(20),
        held_ms: Some(10),
        may_have_expired: false,
        deleted_by: None,
        deleter: None,
        queue: 0,
        watch_events: WatchEvents::default(),
    }
}

fn record(histories: &mut LockHistories, event: LockEvent, id: u64, node: i64) {
    histories.record(&happening(event, id, node), &FxHashMap::default(), false);
}

fn stays(histories: &LockHistories, id: u64) -> Vec<&Stay> {
    let entries = histories.of(LockId(id)).map(|(_, entry)| entry);
    entries.filter_map(|entry| if let HistoryEntry::Stay(stay) = entry { Some(stay) } else { None }).collect()
}

#[test]
fn a_busy_lock_displaces_no_entries_of_a_quiet_one() {
    let mut histories = LockHistories::default();
    record(&mut histories, LockEvent::Released, 1, 7);
    for node in 0..100_000 {
        record(&mut histories, LockEvent::Released, 2, node);
    }
    assert_eq!(stays(&histories, 1).len(), 1);
    assert_eq!(stays(&histories, 2).len(), MAX_ENTRIES_OF_LOCK);
    assert_eq!(stays(&histories, 2)[0].session, Some(SessionId(100_000 - 200)), "the oldest are forgotten");
    assert_eq!(histories.forgotten(LockId(2)), 100_000 - 200);
}

#[test]
fn the_total_is_bounded_and_the_longest_history_drops_entries_first() {
    let mut histories = LockHistories::default();
    record(&mut histories, LockEvent::Left, 0, 1);
    for node in 0..60 {
        for id in 1..=1_000 {
            record(&mut histories, LockEvent::Released, id, node);
        }
    }
    assert_eq!(histories.len(), MAX_ENTRIES);
    assert_eq!(stays(&histories, 0).len(), 1);
    assert!((1..=1_000).all(|id| stays(&histories, id).len() >= MAX_ENTRIES / 1_000 - 1));
    // Locks that come and go do not accumulate.
    for id in 2_000..60_000 {
        record(&mut histories, LockEvent::Released, id, 1);
        record(&mut histories, LockEvent::LockGone, id, 1);
    }
    assert_eq!(histories.len(), MAX_ENTRIES);
}

#[test]
fn a_lock_that_comes_back_keeps_its_history() {
    let mut histories = LockHistories::default();
    record(&mut histories, LockEvent::Released, 1, 7);
    record(&mut histories, LockEvent::LockGone, 1, 8);
    let mut found = happening(LockEvent::LockFound, 9, 9);
    found.lock = Some(LockName { id: LockId(9), ..lock(1) });
    histories.record(&found, &FxHashMap::default(), false);
    assert_eq!((stays(&histories, 9).len(), stays(&histories, 1).len(), histories.len()), (1, 0, 1));
}

#[test]
fn a_deletion_from_here_ends_the_stay_whichever_is_known_first() {
    let mut histories = LockHistories::default();
    let node = |number: i64| format!("lock-{number:010}").into();
    record(&mut histories, LockEvent::Released, 1, 7);
    histories.take_deletion(LockId(1), &node(7), Some(SessionId(7)), Timestamp(8_000));
    histories.take_deletion(LockId(1), &node(8), Some(SessionId(8)), Timestamp(8_000));
    record(&mut histories, LockEvent::Released, 1, 8);
    record(&mut histories, LockEvent::Released, 1, 9);
    let ends: Vec<_> = stays(&histories, 1).iter().map(|stay| stay.end).collect();
    assert_eq!(ends, [StayEnd::Deleted, StayEnd::Deleted, StayEnd::HolderGone]);
}

#[test]
fn an_end_that_is_settled_is_an_expiry() {
    let mut histories = LockHistories::default();
    for node in [7, 8] {
        let contender = Some(ContenderId { node: format!("lock-{node:010}").into(), czxid: Zxid(node) });
        let released = Happening {
            contender: contender.clone(),
            may_have_expired: true,
            ..happening(LockEvent::Released, 1, node)
        };
        histories.record(&released, &FxHashMap::default(), false);
        if node == 7 {
            let settled = Happening { contender, ..happening(LockEvent::Settled, 1, node) };
            histories.record(&settled, &FxHashMap::default(), false);
        }
    }
    let ends: Vec<_> = stays(&histories, 1).iter().map(|stay| (stay.end, stay.may_have_expired)).collect();
    assert_eq!(ends, [(StayEnd::Expired, false), (StayEnd::HolderGone, true)]);
}

#[test]
fn a_finding_is_one_entry_from_raised_to_cleared() {
    let mut histories = LockHistories::default();
    let finding = Arc::new(Finding {
        code: Code::Stuck,
        severity: Severity::Warning,
        lock: lock(1),
        node: None,
        client: None,
        summary: "it does not change hands".to_owned(),
        remedy: "look at the holder".into(),
        muted: None,
    });
    histories.take_finding(&finding, true, Timestamp(1_000));
    // After a cut the same finding is raised again.
    histories.take_finding(&finding, true, Timestamp(2_000));
    histories.take_finding(&finding, false, Timestamp(3_000));
    histories.take_finding(&finding, true, Timestamp(4_000));
    let times: Vec<_> = histories
        .of(LockId(1))
        .map(|(_, entry)| match entry {
            HistoryEntry::Finding { raised_at, cleared_at, .. } => (*raised_at, *cleared_at),
            HistoryEntry::Stay(_) => panic!("nobody came"),
        })
        .collect();
    let at = |time| Some(Timestamp(time));
    assert_eq!(times, [(at(1_000), at(3_000)), (at(4_000), None)]);
}
