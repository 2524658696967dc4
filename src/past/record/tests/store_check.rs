//! Tests of the check of a recording: it says what is covered, and "whole" only where that is so.

use std::fs;

use rusqlite::Connection;

use super::fixture::{ALL, CONNECT, ConsoleFixture, SMALL};
use crate::record::batch::SegmentBounds;
use crate::record::store_check::check_opened;
use crate::record::{Past, ReadMemory, Store, StoreCheck, check_store};

/// Segments that are long enough for their contenders to need rows.
const LONG: SegmentBounds = SegmentBounds { entries: 60, ..SMALL };

/// A recording of two runs, with contenders that come and go.
fn recording() -> ConsoleFixture {
    let mut fixture = ConsoleFixture::new(ALL, LONG);
    for run in 0..2 {
        if run > 0 {
            fixture.stop();
            fixture.ensemble.now.0 += 60_000;
            fixture.start();
        }
        for number in 0..40_u32 {
            let node = fixture.ensemble.put_numbered("/a/lock-", i64::from(number % 5 + 1));
            fixture.apply(fixture.ensemble.observed(&node));
            if number % 4 == 0 {
                fixture.delete(&node);
            }
            fixture.survey(number);
            fixture.examine();
            fixture.flush();
            fixture.ensemble.now.0 += 1_000;
        }
    }
    fixture
}

fn check(fixture: &ConsoleFixture) -> StoreCheck {
    check_store(&fixture.path, &|| false).unwrap().unwrap()
}

#[test]
fn a_whole_recording_is_whole_and_its_coverage_is_told() {
    let mut fixture = recording();
    for is_closed in [false, true] {
        if is_closed {
            fixture.stop();
        }
        let check = check(&fixture);
        assert_eq!(check.defects, [], "closed: {is_closed}");
        assert_eq!(check.span(), fixture.past().span().unwrap());
        assert_eq!(check.runs.len(), 2);
        assert!(check.runs.iter().all(|run| run.connect == CONNECT && run.segments > 2), "{:?}", check.runs);
        assert!(check.gaps.iter().any(|gap| gap.reason == "the recorder was not running"), "{:?}", check.gaps);
        assert!(matches!(&check.sources[..], [(source, rows)] if source == "watched" && *rows >= 60));
        assert!(check.looked_at.compared >= 40 && check.looked_at.entries > 200, "{:?}", check.looked_at);
    }
    assert_eq!(check_store(&fixture.path, &|| true).unwrap(), None, "an interrupted check says nothing");
}

#[test]
fn a_killed_recorder_leaves_a_whole_recording() {
    let mut fixture = recording();
    fixture.examine();
    fixture.kill();
    assert_eq!(check(&fixture).defects, []);
}

#[test]
fn each_kind_of_damage_is_found() {
    let mut fixture = recording();
    fixture.stop();
    let sound = fs::read(&fixture.path).unwrap();
    for (damage, found) in [
        ("UPDATE chunk SET entries = zeroblob(50) WHERE segment = 3", "its bytes are damaged"),
        ("UPDATE keyframe SET state = x'00' WHERE segment = 3", "its bytes are damaged"),
        ("DELETE FROM chunk WHERE segment = 3", "entries"),
        ("DELETE FROM keyframe WHERE segment = 3", "the state that it begins with"),
        ("DELETE FROM segment WHERE id = 2", "a part of the stream is missing"),
        ("PRAGMA foreign_keys = OFF; DELETE FROM segment WHERE id = 2", "belong to no segment"),
        ("UPDATE segment SET entries = entries - 1 WHERE id = 3", "instead of"),
        ("UPDATE segment SET until_ms = from_ms - 1 WHERE id = 3", "ends before it begins"),
        ("UPDATE segment SET from_ms = from_ms + 2000 WHERE id = 3", "outside of the time"),
        ("PRAGMA foreign_keys = OFF; DELETE FROM run", "belong to no segment or run"),
        ("DELETE FROM contender WHERE id % 3 = 0", "have no row in the tables"),
        ("UPDATE contender SET ended_after = ended_before + 1 WHERE ended_before IS NOT NULL", "contradict"),
        ("UPDATE contender SET node = x'00' WHERE id = 5", "cannot be read"),
        ("DELETE FROM lock", "belong to no lock"),
        ("UPDATE gap SET ended_at = began_at - 1", "gaps end before"),
        ("DELETE FROM chunk; DELETE FROM keyframe; DELETE FROM segment", "nothing was recorded"),
        ("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'contender_session'", "is missing"),
    ] {
        fs::write(&fixture.path, &sound).unwrap();
        Connection::open(&fixture.path).unwrap().execute_batch(damage).unwrap();
        let check = check(&fixture);
        let has = check.defects.iter().any(|defect| defect.what.to_lowercase().contains(found));
        assert!(has && check.is_whole() == Some(false), "{damage}: {:?}", check.defects);
    }
}

#[test]
fn no_page_can_be_overwritten_or_missing_without_a_word() {
    let mut fixture = recording();
    fixture.stop();
    let sound = fs::read(&fixture.path).unwrap();
    let pages = sound.len() / 4096;
    for page in 0..pages {
        let mut bytes = sound.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0);
        fs::write(&fixture.path, &bytes).unwrap();
        let is_whole = check_store(&fixture.path, &|| false).is_ok_and(|check| check.unwrap().is_whole() == Some(true));
        let was_empty = sound[page * 4096..(page + 1) * 4096].iter().all(|byte| *byte == 0);
        assert!(!is_whole || was_empty, "page {page} of {pages}");
    }
    fs::write(&fixture.path, &sound[..(pages - 1) * 4096]).unwrap();
    assert!(!check_store(&fixture.path, &|| false).is_ok_and(|check| check.unwrap().is_whole() == Some(true)));
}

#[test]
fn a_part_that_takes_more_memory_than_is_allowed_is_not_called_damaged() {
    let mut fixture = recording();
    fixture.stop();
    let check = |bytes| {
        let past = Past::open(&fixture.path).unwrap().allowing(ReadMemory::new(bytes));
        check_opened(Store::open(&fixture.path).unwrap(), past, &|| false).unwrap().unwrap()
    };
    let little = check(10_000);
    assert_eq!((&little.defects[..], little.is_whole()), (&[][..], None), "{little:?}");
    assert!(little.needs_memory > Some(10_000), "{little:?}");
    let enough = check(64 << 20);
    assert_eq!((enough.needs_memory, enough.is_whole()), (None, Some(true)), "{enough:?}");
}
