//! A recording of the tests' ensemble, and a console that shows it.

use std::time::Duration;

use tempfile::TempDir;

use super::{NOW, curator, ensemble, gone, press, settings};
use crate::tui::app::{App, Effect, Event, Replay, Travel, Update};
use crate::tui::past_reader::PastReader;
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::{Diagnosis, Thresholds};
use lockscope_model::queue::{Change, ConnectionState, LockTable};
use lockscope_past::record::{Bounds, RecordOptions, Recorder};

/// The ensemble of the recording.
pub const CONNECT: &str = "zk1:2181,zk2:2181/prod";

/// Returns the time `number` seconds after the recording began.
pub fn second(number: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(number))
}

/// A console that shows a recording.
pub struct Replayed {
    pub app: App,
    pub past: PastReader,
    _folder: TempDir,
}

impl Replayed {
    /// Creates a console of this size at the end of the [recording](record).
    pub fn new(size: (u16, u16)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("incident.db");
        record(&path);
        let (past, outline, connect) = PastReader::open(&path, true).expect("a readable recording");
        let end = outline.until;
        let replay = Replay::new("incident.db".to_owned(), connect, outline);
        let mut app = App::new(settings(), size, second(10_000)).with_replay(replay);
        app.update(past.travel(end, end, &Travel::To(end)), second(10_000));
        Self { app, past, _folder: folder }
    }

    /// Presses keys and carries out their effects.
    pub fn press(&mut self, keys: &str) {
        for key in keys.chars() {
            let update = press(&mut self.app, key.encode_utf8(&mut [0; 4]));
            self.follow(update);
        }
    }

    /// Lets wall-clock time pass, in steps of a tenth of a second.
    pub fn wait(&mut self, time: Duration) {
        let end = self.app.clock().plus(time);
        while let Some(due) = self.app.next_due().filter(|due| *due <= end) {
            let update = self.app.update(Event::Due, due);
            self.follow(update);
        }
    }

    fn follow(&mut self, mut update: Update) {
        while let Some(Effect::Travel { from, outlined, travel }) =
            update.effects.into_iter().find(|effect| matches!(effect, Effect::Travel { .. }))
        {
            update = self.app.update(self.past.travel(from, outlined, &travel), self.app.clock());
        }
    }
}

/// Records two minutes of the tests' ensemble with hand-overs after 10, 20 and 30 seconds and a cut
/// from 90 to 100; then a minute without a recorder; then half a minute in which the first waiter
/// of `/locks/billing` is gone.
fn record(path: &std::path::Path) {
    let mut changes: Vec<Change> = ensemble();
    changes.insert(1, Change::Heard { at: NOW });
    run(path, 0..120, |second| match second {
        0 => changes.clone(),
        10 | 20 | 30 => {
            let turn = i32::try_from(second / 10).expect("small") - 1;
            vec![gone("/locks/billing", 4711 + turn, 0x1b + i64::from(turn))]
        }
        90 => vec![Change::Connection(ConnectionState::Lost { reason: "the server closed the connection".to_owned() })],
        100 => {
            let mut changes = ensemble();
            changes.retain(|change| {
                !(11..14).any(|number| format!("{change:?}").contains(&format!("lock-00000047{number}")))
            });
            changes
        }
        _ => Vec::new(),
    });
    run(path, 180..210, |second| match second {
        180 => ensemble(),
        185 => vec![curator("/locks/new", 1, 90, 0)],
        _ => Vec::new(),
    });
}

fn run(path: &std::path::Path, seconds: std::ops::Range<u64>, changes: impl Fn(u64) -> Vec<Change>) {
    let bounds = Bounds { keep: None, max_bytes: None };
    let mut recorder = Recorder::start(path, CONNECT, RecordOptions { bounds, with_data: true, group_reads: false })
        .expect("a writable recording");
    let (mut table, mut diagnosis) = (LockTable::new([]), Diagnosis::new(Thresholds::default()));
    for number in seconds.clone() {
        for change in changes(number) {
            recorder.batches().apply(change, second(number), &mut table, &diagnosis);
        }
        recorder.batches().examine(second(number), &table, &mut diagnosis);
        recorder.flush(second(number), &table);
    }
    recorder.stop(&table, second(seconds.end)).expect("a writable recording");
}
