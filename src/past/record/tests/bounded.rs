//! Tests of the disk space and memory of a recording.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use super::fixture::{ALL, ConsoleFixture};
use crate::record::batch::SegmentBounds;
use crate::record::bounds::SpaceKeeper;
use crate::record::{Bounds, RecordOptions};
use lockscope_base::znode::ZnodePath;

/// Returns the size of the file and of those beside it.
fn bytes(path: &Path) -> u64 {
    let ends = ["", "-wal", "-shm"].into_iter();
    ends.map(|end| std::fs::metadata(format!("{}{end}", path.display())).map_or(0, |found| found.len())).sum()
}

/// Creates and deletes contenders with incompressible data.
fn churn(fixture: &mut ConsoleFixture, rounds: u32, data: usize) {
    let mut standing: Vec<ZnodePath> = Vec::new();
    for number in 0..rounds {
        let at = fixture.ensemble.put_numbered(&format!("/a/{}/lock-", number % 50), i64::from(number % 5_000));
        fixture.ensemble.write(&at, &(0..data).map(|_| fastrand::u8(..)).collect::<Vec<u8>>());
        fixture.apply(fixture.ensemble.observed(&at));
        standing.push(at);
        if standing.len() > 200 {
            let gone = standing.remove(0);
            fixture.delete(&gone);
        }
        if number % 500 == 0 {
            fixture.ensemble.now.0 += 1_000;
            fixture.flush();
        }
    }
}

#[test]
fn the_files_never_exceed_the_size() {
    let max = Bounds::MIN_BYTES;
    let bounds = Bounds { keep: None, max_bytes: Some(max) };
    let segments = SpaceKeeper::new(bounds, false).segment_bounds();
    let mut fixture = ConsoleFixture::new(RecordOptions { bounds, ..ALL }, segments);
    let (largest, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let path = fixture.path.clone();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                largest.fetch_max(bytes(&path), Ordering::Relaxed);
                thread::sleep(Duration::from_micros(200));
            }
        });
        churn(&mut fixture, 15_000, 500);
        churn(&mut fixture, 15_000, 8);
        ended.store(true, Ordering::Relaxed);
    });
    assert_eq!(fixture.recorder.as_ref().unwrap().trouble(), None);
    let (largest, past) = (largest.into_inner(), fixture.past().segments().unwrap());
    assert!(largest <= max, "{largest} bytes");
    assert!(past[0].id > 1, "the oldest went");
    assert!(past.len() > 1, "and others stayed: {}", past.len());
    assert!(largest > max / 4, "the room is used: {largest} bytes");
}

#[test]
fn a_state_larger_than_half_of_the_logs_room_is_written_and_the_oldest_goes() {
    let bounds = Bounds { keep: None, max_bytes: Some(Bounds::MIN_BYTES) };
    let mut fixture =
        ConsoleFixture::new(RecordOptions { bounds, ..ALL }, SpaceKeeper::new(bounds, false).segment_bounds());
    for number in 0..4_000_u32 {
        let at = fixture.ensemble.put_numbered("/a/lock-", i64::from(number % 50));
        // 800 of them stand, with 2.4 MB of incompressible data.
        let data = if number < 800 { 3_000 } else { 1_000 };
        fixture.ensemble.write(&at, &(0..data).map(|_| fastrand::u8(..)).collect::<Vec<u8>>());
        fixture.apply(fixture.ensemble.observed(&at));
        if number >= 800 {
            fixture.delete(&at);
        }
        if number % 100 == 0 {
            fixture.ensemble.now.0 += 1_000;
            fixture.flush();
            let trouble = fixture.recorder.as_ref().unwrap().trouble();
            assert_eq!(trouble, None, "after {number}");
            assert!(bytes(&fixture.path) <= Bounds::MIN_BYTES, "{} bytes", bytes(&fixture.path));
        }
    }
    let now = fixture.ensemble.now;
    fixture.flush();
    let past = fixture.past().segments().unwrap();
    assert!(past[0].id > 1 && past.last().unwrap().until >= now, "{past:?}");
}

#[test]
fn entries_beyond_the_age_are_deleted_from_the_stream_and_the_tables() {
    let bounds = Bounds { keep: Some(Duration::from_secs(600)), max_bytes: None };
    let mut fixture = ConsoleFixture::new(
        RecordOptions { bounds, ..ALL },
        SegmentBounds { entries: 100, ..SegmentBounds::default() },
    );
    churn(&mut fixture, 4_000, 8);
    let began = fixture.ensemble.now;
    let rows = |path: &Path| -> u32 {
        Connection::open(path).unwrap().query_row("SELECT count(*) FROM hold", [], |row| row.get(0)).unwrap()
    };
    let before = rows(&fixture.path);
    fixture.ensemble.now.0 += 3_600_000;
    churn(&mut fixture, 1_000, 8);
    fixture.stop();
    assert!(fixture.past().segments().unwrap().iter().all(|segment| segment.until > began));
    assert!(before > 3_000 && rows(&fixture.path) < 1_500, "{before}, then {}", rows(&fixture.path));
}

#[test]
fn a_long_read_makes_the_recorder_wait_and_not_the_file_grow() {
    let bounds = Bounds { keep: None, max_bytes: Some(Bounds::MIN_BYTES) };
    let mut fixture =
        ConsoleFixture::new(RecordOptions { bounds, ..ALL }, SpaceKeeper::new(bounds, false).segment_bounds());
    fixture.flush();
    fixture.recorder.as_mut().unwrap().wait_at_most(Duration::ZERO);
    let reader = Connection::open(&fixture.path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM segment").unwrap();
    let mut statement = reader.prepare("SELECT id FROM segment").unwrap();
    let mut rows = statement.query([]).unwrap();
    assert!(rows.next().unwrap().is_some());
    churn(&mut fixture, 10_000, 500);
    assert!(bytes(&fixture.path) < Bounds::MIN_BYTES, "{}", bytes(&fixture.path));
    let trouble = fixture.recorder.as_ref().unwrap().trouble().unwrap_or_default().to_owned();
    assert!(trouble.contains("another program has been reading"), "{trouble}");
    drop(rows);
    drop(statement);
    drop(reader);
    fixture.ensemble.now.0 += 20_000;
    fixture.flush();
    assert_eq!(fixture.recorder.as_ref().unwrap().trouble(), None);
}
