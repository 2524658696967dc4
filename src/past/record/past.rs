//! Reads a recording: its segments, and the state of any moment.

use std::path::Path;

use rusqlite::types::{FromSqlError, Type};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::decode::Budget;
use super::entry::{EntryReader, TimedEntry};
use super::memory::MAX_SEGMENT;
use super::store::{self, Store, StoreError};
use super::{Damage, ReadError, RecordedState};
use lockscope_base::znode::{TimeRange, Timestamp};

/// A piece of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// The id of the segment. Later segments have larger ids, even when the clock was set back
    /// between them.
    pub id: i64,
    /// The run that the segment belongs to. Between two runs something is missing.
    pub run: i64,
    /// The beginning of the segment, by the recorder's clock.
    pub from: Timestamp,
    /// The time up to which the segment contains everything that happened.
    pub until: Timestamp,
    /// The number of entries.
    pub entries: u64,
}

/// A segment as it was read.
#[derive(Debug)]
pub(super) struct WholeSegment {
    /// The state before the first entry.
    pub state: RecordedState,
    /// The memory of that state, in bytes.
    pub before: u64,
    /// The entries, in order.
    pub entries: Vec<TimedEntry>,
    /// The memory of the state once the entries are played, in bytes.
    pub memory: u64,
}

/// A recording opened for reading. It may be written meanwhile.
#[derive(Debug)]
pub struct Past {
    pub(super) store: Store,
}

impl Past {
    /// Opens a recording. Blocks the thread during disk access, like all methods here.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { store: Store::open(path)? })
    }

    /// Opens the recording of a store that is being written.
    pub(super) fn of(store: &Store) -> Result<Self, StoreError> {
        Ok(Self { store: store.for_reading()? })
    }

    /// Opens the recording of a store with the store's own connection, which sees what is not
    /// committed yet.
    pub(super) fn of_writer(store: &Store) -> Self {
        Self { store: store.with_same_connection() }
    }

    /// Returns all segments, oldest first.
    pub fn segments(&mut self) -> Result<Vec<SegmentInfo>, StoreError> {
        self.store.sql(|sql| {
            let mut query =
                sql.prepare_cached("SELECT id, run, from_ms, until_ms, entries FROM segment ORDER BY id")?;
            query.query_map([], segment_info)?.collect()
        })
    }

    /// Returns the servers and the chroot of a run; empty when they are unknown.
    pub fn connect(&mut self, run: i64) -> Result<String, StoreError> {
        let query = "SELECT connect FROM run WHERE id = ?1";
        let connect = self.store.sql(|sql| sql.prepare_cached(query)?.query_row([run], |row| row.get(0)).optional())?;
        Ok(connect.unwrap_or_default())
    }

    /// Returns the newest segment that covers this moment; `None` if nothing was recorded then.
    pub fn segment_at(&mut self, at: Timestamp) -> Result<Option<SegmentInfo>, StoreError> {
        self.one_segment("WHERE from_ms <= ?1 AND until_ms >= ?1 ORDER BY id DESC", at.0)
    }

    /// Returns the segment with this id.
    pub fn segment(&mut self, id: i64) -> Result<Option<SegmentInfo>, StoreError> {
        self.one_segment("WHERE id = ?1", id)
    }

    /// Returns the first segment with a larger id.
    pub fn segment_after(&mut self, id: i64) -> Result<Option<SegmentInfo>, StoreError> {
        self.one_segment("WHERE id > ?1 ORDER BY id", id)
    }

    /// Returns the first segment that begins after a moment.
    pub fn segment_from(&mut self, at: Timestamp) -> Result<Option<SegmentInfo>, StoreError> {
        self.one_segment("WHERE from_ms > ?1 ORDER BY from_ms, id", at.0)
    }

    /// Returns the last segment with a smaller id.
    pub fn segment_before(&mut self, id: i64) -> Result<Option<SegmentInfo>, StoreError> {
        self.one_segment("WHERE id < ?1 ORDER BY id DESC", id)
    }

    /// Returns the beginning and the end of the recording; `None` if it has no segment.
    pub fn span(&mut self) -> Result<Option<TimeRange>, StoreError> {
        let query = "SELECT min(from_ms), max(until_ms) FROM segment";
        self.store.sql(|sql| {
            sql.query_row(query, [], |row| {
                let (from, until): (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
                Ok(from.zip(until).map(|(from, to)| TimeRange { from: Timestamp(from), to: Timestamp(to) }))
            })
        })
    }

    /// Returns whether anything was recorded within a time range.
    pub fn has_any(&mut self, within: TimeRange) -> Result<bool, StoreError> {
        let query = "SELECT EXISTS (SELECT 1 FROM segment WHERE from_ms <= ?2 AND until_ms >= ?1)";
        self.store.sql(|sql| sql.query_row(query, [within.from.0, within.to.0], |row| row.get(0)))
    }

    /// Returns the size of the recording in bytes, without the files beside it.
    pub fn bytes(&mut self) -> Result<u64, StoreError> {
        self.store.sql(|sql| super::bounds::used_bytes(sql))
    }

    /// Returns the recorded moments next to an unrecorded one: the last known moment before it, and
    /// the first after it.
    pub fn around(&mut self, at: Timestamp) -> Result<(Option<Timestamp>, Option<Timestamp>), StoreError> {
        let query = "SELECT (SELECT max(until_ms) FROM segment WHERE until_ms < ?1), (SELECT min(from_ms) FROM segment WHERE from_ms > ?1)";
        self.store.sql(|sql| {
            sql.query_row(query, [at.0], |row| {
                let (before, after): (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
                Ok((before.map(Timestamp), after.map(Timestamp)))
            })
        })
    }

    /// Returns the beginning of the run that a segment belongs to.
    pub fn run_start(&mut self, segment: &SegmentInfo) -> Result<Timestamp, StoreError> {
        let query = "SELECT min(from_ms) FROM segment WHERE run = ?1";
        self.store.sql(|sql| sql.query_row(query, [segment.run], |row| Ok(Timestamp(row.get(0)?))))
    }

    /// Returns the first segment that satisfies a condition on `?1`.
    fn one_segment(&mut self, condition: &str, value: i64) -> Result<Option<SegmentInfo>, StoreError> {
        let query = format!("SELECT id, run, from_ms, until_ms, entries FROM segment {condition} LIMIT 1");
        self.store.sql(|sql| sql.prepare_cached(&query)?.query_row([value], segment_info).optional())
    }

    /// Returns the state before the first entry of a segment.
    pub fn keyframe(&mut self, segment: i64) -> Result<RecordedState, ReadError> {
        Ok(self.measured_keyframe(segment)?.0)
    }

    /// Returns the same state, and its memory in bytes.
    fn measured_keyframe(&mut self, segment: i64) -> Result<(RecordedState, u64), ReadError> {
        let query = "SELECT state FROM keyframe WHERE segment = ?1";
        self.part(|sql| {
            let mut query = sql.prepare_cached(query)?;
            let mut rows = query.query([segment])?;
            let row = rows.next()?.ok_or(Damage::Keyframe)?;
            Ok(RecordedState::read(blob(row)?)?)
        })
    }

    /// Reads a segment with its keyframe.
    pub(super) fn whole_segment(&mut self, segment: &SegmentInfo) -> Result<WholeSegment, ReadError> {
        let (state, before) = self.measured_keyframe(segment.id)?;
        let (entries, memory) = self.measured_entries(segment, before)?;
        Ok(WholeSegment { state, before, entries, memory })
    }

    /// Returns the entries of a segment, in order.
    pub fn entries(&mut self, segment: &SegmentInfo) -> Result<Vec<TimedEntry>, ReadError> {
        Ok(self.measured_entries(segment, 0)?.0)
    }

    /// Returns the same entries, and the memory of the state once they are played, in bytes; now it
    /// takes `state` bytes. Exceeding the bound for both counts as damage.
    pub(super) fn measured_entries(
        &mut self,
        segment: &SegmentInfo,
        state: u64,
    ) -> Result<(Vec<TimedEntry>, u64), ReadError> {
        let budget = Budget::new(MAX_SEGMENT.saturating_sub(state));
        let mut reader = EntryReader::new(segment.from, segment.entries, &budget);
        let query = "SELECT entries FROM chunk WHERE segment = ?1 ORDER BY number";
        self.part(|sql| {
            let mut query = sql.prepare_cached(query)?;
            let mut rows = query.query(params![segment.id])?;
            while let Some(row) = rows.next()? {
                reader.chunk(blob(row)?)?;
            }
            Ok(())
        })?;
        let entries = reader.entries();
        // A chunk may be missing.
        let is_whole = entries.len() as u64 >= segment.entries;
        if is_whole { Ok((entries, MAX_SEGMENT - budget.left())) } else { Err(Damage::Entries.into()) }
    }

    /// Reads a part of a segment. Separates damage of the part from errors that prevent reading at
    /// all.
    fn part<T>(&mut self, read: impl FnOnce(&mut Connection) -> Result<T, PartError>) -> Result<T, ReadError> {
        let read = self.store.sql(|sql| match read(sql) {
            Ok(part) => Ok(Ok(part)),
            Err(PartError::Damaged(damage)) => Ok(Err(damage)),
            Err(PartError::Sqlite(error)) => Err(error),
        })?;
        Ok(read?)
    }
}

/// Why a part cannot be read.
enum PartError {
    Damaged(Damage),
    /// An error that prevents reading at all.
    Sqlite(rusqlite::Error),
}

impl From<Damage> for PartError {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

impl From<rusqlite::Error> for PartError {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            error if error.sqlite_error_code() == Some(ErrorCode::TooBig) => Damage::TooLarge.into(),
            error if store::is_damage(&error) => Damage::Pages.into(),
            error => Self::Sqlite(error),
        }
    }
}

fn blob<'r>(row: &'r rusqlite::Row<'_>) -> rusqlite::Result<&'r [u8]> {
    let wrong = |error: FromSqlError| rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error.into());
    row.get_ref(0)?.as_blob().map_err(wrong)
}

/// Reads the columns `id`, `run`, `from_ms`, `until_ms` and `entries`.
pub(super) fn segment_info(row: &rusqlite::Row<'_>) -> rusqlite::Result<SegmentInfo> {
    Ok(SegmentInfo {
        id: row.get(0)?,
        run: row.get(1)?,
        from: Timestamp(row.get(2)?),
        until: Timestamp(row.get(3)?),
        entries: row.get(4)?,
    })
}
