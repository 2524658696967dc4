//! What the tables of a file say of one moment: the state from which a recorder goes on, or with
//! which an excerpt begins.
//!
//! A recorder goes on with what its earlier run left: the present contenders, and the time up to
//! which it had seen everything. An excerpt begins with the rows of its first moment, and takes
//! from the tables the facts of its time that the stream lacks.

use std::collections::VecDeque;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::contender::{ContenderEnd, ContenderRecord};
use super::coverage::ProvenTime;
use super::facts::{RecordedAttempts, RecordedDeletion};
use super::timeline::{EnsembleRecord, GapRecord};
use super::{contender, coverage, facts, timeline};
use crate::record::memory::RowMemory;
use lockscope_base::znode::{TimeRange, Timestamp, ZnodePath, Zxid};
use lockscope_model::diagnose::{Diagnosis, Finding};
use lockscope_model::queue::{Contender, LockName, LockTable};

/// The key of a node that is found again; it includes the creating transaction.
type NodeKey = (ZnodePath, String, Zxid);

/// The contenders that were present when the earlier run ended.
#[derive(Clone, Debug, Default)]
pub struct Unfinished {
    by_node: FxHashMap<NodeKey, ContenderRecord>,
    /// Contenders whose nodes had not been read: they cannot be found again.
    others: Vec<ContenderRecord>,
}

impl Unfinished {
    /// Takes the record of this contender of a lock.
    pub fn remove(&mut self, lock: &LockName, contender: &Contender) -> Option<ContenderRecord> {
        if self.by_node.is_empty() {
            return None;
        }
        self.by_node.remove(&(lock.path.clone(), contender.node.to_string(), contender.czxid))
    }

    /// Takes all records that were not found again.
    pub fn remove_rest(&mut self) -> impl Iterator<Item = ContenderRecord> {
        std::mem::take(&mut self.by_node).into_values().chain(std::mem::take(&mut self.others))
    }

    /// Reads the records from the file.
    pub fn read(connection: &Connection) -> rusqlite::Result<Self> {
        Ok(Self::of(standing(connection, Timestamp(i64::MAX))?))
    }

    /// Collects the records by node.
    pub fn of(records: Vec<ContenderRecord>) -> Self {
        let mut unfinished = Self::default();
        for record in records {
            match record.czxid {
                Some(czxid) => {
                    let key = (record.lock.path.clone(), record.node.to_string(), czxid);
                    unfinished.others.extend(unfinished.by_node.insert(key, record));
                }
                None => unfinished.others.push(record),
            }
        }
        unfinished
    }
}

/// Reads the contenders that were certainly present at `at`. Those that have not ended yet are
/// present at the end of time.
fn standing(connection: &Connection, at: Timestamp) -> rusqlite::Result<Vec<ContenderRecord>> {
    let select = contender::select(connection)?;
    let mut statement = connection.prepare(&format!(
        "{select} WHERE ifnull(ended_before, 9223372036854775807) >= ?1 AND ifnull(ended_after, 9223372036854775807) >= ?1
            AND first_seen_at <= ?1",
    ))?;
    let mut rows = statement.query([at.0])?;
    let (mut records, memory) = (Vec::new(), RowMemory::default());
    while let Some(row) = rows.next()? {
        memory.charge(row)?;
        records.extend(contender::record(row)?.map(|record| ContenderRecord {
            ended: None,
            end: ContenderEnd::Open,
            deleted_by: None,
            ..record
        }));
    }
    Ok(records)
}

/// Returns the time up to which earlier runs had seen everything; `None` without an earlier run.
pub fn recorded_until(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let until = connection.query_row("SELECT max(until_at) FROM recording", [], |row| row.get::<_, Option<i64>>(0))?;
    Ok(until.map(Timestamp))
}

/// Returns the gap that was open when the earlier run ended.
pub fn open_gap(connection: &Connection) -> rusqlite::Result<Option<GapRecord>> {
    let query = "SELECT id, began_at, NULL, reason FROM gap WHERE ended_at IS NULL ORDER BY id DESC LIMIT 1";
    connection.query_row(query, [], gap).optional()
}

/// Returns the id after the largest one in a table.
pub fn next_id(connection: &Connection, query: &str) -> rusqlite::Result<i64> {
    Ok(connection.query_row(query, [], |row| row.get::<_, Option<i64>>(0))?.unwrap_or(0).saturating_add(1))
}

/// The constant parts of an open finding: the lock's path and name, its code, and the node.
type FindingPlace = (String, Option<String>, String, Option<String>);

/// The facts that an excerpt takes from the tables of its recording. The rest follows from the
/// stream.
#[derive(Debug)]
pub(in crate::record) struct TableExcerpt {
    /// The contenders that were present at the beginning.
    standing: Vec<ContenderRecord>,
    /// When the findings that were open at the beginning were raised.
    raised_at: FxHashMap<FindingPlace, Timestamp>,
    /// The gap that was open then, if any.
    pub(super) unseen: Option<GapRecord>,
    gaps: Vec<GapRecord>,
    pub(super) ensemble: Vec<EnsembleRecord>,
    pub(super) proven: Vec<ProvenTime>,
    attempts: VecDeque<RecordedAttempts>,
    deletions: VecDeque<RecordedDeletion>,
}

impl TableExcerpt {
    /// Reads the facts for a time range: at its beginning, and up to its end.
    pub fn read(connection: &Connection, time: TimeRange) -> rusqlite::Result<Self> {
        let from = time.from;
        let mut standing = standing(connection, from)?;
        for record in &mut standing {
            // Later acquisitions are not known yet.
            record.acquired = record.acquired.filter(|acquired| acquired.before <= from);
        }
        Ok(Self {
            standing,
            raised_at: raised_at(connection, from)?,
            unseen: unseen(connection, from)?,
            gaps: gaps(connection, time)?,
            ensemble: timeline::within(connection, time)?,
            proven: coverage::proven(connection, time)?,
            attempts: facts::within(connection, time)?.into(),
            deletions: deletions(connection, time, usize::MAX)?.into(),
        })
    }

    /// Takes the rows of contenders that are present in the table; they are continued. Removes the
    /// data of their nodes with `no_data`.
    pub(super) fn take_standing(&mut self, table: &LockTable, no_data: bool) -> Vec<ContenderRecord> {
        let in_table: FxHashSet<_> = table
            .locks()
            .flat_map(|lock| lock.rows(0..lock.len()).map(move |row| (lock, row.contender)))
            .map(|(lock, contender)| (lock.path(), &*contender.node, contender.czxid))
            .collect();
        let mut standing = std::mem::take(&mut self.standing);
        standing.retain(|record| {
            record.czxid.is_some_and(|czxid| in_table.contains(&(&record.lock.path, &*record.node, czxid)))
        });
        for record in standing.iter_mut().filter(|_| no_data) {
            (record.data, record.client.name) = (None, None);
        }
        standing
    }

    /// Returns the open findings, and when they were raised.
    pub(super) fn findings(&self, diagnosis: &Diagnosis, at: Timestamp) -> Vec<(Arc<Finding>, Timestamp)> {
        let since = |finding: &Finding| {
            let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
            let place = (
                finding.lock.path.to_string(),
                text(&finding.lock.name),
                finding.code.id().to_owned(),
                text(&finding.node),
            );
            self.raised_at.get(&place).copied().unwrap_or(at)
        };
        diagnosis.findings().map(|finding| (Arc::new(finding.clone()), since(finding))).collect()
    }

    /// Takes the deletions up to a time that were not taken yet, oldest first.
    pub fn take_deletions(&mut self, until: Timestamp) -> Vec<RecordedDeletion> {
        let due = self.deletions.iter().take_while(|deletion| deletion.at <= until).count();
        self.deletions.drain(..due).collect()
    }

    /// Takes the attempts up to a time that were not taken yet, oldest first.
    pub fn take_attempts(&mut self, until: Timestamp) -> Vec<RecordedAttempts> {
        let due = self.attempts.iter().take_while(|attempts| attempts.time.to <= until).count();
        self.attempts.drain(..due).collect()
    }

    /// Returns these gaps and others, oldest first.
    pub(super) fn into_gaps(self, others: Vec<GapRecord>) -> Vec<GapRecord> {
        let mut gaps = self.gaps;
        gaps.extend(others);
        gaps.sort_by_key(|gap| gap.began_at);
        (1..).zip(gaps).map(|(id, gap)| GapRecord { id, ..gap }).collect()
    }
}

fn raised_at(connection: &Connection, at: Timestamp) -> rusqlite::Result<FxHashMap<FindingPlace, Timestamp>> {
    let mut query = connection.prepare(
        "SELECT lock.path, lock.name, code, node, raised_at FROM finding JOIN lock ON lock.id = lock_id
         WHERE ifnull(cleared_at, 9223372036854775807) >= ?1 AND raised_at <= ?1",
    )?;
    let memory = RowMemory::default();
    let found = query.query_map([at.0], |row| {
        memory.charge(row)?;
        Ok(((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?), Timestamp(row.get(4)?)))
    })?;
    found.collect()
}

fn unseen(connection: &Connection, at: Timestamp) -> rusqlite::Result<Option<GapRecord>> {
    let query = "SELECT id, began_at, NULL, reason FROM gap
        WHERE began_at <= ?1 AND ifnull(ended_at, 9223372036854775807) > ?1 ORDER BY id DESC LIMIT 1";
    connection.query_row(query, [at.0], gap).optional()
}

/// Reads the gaps that overlap the range. A gap that ends later is open.
fn gaps(connection: &Connection, time: TimeRange) -> rusqlite::Result<Vec<GapRecord>> {
    let mut query = connection.prepare(
        "SELECT id, began_at, iif(ended_at <= ?2, ended_at, NULL), reason FROM gap
         WHERE ifnull(ended_at, 9223372036854775807) >= ?1 AND began_at <= ?2",
    )?;
    let memory = RowMemory::default();
    let gaps = query.query_map(params![time.from.0, time.to.0], |row| {
        memory.charge(row)?;
        gap(row)
    })?;
    gaps.collect()
}

/// Reads a gap: its id, beginning, end and reason.
fn gap(row: &rusqlite::Row<'_>) -> rusqlite::Result<GapRecord> {
    let ended_at = row.get::<_, Option<i64>>(2)?.map(Timestamp);
    Ok(GapRecord { id: row.get(0)?, began_at: Timestamp(row.get(1)?), ended_at, reason: row.get(3)? })
}

/// Returns the deletions within a time range, the first ones up to `limit`.
pub(in crate::record) fn deletions(
    connection: &Connection,
    time: TimeRange,
    limit: usize,
) -> rusqlite::Result<Vec<RecordedDeletion>> {
    let mut query = connection.prepare(
        "SELECT at, lock, path, czxid, by, result, reason FROM deletion WHERE at BETWEEN ?1 AND ?2 ORDER BY at, id LIMIT ?3",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let memory = RowMemory::default();
    let deletion = |row: &rusqlite::Row<'_>| {
        memory.charge(row)?;
        Ok(RecordedDeletion {
            at: Timestamp(row.get(0)?),
            lock: row.get(1)?,
            path: row.get(2)?,
            czxid: row.get::<_, Option<i64>>(3)?.map(Zxid),
            by: row.get(4)?,
            result: row.get(5)?,
            reason: row.get(6)?,
        })
    };
    query.query_map([time.from.0, time.to.0, limit], deletion)?.collect()
}
