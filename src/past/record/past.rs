//! Reads a recording: its segments, the state of any moment, and what its tables say of it as a
//! whole.
//!
//! The tables answer what a screen asks of a whole recording: its activity over time, its gaps, its
//! findings, and who led an election last.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::decode::DecodeBudget;
use super::entry::{EntryReader, TimedEntry};
use super::history::{PastContender, PastGap, rows};
use super::memory::{ReadMemory, RowMemory};
use super::store::Store;
use super::{RecordedState, SegmentDamage, StoreError, keyframe, store};
use crate::record::tables;
use crate::record::tables::{ContenderEnd, CoveredTime};
use lockscope_base::znode::{TimeRange, Timestamp, ZnodePath};
use lockscope_model::diagnose::Severity;
use lockscope_model::queue::{ClientIdentity, Departure, DepartureEnd, LedBefore};

/// Why a part of a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The part is damaged. Other parts can be read.
    #[error(transparent)]
    Damaged(#[from] SegmentDamage),
    /// The recording cannot be read at all.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReadError {
    /// Returns the part; `None` when it is damaged.
    ///
    /// # Errors
    ///
    /// Fails when the recording cannot be read at all.
    pub fn skip_damage<T>(read: Result<T, Self>) -> Result<Option<T>, StoreError> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(Self::Damaged(_)) => Ok(None),
            Err(Self::Store(error)) => Err(error),
        }
    }
}

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
    memory: ReadMemory,
}

impl Past {
    /// Opens a recording. Blocks the thread during disk access, like all methods here.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { store: Store::open(path)?, memory: ReadMemory::allowed() })
    }

    /// Lets reading take this memory.
    #[cfg(test)]
    pub(super) fn allowing(self, memory: ReadMemory) -> Self {
        Self { memory, ..self }
    }

    /// Opens the recording of a store that is being written.
    pub(super) fn of(store: &Store) -> Result<Self, StoreError> {
        Ok(Self { store: store.for_reading()?, memory: ReadMemory::allowed() })
    }

    /// Opens the recording of a store with the store's own connection, which sees what is not
    /// committed yet.
    pub(super) fn of_writer(store: &Store) -> Self {
        Self { store: store.with_same_connection(), memory: ReadMemory::allowed() }
    }

    /// Returns a recording that has nothing.
    pub fn empty() -> Result<Self, StoreError> {
        Ok(Self { store: Store::in_memory()?, memory: ReadMemory::allowed() })
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
        let memory = self.memory;
        self.part(|sql| {
            let read = keyframe::read(sql, segment, |stream| RecordedState::read(stream, memory.state()))?;
            match read.ok_or(SegmentDamage::Keyframe)? {
                (Err(SegmentDamage::TooLarge), read) => {
                    Err(exceeded(memory.needed_for_state(read, keyframe::bytes(sql, segment)?)).into())
                }
                (state, _) => Ok(state?),
            }
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
        let memory = self.memory;
        let budget = DecodeBudget::new(memory.segment().saturating_sub(state));
        let mut reader = EntryReader::new(segment.from, segment.entries, &budget);
        let query = "SELECT entries FROM chunk WHERE segment = ?1 ORDER BY number";
        self.part(|sql| {
            let mut query = sql.prepare_cached(query)?;
            let mut rows = query.query(params![segment.id])?;
            while let Some(row) = rows.next()? {
                match reader.chunk(keyframe::blob(row)?) {
                    Err(SegmentDamage::TooLarge) => {
                        let needed = memory.needed_for_entries(state, reader.count(), segment.entries);
                        return Err(exceeded(needed).into());
                    }
                    read => read?,
                }
            }
            Ok(())
        })?;
        let entries = reader.entries();
        // A chunk may be missing.
        let is_whole = entries.len() as u64 >= segment.entries;
        if is_whole { Ok((entries, memory.segment() - budget.left())) } else { Err(SegmentDamage::Entries.into()) }
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

/// Returns what to say of a segment that takes about so many bytes of memory, more than is allowed.
fn exceeded(needed: u64) -> SegmentDamage {
    if needed > ReadMemory::MOST { SegmentDamage::TooLarge } else { SegmentDamage::NeedsMemory(needed) }
}

/// Why a part cannot be read.
enum PartError {
    Damaged(SegmentDamage),
    /// An error that prevents reading at all.
    Sqlite(rusqlite::Error),
}

impl From<SegmentDamage> for PartError {
    fn from(damage: SegmentDamage) -> Self {
        Self::Damaged(damage)
    }
}

impl From<rusqlite::Error> for PartError {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            error if error.sqlite_error_code() == Some(ErrorCode::TooBig) => SegmentDamage::TooLarge.into(),
            error if store::is_damage(&error) => SegmentDamage::Pages.into(),
            error => Self::Sqlite(error),
        }
    }
}

/// Reads the columns `id`, `run`, `from_ms`, `until_ms` and `entries`.
pub fn segment_info(row: &rusqlite::Row<'_>) -> rusqlite::Result<SegmentInfo> {
    Ok(SegmentInfo {
        id: row.get(0)?,
        run: row.get(1)?,
        from: Timestamp(row.get(2)?),
        until: Timestamp(row.get(3)?),
        entries: row.get(4)?,
    })
}

/// The most gaps in a list: the last ones.
const MAX_GAPS: usize = 1_000;

impl Past {
    /// Returns the number of events in each of `parts` equal parts of a time range.
    pub fn density(&mut self, of: TimeRange, parts: usize) -> Result<Vec<u32>, StoreError> {
        let length = of.to.0.saturating_sub(of.from.0).max(1);
        let query = "SELECT (until_at - ?1) * ?2 / ?3 AS part, sum(events) FROM activity
                     WHERE until_at BETWEEN ?1 AND ?4 GROUP BY part";
        let mut density = vec![0_u32; parts];
        let count = i64::try_from(parts).unwrap_or(i64::MAX);
        let counted: Vec<(i64, u32)> = self.store.sql(|sql| {
            // Older recordings have no such table.
            if !sql.table_exists(None, "activity")? {
                return Ok(Vec::new());
            }
            let mut query = sql.prepare_cached(query)?;
            query.query_map(params![of.from.0, count, length, of.to.0], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })?;
        for (part, events) in counted {
            if let Some(part) = usize::try_from(part).ok().and_then(|part| density.get_mut(part.min(parts - 1))) {
                *part = part.saturating_add(events);
            }
        }
        Ok(density)
    }

    /// Returns the gaps and their reasons, oldest first; of too many, the last ones.
    pub fn gaps(&mut self) -> Result<Vec<PastGap>, StoreError> {
        let gaps = self.store.sql(|sql| rows::gaps(sql, None, None))?;
        Ok(gaps[gaps.len().saturating_sub(MAX_GAPS)..].to_vec())
    }

    /// Returns what is covered, the earliest first; `None` if there are too many gaps to tell.
    pub fn coverage(&mut self) -> Result<Option<Vec<CoveredTime>>, StoreError> {
        let always = TimeRange { from: Timestamp(i64::MIN), to: Timestamp(i64::MAX) };
        self.store.sql(|sql| tables::covered(sql, always))
    }

    /// Returns when findings were raised, their worst severity, and their codes: the last ones,
    /// oldest first.
    pub fn last_findings(&mut self, most: usize) -> Result<Vec<(Timestamp, Severity, String)>, StoreError> {
        let query =
            "SELECT * FROM (SELECT raised_at, severity, code FROM finding ORDER BY raised_at DESC LIMIT ?1) ORDER BY 1";
        let severity = |id: &str| match id {
            "critical" => Severity::Critical,
            "warning" => Severity::Warning,
            _ => Severity::Info,
        };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.store.sql(|sql| {
            let mut query = sql.prepare_cached(query)?;
            let memory = RowMemory::default();
            let rows = query.query_map([most], |row| {
                memory.charge(row)?;
                let id: String = row.get(1)?;
                Ok((Timestamp(row.get(0)?), severity(&id), row.get(2)?))
            })?;
            rows.collect()
        })
    }

    /// Returns when the next finding was raised, or the previous one.
    pub fn finding_beside(&mut self, at: Timestamp, forward: bool) -> Result<Option<Timestamp>, StoreError> {
        let query = if forward {
            "SELECT min(raised_at) FROM finding WHERE raised_at > ?1"
        } else {
            "SELECT max(raised_at) FROM finding WHERE raised_at < ?1"
        };
        let found: Option<i64> = self.store.sql(|sql| sql.query_row(query, [at.0], |row| row.get(0)))?;
        Ok(found.map(Timestamp))
    }
}

/// The holder whose hold ended last, or lasts, in each queue of a path. It is found in the index.
const LAST: &str = "SELECT (SELECT id FROM contender WHERE lock_id = lock.id AND acquired_after IS NOT NULL
        ORDER BY ifnull(ended_before, 9223372036854775807) DESC LIMIT 1)
    FROM lock WHERE path = ?1 LIMIT 100";

/// Whether anything was not seen after a time.
const GAP_AFTER: &str = "SELECT EXISTS (SELECT 1 FROM gap WHERE ifnull(ended_at, 9223372036854775807) > ?1)";

impl Past {
    /// Returns who led these elections last, as far as is recorded. Costs a look into an index for
    /// each. Blocks the thread during disk access.
    ///
    /// # Errors
    ///
    /// Returns an error if the recording cannot be read.
    pub fn last_leaders(&mut self, elections: &[ZnodePath]) -> Result<Vec<LedBefore>, StoreError> {
        self.store.sql(|connection| {
            let (_, until) = rows::recorded(connection)?;
            let mut found = Vec::new();
            for election in elections {
                found.extend(last_leader(connection, election, until)?);
            }
            Ok(found)
        })
    }
}

fn last_leader(
    connection: &Connection,
    election: &ZnodePath,
    until: Option<Timestamp>,
) -> rusqlite::Result<Option<LedBefore>> {
    let ids: Vec<Option<i64>> = connection
        .prepare_cached(LAST)?
        .query_map([election.as_str()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let ids: Vec<i64> = ids.into_iter().flatten().collect();
    let holders = rows::contenders(connection, &ids, until)?.into_iter();
    let last = holders.max_by_key(|holder| holder.ended.map_or(Timestamp(i64::MAX), |ended| ended.before));
    let Some(leader) = last else { return Ok(None) };
    let (tenure, is_end_seen) = (tenure(&leader), leader.ended.is_some_and(|ended| ended.exactly().is_some()));
    let has_gap = connection.query_row(GAP_AFTER, [tenure.at.0], |row| row.get(0))?;
    Ok(Some(LedBefore { election: election.clone(), tenure, is_end_seen, has_gap }))
}

fn tenure(leader: &PastContender) -> Departure {
    let at = leader.ended.map_or(leader.known_until, |ended| ended.after);
    let client = ClientIdentity {
        given: None,
        name: leader.client_name.as_deref().map(Into::into),
        address: leader.client.as_deref().map(Into::into),
        last_listed: Some(at),
        session: leader.session,
        unread: false,
    };
    let led_since = leader.acquired.map(|acquired| acquired.before).filter(|since| *since <= at);
    let (session, node) = (leader.session, leader.node.as_str().into());
    Departure { client, session, node, at, end: end(leader.end), led_since, last_request: None }
}

fn end(end: ContenderEnd) -> DepartureEnd {
    match end {
        ContenderEnd::Gone => DepartureEnd::Gone,
        ContenderEnd::Released | ContenderEnd::Left => DepartureEnd::Released,
        ContenderEnd::Expired => DepartureEnd::Expired,
        ContenderEnd::Deleted => DepartureEnd::Deleted,
        ContenderEnd::Closed => DepartureEnd::Closed,
        ContenderEnd::Open | ContenderEnd::Unknown => DepartureEnd::Unknown,
    }
}
