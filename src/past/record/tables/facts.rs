//! The rows beside the contenders: findings, sessions, failed attempts, and deletions by hand.
//!
//! A finding has the times at which it was raised and cleared. A session has the times at which it
//! first and last contended, and whether it expired. A failed attempt is a create that a server
//! refused because the node existed. A deletion by hand comes from the audit log: it is a row, and
//! the end of the contender that it deleted.

use std::sync::Arc;

use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use super::contender::{ContenderEnd, ContenderRecord, RecordedClient, RecordedLock};
use crate::record::memory::RowMemory;
use lockscope_base::recipe::{LockKind, Recipe};
use lockscope_base::znode::{SessionId, TimeRange, Timestamp, Zxid};
use lockscope_model::diagnose::{Code, Finding, FindingChanges, Severity};
use lockscope_model::queue::{Happening, LockEvent, LockId, LockTable};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FindingRecord {
    pub id: i64,
    pub lock: Arc<RecordedLock>,
    pub client: RecordedClient,
    pub session: Option<SessionId>,
    pub node: Option<Arc<str>>,
    pub code: Code,
    pub severity: Severity,
    pub raised_at: Timestamp,
    pub cleared_at: Option<Timestamp>,
    /// `open`, `cleared`, or `unknown` if the locks were no longer seen.
    pub ending: &'static str,
    /// The finding, whose summary and remedy are written. They are long, so the diagnosis and the
    /// row share them.
    pub found: Arc<Finding>,
}

type FindingKey = (LockId, Code, Option<Arc<str>>);

/// The open findings, and the rows to be written.
#[derive(Clone, Debug)]
pub(super) struct StandingFindingRows {
    no_data: bool,
    next_id: i64,
    standing: FxHashMap<FindingKey, Arc<FindingRecord>>,
    /// Changed rows in order; the last row of an id counts.
    pub changed: Vec<Arc<FindingRecord>>,
}

/// The most rows kept while nothing can be written.
const MAX_CHANGED_FINDINGS: usize = 100_000;

impl StandingFindingRows {
    pub fn new(no_data: bool, next_id: i64) -> Self {
        Self { no_data, next_id, standing: FxHashMap::default(), changed: Vec::new() }
    }

    /// Records the changes of one look for findings.
    pub fn changed(&mut self, changes: &FindingChanges, table: &LockTable, at: Timestamp) {
        if self.changed.len() > MAX_CHANGED_FINDINGS {
            self.changed.drain(..MAX_CHANGED_FINDINGS / 2);
        }
        for finding in &changes.cleared {
            let Some(record) = self.standing.remove(&key(finding)) else { continue };
            let mut record = Arc::unwrap_or_clone(record);
            // A finding of unseen locks is not known to be cleared.
            let seen = table.is_in_step().then_some(at);
            record.cleared_at = seen.or(table.last_true()).or(Some(at));
            record.ending = if seen.is_some() { "cleared" } else { "unknown" };
            self.changed.push(record.into());
        }
        for finding in &changes.raised {
            let record = Arc::new(self.raised(finding, table, at));
            self.changed.push(Arc::clone(&record));
            self.standing.insert(key(finding), record);
        }
        for finding in &changes.muted {
            if self.standing.contains_key(&key(finding)) {
                let record = Arc::new(self.raised(finding, table, at));
                self.changed.push(Arc::clone(&record));
                self.standing.insert(key(finding), record);
            }
        }
    }

    /// Records findings that were open when the table was first seen, with their beginnings.
    pub fn stood(&mut self, findings: impl Iterator<Item = (Arc<Finding>, Timestamp)>, table: &LockTable) {
        for (finding, raised_at) in findings {
            let record = Arc::new(self.raised(&finding, table, raised_at));
            self.changed.push(Arc::clone(&record));
            self.standing.insert(key(&finding), record);
        }
    }

    fn raised(&mut self, finding: &Arc<Finding>, table: &LockTable, at: Timestamp) -> FindingRecord {
        let found = self.recorded(finding);
        if let Some(known) = self.standing.get(&key(finding)) {
            let severity = known.severity.max(finding.severity);
            return FindingRecord { severity, found, ..FindingRecord::clone(known) };
        }
        let id = self.next_id;
        self.next_id += 1;
        let lock = table.lock(finding.lock.id);
        let (recipe, kind) =
            lock.map_or((Recipe::UnknownQueue.id(), LockKind::Exclusive), |lock| (lock.recipe().id(), lock.kind()));
        let client = finding.client.as_ref();
        FindingRecord {
            id,
            lock: Arc::new(RecordedLock {
                path: finding.lock.path.clone(),
                name: finding.lock.name.clone(),
                recipe,
                kind: kind.id(),
            }),
            client: RecordedClient {
                address: client.and_then(|client| client.address.clone()),
                name: client.and_then(|client| client.name.clone()).filter(|_| !self.no_data),
            },
            session: client.and_then(|client| client.session),
            node: finding.node.clone(),
            code: finding.code,
            severity: finding.severity,
            raised_at: at,
            cleared_at: None,
            ending: "open",
            found,
        }
    }

    /// Removes the parts that come from a node's data, when data are not recorded.
    fn recorded(&self, finding: &Arc<Finding>) -> Arc<Finding> {
        match finding.client.as_ref().and_then(|client| client.name.as_deref()) {
            Some(name) if self.no_data => {
                let summary = finding.summary.replace(&*lockscope_base::znode::escaped(name), "(name not recorded)");
                Arc::new(Finding { summary, ..Finding::clone(finding) })
            }
            _ => Arc::clone(finding),
        }
    }
}

fn key(finding: &Finding) -> FindingKey {
    (finding.lock.id, finding.code, finding.node.clone())
}

/// A session that changed since the last flush.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionRecord {
    pub client: RecordedClient,
    pub first_seen_at: Timestamp,
    pub last_seen_at: Timestamp,
    pub expired_at: Option<Timestamp>,
}

/// The most sessions kept while nothing can be written.
const MAX_CHANGED_SESSIONS: usize = 100_000;

/// The sessions that changed since the last flush.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangedSessions {
    pub changed: FxHashMap<SessionId, SessionRecord>,
}

impl ChangedSessions {
    /// Records an event.
    pub fn happened(&mut self, happening: &Happening, at: Timestamp, no_data: bool) {
        let Some(session) = happening.session.filter(|_| happening.contender.is_some()) else { return };
        self.seen(session, at);
        let Some(record) = self.changed.get_mut(&session) else { return };
        record.last_seen_at = record.last_seen_at.max(at);
        if record.client.address.is_none() {
            record.client.address.clone_from(&happening.client.address);
        }
        if record.client.name.is_none() && !no_data {
            record.client.name.clone_from(&happening.client.name);
        }
        if matches!(happening.event, LockEvent::Expired | LockEvent::Settled) {
            record.expired_at.get_or_insert(at);
        }
    }

    fn seen(&mut self, session: SessionId, at: Timestamp) {
        if self.changed.len() >= MAX_CHANGED_SESSIONS && !self.changed.contains_key(&session) {
            return;
        }
        let client = RecordedClient::default();
        let record = SessionRecord { client, first_seen_at: at, last_seen_at: at, expired_at: None };
        self.changed.entry(session).or_insert(record);
    }

    /// Records that one of the session's contenders is written.
    pub fn stood(&mut self, contender: &ContenderRecord, now: Timestamp) {
        let Some(session) = contender.session else { return };
        let at = contender.ended.map_or(now, |ended| ended.before);
        self.seen(session, at);
        let Some(record) = self.changed.get_mut(&session) else { return };
        record.first_seen_at = record.first_seen_at.min(contender.first_seen_at);
        record.last_seen_at = record.last_seen_at.max(at);
        if contender.client != RecordedClient::default() {
            record.client = contender.client.clone();
        }
        if contender.end == ContenderEnd::Expired {
            record.expired_at.get_or_insert(at);
        }
    }
}

/// The most rows collected between two flushes. Attempts of more sessions share one row.
const MAX_ROWS: usize = 10_000;

/// Attempts of one session within a short time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedAttempts {
    /// The path of the lock that it most likely tried.
    pub lock: Option<String>,
    /// The session; `None` for several.
    pub session: Option<SessionId>,
    /// The times of the first and of the last attempt.
    pub time: TimeRange,
    /// The number of attempts.
    pub count: u64,
}

/// The attempts since the last flush.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts {
    rows: FxHashMap<(Option<SessionId>, Option<String>), RecordedAttempts>,
}

impl Attempts {
    pub fn add(&mut self, attempts: RecordedAttempts) {
        let RecordedAttempts { lock, session, time, count } = attempts;
        let key = (session, lock);
        let key = if self.rows.len() < MAX_ROWS || self.rows.contains_key(&key) { key } else { (None, None) };
        let new = || RecordedAttempts { lock: key.1.clone(), session: key.0, time, count: 0 };
        let row = self.rows.entry(key.clone()).or_insert_with(new);
        row.time = TimeRange { from: row.time.from.min(time.from), to: row.time.to.max(time.to) };
        row.count = row.count.saturating_add(count);
    }

    /// Takes the rows, in the order of time.
    pub fn take(&mut self) -> Vec<RecordedAttempts> {
        let mut rows: Vec<RecordedAttempts> = std::mem::take(&mut self.rows).into_values().collect();
        rows.sort_unstable_by(|one, other| {
            (one.time, one.session, &one.lock).cmp(&(other.time, other.session, &other.lock))
        });
        rows
    }
}

/// Reads a number of attempts. A damaged file may have one below zero.
pub(in crate::record) fn count_of(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// Returns whether a file has the table: those of earlier versions do not.
pub(in crate::record) fn exist(connection: &Connection) -> rusqlite::Result<bool> {
    connection.table_exists(None, "attempt")
}

/// Reads the rows that lie within a time.
pub(super) fn within(connection: &Connection, time: TimeRange) -> rusqlite::Result<Vec<RecordedAttempts>> {
    if !exist(connection)? {
        return Ok(Vec::new());
    }
    let mut query = connection.prepare(
        "SELECT lock, session, from_at, to_at, count FROM attempt WHERE to_at BETWEEN ?1 AND ?2 AND from_at >= ?1 ORDER BY id",
    )?;
    let memory = RowMemory::default();
    let attempts = |row: &rusqlite::Row<'_>| {
        memory.charge(row)?;
        Ok(RecordedAttempts {
            lock: row.get(0)?,
            session: row.get::<_, Option<i64>>(1)?.map(SessionId),
            time: TimeRange { from: Timestamp(row.get(2)?), to: Timestamp(row.get(3)?) },
            count: count_of(row, 4)?,
        })
    };
    query.query_map(params![time.from.0, time.to.0], attempts)?.collect()
}

/// Gives a recording the attempts that the recording of a log has within a time, in place of its own.
/// Returns whether something changed.
pub(in crate::record) fn complete(
    connection: &Connection,
    log: &Connection,
    time: TimeRange,
) -> rusqlite::Result<bool> {
    let attempts = within(log, time)?;
    if attempts == within(connection, time)? {
        return Ok(false);
    }
    let range = params![time.from.0, time.to.0];
    connection.execute("DELETE FROM attempt WHERE to_at BETWEEN ?1 AND ?2 AND from_at >= ?1", range)?;
    attempts.iter().try_for_each(|attempts| write(connection, attempts))?;
    Ok(true)
}

/// Writes a row.
pub(super) fn write(connection: &Connection, attempts: &RecordedAttempts) -> rusqlite::Result<()> {
    let RecordedAttempts { lock, session, time, count } = attempts;
    let mut insert = connection
        .prepare_cached("INSERT INTO attempt (lock, session, from_at, to_at, count) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let count = i64::try_from(*count).unwrap_or(i64::MAX);
    insert.execute(params![lock, session.map(|session| session.0), time.from.0, time.to.0, count])?;
    Ok(())
}

/// One deletion in the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedDeletion {
    /// The time at which the outcome was known.
    pub at: Timestamp,
    /// The path of the lock.
    pub lock: String,
    /// The path of the node.
    pub path: String,
    /// The transaction that created the node.
    pub czxid: Option<Zxid>,
    /// The user who deleted the node.
    pub by: Option<String>,
    /// The name of the outcome in the audit log: `deleted` when the node was deleted.
    pub result: String,
    /// The outcome as a sentence.
    pub reason: Option<String>,
}

/// The most deletions remembered until the end of their contenders is seen.
const MAX_REMEMBERED: usize = 1_000;

/// Deletions not written yet, and recent ones whose contender may not have ended yet.
#[derive(Clone, Debug, Default)]
pub(super) struct DeletionRows {
    pub unwritten: Vec<RecordedDeletion>,
    recent: Vec<RecordedDeletion>,
}

impl DeletionRows {
    pub fn add(&mut self, deletion: RecordedDeletion) {
        if deletion.node().is_some() {
            self.recent.push(deletion.clone());
        }
        if self.recent.len() > MAX_REMEMBERED {
            self.recent.remove(0);
        }
        if self.unwritten.len() < MAX_REMEMBERED {
            self.unwritten.push(deletion);
        }
    }

    /// Marks the ends that were caused by a remembered deletion.
    pub fn explain(&self, ended: &mut [ContenderRecord]) {
        if self.recent.is_empty() {
            return;
        }
        for record in ended.iter_mut().filter(|record| is_explained(record.end)) {
            if self.recent.iter().any(|deletion| deletion.is_of(record)) {
                record.end = ContenderEnd::Deleted;
            }
        }
    }
}

/// Returns whether a deletion by hand explains more than this ending.
fn is_explained(end: ContenderEnd) -> bool {
    matches!(end, ContenderEnd::Gone | ContenderEnd::Unknown)
}

impl RecordedDeletion {
    /// Returns the name and the creating transaction of the deleted node.
    pub(super) fn node(&self) -> Option<(&str, Zxid)> {
        let name = self.path.rsplit('/').next().filter(|_| self.result == "deleted")?;
        Some((name, self.czxid?))
    }

    fn is_of(&self, record: &ContenderRecord) -> bool {
        self.node().is_some_and(|(name, czxid)| record.czxid == Some(czxid) && *record.node == *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_of_one_session_at_one_lock_are_one_row_until_there_are_too_many() {
        let mut attempts = Attempts::default();
        let at = |session, at| RecordedAttempts {
            lock: Some("/leader".to_owned()),
            session: Some(SessionId(session)),
            time: TimeRange { from: Timestamp(at), to: Timestamp(at) },
            count: 1,
        };
        for one in [at(1, 5), at(2, 6), at(1, 9)] {
            attempts.add(one);
        }
        let rows = attempts.take();
        assert_eq!(
            rows.iter().map(|row| (row.count, row.time.from.0, row.time.to.0)).collect::<Vec<_>>(),
            [(2, 5, 9), (1, 6, 6)]
        );
        assert_eq!(attempts.take(), []);
        let many = i64::try_from(MAX_ROWS).unwrap() + 7;
        (0..many).for_each(|session| attempts.add(at(session, 1)));
        let rows = attempts.take();
        let shared: Vec<_> = rows.iter().filter(|row| row.session.is_none()).collect();
        assert_eq!((rows.len(), shared.len(), shared[0].count), (MAX_ROWS + 1, 1, 7));
    }
}
