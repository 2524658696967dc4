//! Writes batches into the file of a recording, or into memory.
//!
//! Batches that cannot be written are kept, and tried again after growing pauses, until there are
//! too many of them. An earlier recording can be put before the beginning of one in memory.

use std::collections::VecDeque;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, params};

use super::batch::{Batch, WritePlace};
use super::batch_recorder::BatchRecorder;
use super::bounds::{RecordOptions, SpaceKeeper, used_bytes};
use super::memory::RowMemory;
use super::past::segment_info;
use super::store::{Store, StoreError};
use super::tables::{RowSource, TableRecorder, TableWriter};
use super::{Past, SegmentInfo, store};
use lockscope_base::znode::Timestamp;

/// The number of attempts to write the end of a recording, and the pause after each.
const LAST_TRIES: u32 = 5;

const LAST_PAUSE: Duration = Duration::from_millis(400);

/// Writes the batches of a [`BatchRecorder`]. All methods block the thread during disk access.
#[derive(Debug)]
pub struct BatchWriter {
    store: Store,
    with_data: bool,
    space: SpaceKeeper,
    place: WritePlace,
    table_writer: TableWriter,
    unwritten: Unwritten,
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
        let (table_writer, unwritten) = (TableWriter::default(), Unwritten::default());
        Ok(Self { store, with_data: options.with_data, space, place, table_writer, unwritten })
    }

    /// Creates the recorder for this writer and one ensemble, given by its servers and chroot.
    pub fn recorder(&mut self, connect: &str) -> Result<BatchRecorder, StoreError> {
        self.recorder_of(connect, RowSource::Watched)
    }

    /// Creates a recorder like [`recorder`](Self::recorder), for changes from elsewhere.
    pub(crate) fn recorder_of(&mut self, connect: &str, source: RowSource) -> Result<BatchRecorder, StoreError> {
        let tables = self.tables()?.of_source(source);
        Ok(BatchRecorder::new(connect, tables, self.space.segment_bounds(), self.with_data))
    }

    /// Resumes the tables from the rows in the file.
    pub(super) fn tables(&mut self) -> Result<TableRecorder, StoreError> {
        let (with_data, in_memory) = (self.with_data, self.store.is_in_memory());
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
    /// with growing pauses. When too much is kept, all of it is lost and returned as such.
    pub fn write_batches(&mut self, batches: Vec<Batch>, now: Timestamp) -> Option<LostBatches> {
        self.unwritten.extend(batches);
        if !self.unwritten.is_empty() && self.unwritten.is_due(now) {
            let written = self.write(now);
            self.unwritten.tried(written, now);
        }
        if !self.unwritten.is_too_much() {
            return None;
        }
        let reason = format!("events could not be written: {}", self.trouble().unwrap_or_default());
        // The rows are lost too, so the tables continue from those in the file.
        Some(LostBatches { from: self.unwritten.clear(), reason, tables: self.tables().ok() })
    }

    /// Writes the last batches. Fails when they cannot be written within two seconds.
    pub fn finish(&mut self, batches: Vec<Batch>, now: Timestamp) -> Result<(), StoreError> {
        self.unwritten.extend(batches);
        for _ in 1..LAST_TRIES {
            if self.write(now).is_ok() {
                return Ok(());
            }
            thread::sleep(LAST_PAUSE);
        }
        self.write(now)
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

    /// Returns the reason why nothing is written at the moment, as a sentence.
    pub fn trouble(&self) -> Option<&str> {
        self.unwritten.trouble()
    }

    /// Writes the batches one by one, until one fails.
    fn write(&mut self, now: Timestamp) -> Result<(), StoreError> {
        while let Some(batch) = self.unwritten.first() {
            let has_ended = batch.ends;
            if !batch.can_be_read() {
                return Err(StoreError::TooManyLocks(self.store.path().to_owned()));
            }
            self.store.sql(|_| batch.pack())?;
            self.space.make_room(&mut self.store, batch.bytes())?;
            let mut written = add(&mut self.store, self.place, &mut self.table_writer, batch);
            if written.as_ref().is_err_and(StoreError::is_full) && self.keep(now, true)? {
                let Some(batch) = self.unwritten.first() else { return Ok(()) };
                written = add(&mut self.store, self.place, &mut self.table_writer, batch);
            }
            self.place = written?;
            self.unwritten.written();
            if has_ended {
                self.keep(now, false)?;
            }
        }
        Ok(())
    }

    /// Deletes what is too old or too much; when the file is full, always the oldest. Returns
    /// whether something was deleted.
    fn keep(&mut self, now: Timestamp, is_full: bool) -> Result<bool, StoreError> {
        let space = self.space;
        let deleted = self.store.sql(|sql| space.keep(sql, now, is_full))?;
        if deleted {
            self.table_writer.start_over();
        }
        Ok(deleted)
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

/// The most bytes kept while the disk accepts no writes.
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
        self.trouble.is_some() && self.batches.iter().map(Batch::bytes).sum::<u64>() > MAX_BYTES
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
            let (keyframe, chunks) = earlier.sql(|sql| content(sql, segment.id))?;
            let bytes = keyframe.len() + chunks.iter().map(|(_, entries)| entries.len()).sum::<usize>();
            let fits = self.sql(|sql| Ok(used_bytes(sql)? + bytes as u64 <= bound))?;
            if !fits {
                break;
            }
            let connect = earlier.sql(|sql| {
                let query = "SELECT ifnull((SELECT connect FROM run WHERE id = ?1), '')";
                sql.query_row(query, [segment.run], |row| row.get::<_, String>(0))
            })?;
            self.sql(|sql| put_first(sql, &segment, &connect, &keyframe, &chunks))?;
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

fn content(sql: &Connection, segment: i64) -> rusqlite::Result<(Vec<u8>, Chunks)> {
    let keyframe = sql.query_row("SELECT state FROM keyframe WHERE segment = ?1", [segment], |row| row.get(0))?;
    let mut chunks = sql.prepare_cached("SELECT number, entries FROM chunk WHERE segment = ?1 ORDER BY number")?;
    let chunks = chunks.query_map([segment], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    Ok((keyframe, chunks))
}

/// Inserts a segment with the smallest id. Its run has the id of the run in the other recording,
/// below those of this one.
fn put_first(
    sql: &mut Connection,
    segment: &SegmentInfo,
    connect: &str,
    keyframe: &[u8],
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
    transaction.execute("INSERT INTO keyframe (segment, state) VALUES (?1, ?2)", params![id, keyframe])?;
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
