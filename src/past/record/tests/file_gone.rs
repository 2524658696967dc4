//! Tests of a recording whose file is moved, removed, replaced or truncated while it is written.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::fixture::{ALL, CONNECT, ConsoleFixture, SMALL};
use crate::record::{Past, Recorder};
use lockscope_base::znode::Timestamp;

/// Lets a few seconds be recorded, with one contender more in each.
fn record(fixture: &mut ConsoleFixture, seconds: u32) {
    for number in 0..seconds {
        fixture.ensemble.put_numbered("/a/lock-", i64::from(number + 1));
        fixture.read_everything();
        fixture.survey(number);
        fixture.examine();
        fixture.remember();
        fixture.flush();
        fixture.ensemble.now.0 += 1_000;
    }
}

/// A recording of some seconds. All but the first of them are still in the log.
fn recording() -> ConsoleFixture {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    record(&mut fixture, 3);
    Connection::open(&fixture.path).unwrap().execute_batch("PRAGMA wal_checkpoint(PASSIVE)").unwrap();
    record(&mut fixture, 7);
    assert_eq!(trouble(&fixture), "");
    fixture
}

fn trouble(fixture: &ConsoleFixture) -> &str {
    fixture.recorder.as_ref().unwrap().trouble().unwrap_or_default()
}

fn beside(fixture: &ConsoleFixture, name: &str) -> PathBuf {
    fixture.path.with_file_name(name)
}

/// Asserts that a file shows each of these moments as it was shown then.
fn assert_shows(fixture: &mut ConsoleFixture, path: &Path, moments: &[(Timestamp, String)]) {
    let own = std::mem::replace(&mut fixture.path, path.to_owned());
    for (at, expected) in moments {
        let is_same = fixture.recorded(*at).as_ref() == Some(expected);
        assert!(is_same, "{} at {at:?} of {:?}", path.display(), fixture.past().span());
    }
    fixture.path = own;
    let check: String =
        Connection::open(path).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

/// Goes on for a round in which the file's fate is noticed, and some more. Returns the sentence
/// about the file.
fn go_on(fixture: &mut ConsoleFixture) -> String {
    record(fixture, 1);
    let said = trouble(fixture).to_owned();
    fixture.shown.clear();
    fixture.unwritten.clear();
    record(fixture, 5);
    assert_eq!(trouble(fixture), "", "{said}");
    said
}

/// Returns the gaps in a file, with their reasons.
fn gaps(path: &Path) -> Vec<(i64, Option<i64>, String)> {
    let connection = Connection::open(path).unwrap();
    let mut query = connection.prepare("SELECT began_at, ended_at, reason FROM gap ORDER BY id").unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(Result::unwrap).filter(|(_, _, reason): &(_, _, String)| reason.contains("the recording")).collect()
}

#[test]
fn a_moved_file_has_everything_and_the_recording_goes_on_at_its_path() {
    let mut fixture = recording();
    let moved = beside(&fixture, "locks.db.1");
    fs::rename(&fixture.path, &moved).unwrap();
    record(&mut fixture, 1);
    let said = trouble(&fixture).to_owned();
    assert!(said.contains("moved away") && said.contains("is in the file that was moved"), "{said}");
    // What was about to be written is in it as well.
    let before = [std::mem::take(&mut fixture.shown), std::mem::take(&mut fixture.unwritten)].concat();
    assert_eq!(before.len(), 11);
    assert_shows(&mut fixture, &moved, &before);
    record(&mut fixture, 5);
    assert_eq!(trouble(&fixture), "");
    let (path, after) = (fixture.path.clone(), fixture.shown.clone());
    assert_shows(&mut fixture, &path, &after);
    let until = Past::open(&moved).unwrap().span().unwrap().unwrap().to;
    let gaps = gaps(&path);
    assert!(matches!(&gaps[..], [(from, Some(_), reason)] if *from == until.0 && reason.contains("moved")), "{gaps:?}");
    let recorder = fixture.recorder.take().unwrap();
    let end = recorder.stop(&fixture.ensemble.table, fixture.ensemble.now).unwrap();
    assert!(!end.has_lost && end.file_news.is_none(), "nothing is lost: {end:?}");
}

#[test]
fn a_file_that_is_moved_right_before_the_end_has_everything() {
    let mut fixture = recording();
    let moved = beside(&fixture, "locks.db.1");
    fs::rename(&fixture.path, &moved).unwrap();
    fixture.remember();
    let recorder = fixture.recorder.take().unwrap();
    let end = recorder.stop(&fixture.ensemble.table, fixture.ensemble.now).unwrap();
    assert!(!end.has_lost && end.file_news.is_some_and(|news| news.contains("moved away")));
    let shown = fixture.shown.clone();
    assert_shows(&mut fixture, &moved, &shown);
    let names = fs::read_dir(moved.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["locks.db.1"], "nothing else is left");
}

#[test]
fn two_recorders_at_one_path_each_keep_their_own_file() {
    for other_comes_first in [true, false] {
        let mut fixture = recording();
        let moved = beside(&fixture, "locks.db.1");
        fs::rename(&fixture.path, &moved).unwrap();
        let mut other = ConsoleFixture::new(ALL, SMALL);
        other.kill();
        other.path.clone_from(&fixture.path);
        if other_comes_first {
            other.start();
            record(&mut other, 3);
        }
        let before = fixture.shown.clone();
        let said = go_on(&mut fixture);
        assert_eq!(said.contains("locks-1970"), other_comes_first, "{said}");
        if other_comes_first {
            record(&mut other, 3);
            let path = other.path.clone();
            let shown = other.shown.clone();
            assert_shows(&mut other, &path, &shown);
        } else {
            assert!(Recorder::start(&fixture.path, CONNECT, ALL).is_err(), "the first one records there again");
        }
        assert_shows(&mut fixture, &moved, &before);
    }
}

#[test]
fn a_removed_file_is_lost_and_a_new_one_is_begun() {
    let mut fixture = recording();
    let first = fixture.shown[0].0;
    fs::remove_file(&fixture.path).unwrap();
    let said = go_on(&mut fixture);
    assert!(said.contains("was removed") && said.contains("is lost"), "{said}");
    let (path, shown) = (fixture.path.clone(), fixture.shown.clone());
    assert_shows(&mut fixture, &path, &shown);
    assert!(
        matches!(&gaps(&path)[..], [(from, Some(to), _)] if *from <= first.0 && *to < shown[0].0.0),
        "the lost time is a gap: {:?}",
        gaps(&path)
    );
    let recorder = fixture.recorder.take().unwrap();
    assert!(recorder.stop(&fixture.ensemble.table, fixture.ensemble.now).unwrap().has_lost);
}

/// Returns the bytes of another recording.
fn other_recording() -> Vec<u8> {
    let mut other = recording();
    other.stop();
    fs::read(&other.path).unwrap()
}

#[test]
fn a_file_in_its_place_is_left_alone_and_the_recording_goes_on_beside_it() {
    type Replace = fn(&Path, &[u8]);
    let replaced: [(&str, Replace); 3] = [
        ("by another name", |path, bytes| {
            let beside = path.with_file_name("other");
            fs::write(&beside, bytes).unwrap();
            fs::rename(&beside, path).unwrap();
        }),
        ("in place", |path, bytes| fs::write(path, bytes).unwrap()),
        ("truncated", |path, _| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(4096).unwrap()),
    ];
    for (how, replace) in replaced {
        let mut fixture = recording();
        replace(&fixture.path, &other_recording());
        let there = fs::read(&fixture.path).unwrap();
        let said = go_on(&mut fixture);
        assert!(said.contains("is lost") && said.contains("recording goes on in"), "{how}: {said}");
        assert_eq!(fs::read(&fixture.path).unwrap(), there, "{how}");
        assert!(!beside(&fixture, "locks.db-wal").exists(), "{how}: another file's log would be read with it");
        let next = PathBuf::from(said.rsplit(' ').next().unwrap());
        let shown = fixture.shown.clone();
        assert_shows(&mut fixture, &next, &shown);
    }
}

#[test]
fn a_file_that_was_emptied_is_begun_again() {
    let mut fixture = recording();
    fs::write(&fixture.path, "").unwrap();
    let said = go_on(&mut fixture);
    assert!(said.contains("truncated or overwritten") && said.contains("locks.db-wal-"), "{said}");
    let (path, shown) = (fixture.path.clone(), fixture.shown.clone());
    assert_shows(&mut fixture, &path, &shown);
}

#[test]
fn a_log_that_is_removed_costs_nothing_and_one_that_is_truncated_its_content() {
    for (name, cut, loses) in [
        ("locks.db-wal", None, false),
        ("locks.db-shm", None, false),
        ("locks.db-shm", Some(0), false),
        ("locks.db-wal", Some(0), true),
        ("locks.db-wal", Some(40_000), true),
    ] {
        let mut fixture = recording();
        let log = beside(&fixture, name);
        match cut {
            None => fs::remove_file(&log).unwrap(),
            Some(bytes) => fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(bytes).unwrap(),
        }
        let before = fixture.shown.clone();
        let said = go_on(&mut fixture);
        assert!(said.contains("log") && said.contains("is lost") == loses, "{name} {cut:?}: {said}");
        let (path, after) = (fixture.path.clone(), fixture.shown.clone());
        assert_shows(&mut fixture, &path, &after);
        let kept = if loses { &before[..3] } else { &before[..] };
        assert_shows(&mut fixture, &path, kept);
        let gaps = gaps(&path);
        if loses {
            let (from, to, reason) = gaps.last().unwrap();
            // The tables are one flush behind the stream.
            assert!(*from > kept[1].0.0 && to.is_some() && reason.contains("truncated"), "{gaps:?}");
        } else {
            assert_eq!(gaps, [], "{name} {cut:?}");
        }
    }
}

#[test]
fn what_others_may_do_with_a_recording_is_no_trouble() {
    let mut fixture = recording();
    let path = fixture.path.clone();
    Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(PASSIVE)").unwrap();
    record(&mut fixture, 1);
    assert_eq!(trouble(&fixture), "");
    Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    record(&mut fixture, 1);
    assert_eq!(trouble(&fixture), "");
    fs::File::options().append(true).open(&path).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
    fs::hard_link(&path, beside(&fixture, "kept.db")).unwrap();
    record(&mut fixture, 2);
    assert_eq!(trouble(&fixture), "");
    fixture.stop();
    let shown = fixture.shown.clone();
    assert_shows(&mut fixture, &path, &shown);
}

#[test]
fn a_log_of_a_moved_file_is_kept_when_another_file_is_begun() {
    let mut fixture = recording();
    // What a killed recorder leaves.
    let (path, moved) = (fixture.path.clone(), beside(&fixture, "locks.db.1"));
    let folder = tempfile::tempdir().unwrap();
    for end in ["", "-wal"] {
        fs::copy(format!("{}{end}", path.display()), folder.path().join(format!("locks.db{end}"))).unwrap();
    }
    fixture.kill();
    let shown = fixture.shown.clone();
    fs::copy(folder.path().join("locks.db"), &moved).unwrap();
    fs::remove_file(&path).unwrap();
    fs::copy(folder.path().join("locks.db-wal"), beside(&fixture, "locks.db-wal")).unwrap();
    fixture.start();
    fixture.stop();
    let names = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let kept = names.into_iter().find(|path| path.to_string_lossy().contains("-wal-")).unwrap();
    fs::rename(kept, beside(&fixture, "locks.db.1-wal")).unwrap();
    assert_shows(&mut fixture, &moved, &shown);
}
