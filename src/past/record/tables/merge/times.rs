//! What a log adds to the tables in the times that it fills.
//!
//! A recording knows everything of some times. The times that only a log knows are filled: they are
//! taken out of the recording's gaps, and get the log's runs, findings and activity. Sessions are
//! completed, and added where only the log has them.

use std::sync::Arc;

use rusqlite::{Connection, Row, params};

use crate::record::tables::contender::{RecordedClient, RecordedLock};
use crate::record::tables::facts::SessionRecord;
use crate::record::tables::rows::TableWriter;
use crate::record::tables::spans::Spans;
use crate::record::tables::{TABLES_VERSION, coverage};
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{SessionId, TimeRange, Timestamp, ZnodePath};

/// The reason of a gap between a recording and the times that a log covers.
const NOBODY: &str = "nobody recorded, and the transaction logs do not have it";

/// The most gaps of a batch.
const BATCH: usize = 500;

struct Gap {
    id: i64,
    time: TimeRange,
}

/// Takes the known times out of all gaps, which vanish, shrink or split. Returns how many gaps that
/// changed.
pub(in crate::record) fn reduce_gaps(connection: &Connection, known: &Spans) -> rusqlite::Result<u64> {
    let last: i64 = connection.query_row("SELECT ifnull(max(id), 0) FROM gap", [], |row| row.get(0))?;
    let (mut after, mut reduced) = (i64::MIN, 0);
    loop {
        let gaps = batch(connection, after, last)?;
        let Some(end) = gaps.last() else { return Ok(reduced) };
        after = end.id;
        for gap in gaps {
            reduced += u64::from(reduce(connection, &gap, known)?);
        }
    }
}

/// Adds gaps of times that neither a recorder nor a log knows.
pub(in crate::record) fn add_gaps(connection: &Connection, times: &Spans) -> rusqlite::Result<()> {
    let insert = "INSERT INTO gap (began_at, ended_at, reason) VALUES (?1, ?2, ?3)";
    let mut insert = connection.prepare_cached(insert)?;
    times.iter().try_for_each(|time| insert.execute(params![time.from.0, ended_at(time), NOBODY]).map(drop))
}

fn batch(connection: &Connection, after: i64, last: i64) -> rusqlite::Result<Vec<Gap>> {
    let mut query = connection.prepare_cached(
        "SELECT id, began_at, ifnull(ended_at, 9223372036854775807) FROM gap WHERE id > ?1 AND id <= ?2
         ORDER BY id LIMIT ?3",
    )?;
    let gap = |row: &rusqlite::Row<'_>| {
        let time = TimeRange { from: Timestamp(row.get(1)?), to: Timestamp(row.get(2)?) };
        Ok(Gap { id: row.get(0)?, time })
    };
    query.query_map(params![after, last, BATCH], gap)?.collect()
}

/// Returns whether the gap changed.
fn reduce(connection: &Connection, gap: &Gap, known: &Spans) -> rusqlite::Result<bool> {
    if !known.meets(gap.time) && !known.covers(gap.time) {
        return Ok(false);
    }
    let mut rest = known.rest_of(gap.time);
    let first = rest.next();
    // Reasons are copied within the file, because they may be long.
    let split = "INSERT INTO gap (began_at, ended_at, reason) SELECT ?2, ?3, reason FROM gap WHERE id = ?1";
    let mut split = connection.prepare_cached(split)?;
    rest.try_for_each(|part| split.execute(params![gap.id, part.from.0, ended_at(part)]).map(drop))?;
    if let Some(first) = first {
        let shrink = "UPDATE gap SET began_at = ?2, ended_at = ?3 WHERE id = ?1";
        connection.prepare_cached(shrink)?.execute(params![gap.id, first.from.0, ended_at(first)])?;
    } else {
        connection.prepare_cached("DELETE FROM gap WHERE id = ?1")?.execute([gap.id])?;
    }
    Ok(true)
}

/// Returns the end; `None` of a gap that lasts.
fn ended_at(time: TimeRange) -> Option<i64> {
    (time.to < Timestamp(i64::MAX)).then_some(time.to.0)
}

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
    let mut insert = connection.prepare_cached(
        "INSERT INTO recording (tables_version, began_at, until_at, source) VALUES (?1, ?2, ?3, 'log')",
    )?;
    times.iter().try_for_each(|time| insert.execute([TABLES_VERSION, time.from.0, time.to.0]).map(drop))
}

/// Adds what proves the log in the times that it fills.
pub(in crate::record) fn add_coverage(
    connection: &Connection,
    log: &Connection,
    times: &Spans,
) -> rusqlite::Result<()> {
    for time in times.iter() {
        coverage::proven(log, time)?.iter().try_for_each(|proven| coverage::write(connection, proven))?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    use lockscope_base::znode::Timestamp;

    /// Returns what a log that knows these times leaves of gaps, and how many of them it reduces.
    fn left(known: &[(i64, i64)], gaps: &[(i64, Option<i64>)]) -> (Vec<(i64, Option<i64>)>, u64) {
        let connection = Connection::open_in_memory().unwrap();
        crate::record::tables::create(&connection).unwrap();
        for (from, to) in gaps {
            let insert = "INSERT INTO gap (began_at, ended_at, reason) VALUES (?1, ?2, 'cut')";
            connection.execute(insert, params![from, to]).unwrap();
        }
        let mut spans = Spans::default();
        for (from, to) in known {
            spans.add(TimeRange { from: Timestamp(*from), to: Timestamp(*to) }).unwrap();
        }
        let reduced = reduce_gaps(&connection, &spans).unwrap();
        assert_eq!(reduce_gaps(&connection, &spans), Ok(0), "a second time");
        let mut query =
            connection.prepare("SELECT began_at, ended_at FROM gap WHERE reason = 'cut' ORDER BY began_at").unwrap();
        let left =
            query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap();
        (left, reduced)
    }

    #[test]
    fn gaps_vanish_shrink_and_split() {
        let known = [(100, 200), (300, 400)];
        assert_eq!(left(&known, &[(120, Some(180)), (300, Some(400)), (350, Some(350))]), (vec![], 3));
        assert_eq!(left(&known, &[(50, Some(150))]), (vec![(50, Some(100))], 1));
        assert_eq!(left(&known, &[(150, Some(250))]), (vec![(200, Some(250))], 1));
        assert_eq!(left(&known, &[(50, Some(450))]), (vec![(50, Some(100)), (200, Some(300)), (400, Some(450))], 1));
        let elsewhere = vec![(0, Some(100)), (200, Some(300)), (250, Some(250)), (500, None)];
        assert_eq!(left(&known, &elsewhere), (elsewhere, 0));
    }

    #[test]
    fn a_gap_that_lasts_goes_on_behind_the_log() {
        assert_eq!(left(&[(100, 200)], &[(150, None)]), (vec![(200, None)], 1));
    }
}
