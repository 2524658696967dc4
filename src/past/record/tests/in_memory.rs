//! Tests of a recording that is never on a disk, as a console keeps it of its own past.

use std::time::Duration;

use super::fixture::{ALL, CONNECT, json};
use crate::fixture::TableFixture;
use crate::record::{BatchWriter, Bounds, Playback, RecordOptions, RecordedState};
use crate::testing::{deleted, reading};
use lockscope_base::znode::{TimeRange, Timestamp, ZnodePath};
use lockscope_model::diagnose::{Diagnosis, Thresholds};

const MAX_BYTES: u64 = 4 << 20;

#[test]
fn an_in_memory_recording_is_bounded_drops_the_oldest_and_is_exact() {
    let bounds = Bounds { keep: None, max_bytes: Some(MAX_BYTES) };
    let mut writer = BatchWriter::in_memory(RecordOptions { bounds, ..ALL }).unwrap();
    let mut recorder = writer.recorder(CONNECT).unwrap();
    let (mut ensemble, mut diagnosis) = (TableFixture::new(), Diagnosis::new(Thresholds::default()));
    let mut shown: Vec<(Timestamp, String)> = Vec::new();
    let mut standing: Vec<ZnodePath> = Vec::new();
    for change in reading([]) {
        recorder.apply(change, ensemble.now, &mut ensemble.table, &diagnosis);
    }
    for number in 0..12_000 {
        let at = ensemble.put_numbered(&format!("/a/{}/lock-", number % 7), number);
        ensemble.write(&at, &(0..400).map(|_| fastrand::u8(..)).collect::<Vec<u8>>());
        let mut changes = vec![ensemble.observed(&at)];
        standing.push(at);
        if standing.len() > 20 {
            let gone = standing.remove(0);
            ensemble.tree.remove(&gone);
            changes.push(deleted(&gone));
        }
        for change in changes {
            ensemble.now.0 += 3;
            recorder.apply(change, ensemble.now, &mut ensemble.table, &diagnosis);
        }
        if number % 100 == 0 {
            recorder.examine(ensemble.now, &ensemble.table, &mut diagnosis);
            shown.push((ensemble.now, json(&ensemble.table, &diagnosis, ensemble.now)));
            ensemble.now.0 += 1;
            assert!(writer.write_batches(recorder.take_batches(ensemble.now, &ensemble.table), ensemble.now).is_none());
            assert_eq!(writer.trouble(), None);
            assert!(writer.past().unwrap().bytes().unwrap() <= MAX_BYTES);
        }
    }
    let TimeRange { from, to: until } = writer.past().unwrap().span().unwrap().unwrap();
    assert!(from > shown[0].0, "the oldest is forgotten");
    assert!(until.since(from) > Duration::from_secs(1), "there is some of it");
    let kept: Vec<_> = shown.into_iter().filter(|(at, _)| *at >= from).collect();
    assert!(kept.len() > 10, "{}", kept.len());
    for (at, shown) in kept {
        let playback = Playback::start(writer.past().unwrap(), at).unwrap().expect("recorded");
        let RecordedState { table, diagnosis } = playback.state();
        assert_eq!(json(table, diagnosis, at), shown, "{at:?}");
    }
}
