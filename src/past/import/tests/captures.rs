//! A real server's files, damaged in each way.

use proptest::prelude::*;

use super::{Folder, Told};
use crate::record::tables::ContenderEnd;
use lockscope_base::disk::testing::{EMPTY, GZIP, LOG, SNAPPY, SNAPSHOT as PLAIN};
use lockscope_base::znode::Timestamp;

/// Every how many bytes one is damaged: an import takes as long as the disk needs to keep it.
const STEP: usize = 8;

/// Returns each contender's creation with its end, unless that is unknown or still to come.
fn certain(told: &Told) -> Vec<(i64, ContenderEnd, Timestamp)> {
    let contenders = told.contenders().into_iter();
    let certain = contenders.filter_map(|(one, _)| {
        let is_certain = !matches!(one.end, ContenderEnd::Open | ContenderEnd::Unknown | ContenderEnd::Gone);
        is_certain.then_some((one.czxid?, one.end, one.ended?.exactly()?))
    });
    certain.collect()
}

/// Imports what may be damaged. Asserts that no certain end is false.
fn is_true_of(files: &[(&str, &[u8])], truth: &[(i64, ContenderEnd, Timestamp)]) {
    match Folder::of(files).import() {
        Ok(told) => certain(&told).iter().for_each(|end| assert!(truth.contains(end), "{end:?} is not in {truth:?}")),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn truth() -> Vec<(i64, ContenderEnd, Timestamp)> {
    certain(&Folder::of(&[("log.1", LOG)]).import().unwrap())
}

#[test]
fn a_servers_files_tell_how_its_clients_ended() {
    let alone = Folder::of(&[("log.1", LOG)]).import().unwrap();
    let all: [(&str, &[u8]); 5] = [
        ("log.1", LOG),
        ("snapshot.0", EMPTY),
        ("snapshot.21.gz", GZIP),
        ("snapshot.24.snappy", SNAPPY),
        ("snapshot.27", PLAIN),
    ];
    let together = Folder::of(&all).import().unwrap();
    assert_eq!(certain(&alone), certain(&together));
    let ends: Vec<_> = certain(&alone).into_iter().map(|(czxid, end, _)| (czxid, end)).collect();
    assert_eq!(ends, [(8, ContenderEnd::Expired), (9, ContenderEnd::Expired), (5, ContenderEnd::Closed)]);
    for (name, bytes) in &all[2..] {
        let told = Folder::of(&[(*name, *bytes)]).import().unwrap();
        assert!(told.history.holds.iter().any(|one| one.czxid == Some(6)), "{name}: {:?}", told.rows());
    }
}

#[test]
fn each_damaged_byte_of_a_log_leaves_true_rows_or_is_refused() {
    let truth = truth();
    // The zeros behind the last transaction are not read. Each run takes other bytes.
    for at in (fastrand::usize(..STEP)..LOG.len() - 60).step_by(STEP) {
        let mut log = LOG.to_vec();
        log[at] ^= 1 << (at % 8);
        is_true_of(&[("log.1", &log)], &truth);
    }
}

#[test]
fn each_damaged_byte_of_a_snapshot_is_noticed() {
    let truth = truth();
    for (name, snapshot) in [("snapshot.21.gz", GZIP), ("snapshot.24.snappy", SNAPPY), ("snapshot.27", PLAIN)] {
        for at in (fastrand::usize(..4 * STEP)..snapshot.len()).step_by(4 * STEP) {
            let mut bytes = snapshot.to_vec();
            bytes[at] ^= 1 << (at % 8);
            is_true_of(&[("log.1", LOG), (name, &bytes)], &truth);
            is_true_of(&[(name, &bytes)], &truth);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_truncated_file_leaves_true_rows_or_is_refused(
        log in 0..LOG.len(),
        snapshot in 0..PLAIN.len(),
        from in 0..LOG.len(),
    ) {
        let truth = truth();
        is_true_of(&[("log.1", &LOG[..log]), ("snapshot.27", &PLAIN[..snapshot])], &truth);
        is_true_of(&[("log.1", &LOG[..log]), ("snapshot.0", &EMPTY[..snapshot % EMPTY.len()])], &truth);
        // The head stays, and transactions at the beginning are missing.
        is_true_of(&[("log.1", &[&LOG[..16], &LOG[from..]].concat()), ("snapshot.27", PLAIN)], &truth);
    }

    #[test]
    fn random_bytes_in_a_log_leave_true_rows_or_are_refused(
        at in 16..LOG.len(),
        bytes in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        let mut log = LOG.to_vec();
        let end = (at + bytes.len()).min(log.len());
        log[at..end].copy_from_slice(&bytes[..end - at]);
        is_true_of(&[("log.1", &log)], &truth());
    }
}
