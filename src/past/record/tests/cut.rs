//! Tests of an excerpt: it shows what its recording shows of that time, and contains nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rusqlite::Connection;

use super::exactness::{act, assert_same, record_step};
use super::fixture::{ALL, ConsoleFixture, SMALL};
use crate::record::history::{PastContender, PastWindow};
use crate::record::{CutError, CutOptions, DamagedSegment, RecordOptions, SegmentDamage, Store, cut, decode};
use lockscope_base::znode::{TimeRange, Timestamp, ZnodePath};

/// Cuts a time range out into a file beside the recording.
fn cut_out(fixture: &ConsoleFixture, from: Timestamp, to: Timestamp) -> Result<Vec<DamagedSegment>, CutError> {
    let options = CutOptions { time: TimeRange { from, to }, with_data: true };
    cut(&fixture.path, &target(fixture), options, &|| false)
}

fn target(fixture: &ConsoleFixture) -> PathBuf {
    fixture.path.with_file_name("small.db")
}

/// Returns what the excerpt shows of a moment.
fn shown(fixture: &mut ConsoleFixture, at: Timestamp) -> Option<String> {
    let target = target(fixture);
    let path = std::mem::replace(&mut fixture.path, target);
    let shown = fixture.recorded(at);
    fixture.path = path;
    shown
}

/// Returns all bytes of a file, with its compressed content decompressed.
fn bytes(path: &Path) -> Vec<u8> {
    let mut bytes = fs::read(path).unwrap();
    let connection = Connection::open(path).unwrap();
    let mut query = connection.prepare("SELECT state FROM keyframe UNION ALL SELECT entries FROM chunk").unwrap();
    for packed in query.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap() {
        bytes.extend(decode::unpack(&packed.unwrap()).unwrap());
    }
    bytes
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fn names_beside(fixture: &ConsoleFixture) -> Vec<String> {
    let folder = fs::read_dir(fixture.path.parent().unwrap()).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| !name.starts_with("locks.db")).collect();
    names.sort();
    names
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn every_moment_of_the_time_is_as_in_the_recording_and_no_other_is_there(
        steps in prop::collection::vec(record_step(), 1..150),
        (first, last) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let mut fixture = ConsoleFixture::new(ALL, SMALL);
        for (serial, step) in (0_u32..).zip(&steps) {
            act(&mut fixture, step, serial);
        }
        fixture.remember();
        fixture.stop();
        let moments = fixture.shown.clone();
        let (one, other) = (first.index(moments.len()), last.index(moments.len()));
        let (from, to) = (moments[one.min(other)].0, moments[one.max(other)].0);
        prop_assert_eq!(cut_out(&fixture, from, to).unwrap(), []);
        for (at, expected) in &moments {
            let shown = shown(&mut fixture, *at);
            if *at < from || *at > to {
                prop_assert_eq!(shown, None);
            } else {
                assert_same(expected, &shown.unwrap_or_default(), *at);
            }
        }
    }
}

/// Creates contenders with names and data of their own, one each second; each stays for three
/// seconds.
fn one_each_second(fixture: &mut ConsoleFixture, seconds: u32) -> Vec<Timestamp> {
    let mut standing: Vec<ZnodePath> = Vec::new();
    let mut times = Vec::new();
    for second in 0..seconds {
        let at = fixture.ensemble.put_numbered(&format!("/a/n{second:04}-lock-"), i64::from(1_000 + second));
        fixture.ensemble.write(&at, format!("worker-{second:04}").as_bytes());
        fixture.apply(fixture.ensemble.observed(&at));
        standing.push(at);
        if standing.len() > 3 {
            let gone = standing.remove(0);
            fixture.delete(&gone);
        }
        fixture.examine();
        times.push(fixture.ensemble.now);
        fixture.remember();
        fixture.flush();
        fixture.ensemble.now.0 += 1_000;
    }
    times
}

#[test]
fn the_file_holds_nothing_of_before_or_after_and_only_its_owner_reads_it() {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    let times = one_each_second(&mut fixture, 60);
    fixture.stop();
    cut_out(&fixture, times[20], times[40]).unwrap();
    let small = bytes(&target(&fixture));
    for second in 0..60 {
        // At its beginning the contenders of three seconds are present, and their predecessor has
        // just gone.
        let is_in = (17..=40).contains(&second);
        let is_out = !(16..=40).contains(&second);
        for text in [format!("n{second:04}-lock-"), format!("worker-{second:04}")] {
            assert!(!is_in || has(&small, &text), "{text} is not in it");
            assert!(!is_out || !has(&small, &text), "{text} is in it");
        }
    }
    assert_eq!(fs::metadata(target(&fixture)).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(names_beside(&fixture), ["small.db"], "nothing else is left");
}

#[test]
fn without_data_the_file_has_neither_data_nor_names_read_from_them() {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    let times = one_each_second(&mut fixture, 60);
    fixture.stop();
    let options = CutOptions { time: TimeRange { from: times[10], to: times[50] }, with_data: false };
    cut(&fixture.path, &target(&fixture), options, &|| false).unwrap();
    let small = bytes(&target(&fixture));
    assert!(has(&small, "n0030-lock-") && !has(&small, "worker-"));
    assert!(has(&bytes(&fixture.path), "worker-0030"), "the recording has it");
}

fn window(path: &Path, from: Timestamp, to: Timestamp) -> PastWindow {
    PastWindow::read(&mut Store::open(path).unwrap(), Some(from), Some(to)).unwrap().unwrap()
}

#[test]
fn the_tables_have_the_contenders_of_the_time_as_known_at_its_end() {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    let times = one_each_second(&mut fixture, 60);
    fixture.stop();
    let (from, to) = (times[20], times[40]);
    cut_out(&fixture, from, to).unwrap();
    let (all, small) = (window(&fixture.path, from, to), window(&target(&fixture), from, to));
    let known = |past: &PastContender| {
        let by_then = |at: Timestamp| at <= to;
        let acquired = past.acquired.filter(|acquired| by_then(acquired.before));
        let ended = past.ended.filter(|ended| by_then(ended.before));
        (past.node.clone(), past.czxid, past.session, past.enqueued_at, acquired, ended)
    };
    assert_eq!(
        small.contenders.iter().map(known).collect::<Vec<_>>(),
        all.contenders.iter().map(known).collect::<Vec<_>>()
    );
    assert!(small.contenders.len() > 20);
    assert_eq!((small.from, small.to), (from, to));
    let open = small.contenders.iter().filter(|past| past.end == crate::record::tables::ContenderEnd::Open);
    assert_eq!(open.count(), 3, "who stood at the end stands");
    let codes = |window: &PastWindow| {
        window.findings.iter().map(|finding| (finding.code.clone(), finding.raised_at)).collect::<Vec<_>>()
    };
    assert_eq!(codes(&small), codes(&all));
}

#[test]
fn a_gap_within_the_time_stays_with_its_reason() {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    let from = one_each_second(&mut fixture, 10)[5];
    fixture.cut();
    fixture.ensemble.now.0 += 5_000;
    fixture.read_everything();
    one_each_second(&mut fixture, 5);
    fixture.stop();
    fixture.ensemble.now.0 += 60_000;
    fixture.start();
    let to = *one_each_second(&mut fixture, 10).last().unwrap();
    fixture.stop();
    cut_out(&fixture, from, to).unwrap();
    let (all, small) = (window(&fixture.path, from, to), window(&target(&fixture), from, to));
    assert_eq!(small.gaps, all.gaps);
    let reasons: Vec<_> = small.gaps.iter().map(|gap| &*gap.reason).collect();
    assert_eq!(reasons, ["the network is down", "the recorder was not running"]);
    let within = Timestamp(small.gaps[1].from.0 + 30_000);
    assert_eq!(shown(&mut fixture, within), None);
}

#[test]
fn damaged_segments_are_named_and_are_gaps_in_the_file() {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    let times = one_each_second(&mut fixture, 60);
    fixture.stop();
    let segments = fixture.past().segments().unwrap();
    let broken = segments[segments.len() / 2];
    Connection::open(&fixture.path)
        .unwrap()
        .execute("UPDATE chunk SET entries = zeroblob(50) WHERE segment = ?1", [broken.id])
        .unwrap();
    let (from, to) = (times[0], times[59]);
    assert_eq!(
        cut_out(&fixture, from, to).unwrap(),
        [DamagedSegment { segment: broken, damage: SegmentDamage::Checksum }]
    );
    let small = window(&target(&fixture), from, to);
    let gap = small.gaps.iter().find(|gap| gap.reason.contains("damaged")).unwrap();
    assert_eq!((gap.from, gap.to), (broken.from, Some(broken.until)));
    for (at, expected) in fixture.shown.clone() {
        let is_broken = at >= broken.from && at <= broken.until;
        if !is_broken && at >= from {
            assert_same(&expected, &shown(&mut fixture, at).unwrap(), at);
        }
    }
    fs::remove_file(target(&fixture)).unwrap();
    let all_broken = cut_out(&fixture, Timestamp(broken.from.0 + 1), Timestamp(broken.until.0 - 1));
    assert!(matches!(all_broken, Err(CutError::Damaged(SegmentDamage::Checksum))));
    assert_eq!(names_beside(&fixture), [""; 0]);
}

#[test]
fn existing_files_stay_and_interrupted_or_empty_cuts_leave_no_file() {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    let times = one_each_second(&mut fixture, 20);
    fs::write(target(&fixture), "mine").unwrap();
    assert!(matches!(cut_out(&fixture, times[0], times[9]), Err(CutError::Exists(_))));
    assert_eq!(fs::read(target(&fixture)).unwrap(), b"mine");
    fs::remove_file(target(&fixture)).unwrap();
    let asked = std::cell::Cell::new(0);
    let options = CutOptions { time: TimeRange { from: times[0], to: times[19] }, with_data: true };
    let should_stop = || asked.replace(asked.get() + 1) > 12;
    assert!(matches!(cut(&fixture.path, &target(&fixture), options, &should_stop), Err(CutError::Interrupted)));
    let later = Timestamp(fixture.ensemble.now.0 + 1_000_000);
    assert!(matches!(cut_out(&fixture, later, later), Err(CutError::NothingRecorded)));
    assert_eq!(names_beside(&fixture), [""; 0]);
    // The recorder continues beside it.
    cut_out(&fixture, times[5], times[9]).unwrap();
    one_each_second(&mut fixture, 5);
    assert_eq!(fixture.recorder.as_ref().unwrap().trouble(), None);
    fixture.stop();
}

#[test]
fn a_recording_without_data_is_cut_as_it_is() {
    let mut fixture = ConsoleFixture::new(RecordOptions { with_data: false, ..ALL }, SMALL);
    let times = one_each_second(&mut fixture, 20);
    fixture.stop();
    cut_out(&fixture, times[5], times[15]).unwrap();
    assert!(!has(&bytes(&target(&fixture)), "worker-"));
    for (at, expected) in fixture.shown.clone().into_iter().filter(|(at, _)| (times[5]..=times[15]).contains(at)) {
        assert_same(&expected, &shown(&mut fixture, at).unwrap(), at);
    }
}

#[test]
fn hostile_names_and_data_are_copied_unchanged() {
    let mut fixture = ConsoleFixture::new(ALL, SMALL);
    let from = fixture.ensemble.now;
    for data in [&b"'; DELETE FROM lock; --"[..], b"\xff\xfe\0\x1b[2J", "\u{202e}\"<script>".as_bytes()] {
        let at = fixture.ensemble.put_numbered("/'); DROP TABLE contender; --\u{202e}/\"<b>-lock-", 1);
        fixture.ensemble.write(&at, data);
        fixture.apply(fixture.ensemble.observed(&at));
        fixture.remember();
        fixture.ensemble.now.0 += 2_000;
        fixture.flush();
    }
    let to = fixture.ensemble.now;
    fixture.stop();
    cut_out(&fixture, from, to).unwrap();
    let (all, small) = (window(&fixture.path, from, to), window(&target(&fixture), from, to));
    let known = |window: &PastWindow| {
        window
            .contenders
            .iter()
            .map(|past| (past.lock.clone(), past.node.clone(), past.data.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(known(&small), known(&all));
    assert_eq!(small.contenders.len(), 3);
    for (at, expected) in fixture.shown.clone() {
        assert_same(&expected, &shown(&mut fixture, at).unwrap(), at);
    }
}
