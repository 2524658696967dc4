//! What a recording covers: of which times it has everything, from where, and what proves that.
//!
//! A time is covered where a run has rows and segments of it, and no gap lies in it. Each run is
//! from one source. A recorder has seen everything because it watches each node on one session, and
//! a server reports the events of a session in order. Transactions are counted, so that the logs
//! prove themselves; the table `coverage` says how.

use std::time::Duration;

use rusqlite::{Connection, Row, params};

use super::contender::RowSource;
use super::spans;
use super::spans::Spans;
use crate::record::memory::RowMemory;
use lockscope_base::znode::{TimeRange, Timestamp, Zxid};

/// What proves that nothing is missing in what a recorder watched.
const BY_WATCHES: &str = "watches";

/// The longest time by which the rows of a recording that is being written are behind its stream.
const MAX_ROW_DELAY: Duration = Duration::from_secs(5);

/// A time of which a recording has everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoveredTime {
    /// The time.
    pub time: TimeRange,
    /// Whether a recorder watched then, or it is from transaction logs; `None` where an earlier
    /// version recorded, which did not note it.
    pub source: Option<RowSource>,
    /// What proves that nothing is missing: `watches`, or of logs `numbers`, `digests`, `log` or
    /// `snapshot`; `None` where that is not known.
    pub proven_by: Option<String>,
}

impl CoveredTime {
    /// Describes the transaction logs that a time is from, as a part of a sentence; `None` for a time
    /// of another source.
    pub fn of_logs(&self) -> Option<String> {
        self.source.filter(|source| *source == RowSource::Log)?;
        let proof = match self.proven_by.as_deref() {
            Some("numbers") => "the numbers of the transactions prove that none is missing",
            Some("digests") => "the servers' digests prove that no change is missing",
            Some("log") => "a log that goes on into the next epoch proves that none is missing",
            Some("snapshot") => "a snapshot of the next epoch proves that no change is missing",
            _ => "what proves that none is missing is not known",
        };
        Some(format!("transaction logs: {proof}"))
    }
}

/// A stretch of transactions without a gap, and what proves that none is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenTime {
    /// The times of the first and the last transaction.
    pub time: TimeRange,
    /// The first and the last transaction.
    pub zxids: (Zxid, Zxid),
    /// The name of the proof.
    pub proven_by: String,
    /// Whether it has the locks that are older.
    pub has_older: bool,
}

impl ProvenTime {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            time: TimeRange { from: Timestamp(row.get(0)?), to: Timestamp(row.get(1)?) },
            zxids: (Zxid(row.get(2)?), Zxid(row.get(3)?)),
            proven_by: row.get(4)?,
            has_older: row.get(5)?,
        })
    }
}

/// Adds a row.
pub(super) fn write(connection: &Connection, proven: &ProvenTime) -> rusqlite::Result<()> {
    let ProvenTime { time, zxids: (first, last), proven_by, has_older } = proven;
    connection
        .prepare_cached(
            "INSERT INTO coverage (began_at, ended_at, first_zxid, last_zxid, proven_by, older_locks)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![time.from.0, time.to.0, first.0, last.0, proven_by, has_older])?;
    Ok(())
}

/// Returns what logs prove of a time, reduced to it; nothing in a recording of an earlier version.
pub(in crate::record) fn proven(connection: &Connection, within: TimeRange) -> rusqlite::Result<Vec<ProvenTime>> {
    if !connection.table_exists(None, "coverage")? {
        return Ok(Vec::new());
    }
    let mut query = connection.prepare(
        "SELECT max(began_at, ?1), min(ended_at, ?2), first_zxid, last_zxid, proven_by, older_locks FROM coverage
         WHERE ended_at >= ?1 AND began_at <= ?2 ORDER BY began_at",
    )?;
    let memory = RowMemory::default();
    let row = |row: &Row<'_>| {
        memory.charge(row)?;
        ProvenTime::read(row)
    };
    query.query_map([within.from.0, within.to.0], row)?.collect()
}

/// Returns the source of the run that covers a moment, of two that touch there the later one;
/// `None` where that is not known.
pub(in crate::record) fn source_at(connection: &Connection, at: Timestamp) -> rusqlite::Result<Option<RowSource>> {
    let run = runs(connection)?.into_iter().rfind(|(time, _)| time.contains(at));
    Ok(run.and_then(|(_, source)| source))
}

/// Returns the runs in the order of time, each with its source.
fn runs(connection: &Connection) -> rusqlite::Result<Vec<(TimeRange, Option<RowSource>)>> {
    let source = if connection.column_exists(None, "recording", "source")? { "source" } else { "NULL" };
    let mut query =
        connection.prepare(&format!("SELECT began_at, until_at, {source} FROM recording ORDER BY began_at, id"))?;
    let memory = RowMemory::default();
    let run = |row: &Row<'_>| {
        memory.charge(row)?;
        let source: Option<String> = row.get(2)?;
        let time = TimeRange { from: Timestamp(row.get(0)?), to: Timestamp(row.get(1)?) };
        Ok((time, source.map(|source| RowSource::from_id(Some(&source)))))
    };
    let mut runs: Vec<_> = query.query_map([], run)?.collect::<rusqlite::Result<_>>()?;
    // The stream of a recording that is being written goes beyond its rows.
    let last: Option<i64> = connection.query_row("SELECT max(until_ms) FROM segment", [], |row| row.get(0))?;
    if let Some(((time, _), last)) = runs.last_mut().zip(last.map(Timestamp))
        && last.since(time.to) <= MAX_ROW_DELAY
    {
        time.to = time.to.max(last);
    }
    Ok(runs)
}

/// Returns what of a time range is covered, the earliest first; `None` where the recording has too
/// many gaps to tell.
pub(in crate::record) fn covered(
    connection: &Connection,
    within: TimeRange,
) -> rusqlite::Result<Option<Vec<CoveredTime>>> {
    let runs = runs(connection)?;
    let rows = Spans::of(runs.iter().map(|(time, _)| *time).collect());
    let Ok(known) = spans::known_of(connection, rows)? else { return Ok(None) };
    let proven = proven(connection, within)?;
    let mut covered = Vec::new();
    for (run, source) in runs {
        let Some(run) = run.within(within) else { continue };
        for time in known.parts_of(run) {
            match source {
                Some(RowSource::Log) => by_logs(time, &proven, &mut covered),
                source => covered.push(CoveredTime { time, source, proven_by: source.map(|_| BY_WATCHES.to_owned()) }),
            }
        }
    }
    Ok(Some(covered))
}

/// Adds a time that is from logs, cut where another proof begins.
fn by_logs(time: TimeRange, proven: &[ProvenTime], covered: &mut Vec<CoveredTime>) {
    let mut piece = |from, to, proven_by: Option<&str>| {
        if let Some(time) = (TimeRange { from, to }).within(time) {
            covered.push(CoveredTime { time, source: Some(RowSource::Log), proven_by: proven_by.map(str::to_owned) });
        }
    };
    let mut from = time.from;
    for ProvenTime { time: part, proven_by, .. } in proven {
        // Clocks differ by a little: what begins before the end of another goes on from there.
        let begin = part.from.max(from);
        if part.to <= begin || begin >= time.to {
            continue;
        }
        piece(from, begin, None);
        piece(begin, part.to, Some(proven_by));
        from = part.to.min(time.to);
    }
    piece(from, time.to, None);
}

/// A part of a time range that nothing covers, and what is known of the reason.
pub(in crate::record) type Uncovered = (TimeRange, &'static str);

/// Returns the parts of a time range that neither are covered nor lie in one of `gaps`; `None` where
/// there are too many to tell. A range without bounds is that of the recording.
pub(in crate::record) fn uncovered(
    connection: &Connection,
    (from, to): (Option<Timestamp>, Option<Timestamp>),
    covered: &[CoveredTime],
    gaps: impl Iterator<Item = TimeRange>,
) -> rusqlite::Result<Option<Vec<Uncovered>>> {
    let times = |row: &Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
    let bounds = connection.query_row("SELECT min(from_ms), max(until_ms) FROM segment", [], times)?;
    let (Some(first), Some(last)) = bounds else { return Ok(Some(Vec::new())) };
    let (first, last) = (Timestamp(first), Timestamp(last));
    let whole = TimeRange { from: from.unwrap_or(first), to: to.unwrap_or(last) };
    // A gap that lasts is known up to the end of the recording.
    let gaps = gaps.map(|gap| TimeRange { to: gap.to.min(last), ..gap });
    let known = covered.iter().map(|covered| covered.time).chain(gaps);
    let Ok(known) = Spans::of(known.collect()) else { return Ok(None) };
    let reason = |time: TimeRange| {
        if time.to <= first {
            "the recording begins later"
        } else if time.from >= last {
            "the recording ends earlier"
        } else {
            "the recording has nothing of this time, and does not say why"
        }
    };
    let parts = known.rest_of(whole).flat_map(|time| cut_at(time, first)).flat_map(|time| cut_at(time, last));
    Ok(Some(parts.map(|time| (time, reason(time))).collect()))
}

/// Cuts a time in two at a moment within it.
fn cut_at(time: TimeRange, at: Timestamp) -> Vec<TimeRange> {
    if time.from < at && at < time.to {
        vec![TimeRange { to: at, ..time }, TimeRange { from: at, ..time }]
    } else {
        vec![time]
    }
}
