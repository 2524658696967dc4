//! Tests of what a recording covers: what is said of a time says where it is from, and the rest of
//! the time is a gap, noted or not.

use rusqlite::Connection;

use super::fixture::MergeFixture;
use crate::record::batch::SegmentBounds;
use crate::record::history::{History, HistoryQuery};
use crate::record::tests::fixture::{ALL, ConsoleFixture};
use crate::record::{CutOptions, Store, cut};
use lockscope_base::znode::{TimeRange, Timestamp};

/// Returns the covered times with their sources and proofs, and the gaps, relative to `zero`.
fn told(path: &std::path::Path, zero: Timestamp) -> (Vec<String>, Vec<String>) {
    let history = History::read(&mut Store::open(path).unwrap(), &HistoryQuery::default()).unwrap();
    let covered = history.coverage.expect("few gaps").into_iter().map(|covered| {
        let source = covered.source.map_or("-", |source| source.id());
        let (from, to) = (covered.time.from.0 - zero.0, covered.time.to.0 - zero.0);
        format!("{from} {to} {source} {}", covered.proven_by.as_deref().unwrap_or("-"))
    });
    let gaps = history
        .gaps
        .iter()
        .map(|gap| format!("{} {} {}", gap.from.0 - zero.0, gap.to.map_or(-1, |to| to.0 - zero.0), gap.reason));
    (covered.collect(), gaps.collect())
}

/// Returns a recording of two minutes with a cut of its connection in between.
fn cut_once() -> (ConsoleFixture, Timestamp, Timestamp) {
    let mut fixture = ConsoleFixture::new(ALL, SegmentBounds::default());
    fixture.flush();
    let began = fixture.ensemble.now;
    fixture.ensemble.now.0 += 60_000;
    fixture.flush();
    fixture.cut();
    let lost = fixture.ensemble.now;
    fixture.ensemble.now.0 += 10_000;
    fixture.read_everything();
    fixture.ensemble.now.0 += 50_000;
    fixture.flush();
    fixture.stop();
    (fixture, began, lost)
}

#[test]
fn what_a_recorder_watched_is_covered_and_the_rest_is_its_gaps() {
    let (fixture, began, _) = cut_once();
    let (covered, gaps) = told(&fixture.path, began);
    assert_eq!(covered.len(), 2, "{covered:?}");
    assert!(covered.iter().all(|time| time.ends_with("watched watches")), "{covered:?}");
    assert_eq!(gaps.len(), 2, "the first reading and the cut: {gaps:?}");
}

#[test]
fn a_gap_that_nobody_noted_is_told_too() {
    let (fixture, began, lost) = cut_once();
    let sql = Connection::open(&fixture.path).unwrap();
    let noted = told(&fixture.path, began).1;
    // As if the recorder had been away: the run ends before the cut, and another one begins later.
    sql.execute("DELETE FROM gap WHERE began_at >= ?1 - 100", [lost.0]).unwrap();
    sql.execute("UPDATE recording SET until_at = ?1", [lost.0]).unwrap();
    sql.execute(
        "INSERT INTO recording (tables_version, began_at, until_at, source)
         SELECT 2, ?1, max(until_ms), 'watched' FROM segment",
        [lost.0 + 10_100],
    )
    .unwrap();
    let (covered, gaps) = told(&fixture.path, began);
    assert_eq!((covered.len(), gaps.len()), (2, noted.len()), "{covered:?} {gaps:?}");
    assert!(gaps[1].ends_with("does not say why"), "{gaps:?}");
}

#[test]
fn a_recording_of_an_earlier_version_does_not_claim_a_source() {
    let (fixture, began, _) = cut_once();
    let sql = Connection::open(&fixture.path).unwrap();
    sql.execute_batch("ALTER TABLE recording DROP COLUMN source; DROP TABLE coverage").unwrap();
    let covered = told(&fixture.path, began).0;
    assert!(covered.len() == 2 && covered.iter().all(|time| time.ends_with(" - -")), "{covered:?}");
    // A recorder that goes on with it notes the source of what it adds, and of nothing else.
    drop(Store::create(&fixture.path, false).unwrap());
    assert_eq!(told(&fixture.path, began).0, covered);
}

/// Returns a recording that a log completes, from before it until behind it, and its beginning.
fn completed() -> (MergeFixture, Timestamp) {
    let mut fixture = MergeFixture::new(SegmentBounds::default());
    fixture.comes("/a/lock-", 1);
    fixture.flush();
    fixture.pass(1_000);
    fixture.flush();
    fixture.kill();
    fixture.pass(10_000);
    fixture.comes("/a/lock-", 2);
    fixture.start();
    fixture.pass(1_000);
    fixture.stop();
    let log = fixture.end_log();
    let began = fixture.now();
    let sql = Connection::open(&log).unwrap();
    let proof = "INSERT INTO coverage (began_at, ended_at, first_zxid, last_zxid, proven_by, older_locks)
        SELECT began_at, until_at, 1, 9, 'digests', 1 FROM recording";
    sql.execute(proof, []).unwrap();
    drop(sql);
    fixture.merge(&log);
    (fixture, began)
}

#[test]
fn what_a_log_adds_is_from_the_log_with_its_proof() {
    let (fixture, zero) = completed();
    let (covered, gaps) = told(&fixture.watched.path, zero);
    let sources: Vec<_> =
        covered.iter().map(|time| time.split_once(' ').unwrap().1.split_once(' ').unwrap().1).collect();
    assert_eq!(sources, ["log digests", "watched watches", "log digests", "watched watches"], "{covered:?}");
    assert_eq!(gaps, [] as [String; 0]);
}

#[test]
fn an_excerpt_keeps_the_sources() {
    let (fixture, zero) = completed();
    let path = &fixture.watched.path;
    let time = TimeRange { from: Timestamp(zero.0 - 11_500), to: zero };
    let excerpt = path.with_file_name("excerpt.db");
    cut(path, &excerpt, CutOptions { time, with_data: true }, &|| false).unwrap();
    let whole = told(path, zero).0;
    let kept = told(&excerpt, zero).0;
    assert_eq!(kept.last().map(|time| time.rsplit(' ').next()), Some(Some("watches")), "{kept:?}");
    assert!(kept.iter().any(|time| time.ends_with("log digests")), "{kept:?} of {whole:?}");
}
