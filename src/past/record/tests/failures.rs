//! Tests of recordings when the program is killed, the clock is set, or the disk accepts no writes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::fixture::{ALL, CONNECT, ConsoleFixture, SMALL};
use crate::record::batch::SegmentBounds;
use crate::record::{Past, Playback, PlaybackStep, Recorder, StoreError, store};
use lockscope_base::znode::Timestamp;

fn gaps(fixture: &ConsoleFixture) -> Vec<(i64, i64)> {
    let mut playback = Playback::start_or_next(fixture.past(), Timestamp(0)).unwrap().unwrap();
    let mut gaps = Vec::new();
    while let Some(step) = playback.step().unwrap() {
        if let PlaybackStep::Gap { from, until } = step {
            gaps.push((from.0, until.0));
        }
    }
    gaps
}

#[test]
fn a_killed_recorder_loses_unwritten_entries_and_the_next_run_records_the_gap() {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    fixture.ensemble.put_numbered("/a/lock-", 1);
    fixture.read_everything();
    fixture.flush();
    let written = fixture.ensemble.now;
    fixture.ensemble.now.0 += 900;
    fixture.examine();
    let lost = fixture.ensemble.now;
    fixture.kill();
    fixture.ensemble.now.0 += 60_000;
    let began = fixture.ensemble.now.0 + 3;
    fixture.start();
    fixture.stop();
    assert!(fixture.recorded(written).is_some());
    assert_eq!(fixture.recorded(lost), None);
    assert_eq!(gaps(&fixture), [(written.0, began)]);
}

#[test]
fn a_copy_of_the_files_at_any_moment_is_a_recording_up_to_that_moment() {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    let folder = tempfile::tempdir().unwrap();
    for number in 0..12 {
        fixture.ensemble.put_numbered("/a/lock-", 1);
        fixture.survey(number);
        fixture.examine();
        fixture.remember();
        fixture.flush();
        let copy = folder.path().join(format!("{number}.db"));
        for end in ["", "-wal"] {
            let name = |path: &Path| format!("{}{end}", path.display());
            fs::copy(name(&fixture.path), name(&copy)).unwrap();
        }
        let (at, expected) = fixture.shown.last().unwrap().clone();
        let original = std::mem::replace(&mut fixture.path, copy.clone());
        assert_eq!(fixture.recorded(at), Some(expected));
        let recorder = Recorder::start(&copy, CONNECT, ALL).unwrap();
        drop(recorder);
        fixture.path = original;
    }
}

#[test]
fn an_empty_file_is_initialized_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locks.db");
    drop(lockscope_files::append(&path, lockscope_files::Sensitivity::Secret).unwrap());
    Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; VACUUM")
        .unwrap();
    assert!(fs::metadata(&path).unwrap().len() > 0);
    assert!(store::is_empty(&Connection::open(&path).unwrap()));
    Recorder::start(&path, CONNECT, ALL).unwrap();
    Past::open(&path).unwrap();
}

#[test]
fn a_clock_set_back_slightly_stands_still_and_further_back_makes_a_gap() {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    fixture.flush();
    let before = fixture.ensemble.now;
    fixture.ensemble.now.0 -= 900;
    fixture.survey(1);
    fixture.flush();
    assert_eq!(gaps(&fixture), []);
    fixture.ensemble.now.0 -= 3_600_000;
    fixture.survey(2);
    fixture.examine();
    fixture.remember();
    fixture.ensemble.now.0 += 10_000;
    fixture.flush();
    let after = fixture.ensemble.now.0 - 10_001;
    let gap = gaps(&fixture);
    assert_eq!(gap.len(), 1);
    assert!(gap[0].0 >= before.0 && gap[0].1 <= after, "{gap:?}");
    let (at, shown) = fixture.shown.last().unwrap().clone();
    assert_eq!(fixture.recorded(at), Some(shown));
    // Earlier entries are still read as they were.
    assert!(fixture.recorded(before).is_some());
    let reason = "SELECT reason FROM gap ORDER BY id DESC LIMIT 1";
    let reason: String = Connection::open(&fixture.path).unwrap().query_row(reason, [], |row| row.get(0)).unwrap();
    assert_eq!(reason, "the clock of the recorder was set back");
}

#[test]
fn a_change_taken_in_seconds_late_makes_no_gap() {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    for round in 1..4 {
        fixture.ensemble.now.0 += 5_000;
        fixture.examine();
        fixture.flush();
        // Seen before that, in a burst that fills segments.
        fixture.ensemble.now.0 -= 3_000;
        for _ in 0..20 {
            fixture.survey(round);
        }
        fixture.ensemble.now.0 += 3_000;
        fixture.remember();
        fixture.flush();
    }
    assert_eq!(gaps(&fixture), []);
    let times = "SELECT count(*) FROM segment AS before JOIN segment AS next ON next.id = before.id + 1 AND next.from_ms < before.until_ms";
    let connection = Connection::open(&fixture.path).unwrap();
    assert_eq!(connection.query_row(times, [], |row| row.get::<_, i64>(0)), Ok(0));
    let segments: i64 = connection.query_row("SELECT count(*) FROM segment", [], |row| row.get(0)).unwrap();
    assert!(segments > 3, "{segments}");
    for (at, shown) in fixture.shown.clone() {
        assert_eq!(fixture.recorded(at), Some(shown));
    }
}

#[test]
fn failed_writes_are_kept_and_written_later() {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    fixture.flush();
    let other = Connection::open(&fixture.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    fixture.recorder.as_mut().unwrap().wait_at_most(Duration::ZERO);
    fixture.survey(1);
    fixture.remember();
    fixture.flush();
    assert!(fixture.recorder.as_ref().unwrap().trouble().is_some_and(|trouble| trouble.contains("locked")));
    other.execute_batch("ROLLBACK").unwrap();
    fixture.ensemble.now.0 += 500;
    fixture.flush();
    assert!(fixture.recorder.as_ref().unwrap().trouble().is_some(), "it is tried again after a second");
    fixture.ensemble.now.0 += 1_500;
    fixture.flush();
    assert_eq!(fixture.recorder.as_ref().unwrap().trouble(), None);
    let (at, shown) = fixture.shown.last().unwrap().clone();
    assert_eq!(fixture.recorded(at), Some(shown));
    assert_eq!(gaps(&fixture), []);
}

#[test]
fn too_many_failed_writes_are_given_up_and_recorded_as_a_gap() {
    let mut fixture = ConsoleFixture::new(ALL, SegmentBounds::default());
    fixture.flush();
    let from = fixture.ensemble.now;
    let other = Connection::open(&fixture.path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    fixture.recorder.as_mut().unwrap().wait_at_most(Duration::ZERO);
    for _ in 0..60 {
        for _ in 0..100 {
            let path = fixture.ensemble.put_numbered("/a/lock-", 1);
            // Incompressible data.
            let data: Vec<u8> = (0..4_096).map(|_| fastrand::u8(..)).collect();
            fixture.ensemble.write(&path, &data);
            fixture.apply(fixture.ensemble.observed(&path));
        }
        fixture.flush();
    }
    other.execute_batch("ROLLBACK").unwrap();
    fixture.ensemble.now.0 += 20_000;
    fixture.survey(1);
    fixture.remember();
    fixture.flush();
    let gaps = gaps(&fixture);
    assert!(gaps.len() == 1 && gaps[0].0 == from.0, "{gaps:?} since {from:?}");
    let rows = Connection::open(&fixture.path).unwrap();
    let mut rows = rows.prepare("SELECT reason FROM gap WHERE ended_at > ?1").unwrap();
    let reasons: Vec<String> = rows.query_map([from.0], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(reasons.len() == 1 && reasons[0].starts_with("events could not be written: "), "{reasons:?}");
    let (at, shown) = fixture.shown.last().unwrap().clone();
    assert_eq!(fixture.recorded(at), Some(shown));
    let recorder = fixture.recorder.take().unwrap();
    let said = recorder.stop(&fixture.ensemble.table, fixture.ensemble.now).unwrap_err().to_string();
    assert!(said.contains("lacks what happened between") && said.contains("database is locked"), "{said}");
}

#[test]
fn a_second_recorder_is_refused() {
    let fixture = ConsoleFixture::new(ALL, SMALL);
    assert!(matches!(Recorder::start(&fixture.path, CONNECT, ALL), Err(StoreError::InUse(_))));
}
