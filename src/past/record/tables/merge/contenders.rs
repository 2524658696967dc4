//! Completes the rows of contenders, and adds those that only the log has.

use rusqlite::{Connection, OptionalExtension, params};

use super::order;
use super::rule::{self, Completed};
use crate::record::spans::Spans;
use crate::record::tables::contender::ContenderRecord;
use crate::record::tables::rows::TableWriter;
use crate::record::tables::source::Source;
use crate::record::tables::stored;
use lockscope_base::recipe::is_never_reused;
use lockscope_base::znode::{TimeBounds, TimeRange, Timestamp, Zxid};

/// The most rows of a batch, and the most bytes of their texts.
const BATCH_ROWS: usize = 1_000;
const BATCH_BYTES: usize = 1 << 20;

/// The most compared times of both clocks.
const MAX_COMPARED: usize = 100_000;

/// The recorded rows by what identifies them: the creating transaction, or the name of a node that
/// was never read.
const INDEX: &str = "
CREATE TEMP TABLE merge_known (czxid INTEGER, node TEXT, id INTEGER NOT NULL);
INSERT INTO merge_known SELECT czxid, CASE WHEN czxid IS NULL THEN node END, id FROM contender;
CREATE INDEX temp.merge_known_node ON merge_known (czxid, node);
";

/// A batch of rows of the log.
#[derive(Debug, Default)]
pub(in crate::record) struct LogRows(Vec<ContenderRecord>);

/// Reads the rows of the log after one of them; no rows at the end.
pub(in crate::record) fn read_rows(log: &Connection, after: i64) -> rusqlite::Result<LogRows> {
    let mut query =
        log.prepare_cached(&format!("{} WHERE contender.id > ?1 ORDER BY contender.id", stored::select(log)?))?;
    let (mut rows, mut read, mut bytes) = (query.query([after])?, Vec::new(), 0);
    while read.len() < BATCH_ROWS
        && bytes < BATCH_BYTES
        && let Some(row) = rows.next()?
    {
        let Some(record) = stored::record(row)? else { continue };
        bytes +=
            record.lock.path.as_str().len() + record.node.len() + record.data.as_ref().map_or(0, |data| data.len());
        read.push(record);
    }
    Ok(LogRows(read))
}

impl LogRows {
    /// Returns the id of the last row; `None` without rows.
    pub fn last(&self) -> Option<i64> {
        self.0.last().map(|record| record.id)
    }
}

/// Completes the recorded rows with those of the log.
#[derive(Debug)]
pub(in crate::record) struct ContenderMerge<'a> {
    /// The times that the log covers.
    known: &'a Spans,
    /// The time to complete.
    time: TimeRange,
    writer: TableWriter,
    /// The last id before rows were added, and the next one.
    last_id: i64,
    next_id: i64,
    /// The earliest time that a row was given, if any was.
    changed_from: Option<Timestamp>,
    /// By how much the recorder's clock was ahead.
    ahead_ms: Vec<i64>,
    /// The number of rows that both have.
    pub both: u64,
    /// The number of rows that only the log has.
    pub added: u64,
    /// The number of rows that claimed something that the log disproves.
    pub contradicted: u64,
    /// The number of rows of the log that were found in the recording.
    pub found: u64,
    /// Whether a row changed.
    pub has_changed: bool,
}

impl<'a> ContenderMerge<'a> {
    pub fn new(connection: &Connection, known: &'a Spans, time: TimeRange) -> rusqlite::Result<Self> {
        connection.execute_batch(INDEX)?;
        let last_id = connection.query_row("SELECT ifnull(max(id), 0) FROM contender", [], |row| row.get(0))?;
        Ok(Self {
            known,
            time,
            writer: TableWriter::default(),
            last_id,
            next_id: last_id,
            changed_from: None,
            ahead_ms: Vec::new(),
            both: 0,
            added: 0,
            contradicted: 0,
            found: 0,
            has_changed: false,
        })
    }

    /// Takes in a batch of the log.
    pub fn take(&mut self, connection: &Connection, LogRows(rows): &LogRows) -> rusqlite::Result<()> {
        for log in rows {
            match recorded(connection, log)? {
                Some(recorded) => self.complete(connection, &recorded, log)?,
                None if self.is_asked_for(log) => self.add(connection, log)?,
                None => {}
            }
        }
        self.writer.stay_small();
        Ok(())
    }

    fn complete(
        &mut self,
        connection: &Connection,
        recorded: &ContenderRecord,
        log: &ContenderRecord,
    ) -> rusqlite::Result<()> {
        let Completed { record, is_contradicted } = rule::complete(recorded, log, self.known);
        self.found += 1;
        self.both += u64::from(record.source == Source::Both);
        self.contradicted += u64::from(is_contradicted);
        let ended = |record: &ContenderRecord| record.ended.and_then(TimeBounds::exactly);
        // Completed rows may have the log's time already.
        if recorded.source == Source::Watched
            && let Some((seen, at)) = ended(recorded).zip(ended(log))
            && self.ahead_ms.len() < MAX_COMPARED
        {
            self.ahead_ms.push(seen.0.saturating_sub(at.0));
        }
        if record != *recorded {
            self.writer.update(connection, &record)?;
            self.has_changed = true;
            if record.first_seen_at != recorded.first_seen_at {
                self.changed(record.first_seen_at);
            }
        }
        Ok(())
    }

    fn add(&mut self, connection: &Connection, log: &ContenderRecord) -> rusqlite::Result<()> {
        self.next_id = self.next_id.saturating_add(1);
        let record = ContenderRecord { id: self.next_id, ..log.clone() };
        self.writer.insert(connection, &record)?;
        let known = "INSERT INTO temp.merge_known VALUES (?1, NULL, ?2)";
        connection.prepare_cached(known)?.execute(params![record.czxid.map(|zxid| zxid.0), record.id])?;
        self.changed(record.first_seen_at);
        self.added += 1;
        self.has_changed = true;
        Ok(())
    }

    fn changed(&mut self, at: Timestamp) {
        self.changed_from = Some(self.changed_from.map_or(at, |from| from.min(at)));
    }

    fn is_asked_for(&self, log: &ContenderRecord) -> bool {
        let from = log.enqueued_at.map_or(log.first_seen_at, |came| came.min(log.first_seen_at));
        let to = log.ended.map_or(Timestamp(i64::MAX), |ended| ended.before);
        from <= self.time.to && to >= self.time.from
    }

    /// Numbers the rows anew, in the order in which they were first seen.
    pub fn finish(&self, connection: &Connection) -> rusqlite::Result<()> {
        self.changed_from.map_or(Ok(()), |from| order::renumber(connection, from, self.last_id))
    }

    /// Returns by how much the recorder's clock was ahead of the leader's in the middle of all
    /// compared times; `None` without any.
    pub fn clock_ms(&mut self) -> Option<i64> {
        self.ahead_ms.sort_unstable();
        self.ahead_ms.get(self.ahead_ms.len() / 2).copied()
    }

    /// Returns whether the recording had a node that was created within a range of transactions,
    /// both included, but for those that are missing.
    pub fn saw_any(
        &self,
        connection: &Connection,
        (first, last): (Zxid, Zxid),
        is_missing: impl Fn(Zxid) -> bool,
    ) -> rusqlite::Result<bool> {
        let mut query =
            connection.prepare("SELECT czxid FROM temp.merge_known WHERE czxid BETWEEN ?1 AND ?2 AND id <= ?3")?;
        let mut rows = query.query([first.0, last.0, self.last_id])?;
        while let Some(row) = rows.next()? {
            if !is_missing(Zxid(row.get(0)?)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the recorded row of a contender of the log.
fn recorded(connection: &Connection, log: &ContenderRecord) -> rusqlite::Result<Option<ContenderRecord>> {
    let (select, path) = (stored::select(connection)?, log.lock.path.as_str());
    let of = "WHERE contender.id IN (SELECT id FROM temp.merge_known WHERE";
    let by_transaction = format!("{select} {of} czxid = ?1) AND node = ?2 AND lock.path = ?3 LIMIT 1");
    let mut query = connection.prepare_cached(&by_transaction)?;
    let czxid = log.czxid.map(|zxid| zxid.0);
    let found = query.query_row(params![czxid, &*log.node, path], stored::record).optional()?.flatten();
    if found.is_some() || !is_never_reused(&log.node) {
        return Ok(found);
    }
    // It went before the recorder had read it.
    let by_name = format!("{select} {of} czxid IS NULL AND node = ?1) AND lock.path = ?2 LIMIT 1");
    let found = connection.prepare_cached(&by_name)?.query_row(params![&*log.node, path], stored::record).optional()?;
    Ok(found.flatten())
}
