//! The content of a recording's tables for a time range: the initial rows of an excerpt's tables,
//! and the facts that the stream lacks.

use std::collections::VecDeque;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::{FxHashMap, FxHashSet};

use super::attempt::{self, RecordedAttempts};
use super::contender::ContenderRecord;
use super::deletion::RecordedDeletion;
use super::ensemble::{self, EnsembleRecord};
use super::gaps::GapRecord;
use super::resume;
use crate::record::row_memory::RowMemory;
use lockscope_base::znode::{TimeRange, Timestamp, Zxid};
use lockscope_model::diagnose::{Diagnosis, Finding};
use lockscope_model::queue::LockTable;

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
    attempts: VecDeque<RecordedAttempts>,
    deletions: VecDeque<RecordedDeletion>,
}

impl TableExcerpt {
    /// Reads the facts for a time range: at its beginning, and up to its end.
    pub fn read(connection: &Connection, time: TimeRange) -> rusqlite::Result<Self> {
        let from = time.from;
        let mut standing = resume::standing(connection, from)?;
        for record in &mut standing {
            // Later acquisitions are not known yet.
            record.acquired = record.acquired.filter(|acquired| acquired.before <= from);
        }
        Ok(Self {
            standing,
            raised_at: raised_at(connection, from)?,
            unseen: unseen(connection, from)?,
            gaps: gaps(connection, time)?,
            ensemble: ensemble::within(connection, time)?,
            attempts: attempt::within(connection, time)?.into(),
            deletions: deletions(connection, time)?,
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
    let query = "SELECT id, began_at, reason FROM gap WHERE began_at <= ?1 AND ifnull(ended_at, 9223372036854775807) > ?1 ORDER BY id DESC LIMIT 1";
    let gap = |row: &rusqlite::Row<'_>| {
        Ok(GapRecord { id: row.get(0)?, began_at: Timestamp(row.get(1)?), ended_at: None, reason: row.get(2)? })
    };
    connection.query_row(query, [at.0], gap).optional()
}

/// Reads the gaps that overlap the range. A gap that ends later is open.
fn gaps(connection: &Connection, time: TimeRange) -> rusqlite::Result<Vec<GapRecord>> {
    let mut query = connection.prepare(
        "SELECT id, began_at, iif(ended_at <= ?2, ended_at, NULL), reason FROM gap
         WHERE ifnull(ended_at, 9223372036854775807) >= ?1 AND began_at <= ?2",
    )?;
    let memory = RowMemory::default();
    let gap = |row: &rusqlite::Row<'_>| {
        memory.charge(row)?;
        let ended_at = row.get::<_, Option<i64>>(2)?.map(Timestamp);
        Ok(GapRecord { id: row.get(0)?, began_at: Timestamp(row.get(1)?), ended_at, reason: row.get(3)? })
    };
    query.query_map(params![time.from.0, time.to.0], gap)?.collect()
}

fn deletions(connection: &Connection, time: TimeRange) -> rusqlite::Result<VecDeque<RecordedDeletion>> {
    let mut query = connection.prepare(
        "SELECT at, lock, path, czxid, by, result, reason FROM deletion WHERE at BETWEEN ?1 AND ?2 ORDER BY at, id",
    )?;
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
    query.query_map(params![time.from.0, time.to.0], deletion)?.collect()
}
