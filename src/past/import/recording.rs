//! Writes the changes of an import into a recording.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ImportError;
use crate::record::tables::{RecordedAttempts, Source};
use crate::record::{BatchRecorder, BatchWriter, Bounds, RecordOptions, RecordedState};
use lockscope_base::znode::{SessionId, TimeRange, Timestamp, ZnodePath};
use lockscope_model::ensemble::EnsembleEvent;
use lockscope_model::queue::{Change, ConnectionState};

/// The recorded time after which what happened is written.
const WRITE_INTERVAL: Duration = Duration::from_secs(10);

/// The recorded bytes after which what happened is written, uncompressed.
const WRITE_BYTES: u64 = 4 << 20;

/// The recorded time between two looks for findings, at least.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The recorded time until the next look while nothing happens; it doubles with each look.
const QUIET_MS: u64 = 10_000;

/// How often that time doubles: up to 640 s.
const MAX_DOUBLINGS: u32 = 6;

/// After so many looks while nothing happens, a week, the time doubles without a limit.
const MANY_LOOKS: u32 = 1_000;

/// The most doublings, which make [`QUIET_MS`] longer than any time.
const MOST_DOUBLINGS: u32 = 49;

/// The part of the contenders that must have changed before the next look, within
/// [`QUIET_MS`]. A look visits all of them.
const CHANGED_PART: usize = 4;

/// A new recording, and the state at its end.
pub(super) struct Recording {
    path: PathBuf,
    state: RecordedState,
    batches: BatchRecorder,
    writer: BatchWriter,
    began_at: Timestamp,
    at: Timestamp,
    written_at: Timestamp,
    looked_at: Timestamp,
    changes_since_look: usize,
    /// The number of looks since the last change.
    quiet_looks: u32,
    /// Whether a look starts over, because the locks were not seen for a while.
    was_cut: bool,
    pub changes: u64,
    /// The number of attempts in vain.
    pub attempts: u64,
}

impl Recording {
    /// Begins a recording in an empty file. `target` is its later path.
    pub fn create(
        file: &Path,
        target: &Path,
        name: &str,
        state: RecordedState,
        with_data: bool,
    ) -> Result<Self, ImportError> {
        let bounds = Bounds { keep: None, max_bytes: None };
        let mut writer = BatchWriter::create_alone(file, RecordOptions { bounds, with_data, group_reads: false })?;
        Ok(Self {
            path: target.to_owned(),
            state,
            batches: writer.recorder_of(name, Source::Log)?,
            writer,
            began_at: Timestamp(i64::MIN),
            at: Timestamp(i64::MIN),
            written_at: Timestamp(i64::MIN),
            looked_at: Timestamp(i64::MIN),
            changes_since_look: 0,
            quiet_looks: 0,
            was_cut: false,
            changes: 0,
            attempts: 0,
        })
    }

    /// Returns the time of the first entry.
    pub fn began_at(&self) -> Timestamp {
        self.began_at
    }

    /// Returns the time of the last entry.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Lets the time pass until a transaction.
    pub fn passes(&mut self, until: Timestamp) -> Result<(), ImportError> {
        if self.at.0 == i64::MIN {
            (self.began_at, self.written_at, self.looked_at) = (until, until, until);
        }
        while self.state.table.is_live() {
            let next = self.next_look();
            // Behind the end of time comes no other time.
            if next > until || next == self.looked_at {
                break;
            }
            self.at = next;
            self.look();
            self.write_if_due()?;
        }
        // The clock of a new leader may be behind that of the last one.
        self.at = self.at.max(until);
        self.write_if_due()
    }

    /// Returns the time of the next look for findings.
    fn next_look(&self) -> Timestamp {
        let enough = self.state.table.contender_count() / CHANGED_PART;
        let is_busy = self.changes_since_look > enough;
        // A wrong clock may say that ages passed.
        let doublings = self.quiet_looks.min(MAX_DOUBLINGS) + self.quiet_looks.saturating_sub(MANY_LOOKS);
        let quiet = Duration::from_millis(QUIET_MS << doublings.min(MOST_DOUBLINGS));
        let interval = if is_busy { LOOK_INTERVAL } else { quiet };
        self.looked_at.plus(interval).max(self.at)
    }

    fn look(&mut self) {
        let RecordedState { table, diagnosis } = &mut self.state;
        if std::mem::take(&mut self.was_cut) {
            self.batches.forget_findings(self.at, table, diagnosis);
        }
        self.batches.examine(self.at, table, diagnosis);
        self.quiet_looks = self.quiet_looks.saturating_add(1);
        (self.looked_at, self.changes_since_look) = (self.at, 0);
    }

    /// Records changes of the current moment.
    pub fn apply(&mut self, changes: Vec<Change>) {
        let RecordedState { table, diagnosis } = &mut self.state;
        self.changes += changes.len() as u64;
        self.changes_since_look += changes.len();
        self.quiet_looks = 0;
        for change in changes {
            self.batches.apply(change, self.at, table, diagnosis);
        }
    }

    /// Records that a session tried in vain to take a lock, if it is known which.
    pub fn attempted(&mut self, session: SessionId, lock: Option<&ZnodePath>) {
        self.attempts += 1;
        let time = TimeRange { from: self.at, to: self.at };
        let lock = lock.map(ToString::to_string);
        self.batches.attempted(RecordedAttempts { lock, session: Some(session), time, count: 1 });
    }

    /// Records what the transactions show of the ensemble.
    pub fn happened_to_ensemble(&mut self, events: impl IntoIterator<Item = EnsembleEvent>) {
        for event in events {
            self.batches.happened_to_ensemble(&event);
        }
    }

    /// Begins a reading of everything, which `changes` are.
    pub fn reads(&mut self, changes: Vec<Change>) {
        let connected = ConnectionState::Connected { session: SessionId(0), recursive: true };
        self.apply(vec![Change::Connection(connected)]);
        self.apply(changes);
    }

    /// Begins a gap: nothing is known from the last moment on.
    pub fn loses(&mut self, reason: &str) {
        self.apply(vec![Change::Connection(ConnectionState::Lost { reason: reason.to_owned() })]);
        self.was_cut = true;
    }

    fn write_if_due(&mut self) -> Result<(), ImportError> {
        if self.at.since(self.written_at) < WRITE_INTERVAL && self.batches.untaken_bytes() < WRITE_BYTES {
            return Ok(());
        }
        self.written_at = self.at;
        let batches = self.batches.take_batches(self.at, &self.state.table);
        let lost = self.writer.write_batches(batches, self.at).map(|lost| lost.reason);
        match lost.or_else(|| self.writer.trouble().map(str::to_owned)) {
            Some(reason) => Err(ImportError::NotWritten { path: self.path.clone(), reason }),
            None => Ok(()),
        }
    }

    /// Writes the rest, and returns the numbers of holds and of waits without a hold. The file then
    /// needs no other beside it.
    pub fn finish(mut self) -> Result<(u64, u64), ImportError> {
        if self.state.table.is_live() {
            self.look();
        }
        let batches = self.batches.end(self.at, &self.state.table);
        Ok(self.writer.finish_alone(batches, self.at)?)
    }
}
