//! The state that an earlier run of the recorder left: its present contenders, and the time up to
//! which it had seen everything.

use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;

use super::contender::{ContenderEnd, ContenderRecord};
use super::gaps::GapRecord;
use super::stored;
use crate::record::row_memory::RowMemory;
use lockscope_base::znode::{Timestamp, ZnodePath, Zxid};
use lockscope_model::queue::{Contender, LockName};

/// The key of a node that is found again; it includes the creating transaction.
type NodeKey = (ZnodePath, String, Zxid);

/// The contenders that were present when the earlier run ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Unfinished {
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
pub(super) fn standing(connection: &Connection, at: Timestamp) -> rusqlite::Result<Vec<ContenderRecord>> {
    let select = stored::select(connection)?;
    let mut statement = connection.prepare(&format!(
        "{select} WHERE ifnull(ended_before, 9223372036854775807) >= ?1 AND ifnull(ended_after, 9223372036854775807) >= ?1
            AND first_seen_at <= ?1",
    ))?;
    let mut rows = statement.query([at.0])?;
    let (mut records, memory) = (Vec::new(), RowMemory::default());
    while let Some(row) = rows.next()? {
        memory.charge(row)?;
        records.extend(stored::record(row)?.map(|record| ContenderRecord {
            ended: None,
            end: ContenderEnd::Open,
            deleted_by: None,
            ..record
        }));
    }
    Ok(records)
}

/// Returns the time up to which earlier runs had seen everything; `None` without an earlier run.
pub(super) fn recorded_until(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let until = connection.query_row("SELECT max(until_at) FROM recording", [], |row| row.get::<_, Option<i64>>(0))?;
    Ok(until.map(Timestamp))
}

/// Returns the gap that was open when the earlier run ended.
pub(super) fn open_gap(connection: &Connection) -> rusqlite::Result<Option<GapRecord>> {
    let query = "SELECT id, began_at, reason FROM gap WHERE ended_at IS NULL ORDER BY id DESC LIMIT 1";
    let gap = |row: &rusqlite::Row<'_>| {
        Ok(GapRecord { id: row.get(0)?, began_at: Timestamp(row.get(1)?), ended_at: None, reason: row.get(2)? })
    };
    connection.query_row(query, [], gap).optional()
}

/// Returns the id after the largest one in a table.
pub(super) fn next_id(connection: &Connection, query: &str) -> rusqlite::Result<i64> {
    Ok(connection.query_row(query, [], |row| row.get::<_, Option<i64>>(0))?.unwrap_or(0).saturating_add(1))
}
