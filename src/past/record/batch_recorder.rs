//! Records what a table takes in, as batches for a file. Never waits.
//!
//! # The time of a recording
//!
//! It never decreases, unless the clock of the machine was set back. A change may be taken in
//! seconds after it was seen on a busy machine, and out of order with other changes. If the
//! recording already reaches beyond the time of a change, the change is recorded at the end of the
//! recording. So a clock that was set back is recognized only by the current time at each flush and
//! each look for findings.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::batch::{Batch, GrowingSegment, SegmentBounds, SegmentStart};
use super::entry;
use super::entry::{RecordedState, StoreEntry};
use super::tables::{GapRecord, ProvenTime, RecordedAttempts, RecordedDeletion, TableExcerpt, TableRecorder};
use lockscope_base::znode::{NodeData, Timestamp};
use lockscope_model::diagnose::{Diagnosis, Finding, FindingChanges};
use lockscope_model::ensemble::EnsembleEvent;
use lockscope_model::queue::{Change, Happening, LockTable};

/// Records what a table takes in. The owner of the table applies changes through
/// [`apply`](Self::apply), looks for findings through [`examine`](Self::examine), and passes the
/// result of [`take_batches`](Self::take_batches) to a [`BatchWriter`](super::BatchWriter).
#[derive(Debug)]
pub struct BatchRecorder {
    /// Whether the data of contenders is recorded.
    with_data: bool,
    /// The servers and the chroot, for display.
    connect: Arc<str>,
    tables: TableRecorder,
    segment_bounds: SegmentBounds,
    segment: Option<GrowingSegment>,
    /// The start of the current segment, until a batch contains it.
    start: Option<SegmentStart>,
    /// Batches not taken yet.
    ready: Vec<Batch>,
    /// Whether entries are missing between the last segment and the next one.
    misses_entries: bool,
    /// Whether the next segment begins another part of the recording, and is due.
    begins_part: bool,
    clock: RecordingClock,
}

impl BatchRecorder {
    /// Creates a recorder for one ensemble, given by its servers and chroot. `tables` continue
    /// those of the file.
    pub(super) fn new(connect: &str, tables: TableRecorder, segment_bounds: SegmentBounds, with_data: bool) -> Self {
        Self {
            with_data,
            connect: connect.into(),
            tables,
            segment_bounds,
            segment: None,
            start: None,
            ready: Vec::new(),
            misses_entries: true,
            begins_part: false,
            clock: RecordingClock::default(),
        }
    }

    /// Goes on with the table of [`Playback::last_state`](super::Playback::last_state), which
    /// [`apply`](Self::apply) is given from then on.
    pub fn resume_with(&mut self, table: &LockTable) {
        self.tables.resume_with(table);
    }

    /// Sets when segments end.
    #[cfg(test)]
    pub(super) fn set_segment_bounds(&mut self, segment_bounds: SegmentBounds) {
        self.segment_bounds = segment_bounds;
    }

    /// Applies a change to a table and records it. Returns the recorded time, which is not before
    /// that of the last entry unless the clock was set back.
    pub fn apply(
        &mut self,
        change: Change,
        now: Timestamp,
        table: &mut LockTable,
        diagnosis: &Diagnosis,
    ) -> (Timestamp, Vec<Happening>) {
        let at = self.clock.seen(now);
        self.before(at, table, diagnosis);
        let change = if self.with_data { change } else { without_data(change, table) };
        self.entry(at, &StoreEntry::Change(Cow::Borrowed(&change)), table);
        let happenings = table.apply(change, at);
        self.tables.happened(&happenings, table, at);
        (at, happenings)
    }

    /// Checks a table for findings and records the check. Returns the recorded time, as
    /// [`apply`](Self::apply) does.
    pub fn examine(
        &mut self,
        now: Timestamp,
        table: &LockTable,
        diagnosis: &mut Diagnosis,
    ) -> (Timestamp, FindingChanges) {
        let at = self.at(now, table);
        self.before(at, table, diagnosis);
        self.entry(at, &StoreEntry::Examined, table);
        let changes = diagnosis.examine(table, at);
        self.tables.findings_changed(&changes, table, at);
        (at, changes)
    }

    /// Forgets the findings, because the locks were not seen for a while, and records that. Returns
    /// the forgotten findings with the recorded time.
    pub fn forget_findings(
        &mut self,
        now: Timestamp,
        table: &LockTable,
        diagnosis: &mut Diagnosis,
    ) -> Vec<Arc<Finding>> {
        let at = self.at(now, table);
        self.before(at, table, diagnosis);
        self.entry(at, &StoreEntry::FindingsForgotten, table);
        let cleared = diagnosis.start_over();
        let changes = FindingChanges { cleared, ..FindingChanges::default() };
        self.tables.findings_changed(&changes, table, at);
        changes.cleared
    }

    /// Returns how many recorded bytes [`take_batches`](Self::take_batches) has not returned yet,
    /// uncompressed.
    pub fn untaken_bytes(&self) -> u64 {
        let growing = self.segment.as_ref().map_or(0, GrowingSegment::unwritten_bytes);
        growing + self.ready.iter().map(Batch::bytes).sum::<u64>()
    }

    /// Returns the gap since an earlier run, before anything is recorded.
    pub(super) fn left_gap(&self) -> Option<GapRecord> {
        self.tables.left_gap()
    }

    /// Records what a transaction log shows of the ensemble.
    pub(crate) fn happened_to_ensemble(&mut self, event: &EnsembleEvent) {
        self.tables.happened_to_ensemble(event);
    }

    /// Records what proves that transaction logs are complete.
    pub(crate) fn proven(&mut self, proven: ProvenTime) {
        self.tables.proven(proven);
    }

    /// Records attempts in vain.
    pub(crate) fn attempted(&mut self, attempts: RecordedAttempts) {
        self.tables.attempted(attempts);
    }

    /// Records an outcome of the audit log: a node was deleted by hand.
    pub fn deleted(&mut self, deletion: RecordedDeletion) {
        self.tables.deleted(deletion);
    }

    /// Returns the batches since the last call, oldest first. Must be called once a second, even
    /// when nothing happens: that is recorded too.
    pub fn take_batches(&mut self, now: Timestamp, table: &LockTable) -> Vec<Batch> {
        let at = self.at(now, table);
        if self.segment.is_some() {
            self.end_batch(at, table, false);
        }
        std::mem::take(&mut self.ready)
    }

    /// Ends the recording and returns the last batches. Anything recorded later follows a gap.
    pub fn end(&mut self, now: Timestamp, table: &LockTable) -> Vec<Batch> {
        let at = self.at(now, table);
        self.end_batch(at, table, true);
        let rows = self.tables.take_rows(table, at, true);
        self.misses_entries = true;
        let mut ready = std::mem::take(&mut self.ready);
        ready.push(Batch::of_rows(rows, at));
        ready
    }

    /// Lets the next entry begin a segment, and another part of the recording with it.
    pub(super) fn begin_part(&mut self) {
        self.begins_part = true;
    }

    /// Returns whether the next entry begins another part.
    #[cfg(test)]
    pub(super) fn is_beginning_part(&self) -> bool {
        self.begins_part
    }

    /// Starts over with another table, as after a new connection with other settings.
    pub(super) fn start_over(&mut self, connect: &str, tables: TableRecorder) {
        (self.connect, self.tables, self.clock) = (connect.into(), tables, RecordingClock::default());
    }

    /// Starts over with the state known at `at`, as in an excerpt of another recording. The tables
    /// must start with the same state.
    pub(super) fn begin_with(&mut self, connect: &str, tables: TableRecorder, state: &RecordedState, at: Timestamp) {
        self.start_over(connect, tables);
        let at = self.clock.seen(at);
        self.before(at, &state.table, &state.diagnosis);
    }

    /// Sets the gaps of an excerpt: those of its recording, and others.
    pub(super) fn set_gaps(&mut self, excerpt: TableExcerpt, others: Vec<GapRecord>) {
        self.tables.set_gaps(excerpt, others);
    }

    /// Records that batches since `from` were lost for a reason: later entries follow a gap.
    /// `tables` are those in the file.
    pub fn lost(&mut self, from: Timestamp, now: Timestamp, reason: &str, tables: Option<TableRecorder>) {
        (self.segment, self.start, self.misses_entries) = (None, None, true);
        // They are of the lost time, and their rows have numbers that the file does not know.
        self.ready.clear();
        self.clock.reaches(now);
        if let Some(tables) = tables {
            self.tables = tables;
        }
        self.tables.lost(from, now, reason);
    }

    /// Returns the time at which to record what happens now. A clock that was set back makes a gap.
    fn at(&mut self, now: Timestamp, table: &LockTable) -> Timestamp {
        self.clock.now(now).unwrap_or_else(|before| {
            if self.segment.is_some() {
                self.tables.gap(now, before, "the clock of the recorder was set back");
                self.misses_entries = true;
                self.end_batch(before, table, true);
            }
            now
        })
    }

    /// Starts a new segment with the current state if one is due.
    fn before(&mut self, at: Timestamp, table: &LockTable, diagnosis: &Diagnosis) {
        if self.segment.as_ref().is_some_and(|segment| self.begins_part || segment.is_full(at)) {
            self.end_batch(at, table, true);
        }
        if self.segment.is_none()
            && let Ok(state) = entry::write(table, diagnosis)
        {
            let new_run = std::mem::take(&mut self.misses_entries).then(|| Arc::clone(&self.connect));
            let new_part = std::mem::take(&mut self.begins_part);
            self.start = Some(SegmentStart { from: at, state, new_run, new_part });
            self.segment = Some(GrowingSegment::new(at, table.contender_count(), self.segment_bounds));
        }
    }

    /// Adds an entry. One that is too large is left out: answers of servers with very many watches.
    /// Its effect is in the next keyframe, with which another run begins, so that it is read.
    fn entry(&mut self, at: Timestamp, entry: &StoreEntry<'_>, table: &LockTable) {
        if self.segment.as_mut().is_some_and(|segment| segment.push(at, entry).is_err()) {
            self.misses_entries = true;
            self.end_batch(at, table, true);
        }
    }

    fn end_batch(&mut self, until: Timestamp, table: &LockTable, ends: bool) {
        let Some(segment) = &mut self.segment else { return };
        let (chunk, count) = segment.take_unwritten();
        if ends {
            self.segment = None;
        }
        let rows = self.tables.take_rows(table, until, false);
        let (begins, entries) = (self.start.take(), chunk.to_bytes());
        self.ready.push(Batch { begins, entries, count, rows, until, ends, is_packed: false });
    }
}

/// Returns a change without the data of its node, unless they hold the number of leases of a
/// semaphore.
pub fn without_data(mut change: Change, table: &LockTable) -> Change {
    if let Change::Seen { path, node } = &mut change {
        let is_number = std::str::from_utf8(node.data.bytes()).is_ok_and(|text| text.trim().parse::<u32>().is_ok());
        if table.is_contender(path) || !is_number {
            node.data = NodeData::default();
        }
    }
    change
}

/// A clock that was set back by less than this continues from where it was.
const MAX_CLOCK_STEP: Duration = Duration::from_secs(1);

/// A change that is this far in the future was seen before the clock was set back.
const MAX_AHEAD: Duration = Duration::from_secs(60);

/// Assigns the recorded times.
#[derive(Clone, Copy, Debug)]
struct RecordingClock {
    /// The time up to which something is recorded.
    latest: Timestamp,
    /// The current time at the last check.
    last_now: Timestamp,
    was_set_back: bool,
}

impl Default for RecordingClock {
    fn default() -> Self {
        Self { latest: Timestamp(i64::MIN), last_now: Timestamp(i64::MIN), was_set_back: false }
    }
}

impl RecordingClock {
    /// Records that the recording reaches up to `until`.
    pub fn reaches(&mut self, until: Timestamp) {
        self.latest = self.latest.max(until);
    }

    /// Returns the time at which to record a change that was seen at `at`.
    pub fn seen(&mut self, at: Timestamp) -> Timestamp {
        if !(self.was_set_back && at.since(self.last_now) >= MAX_AHEAD) {
            self.reaches(at);
        }
        self.latest
    }

    /// Returns the time at which to record what happens now. If the clock was set back, fails with
    /// the time up to which something is recorded.
    pub fn now(&mut self, now: Timestamp) -> Result<Timestamp, Timestamp> {
        if self.last_now.since(now) >= MAX_CLOCK_STEP {
            let before = self.latest;
            *self = Self { latest: now, last_now: now, was_set_back: true };
            return Err(before);
        }
        self.last_now = self.last_now.max(now);
        self.reaches(now);
        Ok(self.latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_change_is_recorded_at_the_end() {
        let mut clock = RecordingClock::default();
        assert_eq!(clock.seen(Timestamp(10_000)), Timestamp(10_000));
        assert_eq!(clock.now(Timestamp(15_000)), Ok(Timestamp(15_000)));
        assert_eq!(clock.seen(Timestamp(11_000)), Timestamp(15_000));
        assert_eq!(clock.seen(Timestamp(16_000)), Timestamp(16_000));
        clock.reaches(Timestamp(18_000));
        assert_eq!(clock.seen(Timestamp(12_500)), Timestamp(18_000));
        assert_eq!(clock.now(Timestamp(17_000)), Ok(Timestamp(18_000)), "the time of day went on");
    }

    #[test]
    fn a_clock_that_was_set_back_is_noticed_once() {
        let mut clock = RecordingClock::default();
        assert_eq!(clock.now(Timestamp(100_000)), Ok(Timestamp(100_000)));
        assert_eq!(clock.now(Timestamp(99_100)), Ok(Timestamp(100_000)), "a little");
        assert_eq!(clock.seen(Timestamp(20_010)), Timestamp(100_000));
        assert_eq!(clock.now(Timestamp(20_020)), Err(Timestamp(100_000)));
        assert_eq!(clock.seen(Timestamp(99_000)), Timestamp(20_020), "it was seen before");
        assert_eq!(clock.seen(Timestamp(20_030)), Timestamp(20_030));
        assert_eq!(clock.now(Timestamp(20_040)), Ok(Timestamp(20_040)));
    }
}
