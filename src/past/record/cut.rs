//! Cuts a time range out of a recording into a recording of its own, which can be given to others.
//!
//! The excerpt is recorded anew from the played entries. It begins with the state of its first
//! moment. Its stream and tables contain only what was known by its last moment. Earlier facts in
//! them were known at the beginning: who stood, since when, and with what identity. Facts about
//! clients that were gone before are left out, unless they return within the range.
//!
//! # Two states
//!
//! Up to the first moment the state of the reader is played, which has every fact. From then on the
//! excerpt has a state of its own, reduced to the facts that belong to it, and its entries are
//! played on that one. So a fact that was dropped at the beginning cannot come back later, for
//! example the name of a client that was gone before and that no entry of the range mentions.
//!
//! The steps have an order because of this: the sessions and nodes that entries mention are
//! collected first, in a pass of their own; then a segment that begins a run begins the excerpt, or
//! ends its run and begins another after a gap; then the entries follow. The reader may have to
//! read a state again to bound its memory: the table of the excerpt is then replaced by that
//! state's, reduced in the same way. At each flush the rows and the state agree up to `until`.
//!
//! The recording may grow meanwhile. Damaged parts are left out, and appear as gaps with that
//! reason.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustc_hash::FxHashSet;

use super::batch_recorder::BatchRecorder;
use super::batch_writer::BatchWriter;
use super::bounds::Bounds;
use super::entry::StoreEntry;
use super::playback::{SegmentRead, SegmentReader};
use super::store::FILES_BESIDE;
use super::tables;
use super::tables::{GapRecord, TableExcerpt, TableRecorder};
use super::{Past, ReadError, RecordOptions, RecordedState, SegmentDamage, SegmentInfo, StoreError, TimedEntry};
use lockscope_base::znode::{SessionId, TimeRange, Timestamp, Zxid};
use lockscope_files::{FileError, NewFile};
use lockscope_model::queue::Change;

/// The time span written at once, as a recorder does.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The options of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutOptions {
    /// The time range of the excerpt.
    pub time: TimeRange,
    /// Whether the excerpt contains the data of contenders, where they were recorded.
    pub with_data: bool,
}

/// A segment that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedSegment {
    /// The segment.
    pub segment: SegmentInfo,
    /// The kind of damage.
    pub damage: SegmentDamage,
}

/// Why nothing was cut out. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// The recording cannot be read, or the excerpt cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The excerpt cannot be created.
    #[error("cannot write {}: {error}; name another file with --output", path.display())]
    File {
        /// The path of the excerpt.
        path: PathBuf,
        /// The reason.
        error: FileError,
    },
    /// The file exists already.
    #[error("{} exists already, and is not replaced: name another file with --output, or delete it", .0.display())]
    Exists(PathBuf),
    /// The entries cannot be written.
    #[error("cannot write {}: {reason}", path.display())]
    NotWritten {
        /// The path of the excerpt.
        path: PathBuf,
        /// The reason, as a sentence.
        reason: String,
    },
    /// Nothing was recorded within the range.
    #[error("nothing was recorded in that time: name another with --from and --to")]
    NothingRecorded,
    /// The whole range is damaged.
    #[error("nothing of that time can be read: {0}")]
    Damaged(SegmentDamage),
    /// A part of the range takes more memory than is allowed.
    #[error("a part of that time cannot be read: {0}")]
    NeedsMemory(SegmentDamage),
    /// The caller cancelled the cut.
    #[error("interrupted: nothing was written")]
    Interrupted,
}

/// Cuts a part out of a recording into a new file, which appears complete or not at all. Returns
/// the segments that are left out because they are damaged. `should_stop` is polled during the
/// work. Blocks the thread for as long as it takes to play the part.
pub fn cut(
    source: &Path,
    target: &Path,
    options: CutOptions,
    should_stop: &dyn Fn() -> bool,
) -> Result<Vec<DamagedSegment>, CutError> {
    let of_file = |error: FileError| match error {
        FileError::Io(error) if error.kind() == io::ErrorKind::AlreadyExists => CutError::Exists(target.to_owned()),
        error => CutError::File { path: target.to_owned(), error },
    };
    let mut past = Past::open(source)?;
    let mut segments = past.segments()?;
    segments.retain(|segment| segment.until >= options.time.from && segment.from <= options.time.to);
    if segments.is_empty() {
        return Err(CutError::NothingRecorded);
    }
    // Created first, so that on failure it is dropped, and deleted, after its writer.
    let file = NewFile::beside(target, &FILES_BESIDE).map_err(of_file)?;
    let heard_of = HeardOf::read(&mut past, &segments, options, should_stop)?;
    let cutter = Cutter {
        reader: SegmentReader::new(past),
        options,
        file: &file,
        target,
        should_stop,
        heard_of,
        written: None,
        flushed_at: Timestamp(i64::MIN),
        damaged: Vec::new(),
    };
    let damaged = cutter.all(&segments)?;
    file.put().map_err(of_file)?;
    Ok(damaged)
}

/// The most sessions and nodes that are collected; facts about others are left out.
const MAX_HEARD_OF: usize = 4 << 20;

/// The sessions and nodes that the entries of the excerpt mention; earlier facts about these belong
/// to it.
#[derive(Debug, Default)]
struct HeardOf {
    sessions: FxHashSet<SessionId>,
    /// The creating transactions of the nodes that are read.
    nodes: FxHashSet<Zxid>,
}

impl HeardOf {
    fn read(
        past: &mut Past,
        segments: &[SegmentInfo],
        options: CutOptions,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Self, CutError> {
        let mut heard_of = Self::default();
        for segment in segments {
            if should_stop() {
                return Err(CutError::Interrupted);
            }
            let entries = ReadError::skip_damage(past.entries(segment))?.unwrap_or_default();
            entries
                .iter()
                .filter(|timed| options.time.contains(timed.at))
                .for_each(|timed| heard_of.hear(&timed.entry));
        }
        Ok(heard_of)
    }

    fn hear(&mut self, entry: &StoreEntry<'_>) {
        let StoreEntry::Change(change) = entry else { return };
        match &**change {
            Change::Seen { node, .. } if self.nodes.len() < MAX_HEARD_OF => {
                self.sessions.extend(node.stat.ephemeral_owner);
                self.nodes.insert(node.stat.czxid);
            }
            Change::Surveyed { view } if self.sessions.len() < MAX_HEARD_OF => self.sessions.extend(view.sessions()),
            _ => {}
        }
    }

    /// Reduces a state to facts about the mentioned sessions and nodes, and removes data unless
    /// they are wanted.
    fn known(&self, mut state: RecordedState, with_data: bool) -> RecordedState {
        let shown: FxHashSet<SessionId> = state.table.view().sessions().collect();
        let session_stays = |session| self.sessions.contains(&session) || shown.contains(&session);
        state.table.forget_gone(session_stays, |created_by| self.nodes.contains(&created_by));
        if !with_data {
            state.table.forget_data();
        }
        state
    }
}

/// The excerpt written so far.
struct WrittenExcerpt {
    batches: BatchRecorder,
    writer: BatchWriter,
    excerpt: TableExcerpt,
    /// The state at `until`, without the facts that the excerpt leaves out.
    state: RecordedState,
    /// The time up to which the excerpt is written.
    until: Timestamp,
}

struct Cutter<'a> {
    reader: SegmentReader,
    options: CutOptions,
    file: &'a NewFile,
    target: &'a Path,
    should_stop: &'a dyn Fn() -> bool,
    heard_of: HeardOf,
    written: Option<WrittenExcerpt>,
    flushed_at: Timestamp,
    damaged: Vec<DamagedSegment>,
}

impl Cutter<'_> {
    fn all(mut self, segments: &[SegmentInfo]) -> Result<Vec<DamagedSegment>, CutError> {
        for segment in segments {
            self.segment(segment)?;
        }
        let TimeRange { from, to } = self.options.time;
        let gap = |DamagedSegment { segment, damage }: &DamagedSegment| GapRecord {
            id: 0,
            began_at: segment.from.max(from),
            ended_at: Some(segment.until.min(to)),
            reason: format!("the recording is damaged there: {damage}"),
        };
        let gaps = self.damaged.iter().map(gap).collect();
        let Some(WrittenExcerpt { mut batches, writer, mut excerpt, state, until }) = self.written else {
            let damaged = self.damaged.first();
            return Err(damaged.map_or(CutError::NothingRecorded, |damaged| CutError::Damaged(damaged.damage)));
        };
        add_others(&mut excerpt, &mut batches, to);
        batches.set_gaps(excerpt, gaps);
        writer.finish_alone(batches.end(until, &state.table), until)?;
        Ok(self.damaged)
    }

    /// Copies the part of a segment within the range.
    fn segment(&mut self, segment: &SegmentInfo) -> Result<(), CutError> {
        let CutOptions { time: TimeRange { from, to }, with_data } = self.options;
        let mut entries = match self.reader.read(segment, || ())? {
            SegmentRead::Begins { mut state, entries } => {
                let mut entries = entries.into_iter().peekable();
                while let Some(TimedEntry { at, entry }) = entries.next_if(|timed| timed.at < from) {
                    state.play(at, entry);
                }
                self.begin(segment, *state)?;
                entries
            }
            SegmentRead::Follows { state, entries } => {
                if let Some((state, written)) = state.zip(self.written.as_mut()) {
                    // The table is the one that was played, only smaller. Findings are recorded
                    // as they were, so the diagnosis stays.
                    written.state.table = self.heard_of.known(*state, with_data).table;
                }
                entries.into_iter().peekable()
            }
            SegmentRead::Damaged(damage @ SegmentDamage::NeedsMemory(_)) => return Err(CutError::NeedsMemory(damage)),
            SegmentRead::Damaged(damage) => {
                self.damaged.push(DamagedSegment { segment: *segment, damage });
                return Ok(());
            }
            SegmentRead::Deleted => return Ok(()),
        };
        let until = segment.until.min(to);
        entries.by_ref().take_while(|timed| timed.at <= until).try_for_each(|entry| self.entry(entry))?;
        if let Some(written) = &mut self.written {
            written.until = until;
        }
        Ok(())
    }

    /// Begins with a state, or continues with it after missing entries.
    fn begin(&mut self, segment: &SegmentInfo, state: RecordedState) -> Result<(), CutError> {
        let CutOptions { time: TimeRange { from, to }, with_data } = self.options;
        let at = segment.from.max(from);
        let connect = self.reader.past.connect(segment.run)?;
        let mut state = self.heard_of.known(state, with_data);
        if !with_data {
            // Earlier findings name clients by their data, so they are computed anew.
            state.diagnosis.examine(&state.table, at);
        }
        let no_data = !with_data;
        let source = self.reader.past.store.sql(|sql| tables::source_at(sql, at))?;
        let written = match self.written.take() {
            None => {
                let options =
                    RecordOptions { bounds: Bounds { keep: None, max_bytes: None }, with_data, group_reads: false };
                let mut writer = BatchWriter::create(self.file.temporary(), options)?;
                let mut batches = writer.recorder(&connect)?;
                let mut excerpt =
                    self.reader.past.store.sql(|sql| TableExcerpt::read(sql, TimeRange { from: at, to }))?;
                let tables = writer.sql(|sql| TableRecorder::of_excerpt(sql, no_data, &mut excerpt, &state, at))?;
                let tables = tables.of_source(source);
                batches.begin_with(&connect, tables, &state, at);
                WrittenExcerpt { batches, writer, excerpt, state, until: at }
            }
            Some(WrittenExcerpt { mut batches, mut writer, excerpt, state: before, until }) => {
                writer.finish(batches.end(until, &before.table), until)?;
                let tables = writer.sql(|sql| TableRecorder::resume_excerpt(sql, no_data, &state, at))?;
                let tables = tables.of_source(source);
                batches.begin_with(&connect, tables, &state, at);
                WrittenExcerpt { batches, writer, excerpt, state, until: at }
            }
        };
        let WrittenExcerpt { batches, writer, state, .. } = self.written.insert(written);
        // Writing a state takes memory, which is freed before the entries add to the state.
        _ = writer.write_batches(batches.take_batches(at, &state.table), at);
        self.flushed_at = at;
        Ok(())
    }

    fn entry(&mut self, TimedEntry { at, entry }: TimedEntry) -> Result<(), CutError> {
        let Some(WrittenExcerpt { batches, writer, excerpt, state, until }) = &mut self.written else { return Ok(()) };
        if at.since(self.flushed_at) >= FLUSH_INTERVAL {
            add_others(excerpt, batches, at);
            _ = writer.write_batches(batches.take_batches(*until, &state.table), *until);
            self.flushed_at = at;
            if let Some(reason) = writer.trouble() {
                return Err(CutError::NotWritten { path: self.target.to_owned(), reason: reason.to_owned() });
            }
            if (self.should_stop)() {
                return Err(CutError::Interrupted);
            }
        }
        let RecordedState { table, diagnosis } = state;
        match entry {
            StoreEntry::Change(change) => _ = batches.apply(change.into_owned(), at, table, diagnosis),
            StoreEntry::Examined => _ = batches.examine(at, table, diagnosis),
            StoreEntry::FindingsForgotten => _ = batches.forget_findings(at, table, diagnosis),
        }
        *until = at;
        Ok(())
    }
}

/// Adds what the stream lacks up to a time.
fn add_others(excerpt: &mut TableExcerpt, batches: &mut BatchRecorder, until: Timestamp) {
    excerpt.take_attempts(until).into_iter().for_each(|attempts| batches.attempted(attempts));
    excerpt.take_deletions(until).into_iter().for_each(|deletion| batches.deleted(deletion));
}
