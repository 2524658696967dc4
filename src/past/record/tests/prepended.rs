//! Tests of an earlier recording that is put before one in memory.

use super::fixture::{ALL, CONNECT, ConsoleFixture, SMALL, json};
use crate::record::{BatchWriter, Bounds, Playback, RecordOptions, RecordedState};
use crate::testing::reading;
use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_model::queue::LockTable;

/// Returns a recording in a file, and one in memory that begins when it ends.
fn recordings(max_bytes: Option<u64>) -> (ConsoleFixture, BatchWriter) {
    let mut earlier = ConsoleFixture::new(ALL, SMALL);
    for number in 0..120 {
        let path = earlier.ensemble.put_numbered(&format!("/a/{}/lock-", number % 7), number);
        let data: Vec<u8> = (0..400).map(|_| fastrand::u8(..)).collect();
        earlier.ensemble.write(&path, &data);
        earlier.apply(earlier.ensemble.observed(&path));
        earlier.examine();
        earlier.remember();
        earlier.flush();
    }
    earlier.stop();
    earlier.ensemble.now.0 += 5;
    let bounds = Bounds { keep: None, max_bytes };
    let mut writer = BatchWriter::in_memory(RecordOptions { bounds, ..ALL }).unwrap();
    let mut recorder = writer.recorder(CONNECT).unwrap();
    earlier.ensemble.table = LockTable::new([]);
    for change in reading(earlier.ensemble.walk()) {
        earlier.ensemble.now.0 += 1;
        recorder.apply(change, earlier.ensemble.now, &mut earlier.ensemble.table, &earlier.diagnosis);
    }
    let (now, table) = (earlier.ensemble.now, &earlier.ensemble.table);
    assert!(writer.write_batches(recorder.take_batches(now, table), now).is_none());
    (earlier, writer)
}

fn span(writer: &BatchWriter) -> TimeRange {
    writer.past().unwrap().span().unwrap().unwrap()
}

fn assert_same_since(earlier: &ConsoleFixture, writer: &BatchWriter, since: Timestamp) {
    let known: Vec<_> = earlier.shown.iter().filter(|(at, _)| *at >= since).collect();
    assert!(known.len() > 5, "{}", known.len());
    for (at, shown) in known {
        let playback = Playback::start(writer.past().unwrap(), *at).unwrap().expect("recorded");
        let RecordedState { table, diagnosis } = playback.state();
        assert_eq!(json(table, diagnosis, *at), *shown, "{at:?}");
    }
}

#[test]
fn every_moment_of_the_earlier_recording_can_be_shown() {
    let (earlier, mut writer) = recordings(None);
    let (began, all) = (span(&writer), earlier.past().span().unwrap().unwrap());
    assert_eq!(writer.prepend(&earlier.path).unwrap(), Some(all.from));
    assert_eq!(span(&writer), TimeRange { from: all.from, ..began });
    assert_same_since(&earlier, &writer, all.from);
    let mut past = writer.past().unwrap();
    let [(ids, _), (of_file, _)] = [&mut past, &mut earlier.past()].map(|past| {
        let segments = past.segments().unwrap();
        (segments.windows(2).all(|pair| pair[0].from <= pair[1].from), segments.len())
    });
    assert!(ids && of_file, "segments are in the order of time");
    let findings = |past: &mut crate::record::Past| past.last_findings(1_000).unwrap();
    assert!(!findings(&mut earlier.past()).is_empty());
    assert_eq!(findings(&mut past), findings(&mut earlier.past()));
    assert_eq!(writer.prepend(&earlier.path).unwrap(), None, "it is there already");
}

#[test]
fn of_too_much_the_latest_is_taken() {
    let (earlier, mut writer) = recordings(Some(400 << 10));
    let since = writer.prepend(&earlier.path).unwrap().expect("something fits");
    assert!(since > earlier.past().span().unwrap().unwrap().from);
    assert!(writer.past().unwrap().bytes().unwrap() <= 400 << 10);
    assert_same_since(&earlier, &writer, since);
}
