//! The state that an earlier run of the recorder left: its present contenders, and the time up to
//! which it had seen everything.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row};
use rustc_hash::FxHashMap;

use super::columns;
use super::contender::{ContenderEnd, ContenderRecord, RecordedClient, RecordedLock, TimeBounds};
use super::gaps::GapRecord;
use super::source::Source;
use crate::record::row_memory::RowMemory;
use lockscope_base::recipe::{Recipe, RequestMode};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath, Zxid};
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
    let source = columns::or_null(connection, "source")?;
    let mut statement = connection.prepare(&format!(
        "SELECT contender.id, lock.path, lock.name, lock.recipe, client.address, client.name, session, first_seen_at,
            enqueued_at, acquired_after, acquired_before, mode, node, czxid, data, {source}
         FROM contender JOIN lock ON lock.id = lock_id LEFT JOIN client ON client.id = client_id
         WHERE ifnull(ended_before, 9223372036854775807) >= ?1 AND ifnull(ended_after, 9223372036854775807) >= ?1
            AND first_seen_at <= ?1",
    ))?;
    let mut rows = statement.query([at.0])?;
    let (mut records, memory) = (Vec::new(), RowMemory::default());
    while let Some(row) = rows.next()? {
        memory.charge(row)?;
        records.extend(record(row)?);
    }
    Ok(records)
}

/// Reads an open row; `None` when its path is one that this program never writes.
fn record(row: &Row<'_>) -> rusqlite::Result<Option<ContenderRecord>> {
    let Ok(path) = ZnodePath::new(&row.get::<_, String>(1)?) else { return Ok(None) };
    let recipe: String = row.get(3)?;
    let recipe = Recipe::named(&recipe).unwrap_or(Recipe::UnknownQueue);
    let text = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(at)?.map(Arc::from));
    let bounds = (row.get::<_, Option<i64>>(9)?, row.get::<_, Option<i64>>(10)?);
    let data = match row.get_ref(14)? {
        rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => Some(bytes.into()),
        _ => None,
    };
    Ok(Some(ContenderRecord {
        id: row.get(0)?,
        lock: Arc::new(RecordedLock { path, name: text(2)?, recipe: recipe.id(), kind: recipe.kind().id() }),
        client: RecordedClient { address: text(4)?, name: text(5)? },
        session: row.get::<_, Option<i64>>(6)?.map(SessionId),
        first_seen_at: Timestamp(row.get(7)?),
        enqueued_at: row.get::<_, Option<i64>>(8)?.map(Timestamp),
        acquired: bounds
            .0
            .zip(bounds.1)
            .map(|(after, before)| TimeBounds::between(Timestamp(after), Timestamp(before))),
        ended: None,
        end: ContenderEnd::Open,
        deleted_by: None,
        source: Source::from_id(text(15)?.as_deref()),
        mode: mode_of(&row.get::<_, String>(11)?),
        node: row.get::<_, String>(12)?.into(),
        czxid: row.get::<_, Option<i64>>(13)?.map(Zxid),
        data,
        is_listed: false,
        look: 0,
    }))
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

pub(super) fn mode_id(mode: RequestMode) -> &'static str {
    match mode {
        RequestMode::Exclusive => "exclusive",
        RequestMode::Read => "read",
        RequestMode::Write => "write",
        RequestMode::Lease => "lease",
    }
}

fn mode_of(id: &str) -> RequestMode {
    match id {
        "read" => RequestMode::Read,
        "write" => RequestMode::Write,
        "lease" => RequestMode::Lease,
        _ => RequestMode::Exclusive,
    }
}
