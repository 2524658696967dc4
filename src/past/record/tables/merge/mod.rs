//! Completes the tables of a recording with those of a recording made from transaction logs.
//!
//! The rows of contenders are merged here, and those that only the log has are added. The rest
//! follows in `times`.
//!
//! All of it happens in one transaction of the caller. Rows are read in batches, so memory does not
//! grow with either recording. Completing twice with the same logs changes nothing the second time.
//!
//! Ids rise in the order in which contenders were first seen, also after rows were added.

pub(in crate::record) mod times;

use rusqlite::{Connection, OptionalExtension, params};

use crate::record::tables::contender;
use crate::record::tables::contender::{ContenderEnd, ContenderRecord, RecordedClient, RowSource};
use crate::record::tables::rows::TableWriter;
use crate::record::tables::spans::Spans;
use lockscope_base::recipe::is_never_reused;
use lockscope_base::znode::{TimeBounds, TimeRange, Timestamp, Zxid};

pub(in crate::record) use super::facts::complete as complete_attempts;
pub(in crate::record) use super::timeline::complete as complete_ensemble;
pub(in crate::record) use times::{
    add_activity, add_coverage, add_findings, add_gaps, add_runs, close_findings, complete_sessions, prove_ends,
    reduce_gaps,
};

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
        log.prepare_cached(&format!("{} WHERE contender.id > ?1 ORDER BY contender.id", contender::select(log)?))?;
    let (mut rows, mut read, mut bytes) = (query.query([after])?, Vec::new(), 0);
    while read.len() < BATCH_ROWS
        && bytes < BATCH_BYTES
        && let Some(row) = rows.next()?
    {
        let Some(record) = contender::record(row)? else { continue };
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
        let Completed { record, is_contradicted } = complete(recorded, log, self.known);
        self.found += 1;
        self.both += u64::from(record.source == RowSource::Both);
        self.contradicted += u64::from(is_contradicted);
        let ended = |record: &ContenderRecord| record.ended.and_then(TimeBounds::exactly);
        // Completed rows may have the log's time already.
        if recorded.source == RowSource::Watched
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
        self.changed_from.map_or(Ok(()), |from| renumber(connection, from, self.last_id))
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
    let (select, path) = (contender::select(connection)?, log.lock.path.as_str());
    let of = "WHERE contender.id IN (SELECT id FROM temp.merge_known WHERE";
    let by_transaction = format!("{select} {of} czxid = ?1) AND node = ?2 AND lock.path = ?3 LIMIT 1");
    let mut query = connection.prepare_cached(&by_transaction)?;
    let czxid = log.czxid.map(|zxid| zxid.0);
    let found = query.query_row(params![czxid, &*log.node, path], contender::record).optional()?.flatten();
    if found.is_some() || !is_never_reused(&log.node) {
        return Ok(found);
    }
    // It went before the recorder had read it.
    let by_name = format!("{select} {of} czxid IS NULL AND node = ?1) AND lock.path = ?2 LIMIT 1");
    let found =
        connection.prepare_cached(&by_name)?.query_row(params![&*log.node, path], contender::record).optional()?;
    Ok(found.flatten())
}

/// A row of the recording, completed by the log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Completed {
    pub record: ContenderRecord,
    /// Whether the log disproves something that the row claimed.
    pub is_contradicted: bool,
}

/// Completes a row. What the recorder saw exactly stays, with the time of its clock. What it has
/// only bounds of, or did not see, is taken from the log. `known` are the times that the log
/// covers.
///
/// Times of two clocks can contradict each other. For example, the recorder's clock is 2 s ahead:
/// it saw a node come at 10:00:08 and then lost its connection. By the log the node came at
/// 10:00:06 and ended at 10:00:07, so a mix of both would end before it began.
///
/// The order of trust is an exact time of the recorder, an exact one of the log, and what both
/// bounds leave. Only if a step then comes before an earlier one, the times that the log has
/// replace the recorder's, because they are of one clock. How it ended is taken last, because that
/// depends on whether it held.
fn complete(recorded: &ContenderRecord, log: &ContenderRecord, known: &Spans) -> Completed {
    let is_disproved = recorded.acquired.is_some() && log.acquired.is_none() && covers_stay(log, known);
    let claims_expiry = recorded.end == ContenderEnd::Expired && is_certain(log.end);
    let mut record = ContenderRecord {
        client: client(recorded, log),
        session: recorded.session.or(log.session),
        first_seen_at: first_seen_at(recorded, log),
        enqueued_at: recorded.enqueued_at.or(log.enqueued_at),
        acquired: narrowed(recorded.acquired, log.acquired).filter(|_| !is_disproved),
        ended: narrowed(recorded.ended, log.ended),
        source: recorded.source.and(log.source),
        mode: if recorded.czxid.is_some() { recorded.mode } else { log.mode },
        czxid: recorded.czxid.or(log.czxid),
        data: recorded.data.clone().or_else(|| log.data.clone()),
        ..recorded.clone()
    };
    if !is_in_order(&record) {
        take_times(&mut record, log);
    }
    take_end(&mut record, log);
    Completed { record, is_contradicted: is_disproved || claims_expiry && log.end != ContenderEnd::Expired }
}

/// Returns whether the log proves this end.
fn is_certain(end: ContenderEnd) -> bool {
    use ContenderEnd::{Closed, Deleted, Expired, Gone, Left, Open, Released, Unknown};
    match end {
        Released | Left | Expired | Closed | Deleted => true,
        Open | Gone | Unknown => false,
    }
}

/// Returns whether the log has seen everything from the arrival to the end.
fn covers_stay(log: &ContenderRecord, known: &Spans) -> bool {
    let ended = log.ended.and_then(TimeBounds::exactly).filter(|_| log.end != ContenderEnd::Unknown);
    log.enqueued_at
        .zip(ended)
        .is_some_and(|(from, to)| from >= log.first_seen_at && known.covers(TimeRange { from, to }))
}

/// Returns the client that the recorder knew. The log has only names.
fn client(recorded: &ContenderRecord, log: &ContenderRecord) -> RecordedClient {
    RecordedClient {
        address: recorded.client.address.clone().or_else(|| log.client.address.clone()),
        name: recorded.client.name.clone().or_else(|| log.client.name.clone()),
    }
}

/// Returns the earlier time for a contender that the recorder did not see coming.
fn first_seen_at(recorded: &ContenderRecord, log: &ContenderRecord) -> Timestamp {
    let saw_it_come = recorded.enqueued_at == Some(recorded.first_seen_at);
    if saw_it_come { recorded.first_seen_at } else { recorded.first_seen_at.min(log.first_seen_at) }
}

/// Returns the exact time if there is one, the recorder's first, or else what both bounds leave.
fn narrowed(recorded: Option<TimeBounds>, log: Option<TimeBounds>) -> Option<TimeBounds> {
    let (Some(recorded), Some(log)) = (recorded, log) else { return recorded.or(log) };
    if recorded.exactly().is_some() {
        return Some(recorded);
    }
    if log.exactly().is_some() {
        return Some(log);
    }
    let both = TimeBounds { after: recorded.after.max(log.after), before: recorded.before.min(log.before) };
    Some(if both.after < both.before { both } else { recorded })
}

/// Returns whether no step comes before an earlier one.
fn is_in_order(record: &ContenderRecord) -> bool {
    let ContenderRecord { enqueued_at, acquired, ended, .. } = record;
    let came = enqueued_at.unwrap_or(Timestamp(i64::MIN));
    let held = acquired.map_or(came, |acquired| acquired.before);
    acquired.is_none_or(|acquired| acquired.before >= came) && ended.is_none_or(|ended| ended.before >= held)
}

/// Takes all times that the log has. The recorder's clock differs from the leader's, so times of
/// both do not always make a stay.
fn take_times(record: &mut ContenderRecord, log: &ContenderRecord) {
    record.enqueued_at = log.enqueued_at.or(record.enqueued_at);
    record.acquired = record.acquired.map(|recorded| log.acquired.unwrap_or(recorded));
    record.ended = log.ended.or(record.ended);
}

/// Takes how the contender ended, where the log says more. An end that is still open is none.
fn take_end(record: &mut ContenderRecord, log: &ContenderRecord) {
    let says_more = match (record.end, log.end) {
        (_, ContenderEnd::Open) => false,
        (ContenderEnd::Open, _) | (ContenderEnd::Unknown, ContenderEnd::Gone) => true,
        (_, end) => is_certain(end),
    };
    if says_more {
        record.end = match log.end {
            // The log may begin after it came to hold.
            ContenderEnd::Left if record.acquired.is_some() => ContenderEnd::Released,
            end => end,
        };
        record.deleted_by = log.deleted_by.or(record.deleted_by);
    }
}

/// Numbers the rows from a time on anew, behind all others. Rows after `last_id` were added.
fn renumber(connection: &Connection, from: Timestamp, last_id: i64) -> rusqlite::Result<()> {
    let is_behind: bool = connection.query_row(
        "SELECT NOT EXISTS (SELECT 1 FROM contender WHERE id <= ?1 AND first_seen_at >= ?2)",
        params![last_id, from.0],
        |row| row.get(0),
    )?;
    if is_behind {
        return Ok(());
    }
    connection.execute_batch("CREATE TEMP TABLE merge_order (place INTEGER PRIMARY KEY, old INTEGER NOT NULL)")?;
    connection.execute(
        "INSERT INTO merge_order (old) SELECT id FROM contender WHERE first_seen_at >= ?1 OR id > ?2
         ORDER BY first_seen_at, id",
        params![from.0, last_id],
    )?;
    // All new numbers are larger than the old ones, so none is taken twice.
    let last: i64 = connection.query_row("SELECT ifnull(max(id), 0) FROM contender", [], |row| row.get(0))?;
    connection.execute(
        "UPDATE contender SET id = ?1 + place FROM temp.merge_order WHERE contender.id = merge_order.old",
        [last],
    )?;
    connection.execute_batch("DROP TABLE temp.merge_order")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::record::tables::contender::{RecordedLock, RowSource};
    use lockscope_base::recipe::RequestMode;
    use lockscope_base::znode::{SessionId, TimeBounds, ZnodePath, Zxid};

    fn row(
        source: RowSource,
        came: i64,
        acquired: Option<(i64, i64)>,
        end: ContenderEnd,
        ended: Option<(i64, i64)>,
    ) -> ContenderRecord {
        let bounds = |(after, before)| TimeBounds { after: Timestamp(after), before: Timestamp(before) };
        ContenderRecord {
            id: 1,
            lock: Arc::new(RecordedLock {
                path: ZnodePath::new("/a").unwrap(),
                name: None,
                recipe: "curator-mutex",
                kind: "exclusive",
            }),
            client: RecordedClient::default(),
            session: Some(SessionId(1)),
            first_seen_at: Timestamp(came),
            enqueued_at: Some(Timestamp(came)),
            acquired: acquired.map(bounds),
            ended: ended.map(bounds),
            end,
            deleted_by: None,
            source,
            mode: RequestMode::Exclusive,
            node: "lock-0".into(),
            czxid: Some(Zxid(7)),
            data: None,
            is_listed: false,
            look: 0,
        }
    }

    fn known() -> Spans {
        let mut known = Spans::default();
        known.add(TimeRange { from: Timestamp(0), to: Timestamp(1_000) }).unwrap();
        known
    }

    fn log(acquired: Option<(i64, i64)>, end: ContenderEnd, ended: Option<(i64, i64)>) -> ContenderRecord {
        row(RowSource::Log, 100, acquired, end, ended)
    }

    fn watched(acquired: Option<(i64, i64)>, end: ContenderEnd, ended: Option<(i64, i64)>) -> ContenderRecord {
        row(RowSource::Watched, 104, acquired, end, ended)
    }

    /// Returns what the row is completed to: when it came, acquired and ended, and how.
    fn told(recorded: &ContenderRecord, log: &ContenderRecord) -> String {
        let Completed { record, is_contradicted } = complete(recorded, log, &known());
        assert_eq!(record.source, RowSource::Both);
        let again = complete(&record, log, &known());
        assert_eq!(again, Completed { record: record.clone(), is_contradicted: false }, "completed again");
        let bounds = |bounds: Option<TimeBounds>| {
            bounds.map_or("-".to_owned(), |TimeBounds { after, before }| match before.0 - after.0 {
                0 => before.0.to_string(),
                _ => format!("{}..{}", after.0, before.0),
            })
        };
        let came = record.enqueued_at.map_or(-1, |came| came.0);
        let mark = if is_contradicted { "!" } else { "" };
        format!("{came} {} {} {}{mark}", bounds(record.acquired), bounds(record.ended), record.end.id())
    }

    #[test]
    fn bounds_become_the_times_of_the_log_and_what_was_seen_stays() {
        use ContenderEnd::{Expired, Gone, Left, Open, Released, Unknown};
        let released = log(Some((200, 200)), Released, Some((300, 300)));
        assert_eq!(told(&watched(Some((150, 400)), Unknown, Some((150, 400))), &released), "104 200 300 released");
        assert_eq!(told(&watched(Some((205, 205)), Gone, Some((303, 303))), &released), "104 205 303 released");
        assert_eq!(told(&watched(None, Open, None), &released), "104 200 300 released");
        assert_eq!(told(&watched(None, Unknown, Some((150, 400))), &released), "104 200 300 released");
        let stands = log(Some((200, 200)), Open, None);
        assert_eq!(told(&watched(Some((150, 250)), Open, None), &stands), "104 200 - open");
        assert_eq!(told(&watched(Some((205, 205)), Expired, Some((500, 500))), &stands), "104 205 500 expired");
        let left = log(None, Left, Some((300, 300)));
        assert_eq!(told(&watched(None, Gone, Some((303, 303))), &left), "104 - 303 left");
    }

    #[test]
    fn bounds_of_both_leave_what_lies_in_both() {
        use ContenderEnd::Unknown;
        let log = log(Some((120, 300)), Unknown, Some((300, 600)));
        assert_eq!(told(&watched(Some((200, 400)), Unknown, Some((350, 700))), &log), "104 200..300 350..600 unknown");
    }

    #[test]
    fn an_acquisition_that_the_log_disproves_goes() {
        use ContenderEnd::{Gone, Left, Released};
        let claimed = watched(Some((250, 250)), Gone, Some((303, 303)));
        assert_eq!(told(&claimed, &log(None, Left, Some((300, 300)))), "104 - 303 left!");
        // The log begins after the node was created: it may have held before.
        let stood = ContenderRecord { first_seen_at: Timestamp(280), ..log(None, Left, Some((300, 300))) };
        assert_eq!(told(&claimed, &stood), "104 250 303 released");
        assert_eq!(told(&claimed, &log(Some((240, 240)), Released, Some((300, 300)))), "104 250 303 released");
    }

    #[test]
    fn an_expiry_that_the_log_disproves_is_a_contradiction() {
        use ContenderEnd::{Expired, Released};
        let claimed = watched(Some((205, 205)), Expired, Some((303, 303)));
        assert_eq!(told(&claimed, &log(Some((200, 200)), Released, Some((300, 300)))), "104 205 303 released!");
    }

    #[test]
    fn a_recorder_whose_clock_is_wrong_makes_no_stay_that_ends_before_it_begins() {
        use ContenderEnd::{Open, Released};
        let ahead =
            ContenderRecord { enqueued_at: Some(Timestamp(5_100)), ..watched(Some((5_200, 5_200)), Open, None) };
        assert_eq!(told(&ahead, &log(Some((200, 200)), Released, Some((300, 300)))), "100 200 300 released");
    }

    #[test]
    fn the_recorder_knows_the_address_and_the_log_the_name() {
        let mut recorded = watched(None, ContenderEnd::Open, None);
        recorded.client.address = Some("10.0.0.1:5000".into());
        let mut named = log(None, ContenderEnd::Open, None);
        (named.client.name, named.data) = (Some("worker".into()), Some(b"worker"[..].into()));
        let record = complete(&recorded, &named, &known()).record;
        assert_eq!(record.client.address.as_deref(), Some("10.0.0.1:5000"));
        assert_eq!((record.client.name.as_deref(), record.data.as_deref()), (Some("worker"), Some(&b"worker"[..])));
    }
}
