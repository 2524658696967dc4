//! Completes sessions, and adds the findings, the activity and the runs of the times that are
//! filled.

use std::sync::Arc;

use rusqlite::{Connection, Row, params};

use crate::record::spans::Spans;
use crate::record::tables::contender::{RecordedClient, RecordedLock};
use crate::record::tables::rows::TableWriter;
use crate::record::tables::schema::TABLES_VERSION;
use crate::record::tables::sessions::SessionRecord;
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{SessionId, TimeRange, Timestamp, ZnodePath};

/// Gives the ends of earlier [versions](TABLES_VERSION), which are not proven, their name of today:
/// the tables then have one version. Returns whether there were any.
pub(in crate::record) fn prove_ends(connection: &Connection) -> rusqlite::Result<bool> {
    let is_older = "SELECT EXISTS (SELECT 1 FROM recording WHERE tables_version < 2)";
    if !connection.query_row(is_older, [], |row| row.get(0))? {
        return Ok(false);
    }
    connection.execute(
        "UPDATE contender SET ending = 'gone' WHERE ending IN ('released', 'left') AND ended_before <
            ifnull((SELECT min(began_at) FROM recording WHERE tables_version >= 2), 9223372036854775807)",
        [],
    )?;
    connection.execute("UPDATE recording SET tables_version = ?1 WHERE tables_version < 2", [TABLES_VERSION])?;
    Ok(true)
}

/// Adds a run for each of these times.
pub(in crate::record) fn add_runs(connection: &Connection, times: &Spans) -> rusqlite::Result<()> {
    let mut insert =
        connection.prepare_cached("INSERT INTO recording (tables_version, began_at, until_at) VALUES (?1, ?2, ?3)")?;
    times.iter().try_for_each(|time| insert.execute([TABLES_VERSION, time.from.0, time.to.0]).map(drop))
}

/// Closes the findings that were open when the recorder ended, as its next run would.
pub(in crate::record) fn close_findings(connection: &Connection, at: Timestamp) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE finding SET cleared_at = max(raised_at, ?1), ending = 'unknown' WHERE cleared_at IS NULL",
        [at.0],
    )?;
    Ok(())
}

/// Completes the sessions that contended within a time, and adds those that only the log has.
/// Returns whether something changed.
pub(in crate::record) fn complete_sessions(
    connection: &Connection,
    log: &Connection,
    time: TimeRange,
) -> rusqlite::Result<bool> {
    let (mut writer, mut changed) = (TableWriter::default(), false);
    let mut query = log.prepare(
        "SELECT session, client.address, client.name, first_seen_at, last_seen_at, expired_at
         FROM session LEFT JOIN client ON client.id = client_id WHERE last_seen_at >= ?1 AND first_seen_at <= ?2",
    )?;
    let mut rows = query.query([time.from.0, time.to.0])?;
    while let Some(row) = rows.next()? {
        let record = SessionRecord {
            client: client(row, 1)?,
            first_seen_at: Timestamp(row.get(3)?),
            last_seen_at: Timestamp(row.get(4)?),
            expired_at: row.get::<_, Option<i64>>(5)?.map(Timestamp),
        };
        changed |= writer.complete_session(connection, SessionId(row.get(0)?), &record)?;
        writer.stay_small();
    }
    Ok(changed)
}

/// Adds the seconds in which something happened.
pub(in crate::record) fn add_activity(
    connection: &Connection,
    log: &Connection,
    times: &Spans,
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO activity (until_at, events) VALUES (?1, ?2)")?;
    let mut query =
        log.prepare_cached("SELECT until_at, events FROM activity WHERE until_at > ?1 AND until_at <= ?2")?;
    for time in times.iter() {
        let mut rows = query.query([time.from.0, time.to.0])?;
        while let Some(row) = rows.next()? {
            insert.execute([row.get::<_, i64>(0)?, row.get(1)?])?;
        }
    }
    Ok(())
}

/// A finding of the log.
struct LogFinding {
    lock: Arc<RecordedLock>,
    client: RecordedClient,
    session: Option<i64>,
    node: Option<String>,
    code: String,
    severity: String,
    time: TimeRange,
    ending: String,
    summary: String,
    remedy: String,
}

/// Adds the parts of findings within these times.
pub(in crate::record) fn add_findings(
    connection: &Connection,
    log: &Connection,
    times: &Spans,
) -> rusqlite::Result<()> {
    let mut writer = TableWriter::default();
    let mut query = log.prepare(
        "SELECT lock.path, lock.name, lock.recipe, client.address, client.name, session, node, code, severity, raised_at,
            ifnull(cleared_at, 9223372036854775807), ending, summary, remedy
         FROM finding JOIN lock ON lock.id = lock_id LEFT JOIN client ON client.id = client_id",
    )?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let Some(finding) = finding(row)? else { continue };
        let of_finding = whole(finding.time);
        for part in times.within(&of_finding).into_iter().flat_map(|parts| parts.iter().collect::<Vec<_>>()) {
            if !stands(connection, &finding, part)? {
                add_finding(connection, &mut writer, &finding, part)?;
            }
        }
        writer.stay_small();
    }
    Ok(())
}

fn whole(time: TimeRange) -> Spans {
    let mut whole = Spans::default();
    // One span is never too many.
    _ = whole.add(time);
    whole
}

fn finding(row: &Row<'_>) -> rusqlite::Result<Option<LogFinding>> {
    let Ok(path) = ZnodePath::new(&row.get::<_, String>(0)?) else { return Ok(None) };
    let recipe = Recipe::named(&row.get::<_, String>(2)?).unwrap_or(Recipe::UnknownQueue);
    let name = row.get::<_, Option<String>>(1)?.map(Arc::from);
    Ok(Some(LogFinding {
        lock: Arc::new(RecordedLock { path, name, recipe: recipe.id(), kind: recipe.kind().id() }),
        client: client(row, 3)?,
        session: row.get(5)?,
        node: row.get(6)?,
        code: row.get(7)?,
        severity: row.get(8)?,
        time: TimeRange { from: Timestamp(row.get(9)?), to: Timestamp(row.get(10)?) },
        ending: row.get(11)?,
        summary: row.get(12)?,
        remedy: row.get(13)?,
    }))
}

/// Returns whether the recorder kept the finding while it saw nothing.
fn stands(connection: &Connection, finding: &LogFinding, part: TimeRange) -> rusqlite::Result<bool> {
    let mut query = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM finding JOIN lock ON lock.id = lock_id
         WHERE ifnull(cleared_at, 9223372036854775807) >= ?1 AND raised_at <= ?2 AND code = ?3 AND node IS ?4
            AND lock.path = ?5 AND lock.name IS ?6)",
    )?;
    let LogFinding { code, node, lock, .. } = finding;
    query.query_row(params![part.to.0, part.from.0, code, node, lock.path.as_str(), lock.name.as_deref()], |row| {
        row.get(0)
    })
}

fn add_finding(
    connection: &Connection,
    writer: &mut TableWriter,
    finding: &LogFinding,
    part: TimeRange,
) -> rusqlite::Result<()> {
    let (lock, client) = (writer.lock(connection, &finding.lock)?, writer.client(connection, &finding.client)?);
    let ending = if part.to == finding.time.to { &*finding.ending } else { "unknown" };
    connection
        .prepare_cached(
            "INSERT INTO finding (lock_id, client_id, session, node, code, severity, raised_at, cleared_at, ending, summary, remedy)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            lock,
            client,
            finding.session,
            finding.node,
            finding.code,
            finding.severity,
            part.from.0,
            part.to.0,
            ending,
            finding.summary,
            finding.remedy,
        ])?;
    Ok(())
}

fn client(row: &Row<'_>, at: usize) -> rusqlite::Result<RecordedClient> {
    let text = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(at)?.map(Arc::from));
    Ok(RecordedClient { address: text(at)?, name: text(at + 1)? })
}
