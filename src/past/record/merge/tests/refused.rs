//! Recordings that are not completed, and stay as they were.

use std::cell::Cell;
use std::fs;

use super::fixture::MergeFixture;
use crate::record::merge::{LogCoverage, MergeError, MergeTarget};
use crate::record::tests::fixture::{ALL, SMALL};
use crate::record::{Recorder, StoreError};
use lockscope_base::znode::{TimeRange, Timestamp, ZnodePath, Zxid};

/// Returns a recording with a gap, and the path of the log.
fn recording() -> (MergeFixture, std::path::PathBuf) {
    let mut fixture = MergeFixture::new(SMALL);
    let first = fixture.comes("/a/lock-", 1);
    fixture.flush();
    fixture.cut();
    fixture.pass(5_000);
    fixture.goes(&first);
    fixture.comes("/a/lock-", 2);
    fixture.pass(5_000);
    fixture.reconnect();
    fixture.pass(1_000);
    fixture.stop();
    let log = fixture.end_log();
    (fixture, log)
}

#[test]
fn a_recording_that_is_being_written_is_refused() {
    let (fixture, log) = recording();
    let recorder = Recorder::start(&fixture.watched.path, "zk1:2181", ALL).unwrap();
    let refused = fixture.try_merge(&log, &|| false);
    assert!(matches!(refused, Err(MergeError::Store(StoreError::InUse(_)))), "{refused:?}");
    drop(recorder);
    fixture.merge(&log);
}

#[test]
fn an_interrupted_merge_leaves_each_byte_as_it_was() {
    let (fixture, log) = recording();
    let before = fs::read(&fixture.watched.path).unwrap();
    let mut polls = 0_u32;
    loop {
        let left = Cell::new(polls);
        let stops = || left.replace(left.get().saturating_sub(1)) == 0;
        match fixture.try_merge(&log, &stops) {
            Err(MergeError::Interrupted) => assert_eq!(fs::read(&fixture.watched.path).unwrap(), before),
            Err(error) => panic!("{error}"),
            Ok(_) => break,
        }
        polls += 1;
    }
    assert!(polls > 3, "{polls}");
    assert_ne!(fs::read(&fixture.watched.path).unwrap(), before);
}

#[test]
fn damage_beside_a_gap_leaves_each_byte_as_it_was() {
    let (fixture, log) = recording();
    fixture.sql().execute("UPDATE chunk SET entries = x'00'", []).unwrap();
    let before = fs::read(&fixture.watched.path).unwrap();
    let refused = fixture.try_merge(&log, &|| false).unwrap_err();
    assert!(matches!(refused, MergeError::Damaged { .. }), "{refused}");
    assert_eq!(fs::read(&fixture.watched.path).unwrap(), before);
}

#[test]
fn logs_of_another_ensemble_are_refused() {
    let (fixture, _) = recording();
    let (_other, log) = recording();
    fixture.sql().execute("UPDATE contender SET czxid = czxid + 1000000, node = 'x' || node", []).unwrap();
    let refused = fixture.try_merge(&log, &|| false).unwrap_err();
    assert!(matches!(refused, MergeError::OtherEnsemble(_)), "{refused}");
}

#[test]
fn a_recording_below_a_chroot_is_refused() {
    let (fixture, log) = recording();
    fixture.sql().execute("UPDATE run SET connect = 'zk1:2181,zk2:2181/prod'", []).unwrap();
    let refused = fixture.try_merge(&log, &|| false).unwrap_err().to_string();
    assert!(refused.contains("was recorded below /prod"), "{refused}");
    for connect in ["/var/lib/zookeeper/version-2", "copies/a/version-2", "zk1:2181/"] {
        fixture.sql().execute("UPDATE run SET connect = ?1", [connect]).unwrap();
        fixture.merge(&log);
    }
}

#[test]
fn a_recording_with_locks_outside_of_the_roots_is_refused() {
    let (fixture, log) = recording();
    let roots = ["/b", "/aa"].map(|root| ZnodePath::new(root).unwrap());
    let time = TimeRange { from: Timestamp(0), to: Timestamp(i64::MAX) };
    let covered = LogCoverage { time, roots: &roots, zxids: (Zxid(0), Zxid(1)), missing: Vec::new() };
    let refused = MergeTarget::open(&fixture.watched.path).unwrap().complete(&log, &covered, &|| false).unwrap_err();
    assert!(refused.to_string().contains("has the lock /a,"), "{refused}");
}
