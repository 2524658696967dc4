//! Writes rows, and deletes them by age, together with their segments.
//!
//! Every value is a bound parameter: no text of a znode is part of a statement.

use std::sync::Arc;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OptionalExtension, ToSql, Transaction, params};
use rustc_hash::FxHashMap;

use super::contender::{ContenderRecord, RecordedClient, RecordedLock, RowSource, mode_id};
use super::coverage::ProvenTime;
use super::facts::{FindingRecord, RecordedAttempts, RecordedDeletion, SessionRecord};
use super::timeline::{EnsembleRecord, GapRecord};
use super::unsettled::SettledEnd;
use super::{TABLES_VERSION, coverage, facts, timeline};
use lockscope_base::znode::{SessionId, Timestamp};

/// The most remembered ids of locks, and of clients.
const MAX_IDS: usize = 20_000;

/// The rows to be written in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableRows {
    pub(super) contenders: Vec<ContenderRecord>,
    /// Settled endings of rows that may be written already.
    pub(super) settled: Vec<SettledEnd>,
    pub(super) findings: Vec<Arc<FindingRecord>>,
    pub(super) sessions: Vec<(SessionId, SessionRecord)>,
    pub(super) gaps: Vec<GapRecord>,
    pub(super) ensemble: Vec<EnsembleRecord>,
    pub(super) attempts: Vec<RecordedAttempts>,
    pub(super) deletions: Vec<RecordedDeletion>,
    /// The time and the number of events since rows were last taken.
    pub(super) activity: (Timestamp, u64),
    /// What proves that logs are complete.
    pub(super) proven: Vec<ProvenTime>,
    pub(super) run: Option<RunRecord>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunRecord {
    pub id: i64,
    pub began_at: Timestamp,
    pub until: Timestamp,
    /// `None` in an excerpt of a recording that does not note it.
    pub source: Option<RowSource>,
}

/// Writes rows of the history, each under the id that the recording gives it.
#[derive(Clone, Debug, Default)]
pub struct TableWriter {
    /// The ids of locks and clients in the file.
    locks: FxHashMap<Arc<RecordedLock>, i64>,
    clients: FxHashMap<RecordedClient, i64>,
}

impl TableWriter {
    /// Writes the rows in the caller's transaction. If that is rolled back, call
    /// [`Self::start_over`]; the same rows can then be written again.
    pub fn write(&mut self, transaction: &Transaction<'_>, rows: &TableRows) -> rusqlite::Result<()> {
        let TableRows { contenders, settled, findings, sessions, gaps, ensemble, attempts, .. } = rows;
        let TableRows { deletions, activity: (until, events), proven, run, .. } = rows;
        contenders.iter().try_for_each(|record| self.insert(transaction, record))?;
        settled.iter().try_for_each(|end| set_ending(transaction, *end))?;
        findings.iter().try_for_each(|record| self.finding(transaction, record))?;
        sessions.iter().try_for_each(|(id, record)| self.session(transaction, *id, record))?;
        gaps.iter().try_for_each(|record| gap(transaction, record))?;
        ensemble.iter().try_for_each(|record| timeline::write(transaction, record))?;
        attempts.iter().try_for_each(|record| facts::write(transaction, record))?;
        deletions.iter().try_for_each(|record| deletion(transaction, record))?;
        proven.iter().try_for_each(|proven| coverage::write(transaction, proven))?;
        if *events > 0 {
            let insert = "REPLACE INTO activity (until_at, events) VALUES (?1, ?2)";
            transaction.prepare_cached(insert)?.execute(params![until.0, events])?;
        }
        if let Some(RunRecord { id, began_at, until, source }) = run {
            transaction
                .prepare_cached(
                    "REPLACE INTO recording (id, tables_version, began_at, until_at, source) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![id, TABLES_VERSION, began_at.0, until.0, source.map(RowSource::id)])?;
        }
        self.stay_small();
        Ok(())
    }

    /// Returns the id of a lock, which is added if it is new.
    pub(super) fn lock(&mut self, connection: &Connection, lock: &Arc<RecordedLock>) -> rusqlite::Result<i64> {
        if let Some(id) = self.locks.get(lock) {
            return Ok(*id);
        }
        let (path, name) = (lock.path.as_str(), lock.name.as_deref());
        let mut find =
            connection.prepare_cached("SELECT id FROM lock WHERE path = ?1 AND ifnull(name, x'') = ifnull(?2, x'')")?;
        let known: Option<i64> = find.query_row(params![path, name], |row| row.get(0)).optional()?;
        let id = if let Some(id) = known {
            let changed = connection
                .prepare_cached("UPDATE lock SET recipe = ?2, kind = ?3 WHERE id = ?1 AND recipe <> ?2")?
                .execute(params![id, lock.recipe, lock.kind])?;
            if changed > 0 {
                // Otherwise a lock that gets its earlier recipe again would keep this one.
                self.locks.retain(|_, known| *known != id);
            }
            id
        } else {
            connection
                .prepare_cached("INSERT INTO lock (path, name, recipe, kind) VALUES (?1, ?2, ?3, ?4)")?
                .insert(params![path, name, lock.recipe, lock.kind])?
        };
        self.locks.insert(Arc::clone(lock), id);
        Ok(id)
    }

    /// Returns the id of a client, which is added if it is new; `None` if nothing identifies it.
    pub(super) fn client(&mut self, connection: &Connection, client: &RecordedClient) -> rusqlite::Result<Option<i64>> {
        if *client == RecordedClient::default() {
            return Ok(None);
        }
        if let Some(id) = self.clients.get(client) {
            return Ok(Some(*id));
        }
        let identity = params![client.address, client.name];
        let mut find = connection.prepare_cached(
            "SELECT id FROM client WHERE ifnull(address, x'') = ifnull(?1, x'') AND ifnull(name, x'') = ifnull(?2, x'')",
        )?;
        let known = find.query_row(identity, |row| row.get(0)).optional()?;
        let id = match known {
            Some(id) => id,
            None => {
                connection.prepare_cached("INSERT INTO client (address, name) VALUES (?1, ?2)")?.insert(identity)?
            }
        };
        self.clients.insert(client.clone(), id);
        Ok(Some(id))
    }

    /// Writes a contender with the id that its record has.
    pub(super) fn insert(&mut self, connection: &Connection, record: &ContenderRecord) -> rusqlite::Result<()> {
        let lock = self.lock(connection, &record.lock)?;
        let statement = connection.prepare_cached(
            "REPLACE INTO contender (id, lock_id, node, client_id, session, first_seen_at, enqueued_at, acquired_after,
                acquired_before, ended_after, ended_before, ending, mode, czxid, data, deleted_by, source)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?;
        self.contender(connection, statement, Some(lock), record)
    }

    /// Writes what may have become known of a contender. Its lock and its node stay.
    pub(super) fn update(&mut self, connection: &Connection, record: &ContenderRecord) -> rusqlite::Result<()> {
        let statement = connection.prepare_cached(
            "UPDATE contender SET client_id = ?4, session = ?5, first_seen_at = ?6, enqueued_at = ?7, acquired_after = ?8,
                acquired_before = ?9, ended_after = ?10, ended_before = ?11, ending = ?12, mode = ?13, czxid = ?14, data = ?15,
                deleted_by = ?16, source = ?17 WHERE id = ?1",
        )?;
        self.contender(connection, statement, None, record)
    }

    /// Runs a statement with the columns of a contender, which have the same numbers in each.
    fn contender(
        &mut self,
        connection: &Connection,
        mut statement: CachedStatement<'_>,
        lock: Option<i64>,
        record: &ContenderRecord,
    ) -> rusqlite::Result<()> {
        statement.execute(params![
            record.id,
            lock,
            &*record.node,
            self.client(connection, &record.client)?,
            record.session.map(|session| session.0),
            record.first_seen_at.0,
            record.enqueued_at.map(|time| time.0),
            record.acquired.map(|bounds| bounds.after.0),
            record.acquired.map(|bounds| bounds.before.0),
            record.ended.map(|bounds| bounds.after.0),
            record.ended.map(|bounds| bounds.before.0),
            record.end.id(),
            mode_id(record.mode),
            record.czxid.map(|zxid| zxid.0),
            record.data.as_deref().map(Data),
            record.deleted_by.map(|session| session.0),
            record.source.id(),
        ])?;
        Ok(())
    }

    fn finding(&mut self, connection: &Connection, record: &FindingRecord) -> rusqlite::Result<()> {
        let lock = self.lock(connection, &record.lock)?;
        let client = self.client(connection, &record.client)?;
        let mut statement = connection.prepare_cached(
            "REPLACE INTO finding (id, lock_id, client_id, session, node, code, severity, raised_at, cleared_at, ending, summary, remedy,
                muted_until, muted_note, muted_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?;
        let mute = record.found.muted.as_deref();
        statement.execute(params![
            record.id,
            lock,
            client,
            record.session.map(|session| session.0),
            record.node,
            record.code.id(),
            record.severity.id(),
            record.raised_at.0,
            record.cleared_at.map(|time| time.0),
            record.ending,
            record.found.summary,
            record.found.remedy,
            mute.and_then(|mute| mute.until).map(|until| until.0),
            mute.map(|mute| &*mute.note),
            mute.map(|mute| &*mute.by),
        ])?;
        Ok(())
    }

    fn session(&mut self, connection: &Connection, session: SessionId, record: &SessionRecord) -> rusqlite::Result<()> {
        let client = self.client(connection, &record.client)?;
        let mut statement = connection.prepare_cached(
            "INSERT INTO session (session, client_id, first_seen_at, last_seen_at, expired_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (session) DO UPDATE SET client_id = ifnull(excluded.client_id, client_id),
                last_seen_at = max(last_seen_at, excluded.last_seen_at), expired_at = ifnull(expired_at, excluded.expired_at)",
        )?;
        let expired = record.expired_at.map(|time| time.0);
        statement.execute(params![session.0, client, record.first_seen_at.0, record.last_seen_at.0, expired])?;
        Ok(())
    }

    /// Writes what a log knows of a session. The recorder knows the client's address. Returns
    /// whether something changed.
    pub(super) fn complete_session(
        &mut self,
        connection: &Connection,
        session: SessionId,
        record: &SessionRecord,
    ) -> rusqlite::Result<bool> {
        let client = self.client(connection, &record.client)?;
        let mut statement = connection.prepare_cached(
            "INSERT INTO session (session, client_id, first_seen_at, last_seen_at, expired_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (session) DO UPDATE SET client_id = ifnull(client_id, excluded.client_id),
                first_seen_at = min(first_seen_at, excluded.first_seen_at),
                last_seen_at = max(last_seen_at, excluded.last_seen_at), expired_at = ifnull(excluded.expired_at, expired_at)
             WHERE client_id IS NULL AND excluded.client_id IS NOT NULL OR first_seen_at > excluded.first_seen_at
                OR last_seen_at < excluded.last_seen_at OR expired_at IS NOT ifnull(excluded.expired_at, expired_at)",
        )?;
        let expired = record.expired_at.map(|time| time.0);
        let values = params![session.0, client, record.first_seen_at.0, record.last_seen_at.0, expired];
        Ok(statement.execute(values)? > 0)
    }

    /// Forgets the remembered ids if there are too many; they are read again.
    pub(super) fn stay_small(&mut self) {
        if self.locks.len() > MAX_IDS {
            self.locks = FxHashMap::default();
        }
        if self.clients.len() > MAX_IDS {
            self.clients = FxHashMap::default();
        }
    }

    /// Forgets the remembered ids of locks and clients. Must be called after a transaction was
    /// rolled back or old rows were deleted.
    pub fn start_over(&mut self) {
        *self = Self::default();
    }
}

/// Data written as text if they are text, so that people can read them.
struct Data<'a>(&'a [u8]);

impl ToSql for Data<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let is_text = std::str::from_utf8(self.0).is_ok() && !self.0.contains(&0);
        Ok(ToSqlOutput::Borrowed(if is_text { ValueRef::Text(self.0) } else { ValueRef::Blob(self.0) }))
    }
}

/// Replaces an uncertain ending by the known one. A deletion explained by the audit log stays.
fn set_ending(connection: &Connection, SettledEnd { id, end }: SettledEnd) -> rusqlite::Result<()> {
    let mut statement = connection
        .prepare_cached("UPDATE contender SET ending = ?2 WHERE id = ?1 AND ending IN ('unknown', 'gone')")?;
    statement.execute(params![id, end.id()])?;
    Ok(())
}

fn gap(connection: &Connection, record: &GapRecord) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare_cached("REPLACE INTO gap (id, began_at, ended_at, reason) VALUES (?1, ?2, ?3, ?4)")?;
    statement.execute(params![record.id, record.began_at.0, record.ended_at.map(|time| time.0), record.reason])?;
    Ok(())
}

/// Writes a deletion, and updates the ending of its contender if that was written before.
fn deletion(connection: &Connection, deletion: &RecordedDeletion) -> rusqlite::Result<()> {
    let czxid = deletion.czxid.map(|zxid| zxid.0);
    connection
        .prepare_cached(
            "INSERT INTO deletion (at, lock, path, czxid, by, result, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            deletion.at.0,
            deletion.lock,
            deletion.path,
            czxid,
            deletion.by,
            deletion.result,
            deletion.reason
        ])?;
    if let Some((node, czxid)) = deletion.node() {
        // Found by the index of their ends: a recorder is never an hour behind.
        connection
            .prepare_cached(
                "UPDATE contender SET ending = 'deleted' WHERE node = ?1 AND czxid = ?2
                    AND ifnull(ended_before, 9223372036854775807) BETWEEN ?3 - 3600000 AND ?3 + 3600000
                    AND ending IN ('gone', 'released', 'left', 'unknown')",
            )?
            .execute(params![node, czxid.0, deletion.at.0])?;
    }
    Ok(())
}

/// Deletes the rows of everything that ended before `time`; open rows stay. Afterwards
/// [`TableWriter::start_over`](super::TableWriter::start_over) must be called. Linear in the
/// deleted rows, and in the locks and clients of the file.
pub fn forget_before(transaction: &Transaction<'_>, time: Timestamp) -> rusqlite::Result<()> {
    let ended = [
        "DELETE FROM contender WHERE ifnull(ended_before, 9223372036854775807) < ?1",
        "DELETE FROM finding WHERE ifnull(cleared_at, 9223372036854775807) < ?1",
        "DELETE FROM gap WHERE ended_at < ?1",
        "DELETE FROM ensemble_event WHERE ifnull(ended_before, 9223372036854775807) < ?1",
        "DELETE FROM deletion WHERE at < ?1",
        "DELETE FROM attempt WHERE to_at < ?1",
        "DELETE FROM activity WHERE until_at < ?1",
        "DELETE FROM coverage WHERE ended_at < ?1",
        "DELETE FROM session WHERE last_seen_at < ?1 AND NOT EXISTS (SELECT 1 FROM contender WHERE contender.session = session.session)",
        "DELETE FROM recording WHERE until_at < ?1 AND id < (SELECT max(id) FROM recording)",
    ];
    for statement in ended {
        transaction.execute(statement, params![time.0])?;
    }
    transaction.execute_batch(
        "DELETE FROM lock WHERE NOT EXISTS (SELECT 1 FROM contender WHERE lock_id = lock.id)
            AND lock.id NOT IN (SELECT lock_id FROM finding);
         DELETE FROM client WHERE NOT EXISTS (SELECT 1 FROM contender WHERE client_id = client.id)
            AND client.id NOT IN (SELECT client_id FROM finding WHERE client_id IS NOT NULL)
            AND client.id NOT IN (SELECT client_id FROM session WHERE client_id IS NOT NULL);",
    )
}
