//! Reads the rows of contenders.

use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use super::columns;
use super::contender::{ContenderEnd, ContenderRecord, RecordedClient, RecordedLock};
use super::source::Source;
use lockscope_base::recipe::{Recipe, RequestMode};
use lockscope_base::znode::{SessionId, TimeBounds, Timestamp, ZnodePath, Zxid};

/// Returns the beginning of a query whose rows [`record`] reads.
pub(super) fn select(connection: &Connection) -> rusqlite::Result<String> {
    let [deleted_by, source] = [columns::or_null(connection, "deleted_by")?, columns::or_null(connection, "source")?];
    Ok(format!(
        "SELECT contender.id, lock.path, lock.name, lock.recipe, client.address, client.name, contender.session,
            contender.first_seen_at, enqueued_at, acquired_after, acquired_before, mode, node, czxid, data, {source},
            ended_after, ended_before, ending, {deleted_by}
         FROM contender JOIN lock ON lock.id = lock_id LEFT JOIN client ON client.id = client_id"
    ))
}

/// Reads a row; `None` when its path is one that this program never writes.
pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<Option<ContenderRecord>> {
    let Ok(path) = ZnodePath::new(&row.get::<_, String>(1)?) else { return Ok(None) };
    let recipe: String = row.get(3)?;
    let recipe = Recipe::named(&recipe).unwrap_or(Recipe::UnknownQueue);
    let text = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(at)?.map(Arc::from));
    let bounds = |at: usize| {
        let bounds = row.get::<_, Option<i64>>(at)?.zip(row.get::<_, Option<i64>>(at + 1)?);
        Ok::<_, rusqlite::Error>(bounds.map(|(after, before)| TimeBounds::between(Timestamp(after), Timestamp(before))))
    };
    let data = match row.get_ref(14)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.into()),
        _ => None,
    };
    Ok(Some(ContenderRecord {
        id: row.get(0)?,
        lock: Arc::new(RecordedLock { path, name: text(2)?, recipe: recipe.id(), kind: recipe.kind().id() }),
        client: RecordedClient { address: text(4)?, name: text(5)? },
        session: row.get::<_, Option<i64>>(6)?.map(SessionId),
        first_seen_at: Timestamp(row.get(7)?),
        enqueued_at: row.get::<_, Option<i64>>(8)?.map(Timestamp),
        acquired: bounds(9)?,
        ended: bounds(16)?,
        end: ContenderEnd::from_id(&row.get::<_, String>(18)?),
        deleted_by: row.get::<_, Option<i64>>(19)?.map(SessionId),
        source: Source::from_id(text(15)?.as_deref()),
        mode: mode_of(&row.get::<_, String>(11)?),
        node: row.get::<_, String>(12)?.into(),
        czxid: row.get::<_, Option<i64>>(13)?.map(Zxid),
        data,
        is_listed: false,
        look: 0,
    }))
}

/// Returns the name of a mode.
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
