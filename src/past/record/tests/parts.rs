//! Tests of a recording in several files: put together, they are what one file would be.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;

use super::exactness::{act, record_step};
use super::fixture::{ALL, ConsoleFixture, SMALL};
use crate::record::batch::SegmentBounds;
use crate::record::history::{History, HistoryFacts, HistoryQuery, RankBy};
use crate::record::{
    Bounds, Combined, RecordOptions, Rotation, Store, StoreError, check_store, combine, parts_of, recording_of,
};
use lockscope_base::znode::{TimeRange, Timestamp};

const EACH_MINUTE: Rotation = Rotation::Every(Duration::from_secs(60));
const ALWAYS: TimeRange = TimeRange { from: Timestamp(i64::MIN), to: Timestamp(i64::MAX) };

/// Puts the parts together. Returns the new file.
fn whole(path: &Path) -> PathBuf {
    let target = path.with_file_name("whole.db");
    _ = fs::remove_file(&target);
    combine(&parts_of(path).unwrap(), &target, Combined::Stream(ALWAYS)).unwrap();
    target
}

/// Returns what a recording tells of everything.
fn history(path: &Path) -> serde_json::Value {
    let query = HistoryQuery { limit: 10_000, rank_by: Some(RankBy::Hold), ..HistoryQuery::default() };
    let history = History::read(&mut Store::open(path).unwrap(), &query).unwrap();
    serde_json::to_value(HistoryFacts::from(&history)).unwrap()
}

/// Lists where two values differ.
fn compare(at: &str, one: &serde_json::Value, other: &serde_json::Value, differences: &mut Vec<String>) {
    use serde_json::Value::{Array, Object};
    match (one, other) {
        (Array(one), Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs.for_each(|(number, (one, other))| compare(&format!("{at}[{number}]"), one, other, differences));
        }
        (Object(one), Object(other)) if one.len() == other.len() => {
            one.iter().for_each(|(key, value)| compare(&format!("{at}.{key}"), value, &other[key], differences));
        }
        _ if one == other => {}
        _ => differences.push(format!("{at}: {one} in parts, {other} in one file")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn parts_tell_and_show_what_one_file_does(steps in prop::collection::vec(record_step(), 1..200)) {
        let mut one = ConsoleFixture::new(ALL, SMALL);
        let mut parts = ConsoleFixture::in_parts(ALL, SMALL, Some(EACH_MINUTE));
        for (serial, step) in (0_u32..).zip(&steps) {
            act(&mut one, step, serial);
            act(&mut parts, step, serial);
            // Rows are written where a segment ends, with what is known then: let both end there.
            if let (Some(one), Some(parts)) = (&mut one.recorder, &mut parts.recorder)
                && parts.batches().is_beginning_part()
            {
                one.batches().begin_part();
            }
        }
        one.remember();
        one.stop();
        parts.remember();
        parts.stop();
        let whole = whole(&parts.path);
        let mut differences = Vec::new();
        compare("", &history(&whole), &history(&one.path), &mut differences);
        prop_assert_eq!(differences, Vec::<String>::new());
        parts.path = whole;
        for (at, expected) in parts.shown.clone() {
            prop_assert_eq!(parts.recorded(at), Some(expected), "{:?}", at);
        }
    }
}

/// Returns a recording of five minutes, in which a contender comes each 20 s and goes 50 s later.
fn five_minutes(options: RecordOptions) -> ConsoleFixture {
    let mut fixture = ConsoleFixture::in_parts(options, SegmentBounds::default(), Some(EACH_MINUTE));
    let mut standing = std::collections::VecDeque::new();
    for second in 0..300 {
        if second % 20 == 0 {
            let path = fixture.ensemble.put_numbered("/a/lock-", second);
            fixture.apply(fixture.ensemble.observed(&path));
            standing.push_back((second + 50, path));
        }
        if standing.front().is_some_and(|(at, _)| *at == second) {
            let (_, path) = standing.pop_front().expect("it has a front");
            fixture.delete(&path);
        }
        fixture.examine();
        fixture.flush();
        fixture.ensemble.now.0 += 1_000;
    }
    fixture
}

#[test]
fn each_period_has_a_file_that_is_whole_by_itself() {
    let mut fixture = five_minutes(ALL);
    fixture.stop();
    let parts = parts_of(&fixture.path).unwrap();
    assert!((5..=6).contains(&parts.len()), "{parts:?}");
    let folder = fs::read_dir(fixture.path.parent().unwrap()).unwrap();
    let names: Vec<_> = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names.len(), parts.len(), "{names:?}");
    for part in &parts {
        assert_eq!(recording_of(part).as_ref(), Some(&fixture.path));
        let check = check_store(part, &|| false).unwrap().unwrap();
        assert_eq!(check.defects, [], "{}", part.display());
    }
    let told = history(&whole(&fixture.path));
    assert_eq!(told["coverage"].as_array().unwrap().len(), 1, "nothing is missing between the files: {told}");
}

#[test]
fn a_part_that_is_missing_is_a_gap() {
    let mut fixture = five_minutes(ALL);
    fixture.stop();
    let parts = parts_of(&fixture.path).unwrap();
    fs::remove_file(&parts[2]).unwrap();
    let whole = whole(&fixture.path);
    let runs = "SELECT count(DISTINCT run) FROM segment";
    let runs: i64 = Store::open(&whole).unwrap().sql(|sql| sql.query_row(runs, [], |row| row.get(0))).unwrap();
    assert_eq!(runs, 2, "those behind it go on with each other");
    let told = history(&whole);
    assert_eq!(told["coverage"].as_array().unwrap().len(), 2, "{told}");
    let gaps: Vec<_> = told["gaps"].as_array().unwrap().iter().map(|gap| gap["reason"].as_str().unwrap()).collect();
    assert!(gaps.iter().any(|reason| reason.contains("does not say why")), "{gaps:?}");
}

#[test]
fn the_oldest_files_are_deleted_by_their_age() {
    let bounds = Bounds { keep: Some(Duration::from_secs(120)), max_bytes: None };
    let mut fixture = five_minutes(RecordOptions { bounds, ..ALL });
    fixture.stop();
    let kept = parts_of(&fixture.path).unwrap();
    assert!((3..=4).contains(&kept.len()), "{kept:?}");
    let first = history(&whole(&fixture.path))["coverage"][0]["from"].clone();
    assert!(first.is_string(), "{first}");
}

#[test]
fn a_file_that_is_no_part_or_that_another_recorder_writes_is_not_deleted() {
    let bounds = Bounds { keep: Some(Duration::from_secs(60)), max_bytes: None };
    let mut fixture = ConsoleFixture::in_parts(RecordOptions { bounds, ..ALL }, SMALL, Some(EACH_MINUTE));
    let named = |name: &str| fixture.path.with_file_name(name);
    let (text, other) = (named("locks-19700101T000001Z.db"), named("locks-19700101T000002Z.db"));
    let unused = named("locks-19700101T000003Z.db");
    fs::write(&text, "no recording\n".repeat(100)).unwrap();
    let written = Store::create(&other, false).unwrap();
    drop(Store::create(&unused, false).unwrap());
    for _ in 0..5 {
        fixture.examine();
        fixture.flush();
        fixture.ensemble.now.0 += 60_000;
    }
    assert_eq!([&text, &other, &unused].map(|path| path.exists()), [true, true, false]);
    drop(written);
}

#[test]
fn a_recorder_that_starts_again_goes_on_in_the_last_file_of_the_period() {
    let mut fixture = five_minutes(ALL);
    fixture.stop();
    let before = parts_of(&fixture.path).unwrap();
    fixture.start();
    fixture.flush();
    assert!(matches!(
        crate::record::Recorder::start_in_parts(&fixture.path, "zk", ALL, EACH_MINUTE, fixture.ensemble.now),
        Err(StoreError::InUse(_))
    ));
    fixture.stop();
    assert_eq!(parts_of(&fixture.path).unwrap(), before);
    fixture.ensemble.now.0 += 60_000;
    fixture.start();
    fixture.flush();
    fixture.stop();
    assert_eq!(parts_of(&fixture.path).unwrap().len(), before.len() + 1);
    let told = history(&whole(&fixture.path));
    let gaps = told["gaps"].as_array().unwrap();
    assert!(gaps.iter().any(|gap| gap["reason"] == "the recorder was not running"), "{told}");
}

#[test]
fn names_of_parts_are_told_from_others() {
    let of = |name: &str| recording_of(Path::new(name)).map(|path| path.to_string_lossy().into_owned());
    assert_eq!(of("/x/locks-20261128T000000Z.db"), Some("/x/locks.db".to_owned()));
    assert_eq!(of("/x/my-locks-20261128T000000Z-2.db"), Some("/x/my-locks.db".to_owned()));
    assert_eq!(of("locks-20261128T000000Z"), Some("locks".to_owned()));
    for other in ["/x/locks.db", "/x/locks-20261128.db", "/x/locks-20261128T0000.db", "/x/locks-20261128T000000Z-x.db"]
    {
        assert_eq!(of(other), None, "{other}");
    }
}
