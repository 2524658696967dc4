//! What a log adds to a recording.

use std::fs;
use std::path::PathBuf;

use super::fixture::MergeFixture;
use crate::record::batch::SegmentBounds;
use crate::record::tests::fixture::SMALL;
use lockscope_base::znode::Timestamp;

/// Returns a recording whose recorder was killed while the holder changed, and the path of the log.
fn killed() -> (MergeFixture, PathBuf) {
    let mut fixture = MergeFixture::new(SegmentBounds::default());
    let (first, second) = (fixture.comes("/a/lock-", 1), fixture.comes("/a/lock-", 2));
    fixture.flush();
    fixture.pass(1_000);
    fixture.flush();
    fixture.kill();
    fixture.pass(10_000);
    fixture.goes(&first);
    let third = fixture.comes("/a/lock-", 3);
    fixture.pass(1_000);
    fixture.goes(&third);
    fixture.goes(&second);
    let fourth = fixture.comes("/a/lock-", 4);
    let fifth = fixture.comes("/a/lock-", 5);
    fixture.pass(10_000);
    fixture.start();
    fixture.pass(1_000);
    fixture.goes(&fourth);
    fixture.pass(100);
    fixture.goes(&fifth);
    fixture.pass(1_000);
    fixture.stop();
    let log = fixture.end_log();
    (fixture, log)
}

#[test]
fn a_log_fills_the_gap_of_a_killed_recorder() {
    let (fixture, log) = killed();
    let from = Timestamp(1_000_000);
    let merged = fixture.merge(&log);
    insta::assert_debug_snapshot!(fixture.rows(from));
    assert_eq!((merged.rows_both, merged.rows_added, merged.rows_contradicted), (4, 1, 0));
    assert_eq!(fixture.gaps(from), []);
    assert_eq!(fixture.played_gaps().0, []);
}

#[test]
fn a_second_time_changes_nothing() {
    let (fixture, log) = killed();
    fixture.merge(&log);
    let before = fs::read(&fixture.watched.path).unwrap();
    let again = fixture.merge(&log);
    assert_eq!((again.rows_added, again.gaps_filled, again.rows_contradicted), (0, 0, 0));
    assert_eq!(fs::read(&fixture.watched.path).unwrap(), before);
}

#[test]
fn a_recorder_goes_on_with_a_completed_recording() {
    let (mut fixture, log) = killed();
    fixture.merge(&log);
    fixture.pass(5_000);
    fixture.start();
    fixture.comes("/a/lock-", 9);
    fixture.pass(1_000);
    fixture.stop();
    let from = Timestamp(0);
    let rows = fixture.rows(from);
    assert!(rows.last().is_some_and(|row| row.ends_with("open watched")), "{rows:?}");
    assert_eq!(fixture.gaps(from).len(), 1, "while no recorder ran");
}

#[test]
fn gaps_shrink_and_split_where_the_log_has_not_all_of_them() {
    let mut fixture = MergeFixture::new(SMALL);
    let first = fixture.comes("/a/lock-", 1);
    fixture.flush();
    fixture.pass(1_000);
    fixture.cut();
    fixture.pass(1_000);
    fixture.log_misses();
    let lost = fixture.now();
    fixture.pass(1_000);
    fixture.goes(&first);
    fixture.pass(1_000);
    fixture.log_goes_on();
    let again = fixture.now();
    fixture.comes("/a/lock-", 2);
    fixture.pass(1_000);
    let log = fixture.end_log();
    let end = fixture.now();
    fixture.pass(5_000);
    fixture.reconnect();
    let read = fixture.now();
    fixture.pass(1_000);
    fixture.stop();
    let from = Timestamp(0);
    assert_eq!(fixture.merge(&log).gaps_filled, 2);
    let gaps = fixture.gaps(from);
    assert_eq!(gaps.last(), Some(&(end.0, Some(read.0))));
    assert!(gaps.len() == 2 && gaps[0].1 == Some(again.0) && gaps[0].0 <= lost.0, "{gaps:?}");
}

#[test]
fn a_log_adds_what_was_before_the_recording_and_behind_it() {
    let mut fixture = MergeFixture::new(SMALL);
    fixture.kill();
    fs::remove_file(&fixture.watched.path).unwrap();
    let first = fixture.comes("/a/lock-", 1);
    fixture.pass(1_000);
    fixture.goes(&first);
    let second = fixture.comes("/a/lock-", 2);
    fixture.pass(1_000);
    fixture.start();
    let began = fixture.now();
    fixture.pass(1_000);
    fixture.flush();
    fixture.stop();
    let ended = fixture.now();
    fixture.pass(1_000);
    fixture.goes(&second);
    let third = fixture.comes("/b/lock-", 3);
    fixture.examine_log();
    fixture.pass(1_000);
    let log = fixture.end_log();
    let merged = fixture.merge(&log);
    assert_eq!((merged.rows_both, merged.rows_added), (1, 2));
    let from = Timestamp(0);
    assert_eq!(fixture.gaps(from), []);
    assert_eq!(fixture.played_gaps(), (vec![], 2));
    for (at, holder) in [(began.0 - 900, &second), (ended.0 - 100, &second), (ended.0 + 1_500, &third)] {
        let holders = fixture.holders_at(Timestamp(at));
        assert_eq!(holders, Some(vec![holder.to_string()]), "{at}");
    }
}

#[test]
fn a_part_behind_one_gap_comes_before_the_next_gap() {
    let mut fixture = MergeFixture::new(SMALL);
    fixture.comes("/a/lock-", 1);
    fixture.cut();
    (0..3).for_each(|_| drop(fixture.comes("/a/lock-", 1)));
    fixture.reconnect();
    (0..6).for_each(|_| drop(fixture.comes("/a/lock-", 1)));
    fixture.flush();
    fixture.kill();
    fixture.pass(1_000);
    fixture.start();
    fixture.pass(1_000);
    fixture.stop();
    let log = fixture.end_log();
    fixture.merge(&log);
    assert_eq!(fixture.played_gaps().0, []);
}

#[test]
fn a_node_that_was_never_read_is_found_by_a_name_that_is_never_reused() {
    let mut fixture = MergeFixture::new(SMALL);
    let name = "/a/_c_00000000-0000-4000-8000-000000000001-lock-";
    let (read, unread) = (fixture.comes(name, 1), fixture.comes(&name.replace("01-", "02-"), 2));
    fixture.goes(&read);
    fixture.goes(&unread);
    fixture.pass(2_000);
    fixture.stop();
    let log = fixture.end_log();
    let of = format!("node = '{}'", unread.name());
    fixture.sql().execute(&format!("UPDATE contender SET czxid = NULL, session = NULL WHERE {of}"), []).unwrap();
    let merged = fixture.merge(&log);
    assert_eq!((merged.rows_both, merged.rows_added), (2, 0));
    let known = format!("SELECT count(*) FROM contender WHERE czxid > 0 AND session = 2 AND {of}");
    assert_eq!(fixture.sql().query_row(&known, [], |row| row.get::<_, i64>(0)), Ok(1));
}

#[test]
fn ends_of_an_earlier_version_are_proven_by_the_log_or_not_at_all() {
    let (fixture, log) = killed();
    let sql = fixture.sql();
    sql.execute_batch(
        "UPDATE recording SET tables_version = 1; UPDATE contender SET ending = 'released' WHERE ending = 'gone';
         INSERT INTO contender SELECT 99, lock_id, client_id, session, first_seen_at, enqueued_at, acquired_after, acquired_before,
            ended_after, ended_before, 'released', mode, 'other', 4711000000, data, NULL, NULL FROM contender WHERE ended_before > 0 LIMIT 1",
    )
    .unwrap();
    drop(sql);
    fixture.merge(&log);
    let ends = fixture.rows(Timestamp(1_000_000));
    assert_eq!(ends.iter().filter(|row| row.contains(" gone watched")).count(), 1, "{ends:?}");
    assert_eq!(ends.iter().filter(|row| row.contains(" released both")).count(), 4, "{ends:?}");
}

#[test]
fn findings_of_a_gap_are_those_of_the_log() {
    let mut fixture = MergeFixture::new(SMALL);
    fixture.flush();
    fixture.kill();
    // Two requests of one session: it waits for itself.
    let (first, second) = (fixture.comes("/a/lock-", 1), fixture.comes("/a/lock-", 1));
    fixture.examine_log();
    fixture.pass(120_000);
    fixture.examine_log();
    fixture.goes(&second);
    fixture.goes(&first);
    fixture.examine_log();
    fixture.pass(1_000);
    fixture.start();
    fixture.pass(1_000);
    fixture.stop();
    let log = fixture.end_log();
    let count = |query: &str| fixture.sql().query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM finding"), 0);
    fixture.merge(&log);
    let of_log = count("SELECT count(*) FROM finding WHERE ending = 'cleared'");
    assert!(of_log > 0);
    assert!(count("SELECT sum(events) FROM activity") > 4);
    fixture.merge(&log);
    assert_eq!(count("SELECT count(*) FROM finding"), of_log);
}
