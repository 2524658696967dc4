//! Reads a recording: its segments, and the state of any moment.

use std::path::Path;

use rusqlite::{OptionalExtension, params};

use super::entry::{self, TimedEntry};
use super::store::{Store, StoreError};
use super::{Damage, RecordedState, frame};
use crate::znode::Timestamp;

/// A piece of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Its number. Later ones have larger numbers, also where the clock was set back between them.
    pub id: i64,
    /// The run that it belongs to: between two runs something is missing.
    pub run: i64,
    /// When it begins, by the recorder's clock.
    pub from: Timestamp,
    /// Up to when everything that happened is in it.
    pub until: Timestamp,
    /// How many entries it has.
    pub entries: u64,
}

/// A recording that is read. It may be written meanwhile.
#[derive(Debug)]
pub struct Past {
    store: Store,
}

impl Past {
    /// Opens a recording. Blocks the thread as long as the disk does, as everything here.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { store: Store::open(path)? })
    }

    /// All segments, oldest first.
    pub fn segments(&mut self) -> Result<Vec<SegmentInfo>, StoreError> {
        self.store.sql(|sql| {
            let mut query =
                sql.prepare_cached("SELECT id, run, from_ms, until_ms, entries FROM segment ORDER BY id")?;
            query.query_map([], segment_info)?.collect()
        })
    }

    /// The newest segment that has this moment; `None` where nothing was recorded then.
    pub fn segment_at(&mut self, at: Timestamp) -> Result<Option<SegmentInfo>, StoreError> {
        let query = "SELECT id, run, from_ms, until_ms, entries FROM segment WHERE from_ms <= ?1 AND until_ms >= ?1 ORDER BY id DESC LIMIT 1";
        self.store.sql(|sql| sql.prepare_cached(query)?.query_row([at.0], segment_info).optional())
    }

    /// The state before the first entry of a segment.
    pub fn keyframe(&mut self, segment: i64) -> Result<Result<RecordedState, Damage>, StoreError> {
        let query = "SELECT state FROM keyframe WHERE segment = ?1";
        let packed: Option<Vec<u8>> =
            self.store.sql(|sql| sql.prepare_cached(query)?.query_row([segment], |row| row.get(0)).optional())?;
        Ok(packed.ok_or(Damage::Keyframe).and_then(|packed| RecordedState::read(&packed)))
    }

    /// The entries of a segment, in order. What follows a damaged piece is left out.
    pub fn entries(&mut self, segment: &SegmentInfo) -> Result<Result<Vec<TimedEntry>, Damage>, StoreError> {
        let query = "SELECT entries FROM chunk WHERE segment = ?1 ORDER BY number";
        let chunks: Vec<Vec<u8>> = self
            .store
            .sql(|sql| sql.prepare_cached(query)?.query_map(params![segment.id], |row| row.get(0))?.collect())?;
        let unpacked: Result<Vec<_>, Damage> = chunks.iter().map(|chunk| frame::unpack(chunk)).collect();
        Ok(unpacked.and_then(|chunks| entry::read(&chunks.concat(), segment.from)))
    }

    /// The state of a moment, exactly as it was known then.
    pub fn state_at(&mut self, at: Timestamp) -> Result<Option<Result<RecordedState, Damage>>, StoreError> {
        let Some(segment) = self.segment_at(at)? else { return Ok(None) };
        let (keyframe, entries) = (self.keyframe(segment.id)?, self.entries(&segment)?);
        let (mut state, entries) = match (keyframe, entries) {
            (Ok(state), Ok(entries)) => (state, entries),
            (Err(damage), _) | (_, Err(damage)) => return Ok(Some(Err(damage))),
        };
        for (then, entry) in entries {
            if then > at {
                break;
            }
            state.play(then, entry);
        }
        Ok(Some(Ok(state)))
    }
}

fn segment_info(row: &rusqlite::Row<'_>) -> rusqlite::Result<SegmentInfo> {
    Ok(SegmentInfo {
        id: row.get(0)?,
        run: row.get(1)?,
        from: Timestamp(row.get(2)?),
        until: Timestamp(row.get(3)?),
        entries: row.get(4)?,
    })
}
