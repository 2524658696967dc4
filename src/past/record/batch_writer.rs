//! Writes batches into the file of a recording, or into memory.
//!
//! Batches that cannot be written are kept, and tried again after growing pauses, until there are
//! too many of them. A file that was moved, removed or written by others is left, and another one
//! is begun. An earlier recording can be put before the beginning of one in memory.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io, thread};

use rusqlite::{Connection, params};

use super::batch::{Batch, WritePlace};
use super::batch_recorder::BatchRecorder;
use super::bounds::{Bounds, RecordOptions, SpaceKeeper, used_bytes};
use super::file_identity::{FileFate, FileId, beside, dated_beside};
use super::memory::RowMemory;
use super::parts;
use super::parts::{Rotation, parts_of};
use super::past::segment_info;
use super::store::{FILES_BESIDE, FileClaim, LeftFile, Store, StoreError};
use super::tables::{RowSource, TableRecorder, TableWriter};
use super::{Past, SegmentInfo, keyframe, store};
use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_model::report::rfc3339;

/// How the reason of a gap begins whose events were given up.
pub const NOT_WRITTEN: &str = "events could not be written";

/// The number of attempts to write the end of a recording, and the pause after each.
const LAST_TRIES: u32 = 5;

const LAST_PAUSE: Duration = Duration::from_millis(400);

/// Writes the batches of a [`BatchRecorder`]. All methods block the thread during disk access.
#[derive(Debug)]
pub struct BatchWriter {
    store: Store,
    /// Where the recording was begun, and is begun again.
    home: PathBuf,
    options: RecordOptions,
    space: SpaceKeeper,
    place: WritePlace,
    table_writer: TableWriter,
    unwritten: Unwritten,
    /// The time that the file covers; `None` while it is empty.
    recorded: Option<TimeRange>,
    /// The parts of the recording, where it has several.
    parts: Option<RecordedParts>,
    /// The file that went, until another one is begun.
    gone: Option<GoneFile>,
    /// What became of the file in the last round, as a sentence.
    file_news: Option<String>,
    /// How often the file went.
    files_gone: u64,
    has_lost: bool,
}

/// A recording in several files, of which the last one is written.
#[derive(Debug)]
struct RecordedParts {
    /// The path from which the names of the parts are made.
    path: PathBuf,
    rotation: Rotation,
    /// When the last part began.
    began: Timestamp,
    /// When another part could not be begun.
    failed_at: Option<Timestamp>,
}

/// The pause before it is tried again to begin another part.
const PART_RETRY: Duration = Duration::from_secs(60);

/// A file that is not written any more.
#[derive(Debug)]
struct GoneFile {
    path: PathBuf,
    fate: FileFate,
    /// The file, if the recording may go on in it.
    id: Option<FileId>,
    /// Whether the file has everything that was written into it.
    is_whole: bool,
    /// The beginning of the time that no file has for certain.
    from: Timestamp,
    /// What became of it, as a sentence.
    sentence: String,
    /// The name of the file that follows where the path is taken.
    sibling: Option<PathBuf>,
}

/// Batches that were given up.
#[derive(Clone, Debug)]
pub struct LostBatches {
    /// The beginning of the time that is lost.
    pub from: Timestamp,
    /// The reason, as a part of a sentence.
    pub reason: String,
    /// The tables as they are in the file; `None` when they cannot be read.
    pub tables: Option<TableRecorder>,
}

impl BatchWriter {
    /// Begins or continues a recording.
    pub fn create(path: &Path, options: RecordOptions) -> Result<Self, StoreError> {
        Self::new(Store::create(path, options.group_reads)?, options)
    }

    /// Begins a recording in an empty file that nobody reads before
    /// [`finish_alone`](Self::finish_alone), and that is lost with the program.
    pub(crate) fn create_alone(path: &Path, options: RecordOptions) -> Result<Self, StoreError> {
        let mut writer = Self::create(path, options)?;
        writer.sql(|sql| store::write_alone(sql))?;
        writer.store.is_for_nobody_else();
        Ok(writer)
    }

    /// Begins a recording in memory, which ends with the program.
    pub fn in_memory(options: RecordOptions) -> Result<Self, StoreError> {
        Self::new(Store::in_memory()?, options)
    }

    fn new(mut store: Store, options: RecordOptions) -> Result<Self, StoreError> {
        let place = store.sql(|sql| WritePlace::at_end(sql))?;
        let space = SpaceKeeper::new(options.bounds, store.is_in_memory());
        store.sql(|sql| space.limit(sql))?;
        store.sql(|sql| store::set_cache(sql, options.bounds.max_bytes))?;
        let recorded = store.sql(|sql| recorded(sql))?;
        Ok(Self {
            home: store.path().to_owned(),
            store,
            options,
            space,
            place,
            table_writer: TableWriter::default(),
            unwritten: Unwritten::default(),
            recorded,
            parts: None,
            gone: None,
            file_news: None,
            files_gone: 0,
            has_lost: false,
        })
    }

    /// Creates the recorder for this writer and one ensemble, given by its servers and chroot.
    pub fn recorder(&mut self, connect: &str) -> Result<BatchRecorder, StoreError> {
        self.recorder_of(connect, RowSource::Watched)
    }

    /// Creates a recorder like [`recorder`](Self::recorder), for changes from elsewhere.
    pub(crate) fn recorder_of(&mut self, connect: &str, source: RowSource) -> Result<BatchRecorder, StoreError> {
        let tables = self.tables()?.of_source(Some(source));
        Ok(BatchRecorder::new(connect, tables, self.space.segment_bounds(), self.options.with_data))
    }

    /// Resumes the tables from the rows in the file.
    pub(super) fn tables(&mut self) -> Result<TableRecorder, StoreError> {
        let (with_data, in_memory) = (self.options.with_data, self.store.is_in_memory());
        let tables = self.store.sql(|sql| TableRecorder::resume(sql, !with_data))?;
        // A replay within the program reads the segments, not the tables.
        Ok(if in_memory { tables.without_contenders() } else { tables })
    }

    /// Returns the largest size of the file or of the memory, in bytes.
    fn most_bytes(&self) -> Option<u64> {
        self.space.most_bytes()
    }

    /// Runs `act` on the connection to the file.
    pub(super) fn sql<T>(&mut self, act: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.store.sql(act)
    }

    /// Opens the written part for reading.
    pub fn past(&self) -> Result<Past, StoreError> {
        Past::of(&self.store)
    }

    /// Sets how long to wait for another program that has the file locked.
    #[cfg(test)]
    pub(super) fn wait_at_most(&mut self, time: Duration) {
        self.store.sql(|sql| sql.busy_timeout(time)).expect("a connection");
    }

    /// Takes batches, oldest first, and writes as much as possible. The rest is kept and retried
    /// with growing pauses. When too much is kept, all of it is lost and returned as such; so is
    /// what a file had that is gone. Looks at the file first, which costs a few system calls.
    pub fn write_batches(&mut self, batches: Vec<Batch>, now: Timestamp) -> Option<LostBatches> {
        self.unwritten.extend(batches);
        self.file_news = None;
        self.leave_foreign_file(now);
        if self.gone.is_some() {
            return self.begin_again(now);
        }
        if !self.unwritten.is_empty() && self.unwritten.is_due(now) {
            let written = self.write(now);
            self.unwritten.tried(written, now);
        }
        if !self.unwritten.is_too_much() {
            return None;
        }
        let reason = format!("{NOT_WRITTEN}: {}", self.trouble().unwrap_or_default());
        // The rows are lost too, so the tables continue from those in the file.
        Some(LostBatches { from: self.unwritten.clear(), reason, tables: self.tables().ok() })
    }

    /// Writes the last batches. Fails when they cannot be written within two seconds. A file that is
    /// gone by then is no failure: see [`file_news`](Self::file_news).
    pub fn finish(&mut self, batches: Vec<Batch>, now: Timestamp) -> Result<(), StoreError> {
        self.unwritten.extend(batches);
        self.file_news = None;
        self.leave_foreign_file(now);
        for tried in 1..=LAST_TRIES {
            if self.gone.is_some() {
                break;
            }
            match self.write(now) {
                Ok(()) => break,
                Err(error) if tried == LAST_TRIES => return Err(error),
                Err(_) => thread::sleep(LAST_PAUSE),
            }
        }
        self.leave_foreign_file(now);
        Ok(())
    }

    /// Writes the last batches. The result is one file that needs no files beside it. Returns the
    /// numbers of contenders that held, and of those that did not.
    pub(crate) fn finish_alone(mut self, batches: Vec<Batch>, now: Timestamp) -> Result<(u64, u64), StoreError> {
        self.finish(batches, now)?;
        self.sql(|sql| {
            store::complete_alone(sql)?;
            sql.query_row(
                "SELECT count(acquired_before), count(*) - count(acquired_before) FROM contender",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        })
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        self.store.path()
    }

    /// Returns the reason why nothing is written at the moment, as a sentence.
    pub fn trouble(&self) -> Option<&str> {
        self.file_news().or(self.unwritten.trouble())
    }

    /// Writes the batches one by one, until one fails.
    fn write(&mut self, now: Timestamp) -> Result<(), StoreError> {
        while let Some(batch) = self.unwritten.first() {
            if let Some(from) = batch.take_new_part() {
                self.begin_part(from, now);
                continue;
            }
            let has_ended = batch.ends;
            self.store.sql(|_| batch.pack())?;
            let bytes = batch.bytes();
            while let Err(error) = self.space.make_room(&mut self.store, bytes) {
                if !matches!(error, StoreError::NoRoom { .. }) || !self.keep(now, true)? {
                    return Err(error);
                }
            }
            let mut written = self.add_first();
            while written.as_ref().is_err_and(StoreError::is_full) && self.keep(now, true)? {
                written = self.add_first();
            }
            self.place = written?;
            let until = self.unwritten.first().map(|batch| batch.until);
            self.recorded = self.recorded.zip(until).map(|(known, to)| TimeRange { to: known.to.max(to), ..known });
            self.unwritten.written();
            if self.recorded.is_none() {
                self.recorded = self.store.sql(|sql| recorded(sql))?;
            }
            if has_ended {
                self.keep(now, false)?;
                self.keep_parts(now);
            }
            self.store.remember()?;
        }
        Ok(())
    }

    /// Adds the oldest batch to the file. Returns the place of the next one.
    fn add_first(&mut self) -> Result<WritePlace, StoreError> {
        match self.unwritten.first() {
            Some(batch) => add(&mut self.store, self.place, &mut self.table_writer, batch),
            None => Ok(self.place),
        }
    }

    /// Deletes what is too old or too much; when the file is full, always the oldest. Returns
    /// whether something was deleted.
    fn keep(&mut self, now: Timestamp, is_full: bool) -> Result<bool, StoreError> {
        let space = self.space;
        let deleted = self.store.sql(|sql| space.keep(sql, now, is_full))?;
        if deleted {
            self.table_writer.start_over();
            self.recorded = self.store.sql(|sql| recorded(sql))?;
        }
        Ok(deleted)
    }
}

impl BatchWriter {
    /// Returns what became of the file in the last round, if it went, as a sentence.
    pub fn file_news(&self) -> Option<&str> {
        self.file_news.as_deref()
    }

    /// Returns how often the file went and another one was begun.
    pub fn files_gone(&self) -> u64 {
        self.files_gone
    }

    /// Returns whether a part of what was recorded is in no file any more.
    pub fn has_lost(&self) -> bool {
        self.has_lost
    }

    /// Returns whether the file is not ours any more. Its readers in this process must close it
    /// before the next write, because `SQLite` shares what it knows of a file within a process.
    pub fn is_file_gone(&mut self) -> bool {
        self.gone.is_some() || self.store.look().is_some()
    }

    /// Leaves a file that is not ours any more. What waits is written into one that was moved.
    fn leave_foreign_file(&mut self, now: Timestamp) {
        if self.gone.is_some() {
            return;
        }
        let Some(fate) = self.store.look() else { return };
        let is_written = matches!(fate, FileFate::Moved | FileFate::LogRemoved) && self.write(now).is_ok();
        let path = self.store.path().to_owned();
        let left = self.store.leave(fate);
        let error = left.as_ref().err().map(ToString::to_string);
        let left = left.unwrap_or(LeftFile { id: None, is_whole: false, kept_log: None });
        let is_whole = left.is_whole && (fate.leaves_the_file() || is_written || self.unwritten.is_empty());
        let known = self.recorded.take();
        let mut sentence = what_became(&path, fate, is_whole, known);
        if let Some(log) = &left.kept_log {
            sentence.extend(["; its write-ahead log is kept as ".to_owned(), log.display().to_string()]);
        }
        sentence.extend(error.map(|error| format!("; {error}")));
        self.has_lost |= !is_whole && known.is_some();
        self.files_gone += 1;
        let from = known.map_or(now, |known| if is_whole { known.to } else { known.from });
        let id = left.id.filter(|_| fate.leaves_the_file());
        self.file_news = Some(sentence.clone());
        self.gone = Some(GoneFile { path, fate, id, is_whole, from, sentence, sibling: None });
    }

    /// Goes on in the same file, if only its log went; else in a new file at the same path, or beside
    /// it where the path is taken. Nothing is missing in a file that is whole; for another one, what
    /// waits is lost.
    fn begin_again(&mut self, now: Timestamp) -> Option<LostBatches> {
        let mut gone = self.gone.take()?;
        let next = match self.next_file(&mut gone, now) {
            Ok(next) => next,
            Err(error) => {
                self.unwritten = Unwritten::default();
                self.file_news = Some(format!("{}; nothing is written until this is mended: {error}", gone.sentence));
                (self.has_lost, self.gone) = (true, Some(GoneFile { is_whole: false, ..gone }));
                return None;
            }
        };
        let goes_on = gone.is_whole && next.store.path() == gone.path && gone.id.is_some();
        let file_news = Some(format!("{}; recording goes on in {}", gone.sentence, next.store.path().display()));
        let (files_gone, mut has_lost, parts) = (self.files_gone, self.has_lost, self.parts.take());
        has_lost |= !goes_on && gone.fate.leaves_the_file();
        let (home, unwritten, place) =
            (std::mem::take(&mut self.home), std::mem::take(&mut self.unwritten), self.place);
        *self = Self { home, parts, file_news, files_gone, has_lost, ..next };
        if goes_on {
            (self.unwritten, self.place) = (unwritten, place);
            return None;
        }
        Some(LostBatches { from: gone.from, reason: reason(gone.fate).to_owned(), tables: self.tables().ok() })
    }

    fn next_file(&self, gone: &mut GoneFile, now: Timestamp) -> Result<Self, StoreError> {
        let claim = |path: &Path, claim| Self::new(Store::claim(path, self.options.group_reads, claim)?, self.options);
        if let Some(id) = gone.id {
            match claim(&gone.path, FileClaim::Same(id)) {
                Err(StoreError::Taken(_)) => gone.id = None,
                same => return same,
            }
        }
        match claim(&self.home, FileClaim::Empty) {
            // Something is there that is not ours.
            Err(_) if FileId::at(&self.home).is_ok_and(|at| at.is_some()) => {}
            begun => return begun,
        }
        let of_home = |error: std::io::Error| StoreError::File { path: self.home.clone(), error: error.into() };
        let sibling = if let Some(sibling) = gone.sibling.take() {
            sibling
        } else {
            let path = self.parts.as_ref().map_or(&self.home, |parts| &parts.path);
            dated_beside(path, now).map_err(of_home)?
        };
        let begun = claim(&sibling, FileClaim::Empty);
        gone.sibling = Some(sibling);
        begun
    }
}

impl BatchWriter {
    /// Begins or continues a recording in several files. Goes on with the last one, unless its period
    /// is over.
    pub(super) fn create_in_parts(
        path: &Path,
        options: RecordOptions,
        rotation: Rotation,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let of_path = |error: io::Error| StoreError::File { path: path.to_owned(), error: error.into() };
        let parts = RecordedParts { path: path.to_owned(), rotation, began: now, failed_at: None };
        let last = match parts_of(path).map_err(of_path)?.pop() {
            Some(last) => last,
            None => dated_beside(path, now).map_err(of_path)?,
        };
        let mut writer = Self::create(&last, options)?;
        let began = writer.recorded.map_or(now, |recorded| recorded.from);
        writer.parts = Some(RecordedParts { began, ..parts });
        if writer.is_part_over(now) {
            writer.begin_part(now, now);
        }
        writer.keep_parts(now);
        Ok(writer)
    }

    /// Returns whether another part of the recording is to be begun.
    pub(super) fn is_part_over(&mut self, now: Timestamp) -> bool {
        let Some(RecordedParts { rotation, began, failed_at, .. }) = self.parts else { return false };
        let pauses = failed_at.is_some_and(|failed| now.since(failed) < PART_RETRY);
        let bytes = self.store.sql(|sql| used_bytes(sql)).unwrap_or(0) + self.store.log_bytes();
        // What waits may begin a part already.
        !pauses && self.gone.is_none() && self.unwritten.is_empty() && rotation.is_due(began, bytes, now)
    }

    /// Goes on in another file, which begins at `from`. Where that is not possible, it is said, and the
    /// file is written as before.
    fn begin_part(&mut self, from: Timestamp, now: Timestamp) {
        let Some(parts) = &self.parts else { return };
        let begun = dated_beside(&parts.path, from)
            .map_err(|error| StoreError::File { path: parts.path.clone(), error: error.into() })
            .and_then(|path| self.next_part(&path, now));
        match begun {
            Ok(next) => {
                let parts = self.parts.take().map(|parts| RecordedParts { began: from, failed_at: None, ..parts });
                let (unwritten, file_news) = (std::mem::take(&mut self.unwritten), self.file_news.take());
                let (files_gone, has_lost) = (self.files_gone, self.has_lost);
                *self = Self { unwritten, parts, file_news, files_gone, has_lost, ..next };
            }
            Err(error) => {
                let news =
                    format!("{}: the next file cannot be begun, so this one goes on: {error}", self.path().display());
                self.file_news = Some(news);
                self.parts.iter_mut().for_each(|parts| parts.failed_at = Some(now));
            }
        }
    }

    fn next_part(&self, path: &Path, now: Timestamp) -> Result<Self, StoreError> {
        let mut store = Store::claim(path, self.options.group_reads, FileClaim::Empty)?;
        let begun = parts::carry_over(self.path(), &mut store, now).and_then(|()| Self::new(store, self.options));
        if begun.is_err() {
            // Nothing but the rows of the part before is in it.
            FILES_BESIDE.into_iter().map(|end| beside(path, end)).chain([path.to_owned()]).for_each(|path| {
                _ = fs::remove_file(path);
            });
        }
        begun
    }

    /// Deletes the oldest parts while they are too old, or all of them are too large together. Leaves a
    /// file alone that is no recording, or that another program writes.
    fn keep_parts(&self, now: Timestamp) {
        let (Some(RecordedParts { path, .. }), Bounds { keep, max_bytes }) = (&self.parts, self.options.bounds) else {
            return;
        };
        let parts = parts_of(path).unwrap_or_default();
        let size = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
        let mut bytes: u64 = parts.iter().map(|part| size(part)).sum();
        for (part, next) in parts.iter().zip(parts.iter().skip(1)).take_while(|(part, _)| *part != self.path()) {
            // Each part ends where the next one begins.
            let is_old = parts::begin_of(path, next).zip(keep).is_some_and(|(until, keep)| now.since(until) > keep);
            if !is_old && max_bytes.is_none_or(|most| bytes <= most) {
                return;
            }
            let part_bytes = size(part);
            if store::delete_unused(part) {
                bytes = bytes.saturating_sub(part_bytes);
            }
        }
    }
}

/// Returns the time that a file covers; `None` when it is empty.
fn recorded(sql: &Connection) -> rusqlite::Result<Option<TimeRange>> {
    sql.query_row("SELECT min(from_ms), max(until_ms) FROM segment", [], |row| {
        let (from, to): (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
        Ok(from.zip(to).map(|(from, to)| TimeRange { from: Timestamp(from), to: Timestamp(to) }))
    })
}

/// Returns what became of a file and of the time that it covered, as a sentence.
fn what_became(path: &Path, fate: FileFate, is_whole: bool, recorded: Option<TimeRange>) -> String {
    let time = |at: Timestamp| rfc3339(at).unwrap_or_default();
    let covered = recorded.map_or_else(
        || "nothing".to_owned(),
        |recorded| format!("what was recorded from {} to {}", time(recorded.from), time(recorded.to)),
    );
    let became = match (fate, is_whole) {
        (FileFate::Moved, true) => format!("{covered} is in the file that was moved"),
        (FileFate::Moved, false) => format!("a part of {covered} may be missing in the file that was moved"),
        (FileFate::Removed, _) => format!("{covered} is lost, unless there is a copy"),
        (FileFate::Overwritten, _) => format!("{covered} is lost"),
        (FileFate::LogRemoved | FileFate::IndexTruncated | FileFate::LogTruncated, true) => {
            format!("{covered} is in the file")
        }
        (FileFate::LogRemoved | FileFate::IndexTruncated | FileFate::LogTruncated, false) => {
            format!("the end of {covered} is lost")
        }
    };
    format!("{}: {}: {became}", path.display(), reason(fate))
}

/// Returns why entries are missing, as a part of a sentence.
fn reason(fate: FileFate) -> &'static str {
    match fate {
        FileFate::Moved => "the file of the recording was moved away",
        FileFate::Removed => "the file of the recording was removed",
        FileFate::Overwritten => "the file of the recording was truncated or overwritten",
        FileFate::LogRemoved => "the write-ahead log of the recording or its index was removed",
        FileFate::LogTruncated => "the write-ahead log of the recording was truncated",
        FileFate::IndexTruncated => "the index of the recording's write-ahead log was truncated",
    }
}

/// Adds a batch to the file in one transaction. Returns the place of the next batch.
fn add(
    store: &mut Store,
    mut place: WritePlace,
    tables: &mut TableWriter,
    batch: &Batch,
) -> Result<WritePlace, StoreError> {
    let added = store.sql(|sql| {
        let transaction = sql.transaction()?;
        place.add(&transaction, batch)?;
        tables.write(&transaction, &batch.rows)?;
        transaction.commit()
    });
    if added.is_err() {
        tables.start_over();
    }
    added.map(|()| place)
}

/// The most bytes kept while the disk accepts no writes, besides the first keyframe among them.
const MAX_BYTES: u64 = 16 << 20;

/// The first and the longest pause after a failed write.
const MIN_PAUSE: Duration = Duration::from_secs(1);

const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Batches that are not in the file yet, oldest first.
#[derive(Debug, Default)]
struct Unwritten {
    batches: VecDeque<Batch>,
    trouble: Option<String>,
    pause: Duration,
    try_at: Timestamp,
}

impl Unwritten {
    /// Adds batches, oldest first.
    pub fn extend(&mut self, batches: Vec<Batch>) {
        self.batches.extend(batches);
    }

    /// Returns the oldest batch.
    pub fn first(&mut self) -> Option<&mut Batch> {
        self.batches.front_mut()
    }

    /// Removes the oldest batch, which is in the file now.
    pub fn written(&mut self) {
        self.batches.pop_front();
    }

    /// Returns whether everything is in the file.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Returns whether it is time to write or to try again.
    pub fn is_due(&self, now: Timestamp) -> bool {
        // A clock that was set back does not prolong the pause.
        now >= self.try_at || self.try_at.since(now) > MAX_PAUSE
    }

    /// Returns the error of the last attempt.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Returns whether more is queued than may be kept.
    pub fn is_too_much(&self) -> bool {
        let first = self.batches.iter().map(Batch::keyframe_bytes).find(|bytes| *bytes > 0).unwrap_or(0);
        self.trouble.is_some() && self.batches.iter().map(Batch::bytes).sum::<u64>() > MAX_BYTES + first
    }

    /// Records the outcome of an attempt.
    pub fn tried(&mut self, outcome: Result<(), StoreError>, now: Timestamp) {
        match outcome {
            Ok(()) => (self.trouble, self.pause) = (None, Duration::ZERO),
            Err(error) => {
                self.trouble = Some(error.to_string());
                self.pause = (self.pause * 2).clamp(MIN_PAUSE, MAX_PAUSE);
            }
        }
        self.try_at = Timestamp(now.0.saturating_add(i64::try_from(self.pause.as_millis()).unwrap_or(i64::MAX)));
    }

    /// Drops all batches. Returns the time from which they were lost.
    pub fn clear(&mut self) -> Timestamp {
        let from = self.batches.front().map(|batch| batch.begins.as_ref().map_or(batch.until, |start| start.from));
        self.batches.clear();
        from.unwrap_or_default()
    }
}

impl BatchWriter {
    /// Puts the segments of another recording before the first one, with their gaps, findings and
    /// activity. Takes the latest ones that fit into three quarters of the bound, and none that
    /// ends after the beginning. Returns the new beginning, if anything was taken. Blocks the
    /// thread for as long as reading takes.
    ///
    /// Segments are read in the order of their ids, so earlier ones need smaller ids: each gets the
    /// smallest id minus one. For example, before segment 1 the segments 7, 6 and 5 of a file
    /// become 0, -1 and -2. Rows get such ids too, which no recorder gives. Segments come first,
    /// the latest of them first, because they decide how far back the rows are taken.
    pub fn prepend(&mut self, earlier: &Path) -> Result<Option<Timestamp>, StoreError> {
        let mut earlier = Store::open(earlier)?;
        let bound = self.most_bytes().map_or(u64::MAX, |most| most / 4 * 3);
        let first = "SELECT ifnull(min(from_ms), 9223372036854775807) FROM segment";
        let until: i64 = self.sql(|sql| sql.query_row(first, [], |row| row.get(0)))?;
        let mut began = None;
        for segment in earlier.sql(|sql| segments(sql, until))? {
            let (keyframe_bytes, chunks) =
                earlier.sql(|sql| Ok((keyframe::bytes(sql, segment.id)?, chunks(sql, segment.id)?)))?;
            let bytes = keyframe_bytes + chunks.iter().map(|(_, entries)| entries.len() as u64).sum::<u64>();
            let fits = self.sql(|sql| Ok(used_bytes(sql)? + bytes <= bound))?;
            if !fits {
                break;
            }
            let connect = earlier.sql(|sql| {
                let query = "SELECT ifnull((SELECT connect FROM run WHERE id = ?1), '')";
                sql.query_row(query, [segment.run], |row| row.get::<_, String>(0))
            })?;
            earlier.sql(|earlier| Ok(self.sql(|sql| put_first(sql, &segment, &connect, earlier, &chunks))))??;
            began = Some(segment.from.0);
        }
        if let Some(began) = began {
            copy(&mut earlier, self, "gap", &["began_at", "ended_at", "reason"], "began_at", (began, until))?;
            let event = [
                "what",
                "member",
                "epoch",
                "began_after",
                "began_before",
                "ended_after",
                "ended_before",
                "detail",
                "source",
            ];
            copy(&mut earlier, self, "ensemble_event", &event, "began_before", (began, until))?;
            copy(&mut earlier, self, "activity", &["until_at", "events"], "until_at", (began, until))?;
            self.copy_findings(&mut earlier, (began, until))?;
        }
        Ok(began.map(Timestamp))
    }

    fn copy_findings(&mut self, earlier: &mut Store, time: (i64, i64)) -> Result<(), StoreError> {
        let locks = ["path", "name", "recipe", "kind"];
        // A lock has no time, so all of them are copied. Their ids differ in both files, so
        // findings find their lock by its path and name.
        copy(earlier, self, "lock", &locks, "1", (1, 1))?;
        let columns = ["session", "node", "code", "severity", "raised_at", "cleared_at", "ending", "summary", "remedy"];
        let named = columns.join(", ");
        let select = format!(
            "SELECT lock.path, lock.name, {named} FROM finding JOIN lock ON lock.id = lock_id WHERE raised_at BETWEEN ?1 AND ?2"
        );
        let rows = earlier.sql(|sql| values(sql, &select, columns.len() + 2, time))?;
        let insert = format!(
            "INSERT INTO finding (id, lock_id, {named}) SELECT (SELECT ifnull(min(id), 1) - 1 FROM finding), id,
                ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
             FROM lock WHERE path = ?1 AND ifnull(name, x'') = ifnull(?2, x'')"
        );
        self.sql(|sql| {
            let mut insert = sql.prepare(&insert)?;
            rows.into_iter().try_for_each(|row| insert.execute(rusqlite::params_from_iter(row)).map(drop))
        })
    }
}

/// Returns the segments that end by a time, the latest first.
fn segments(sql: &Connection, until: i64) -> rusqlite::Result<Vec<SegmentInfo>> {
    let query = "SELECT id, run, from_ms, until_ms, entries FROM segment WHERE until_ms <= ?1 ORDER BY id DESC";
    sql.prepare(query)?.query_map([until], segment_info)?.collect()
}

type Chunks = Vec<(i64, Vec<u8>)>;

fn chunks(sql: &Connection, segment: i64) -> rusqlite::Result<Chunks> {
    let mut chunks = sql.prepare_cached("SELECT number, entries FROM chunk WHERE segment = ?1 ORDER BY number")?;
    chunks.query_map([segment], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Inserts a segment with the smallest id. Its run has the id of the run in the other recording,
/// below those of this one.
fn put_first(
    sql: &mut Connection,
    segment: &SegmentInfo,
    connect: &str,
    earlier: &Connection,
    chunks: &Chunks,
) -> rusqlite::Result<()> {
    let transaction = sql.transaction()?;
    let run = segment.run.saturating_sub(i64::from(u32::MAX));
    let version = env!("CARGO_PKG_VERSION");
    transaction.execute(
        "INSERT OR IGNORE INTO run (id, connect, version) VALUES (?1, ?2, ?3)",
        params![run, connect, version],
    )?;
    transaction.execute(
        "INSERT INTO segment (id, run, from_ms, until_ms, entries)
         VALUES ((SELECT ifnull(min(id), 1) - 1 FROM segment), ?1, ?2, ?3, ?4)",
        params![run, segment.from.0, segment.until.0, segment.entries],
    )?;
    let id = transaction.last_insert_rowid();
    keyframe::copy(earlier, segment.id, &transaction, id)?;
    for (number, entries) in chunks {
        let insert = "INSERT INTO chunk (segment, number, entries) VALUES (?1, ?2, ?3)";
        transaction.execute(insert, params![id, number, entries])?;
    }
    transaction.commit()
}

/// Copies the rows of a table whose `by`, a column or a constant, lies within a time. Rows that
/// exist already are kept.
fn copy(
    from: &mut Store,
    to: &mut BatchWriter,
    table: &str,
    columns: &[&str],
    by: &str,
    time: (i64, i64),
) -> Result<(), StoreError> {
    let copied = columns.join(", ");
    let select = format!("SELECT {copied} FROM {table} WHERE {by} BETWEEN ?1 AND ?2");
    let rows = from.sql(|sql| values(sql, &select, columns.len(), time))?;
    let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
    let id = format!("(SELECT ifnull(min(id), 1) - 1 FROM {table})");
    let (id, named) = if table == "activity" { (String::new(), copied) } else { (id + ", ", format!("id, {copied}")) };
    let insert = format!("INSERT OR IGNORE INTO {table} ({named}) VALUES ({id}{})", places.join(", "));
    to.sql(|sql| {
        let mut insert = sql.prepare(&insert)?;
        rows.into_iter().try_for_each(|row| insert.execute(rusqlite::params_from_iter(row)).map(drop))
    })
}

type Values = Vec<rusqlite::types::Value>;

fn values(sql: &Connection, select: &str, columns: usize, time: (i64, i64)) -> rusqlite::Result<Vec<Values>> {
    let memory = RowMemory::default();
    let row = |row: &rusqlite::Row<'_>| {
        memory.charge(row)?;
        (0..columns).map(|at| row.get(at)).collect::<rusqlite::Result<Values>>()
    };
    sql.prepare(select)?.query_map(params![time.0, time.1], row)?.collect()
}
