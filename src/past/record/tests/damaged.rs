//! Tests of damaged recordings: the intact parts are read, and no content makes the program panic.

use std::fs;

use fastrand::Rng;
use rusqlite::Connection;

use super::fixture::{ALL, CONNECT, ConsoleFixture, SMALL, json};
use crate::record::{Past, Playback, PlaybackStep, ReadError, Recorder, SegmentDamage, StoreError};
use lockscope_base::znode::Timestamp;

/// Returns a recording with several segments, in one file.
fn recording() -> ConsoleFixture {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    for number in 0..60 {
        fixture.ensemble.put_numbered("/a/lock-", i64::from(number % 5 + 1));
        fixture.survey(number);
        fixture.examine();
        if number % 7 == 0 {
            fixture.cut();
            fixture.read_everything();
        }
        fixture.remember();
        fixture.flush();
    }
    fixture.stop();
    Connection::open(&fixture.path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    fixture
}

/// Reads and plays everything. Returns how much could be played, and the sentences about the rest.
fn read_all(fixture: &ConsoleFixture) -> (usize, Vec<String>) {
    let mut sentences = Vec::new();
    let mut read = || -> Result<usize, StoreError> {
        let mut past = Past::open(&fixture.path)?;
        let mut played = 0;
        for segment in past.segments()? {
            for read in [past.keyframe(segment.id).map(drop), past.entries(&segment).map(drop)] {
                match read {
                    Err(ReadError::Damaged(damage)) => sentences.push(damage.to_string()),
                    Err(ReadError::Store(error)) => return Err(error),
                    Ok(()) => {}
                }
            }
            past.connect(segment.run)?;
            past.around(segment.from)?;
            let playback = Playback::start_or_next(Past::open(&fixture.path)?, segment.from);
            let Some(mut playback) = ReadError::skip_damage(playback)?.flatten() else { continue };
            while let Some(step) = playback.step()? {
                played += usize::from(matches!(step, PlaybackStep::Entry { .. }));
            }
            json(&playback.state().table, &playback.state().diagnosis, segment.until);
        }
        Ok(played)
    };
    match read() {
        Ok(played) => (played, sentences),
        Err(error) => {
            sentences.push(error.to_string());
            (0, sentences)
        }
    }
}

#[test]
fn overwritten_bytes_are_reported_and_never_cause_a_panic() {
    let mut fixture = recording();
    let sound = fs::read(&fixture.path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fixture.path = folder.path().join("damaged.db");
    for seed in 0..60 {
        let mut random = Rng::with_seed(seed);
        let mut bytes = sound.clone();
        match seed % 4 {
            0 => (0..random.usize(1..200)).for_each(|_| bytes[random.usize(..sound.len())] = random.u8(..)),
            1 => {
                let page = random.usize(..sound.len() / 4096) * 4096;
                bytes[page..page + 4096].fill(random.u8(..));
            }
            2 => (0..random.usize(1..20)).for_each(|_| bytes[random.usize(..120)] = random.u8(..)),
            _ => bytes.truncate(random.usize(1..sound.len())),
        }
        fs::write(&fixture.path, &bytes).unwrap();
        fs::set_permissions(&fixture.path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let (_, sentences) = read_all(&fixture);
        assert!(sentences.iter().all(|sentence| !sentence.is_empty() && !sentence.contains('\n')), "{sentences:?}");
        match Recorder::start(&fixture.path, CONNECT, ALL) {
            Ok(recorder) => {
                fixture.recorder = Some(recorder.with_segments(SMALL));
                fixture.read_everything();
                fixture.flush();
                // A failed write is reported and retried.
                fixture.recorder = None;
            }
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
        for beside in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{beside}", fixture.path.display()));
        }
    }
}

#[test]
fn a_damaged_segment_is_left_out_and_later_ones_are_read_as_they_were_shown() {
    for (damage, of) in [
        (
            "UPDATE keyframe SET state = x'00' WHERE segment % 3 = 0; UPDATE chunk SET entries = x'28B52FFD' WHERE segment % 3 = 0",
            SegmentDamage::Checksum,
        ),
        ("UPDATE chunk SET entries = zeroblob(50) WHERE segment % 3 = 0", SegmentDamage::Checksum),
        ("DELETE FROM chunk WHERE segment % 3 = 0", SegmentDamage::Entries),
        ("UPDATE chunk SET entries = 'text' WHERE segment % 3 = 0", SegmentDamage::Pages),
    ] {
        let fixture = recording();
        Connection::open(&fixture.path).unwrap().execute_batch(damage).unwrap();
        let segments = fixture.past().segments().unwrap();
        assert!(segments.len() > 6);
        let mut playback = Playback::start_or_next(fixture.past(), Timestamp(0)).unwrap().unwrap();
        let (mut damaged, mut gaps) = (Vec::new(), Vec::new());
        while let Some(step) = playback.step().unwrap() {
            match step {
                PlaybackStep::Damaged { segment, damage } => damaged.push((segment.id, damage)),
                PlaybackStep::Gap { from, until } => gaps.push((from, until)),
                PlaybackStep::Entry { .. } => {}
            }
        }
        let third = segments.iter().filter(|segment| segment.id % 3 == 0);
        assert_eq!(damaged, third.clone().map(|segment| (segment.id, of)).collect::<Vec<_>>());
        let last = segments.last().unwrap();
        assert_eq!(gaps.len(), third.filter(|segment| segment.id != last.id).count());
        if last.id % 3 != 0 {
            let (at, expected) = fixture.shown.last().unwrap();
            assert_eq!(&json(&playback.state().table, &playback.state().diagnosis, *at), expected);
        }
        // A moment within the segment is refused, and all others are as they were.
        for (at, expected) in &fixture.shown {
            let segment = fixture.past().segment_at(*at).unwrap().unwrap();
            match Playback::start(fixture.past(), *at) {
                Ok(playback) => {
                    let state = playback.unwrap().into_parts().0;
                    assert_eq!(&json(&state.table, &state.diagnosis, *at), expected);
                }
                Err(ReadError::Damaged(found)) => assert_eq!((segment.id % 3, found), (0, of)),
                Err(ReadError::Store(error)) => panic!("{error}"),
            }
        }
    }
}
