//! Tests of recordings of more locks and contenders than a reader takes in by default.

use std::path::Path;

use rusqlite::Connection;

use super::fixture::{ALL, CONNECT, ConsoleFixture, json};
use crate::fixture::surveyed;
use crate::record::batch::SegmentBounds;
use crate::record::{Past, Playback, ReadError, ReadMemory, Recorder, SegmentDamage};
use crate::testing::{connected, reading, seen};
use lockscope_base::znode::{SessionId, Timestamp, ZnodeStat, Zxid};
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::queue::{Change, LockTable};
use lockscope_model::server_view::{Expiry, ListedSession};

/// Reads `locks` locks with `each` contenders.
fn table(locks: i64, each: i64) -> LockTable {
    let mut table = LockTable::new([]);
    let contender = |lock: i64, number: i64| {
        let id = (lock * each + number).unsigned_abs();
        // As random as those of a library.
        let id = uuid::Uuid::from_u128(u128::from(id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
        let stat = ZnodeStat::of_new(Zxid(number + 1), Timestamp(number), Some(SessionId(lock * each + number + 1)));
        seen(&format!("/locks/lock-of-service-{lock}/_c_{id}-lock-{number:010}"), stat, b"10.0.4.170")
    };
    let found = (0..locks).flat_map(|lock| (0..each).map(move |number| contender(lock, number)));
    for change in [connected()].into_iter().chain(reading(found)) {
        table.apply(change, Timestamp(1_000));
    }
    table
}

/// Records a table that is known already, and one more look.
fn record(path: &Path, table: &mut LockTable) -> Timestamp {
    let mut recorder = Recorder::start(path, CONNECT, ALL).unwrap();
    let diagnosis = Diagnosis::new(Thresholds::default());
    let at = Timestamp(2_000);
    recorder.batches().apply(Change::Heard { at }, at, table, &diagnosis);
    recorder.flush(at, table);
    assert_eq!(recorder.trouble(), None);
    recorder.stop(table, at).unwrap();
    at
}

/// Opens a recording at a moment, with the memory that reading says it needs. Returns that, too.
fn opened(path: &Path, at: Timestamp) -> (Playback, u64) {
    let Err(ReadError::Damaged(SegmentDamage::NeedsMemory(needed))) = Playback::start(Past::open(path).unwrap(), at)
    else {
        panic!("it takes more than is allowed by default")
    };
    let past = Past::open(path).unwrap().allowing(ReadMemory::new(needed));
    (Playback::start(past, at).unwrap().unwrap(), needed)
}

#[test]
fn a_state_of_any_size_is_recorded_and_read_with_the_memory_that_the_reader_names() {
    for (locks, each) in [(1, 300_000), (100_000, 3)] {
        let mut table = table(locks, each);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks.db");
        let at = record(&path, &mut table);
        let (playback, needed) = opened(&path, at);
        assert_eq!(playback.state().table.contender_count(), table.contender_count());
        let diagnosis = Diagnosis::new(Thresholds::default());
        assert!(json(&playback.state().table, &diagnosis, at) == json(&table, &diagnosis, at), "another state");
        let too_little = Past::open(&path).unwrap().allowing(ReadMemory::new(needed / 4));
        assert!(matches!(
            Playback::start(too_little, at),
            Err(ReadError::Damaged(SegmentDamage::NeedsMemory(more))) if more <= needed * 2
        ));
    }
}

#[test]
fn a_recording_from_before_keyframes_had_pieces_is_read_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locks.db");
    let mut table = table(3, 3);
    let at = record(&path, &mut table);
    let older = "DROP TABLE keyframe_piece; PRAGMA user_version = 8";
    Connection::open(&path).unwrap().execute_batch(older).unwrap();
    let playback = Playback::start(Past::open(&path).unwrap(), at).unwrap().unwrap();
    assert_eq!(playback.state().table.contender_count(), 9);
    record(&path, &mut table);
    assert_eq!(Past::open(&path).unwrap().segments().unwrap().len(), 2);
}

#[test]
fn a_keyframe_without_one_of_its_pieces_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locks.db");
    let at = record(&path, &mut table(1, 300_000));
    let file = Connection::open(&path).unwrap();
    let pieces: i64 = file.query_row("SELECT count(*) FROM keyframe_piece", [], |row| row.get(0)).unwrap();
    assert!(pieces > 1, "{pieces}");
    for piece in [1, pieces] {
        let copy = folder.path().join(format!("without-{piece}.db"));
        std::fs::copy(&path, &copy).unwrap();
        let file = Connection::open(&copy).unwrap();
        file.execute("DELETE FROM keyframe_piece WHERE number = ?1", [piece]).unwrap();
        drop(file);
        let past = Past::open(&copy).unwrap().allowing(ReadMemory::new(4 << 30));
        let damage = Playback::start(past, at).map(drop);
        assert!(
            matches!(damage, Err(ReadError::Damaged(SegmentDamage::Checksum | SegmentDamage::Keyframe))),
            "{damage:?}"
        );
    }
}

/// Returns a survey that lists so many sessions.
fn listing(sessions: i64, at: Timestamp) -> Change {
    let expiry = Expiry::Monotonic { millis: i64::MAX };
    let listed =
        (1..=sessions).map(|id| ListedSession { id: SessionId(-id), expiry, expires_at: Some(Timestamp(-id)) });
    surveyed(listed.collect(), at)
}

#[test]
fn an_answer_too_large_for_an_entry_is_in_the_next_state_and_nothing_is_lost() {
    let mut fixture = ConsoleFixture::new(ALL, SegmentBounds::default());
    fixture.remember();
    fixture.flush();
    let gaps = |fixture: &ConsoleFixture| Past::open(&fixture.path).unwrap().gaps().unwrap().len();
    let before = gaps(&fixture);
    fixture.ensemble.now.0 += 1_000;
    let at = fixture.ensemble.now;
    fixture.apply(listing(700_000, at));
    fixture.flush();
    fixture.apply(listing(2, at));
    fixture.remember();
    fixture.stop();
    for (at, shown) in fixture.shown.clone() {
        assert!(fixture.recorded(at) == Some(shown), "another state at {at:?}");
    }
    assert_eq!(gaps(&fixture), before);
}
