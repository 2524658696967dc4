//! Files with something missing or wrong: it is named, and the rest is right.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use lockscope_base::disk::{LogItem, LogReader};

use super::fixture::{Contention, Import, Row, copied, milliseconds, named, zxid_of};

const LOCKS: [&str; 1] = ["/locks"];

/// Returns where each record of a log begins, with its transaction.
fn records(log: &Path) -> Vec<(usize, i64)> {
    let bytes = fs::read(log).expect("the log");
    let mut reader = LogReader::open(Cursor::new(bytes)).expect("a log");
    let mut records = Vec::new();
    while let LogItem::Record(record) = reader.read().expect("bytes can be read") {
        records.push((usize::try_from(record.offset).expect("small"), record.entry.header.zxid.0));
    }
    records
}

/// Asserts that the rows say nothing false, and tell all about the contenders that went before the
/// missing transactions between `after` and `before`, or came once the gap was over.
///
/// Of those that stood at that time, an end or an acquisition may be unknown. Without a later
/// snapshot, those that came later may be left out. A server that is busy with a snapshot skips the
/// next one.
fn is_right_around(import: &Import, (truth, life_ends): (&[Row], &[(i64, i64)]), after: i64, before: i64, all: bool) {
    let gaps = import.history["gaps"].as_array().expect("gaps");
    let over = gaps.iter().map(|gap| milliseconds(&gap["to"]).unwrap_or(i64::MAX)).max();
    for row in truth {
        let ended = life_ends.iter().find(|(czxid, _)| *czxid == row.czxid).map_or(i64::MAX, |(_, ended)| *ended);
        if ended <= after || all && row.czxid >= before && row.enqueued_at > over {
            let is_behind_others = row.czxid >= before && row.acquired_at.is_none_or(|at| Some(at) != row.enqueued_at);
            let told = import.rows.iter().find(|told| told.czxid == row.czxid);
            let told = told.unwrap_or_else(|| panic!("{row:?} is not told, but {gaps:?} in {:#?}", import.rows));
            if is_behind_others {
                assert!(told.acquired_at.is_none() || told.acquired_at == row.acquired_at, "{told:?}, {row:?}");
                assert_eq!(told.released_at, row.released_at);
            } else {
                assert_eq!(told, row);
            }
        }
    }
    for told in &import.rows {
        let row = truth.iter().find(|row| row.is_of(told)).unwrap_or_else(|| panic!("{told:?} was never there"));
        assert!(!told.held || row.held, "{told:?} never held");
        if let (Some(told_at), Some(at)) = (told.acquired_at, row.acquired_at) {
            assert!(told_at == at, "{told:?}, {row:?}");
        }
        let is_certain = ["released", "left", "expired", "closed", "deleted"].contains(&told.end.as_str());
        assert!(!is_certain || told.end == row.end && told.released_at == row.released_at, "{told:?}, {row:?}");
    }
}

/// Writes contention into several logs. Returns the truth, and the last transaction of each node.
async fn several_logs() -> (Contention, Vec<Row>, Vec<(i64, i64)>) {
    let contention = Contention::start(Some(60), &[]).await;
    let stays = [contention.comes("/locks/a").await, contention.comes("/locks/a").await];
    contention.churns(40).await;
    contention.goes(&stays[0]).await;
    contention.churns(60).await;
    let lives = contention.lives().await;
    let ends = lives.nodes.iter().map(|life| (life.czxid, life.went.map_or(i64::MAX, |(zxid, ..)| zxid)));
    (contention, lives.rows(&LOCKS), ends.collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_that_no_file_has_are_named_and_the_rest_is_right() {
    let (contention, truth, ends) = several_logs().await;
    let logs = named(&contention.files(), "log.");
    assert!(logs.len() >= 4, "{logs:?}");
    for missing in 1..logs.len() - 1 {
        let (after, before) = (zxid_of(&logs[missing]) - 1, zxid_of(&logs[missing + 1]));
        for (with_snapshots, up_to) in [(true, i64::MAX), (true, after), (false, 0)] {
            let wanted = |name: &str| match name.split_once('.') {
                Some(("log", _)) => name != logs[missing],
                Some(("snapshot", _)) => with_snapshots && zxid_of(name) <= up_to,
                _ => false,
            };
            let import = Import::of(&[copied(&contention.files(), wanted).path()]).await;
            assert_eq!((import.gaps(), import.damaged()), (vec![(after, before)], vec![]));
            is_right_around(&import, (&truth, &ends), after, before, with_snapshots);
            let gaps = import.history["gaps"].as_array().expect("gaps").len();
            assert!(gaps >= 1, "{}", import.history["gaps"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_torn_last_record_is_named_and_all_before_it_is_right() {
    let contention = Contention::start(None, &[]).await;
    contention.churns(30).await;
    let lives = contention.lives().await;
    let truth = lives.rows(&LOCKS);
    let folder = copied(&contention.files(), |_| true);
    let log = folder.path().join(&named(folder.path(), "log.")[0]);
    let whole = fs::read(&log).expect("the log");
    let records = records(&log);
    let (at, torn) = records[records.len() * 2 / 3];
    let end = records[records.len() * 2 / 3 + 1].0;
    // A checksum begins with zeros, as the space behind the last record.
    for cut in [at + 6, at + 8, at + 13, end - 1] {
        fs::write(&log, &whole[..cut]).expect("written");
        let import = Import::of(&[folder.path()]).await;
        assert_eq!(import.gaps(), vec![], "cut at {cut}");
        let damaged = import.damaged();
        assert!(damaged.len() == 1 && damaged[0].contains(&format!("at byte {at}")), "{damaged:?}");
        assert_eq!(import.said["read"]["last_zxid"], format!("0x{:x}", torn - 1));
        let known: Vec<&Row> = truth.iter().filter(|row| row.czxid < torn).collect();
        assert_eq!(import.rows.len(), known.len());
        for (told, row) in import.rows.iter().zip(known) {
            assert!(told == row || told.end == "open" && told.is_of(row), "{told:?}, {row:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_bytes_are_named_and_the_rest_is_right() {
    let (contention, truth, ends) = several_logs().await;
    let folder = copied(&contention.files(), |_| true);
    let log = folder.path().join(&named(folder.path(), "log.")[1]);
    let whole = fs::read(&log).expect("the log");
    let records = records(&log);
    for number in [0, 1, records.len() / 2, records.len() - 2] {
        let ((at, zxid), next) = (records[number], records[number + 1].0);
        // Each part of a record: checksum, length, session, path, last byte.
        for offset in [0, 9, 11, 14, (next - at) / 2, next - at - 1] {
            let mut bytes = whole.clone();
            bytes[at + offset] ^= 0x15;
            fs::File::create(&log).and_then(|mut file| file.write_all(&bytes)).expect("written");
            let import = Import::of(&[folder.path()]).await;
            let damaged = import.damaged();
            assert!(damaged.len() == 1 && damaged[0].contains(&format!("at byte {at} ")), "{damaged:?}");
            assert_eq!(import.gaps(), vec![(zxid - 1, zxid + 1)], "byte {offset} of {zxid}");
            is_right_around(&import, (&truth, &ends), zxid - 1, zxid + 1, true);
        }
    }
    fs::write(&log, whole).expect("written");
    assert_eq!(Import::of(&[folder.path()]).await.rows, truth);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_snapshot_is_passed_over() {
    let (contention, truth, _) = several_logs().await;
    let files = contention.files();
    let first = zxid_of(&named(&files, "log.")[1]);
    let folder = copied(&files, |name| !name.starts_with("log.") || zxid_of(name) >= first);
    let snapshots = named(folder.path(), "snapshot.");
    for name in &snapshots[..snapshots.len() - 1] {
        let path = folder.path().join(name);
        let mut bytes = fs::read(&path).expect("a snapshot");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x15;
        fs::write(path, bytes).expect("written");
    }
    let import = Import::of(&[folder.path()]).await;
    let began = import.first_zxid();
    for row in truth.iter().filter(|row| row.czxid > began) {
        assert!(import.rows.contains(row), "{row:?} is not in {:#?}", import.rows);
    }
}
