//! A recording of an incident, always the same: the recorder writes changes at fixed times.

use std::path::Path;
use std::time::Duration;

use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::queue::{Change, ConnectionState, LockTable};
use lockscope_past::record::{Bounds, RecordOptions, Recorder, Rotation};

use super::reading::{self, deleted, seen};

/// 2026-05-01T02:10:00Z, when the recording begins.
pub const BEGIN: Timestamp = Timestamp(1_777_601_400_000);

/// The stuck lock.
pub const LOCK: &str = "/app/locks/billing";

const CONNECT: &str = "zk1:2181,zk2:2181,zk3:2181";

const OPTIONS: RecordOptions =
    RecordOptions { bounds: Bounds { keep: None, max_bytes: None }, with_data: true, group_reads: false };

fn second(number: u64) -> Timestamp {
    BEGIN.plus(Duration::from_secs(number))
}

fn stat(number: i64, at: Timestamp, owner: Option<i64>) -> ZnodeStat {
    let owner = owner.map(|owner| SessionId(0x1000_0000_0000_0000 + owner));
    ZnodeStat::of_new(Zxid(4_294_967_296 + number), at, owner)
}

fn node(number: i64) -> ZnodePath {
    reading::path(&format!("{LOCK}/{number:032x}__lock__{number:010}"))
}

fn came(number: i64, at: Timestamp) -> Change {
    let worker = number % 6 + 1;
    seen(node(number).as_str(), stat(number, at, Some(worker)), format!("billing-worker-{worker}").as_bytes())
}

/// Records an incident. Six workers take turns of two seconds each at a kazoo lock for three
/// minutes. At 02:13:00 the holder stops, at 02:14:40 its session ends, and at 02:15:00 the
/// recorder is stopped.
pub fn incident(path: &Path) {
    let recorder = Recorder::start(path, CONNECT, OPTIONS).expect("it can be recorded");
    record(recorder);
}

/// Records the same in a file for each minute.
pub fn incident_in_parts(path: &Path) {
    let rotation = Rotation::Every(Duration::from_secs(60));
    record(Recorder::start_in_parts(path, CONNECT, OPTIONS, rotation, BEGIN).expect("it can be recorded"));
}

fn record(mut recorder: Recorder) {
    let (mut table, mut diagnosis) = (LockTable::new([]), Diagnosis::new(Thresholds::default()));
    for number in 0..300 {
        let at = second(number);
        let mut changes = vec![Change::Heard { at }];
        if number == 0 {
            let connected = ConnectionState::Connected { session: SessionId(0x1000_0000_0000_0b31), recursive: true };
            changes.extend([Change::Connection(connected), Change::Syncing]);
            changes.push(Change::Listed { path: reading::path(LOCK), stat: stat(-1, second(0), None) });
            changes.extend((0..6).map(|number| came(number, second(0))));
            changes.push(Change::Synced);
        } else if number % 2 == 0 && (number <= 180 || number >= 280) {
            let turn = i64::try_from(number.min(180) / 2 + number.saturating_sub(278) / 2).expect("small");
            changes.push(deleted(&node(turn - 1)));
            changes.push(came(turn + 5, at));
        }
        for change in changes {
            recorder.batches().apply(change, at, &mut table, &diagnosis);
        }
        recorder.batches().examine(at, &table, &mut diagnosis);
        recorder.flush(at, &table);
    }
    recorder.stop(&table, second(300)).expect("it can be recorded");
}
