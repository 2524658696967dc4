//! Writes batches into the file of a recording, or into memory.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use super::Past;
use super::batch_recorder::BatchRecorder;
use super::bounds::{RecordOptions, SpaceKeeper};
use super::schema;
use super::store::{Store, StoreError};
use super::tables::{Source, TableRecorder, TableWriter};
use super::unwritten::Unwritten;
use super::writer::{Batch, WritePlace};
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
        writer.sql(|sql| schema::write_alone(sql))?;
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
        store.sql(|sql| schema::set_cache(sql, options.bounds.max_bytes))?;
        let (table_writer, unwritten) = (TableWriter::default(), Unwritten::default());
        Ok(Self { store, with_data: options.with_data, space, place, table_writer, unwritten })
    }

    /// Creates the recorder for this writer and one ensemble, given by its servers and chroot.
    pub fn recorder(&mut self, connect: &str) -> Result<BatchRecorder, StoreError> {
        self.recorder_of(connect, Source::Watched)
    }

    /// Creates a recorder like [`recorder`](Self::recorder), for changes from elsewhere.
    pub(crate) fn recorder_of(&mut self, connect: &str, source: Source) -> Result<BatchRecorder, StoreError> {
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
    pub(super) fn most_bytes(&self) -> Option<u64> {
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
            schema::complete_alone(sql)?;
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
