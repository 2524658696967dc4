//! Fills the stream: takes the times that a log fills out of the recording's segments, and puts the
//! log's segments there.
//!
//! A segment that is only partly needed is cut into pieces: what it has of some times, as segments
//! of their own.

use rusqlite::{Connection, OptionalExtension, params};

use super::MergeError;
use crate::record::entry::EntryWriter;
use crate::record::past::{Past, WholeSegment};
use crate::record::store::{Store, StoreError};
use crate::record::tables::spans::Spans;
use crate::record::{ReadError, RecordedState, SegmentDamage, SegmentInfo, TimedEntry, decode, entry, keyframe};
use lockscope_base::znode::{TimeRange, Timestamp};

/// The most segments of a batch.
const BATCH: usize = 1_000;

/// New segments, each with the recorded segment before which it belongs, once that is known.
const PLACES: &str = "CREATE TEMP TABLE merge_place (id INTEGER PRIMARY KEY, before INTEGER)";

/// Finds these: the first that begins later. One that begins and ends at that moment comes before.
const FIND_PLACES: &str = "
UPDATE merge_place SET before = ifnull((
    SELECT later.id FROM segment AS new JOIN segment AS later ON later.from_ms >= new.from_ms AND later.until_ms > new.from_ms
    WHERE new.id = merge_place.id AND later.id <= ?1 ORDER BY later.from_ms, later.id LIMIT 1), 9223372036854775807)";

/// The stream of a recording that is being filled, within a transaction of its store.
pub struct StreamMerge<'a> {
    store: &'a mut Store,
    log: &'a mut Past,
    /// The times to fill.
    times: &'a Spans,
    should_stop: &'a dyn Fn() -> bool,
    /// The last segment before new ones were added.
    last: i64,
    /// The ensemble, as the recording names it.
    connect: String,
    /// The run of the last segment that came from the log, its run there, and its end.
    run: Option<(i64, i64, Timestamp)>,
}

impl<'a> StreamMerge<'a> {
    pub fn new(
        store: &'a mut Store,
        log: &'a mut Past,
        times: &'a Spans,
        should_stop: &'a dyn Fn() -> bool,
    ) -> Result<Self, MergeError> {
        let last = "SELECT run.connect FROM segment JOIN run ON run.id = run ORDER BY segment.id DESC LIMIT 1";
        let recorded: Option<String> = store.sql(|sql| {
            sql.execute_batch(PLACES)?;
            sql.query_row(last, [], |row| row.get(0)).optional()
        })?;
        let connect = if let Some(connect) = recorded {
            connect
        } else {
            let run = log.segments()?.last().map_or(0, |last| last.run);
            log.connect(run)?
        };
        let last = store.sql(|sql| sql.query_row("SELECT ifnull(max(id), 0) FROM segment", [], |row| row.get(0)))?;
        Ok(Self { store, log, times, should_stop, last, connect, run: None })
    }

    /// Fills the stream.
    pub fn fill(mut self) -> Result<(), MergeError> {
        self.make_room()?;
        self.put_log()?;
        let last = self.last;
        Ok(self.store.sql(|sql| renumber(sql, last))?)
    }

    /// Takes the times out of the recorded segments.
    fn make_room(&mut self) -> Result<(), MergeError> {
        let mut after = i64::MIN;
        loop {
            let last = self.last;
            let batch = self.store.sql(|sql| segments(sql, after, last))?;
            let Some(end) = batch.last() else { return Ok(()) };
            after = end.id;
            for segment in batch {
                self.stops()?;
                self.make_room_in(&segment)?;
            }
        }
    }

    fn make_room_in(&mut self, segment: &SegmentInfo) -> Result<(), MergeError> {
        let time = TimeRange { from: segment.from, to: segment.until };
        // A moment belongs to the times around it.
        let around =
            TimeRange { from: Timestamp(time.from.0.saturating_sub(1)), to: Timestamp(time.to.0.saturating_add(1)) };
        if time.from >= time.to && self.times.covers(around) {
            return Ok(self.store.sql(|sql| delete(sql, segment.id))?);
        }
        if !self.times.meets(time) {
            return Ok(());
        }
        let rest: Vec<TimeRange> = self.times.rest_of(time).collect();
        let whole = Past::of_writer(self.store).whole_segment(segment);
        let pieces = whole.and_then(|whole| Ok(cut(segment, whole, &rest)?));
        let mut pieces = self.intact(pieces)?.into_iter();
        let first = pieces.next();
        self.store.sql(|sql| match first {
            Some(first) => replace(sql, segment.id, &first),
            None => delete(sql, segment.id),
        })?;
        for piece in pieces {
            self.put(segment.run, piece.time, piece.count, |sql, id| write(sql, id, &piece))?;
        }
        Ok(())
    }

    fn intact<T>(&self, read: Result<T, ReadError>) -> Result<T, MergeError> {
        read.map_err(|error| match error {
            ReadError::Store(error) => error.into(),
            ReadError::Damaged(damage) => {
                let path = self.store.path().to_owned();
                let is_damage = !matches!(damage, SegmentDamage::NeedsMemory(_));
                if is_damage { MergeError::Damaged { path, damage } } else { MergeError::NeedsMemory { path, damage } }
            }
        })
    }

    /// Puts the segments of the log where there is room now.
    fn put_log(&mut self) -> Result<(), MergeError> {
        let mut after = i64::MIN;
        loop {
            let batch = self.log.store.sql(|sql| segments(sql, after, i64::MAX))?;
            let Some(end) = batch.last() else { return Ok(()) };
            after = end.id;
            for segment in batch {
                self.stops()?;
                self.put_log_segment(&segment)?;
            }
        }
    }

    fn put_log_segment(&mut self, segment: &SegmentInfo) -> Result<(), MergeError> {
        let time = TimeRange { from: segment.from, to: segment.until };
        let mut whole = Spans::default();
        // One span is never too many, and the parts are no more than the times.
        _ = whole.add(time);
        let parts: Vec<TimeRange> = whole.within(self.times).iter().flat_map(Spans::iter).collect();
        match parts[..] {
            [] => Ok(()),
            [part] if part == time => {
                let run = self.run_of(segment, part)?;
                let store = &mut *self.store;
                // Errors of writing name the recording.
                let copied = self.log.store.sql(|log| {
                    Ok(store.sql(|sql| {
                        let id = begin(sql, run, part, segment.entries)?;
                        copy(log, segment.id, sql, id)
                    }))
                })?;
                Ok(copied?)
            }
            _ => {
                let pieces = self.log.whole_segment(segment).and_then(|whole| Ok(cut(segment, whole, &parts)?));
                for piece in self.intact(pieces)? {
                    let run = self.run_of(segment, piece.time)?;
                    self.put(run, piece.time, piece.count, |sql, id| write(sql, id, &piece))?;
                }
                Ok(())
            }
        }
    }

    /// Returns the run of a part of the log: a new one, unless it goes on with the part before.
    fn run_of(&mut self, segment: &SegmentInfo, part: TimeRange) -> Result<i64, StoreError> {
        let run = match self.run {
            Some((run, in_log, until)) if in_log == segment.run && until == part.from => run,
            _ => {
                let connect = &self.connect;
                let insert =
                    "INSERT INTO run (id, connect, version) VALUES ((SELECT ifnull(max(id), 0) + 1 FROM run), ?1, ?2)";
                self.store.sql(|sql| {
                    sql.execute(insert, params![connect, env!("CARGO_PKG_VERSION")])?;
                    Ok(sql.last_insert_rowid())
                })?
            }
        };
        self.run = Some((run, segment.run, part.to));
        Ok(run)
    }

    fn put(
        &mut self,
        run: i64,
        time: TimeRange,
        entries: u64,
        write: impl FnOnce(&Connection, i64) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        self.store.sql(|sql| {
            let id = begin(sql, run, time, entries)?;
            write(sql, id)
        })
    }

    fn stops(&self) -> Result<(), MergeError> {
        if (self.should_stop)() { Err(MergeError::Interrupted) } else { Ok(()) }
    }
}

/// Returns the first segments after one, up to another.
fn segments(sql: &Connection, after: i64, last: i64) -> rusqlite::Result<Vec<SegmentInfo>> {
    let mut query = sql.prepare_cached(
        "SELECT id, run, from_ms, until_ms, entries FROM segment WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3",
    )?;
    query.query_map(params![after, last, BATCH], crate::record::past::segment_info)?.collect()
}

/// Begins a new segment. Returns its id.
fn begin(sql: &Connection, run: i64, time: TimeRange, entries: u64) -> rusqlite::Result<i64> {
    sql.prepare_cached("INSERT INTO segment (run, from_ms, until_ms, entries) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![run, time.from.0, time.to.0, entries])?;
    let id = sql.last_insert_rowid();
    sql.prepare_cached("INSERT INTO temp.merge_place (id) VALUES (?1)")?.execute([id])?;
    Ok(id)
}

/// Writes the content of a new segment.
fn write(sql: &Connection, id: i64, piece: &SegmentPiece) -> rusqlite::Result<()> {
    keyframe::put(sql, id, &piece.state)?;
    sql.prepare_cached("INSERT INTO chunk (segment, number, entries) VALUES (?1, 0, ?2)")?
        .execute(params![id, piece.entries])?;
    Ok(())
}

/// Copies the content of a segment of the log.
fn copy(log: &Connection, from: i64, sql: &Connection, id: i64) -> rusqlite::Result<()> {
    keyframe::copy(log, from, sql, id)?;
    let mut chunks = log.prepare_cached("SELECT number, entries FROM chunk WHERE segment = ?1 ORDER BY number")?;
    let mut rows = chunks.query([from])?;
    while let Some(row) = rows.next()? {
        let (number, entries): (i64, _) = (row.get(0)?, row.get_ref(1)?.as_blob()?);
        sql.prepare_cached("INSERT INTO chunk (segment, number, entries) VALUES (?1, ?2, ?3)")?
            .execute(params![id, number, entries])?;
    }
    Ok(())
}

/// Makes a segment shorter.
fn replace(sql: &Connection, id: i64, piece: &SegmentPiece) -> rusqlite::Result<()> {
    delete_content(sql, id)?;
    let SegmentPiece { time: TimeRange { from, to }, count, .. } = piece;
    sql.prepare_cached("UPDATE segment SET from_ms = ?2, until_ms = ?3, entries = ?4 WHERE id = ?1")?
        .execute(params![id, from.0, to.0, count])?;
    write(sql, id, piece)
}

fn delete(sql: &Connection, id: i64) -> rusqlite::Result<()> {
    delete_content(sql, id)?;
    sql.prepare_cached("DELETE FROM segment WHERE id = ?1")?.execute([id])?;
    Ok(())
}

fn delete_content(sql: &Connection, id: i64) -> rusqlite::Result<()> {
    keyframe::delete(sql, id)?;
    sql.prepare_cached("DELETE FROM chunk WHERE segment = ?1")?.execute([id])?;
    Ok(())
}

/// Numbers the segments behind the first new one anew, in their order. New ones come after `last`.
fn renumber(sql: &Connection, last: i64) -> rusqlite::Result<()> {
    sql.execute(FIND_PLACES, [last])?;
    let first: Option<i64> = sql.query_row("SELECT min(before) FROM temp.merge_place", [], |row| row.get(0))?;
    let Some(first) = first else { return Ok(()) };
    sql.execute_batch("CREATE TEMP TABLE merge_order (place INTEGER PRIMARY KEY, old INTEGER NOT NULL UNIQUE)")?;
    sql.execute(
        "INSERT INTO merge_order (old) SELECT segment.id FROM segment LEFT JOIN temp.merge_place AS new ON new.id = segment.id
         WHERE ifnull(before, segment.id) >= ?1 ORDER BY ifnull(before, segment.id), before IS NULL, from_ms, segment.id",
        [first],
    )?;
    // All new numbers are larger than the old ones, so none is taken twice.
    let last: i64 = sql.query_row("SELECT max(id) FROM segment", [], |row| row.get(0))?;
    let tables = [("segment", "id"), ("keyframe", "segment"), ("keyframe_piece", "segment"), ("chunk", "segment")];
    for (table, column) in tables {
        let update = format!(
            "UPDATE {table} SET {column} = ?1 + place FROM temp.merge_order WHERE {table}.{column} = merge_order.old"
        );
        sql.execute(&update, [last])?;
    }
    sql.execute_batch("DROP TABLE temp.merge_order; DROP TABLE temp.merge_place")
}

/// A part of a segment.
#[derive(Debug)]
struct SegmentPiece {
    pub time: TimeRange,
    /// The state at the beginning, compressed.
    pub state: Vec<u8>,
    /// The entries as a chunk, compressed.
    pub entries: Vec<u8>,
    /// The number of entries.
    pub count: u64,
}

/// Returns the pieces of a segment for some times within it, which are in order. What happens at
/// the first moment of a later piece is a part of its state.
fn cut(
    segment: &SegmentInfo,
    WholeSegment { mut state, entries, .. }: WholeSegment,
    times: &[TimeRange],
) -> Result<Vec<SegmentPiece>, SegmentDamage> {
    let mut entries = entries.into_iter().peekable();
    let mut pieces = Vec::new();
    for time in times {
        if time.from > segment.from {
            while let Some(TimedEntry { at, entry }) = entries.next_if(|timed| timed.at <= time.from) {
                state.play(at, entry);
            }
        }
        let before = packed(&state)?;
        let (mut writer, mut count) = (EntryWriter::new(time.from), 0);
        while let Some(TimedEntry { at, entry }) = entries.next_if(|timed| timed.at <= time.to) {
            writer.write(at, &entry).map_err(|_| SegmentDamage::Entries)?;
            state.play(at, entry);
            count += 1;
        }
        let entries = pack(&writer.take_chunk().to_bytes())?;
        pieces.push(SegmentPiece { time: *time, state: before, entries, count });
    }
    Ok(pieces)
}

fn packed(RecordedState { table, diagnosis }: &RecordedState) -> Result<Vec<u8>, SegmentDamage> {
    entry::write(table, diagnosis).map_err(|_| SegmentDamage::Keyframe)
}

fn pack(bytes: &[u8]) -> Result<Vec<u8>, SegmentDamage> {
    decode::pack(bytes).map_err(|_| SegmentDamage::Entries)
}
