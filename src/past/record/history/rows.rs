//! Rows as they are read.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use crate::record::row_memory::RowMemory;
use crate::record::tables::{ContenderEnd, TimeBounds};
use lockscope_base::znode::{SessionId, Timestamp};

/// A contender of the past. What came from znodes is as it was there: it must be escaped before it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastContender {
    /// Its number, which rises in the order in which contenders were first seen.
    pub id: i64,
    /// The lock's path.
    pub lock: String,
    /// Which queue, where the parent holds several.
    pub name: Option<String>,
    /// The recipe's name.
    pub recipe: String,
    /// Its node; of who held a lease: the lease.
    pub node: String,
    /// The transaction that created the node, where it was read.
    pub czxid: Option<i64>,
    /// What it asked for: `exclusive`, `read`, `write`, `lease`.
    pub mode: String,
    /// Its session.
    pub session: Option<SessionId>,
    /// The address of its client.
    pub client: Option<String>,
    /// What its node called it.
    pub client_name: Option<String>,
    /// The beginning of its data; `None` where there was none or none was recorded.
    pub data: Option<Vec<u8>>,
    /// When it came.
    pub enqueued_at: Option<Timestamp>,
    /// Between which times it acquired; `None` for who never held.
    pub acquired: Option<TimeBounds>,
    /// Between which times it ended; `None` while it stands.
    pub ended: Option<TimeBounds>,
    /// How it ended.
    pub end: ContenderEnd,
    /// Up to when it is known to stand, while it does; else when it ended at the latest.
    pub known_until: Timestamp,
}

impl PastContender {
    /// How long it held at least, in milliseconds; `None` for who never held.
    pub fn held_at_least_ms(&self) -> Option<u64> {
        Some(length(self.acquired?.before, self.ended.map_or(self.known_until, |ended| ended.after)))
    }

    /// How long it held at most, in milliseconds, as of the last thing that is known of it.
    pub fn held_at_most_ms(&self) -> Option<u64> {
        Some(length(self.acquired?.after, self.ended.map_or(self.known_until, |ended| ended.before)))
    }

    /// How long it waited until it acquired, or until it went, or up to now; `None` where that is not known exactly.
    pub fn waited_ms(&self) -> Option<u64> {
        let until = match (self.acquired, self.ended) {
            (Some(acquired), _) => acquired.exactly()?,
            (None, Some(ended)) => ended.exactly()?,
            (None, None) => self.known_until,
        };
        Some(length(self.enqueued_at?, until))
    }

    /// How long it held or waited, whichever is longer, as far as is certain, in milliseconds.
    pub fn weight_ms(&self) -> u64 {
        let until = self.acquired.or(self.ended).map_or(self.known_until, |bounds| bounds.after);
        let waited = self.enqueued_at.map(|came| length(came, until));
        self.held_at_least_ms().max(waited).unwrap_or(0)
    }

    /// When it was there first, as far as is known.
    pub fn began_at(&self) -> Timestamp {
        self.enqueued_at.or(self.acquired.map(|acquired| acquired.after)).unwrap_or(self.known_until)
    }
}

fn length(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}

/// When nothing was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastGap {
    /// Up to here everything was seen.
    pub from: Timestamp,
    /// From here on it was again; `None` while the gap lasts.
    pub to: Option<Timestamp>,
    /// Why.
    pub reason: String,
}

/// A finding of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastFinding {
    /// The lock's path.
    pub lock: String,
    /// Which queue, where the parent holds several.
    pub name: Option<String>,
    /// The node that it was about.
    pub node: Option<String>,
    /// Its code.
    pub code: String,
    /// The worst severity that it had.
    pub severity: String,
    /// When it was raised.
    pub raised_at: Timestamp,
    /// When it was cleared, or nobody could look any more; `None` while it stands.
    pub cleared_at: Option<Timestamp>,
    /// The evidence in a sentence.
    pub summary: String,
    /// What may be done, in a sentence.
    pub remedy: String,
}

/// A deletion by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastDeletion {
    /// When its outcome was known.
    pub at: Timestamp,
    /// The lock's path.
    pub lock: String,
    /// The node's path.
    pub path: String,
    /// Who deleted it.
    pub by: Option<String>,
    /// The outcome's name in the audit log.
    pub result: String,
    /// The outcome in a sentence.
    pub reason: Option<String>,
}

/// From when to when something is recorded.
pub(in crate::record) fn recorded(connection: &Connection) -> rusqlite::Result<(Option<Timestamp>, Option<Timestamp>)> {
    let times = |row: &Row<'_>| {
        Ok((row.get::<_, Option<i64>>(0)?.map(Timestamp), row.get::<_, Option<i64>>(1)?.map(Timestamp)))
    };
    connection.query_row("SELECT min(began_at), max(until_at) FROM recording", [], times)
}

/// The contenders with these numbers, in this order. `until`: up to when it is known who stands.
pub(in crate::record) fn contenders(
    connection: &Connection,
    ids: &[i64],
    until: Option<Timestamp>,
) -> rusqlite::Result<Vec<PastContender>> {
    let mut statement = connection.prepare(
        "SELECT contender.id, lock.path, lock.name, lock.recipe, node, czxid, mode, session, client.address, client.name, data,
            enqueued_at, acquired_after, acquired_before, ended_after, ended_before, ending, first_seen_at
         FROM contender JOIN lock ON lock.id = lock_id LEFT JOIN client ON client.id = client_id WHERE contender.id = ?1",
    )?;
    let named = NamedEnds::read(connection)?;
    let (mut found, memory) = (Vec::with_capacity(ids.len()), RowMemory::default());
    for id in ids {
        let mut rows = statement.query([id])?;
        if let Some(row) = rows.next()? {
            memory.take(row)?;
            found.push(contender(row, &named, until)?);
        }
    }
    Ok(found)
}

/// What the names of ends mean in a recording.
pub(super) struct NamedEnds {
    /// From when on an end is called `released` or `left` only where that is proven; `None`: never.
    proven_since: Option<i64>,
}

impl NamedEnds {
    pub fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let query = "SELECT min(began_at) FROM recording WHERE tables_version >= 2";
        Ok(Self { proven_since: connection.query_row(query, [], |row| row.get(0))? })
    }

    /// The end with that name, at that time.
    pub fn meant(&self, name: &str, ended_before: Option<i64>) -> ContenderEnd {
        let end = ContenderEnd::from_id(name);
        let is_proven = ended_before.zip(self.proven_since).is_some_and(|(at, since)| at >= since);
        if is_proven { end } else { end.unproven() }
    }
}

fn contender(row: &Row<'_>, named: &NamedEnds, until: Option<Timestamp>) -> rusqlite::Result<PastContender> {
    let bounds = |at: usize| {
        let bounds = row.get::<_, Option<i64>>(at)?.zip(row.get::<_, Option<i64>>(at + 1)?);
        Ok::<_, rusqlite::Error>(bounds.map(|(after, before)| TimeBounds::between(Timestamp(after), Timestamp(before))))
    };
    let data = match row.get_ref(10)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
        _ => None,
    };
    let ended = bounds(14)?;
    let first_seen_at = Timestamp(row.get(17)?);
    Ok(PastContender {
        id: row.get(0)?,
        lock: row.get(1)?,
        name: row.get(2)?,
        recipe: row.get(3)?,
        node: row.get(4)?,
        czxid: row.get(5)?,
        mode: row.get(6)?,
        session: row.get::<_, Option<i64>>(7)?.map(SessionId),
        client: row.get(8)?,
        client_name: row.get(9)?,
        data,
        enqueued_at: row.get::<_, Option<i64>>(11)?.map(Timestamp),
        acquired: bounds(12)?,
        ended,
        end: named.meant(&row.get::<_, String>(16)?, ended.map(|ended| ended.before.0)),
        known_until: ended.map_or(until.unwrap_or(first_seen_at).max(first_seen_at), |ended| ended.before),
    })
}

/// The gaps that reach into this time, the earliest first.
pub(in crate::record) fn gaps(
    connection: &Connection,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> rusqlite::Result<Vec<PastGap>> {
    let mut statement = connection.prepare(
        "SELECT began_at, ended_at, reason FROM gap WHERE ifnull(ended_at, 9223372036854775807) >= ?1 AND began_at <= ?2
         ORDER BY began_at",
    )?;
    let memory = RowMemory::default();
    let gap = |row: &Row<'_>| {
        memory.take(row)?;
        let to = row.get::<_, Option<i64>>(1)?.map(Timestamp);
        Ok(PastGap { from: Timestamp(row.get(0)?), to, reason: row.get(2)? })
    };
    statement.query_map(window(from, to), gap)?.collect()
}

/// The findings that stood within this time, in the order in which they were raised: at most so many.
pub(in crate::record) fn findings(
    connection: &Connection,
    from: Timestamp,
    to: Timestamp,
    limit: usize,
) -> rusqlite::Result<Vec<PastFinding>> {
    let mut statement = connection.prepare(
        "SELECT lock.path, lock.name, node, code, severity, raised_at, cleared_at, summary, remedy
         FROM finding JOIN lock ON lock.id = lock_id
         WHERE ifnull(cleared_at, 9223372036854775807) >= ?1 AND raised_at <= ?2 ORDER BY raised_at, finding.id LIMIT ?3",
    )?;
    let memory = RowMemory::default();
    let finding = |row: &Row<'_>| {
        memory.take(row)?;
        Ok(PastFinding {
            lock: row.get(0)?,
            name: row.get(1)?,
            node: row.get(2)?,
            code: row.get(3)?,
            severity: row.get(4)?,
            raised_at: Timestamp(row.get(5)?),
            cleared_at: row.get::<_, Option<i64>>(6)?.map(Timestamp),
            summary: row.get(7)?,
            remedy: row.get(8)?,
        })
    };
    statement.query_map(params![from.0, to.0, limit_of(limit)], finding)?.collect()
}

/// The deletions of this time: at most so many.
pub(in crate::record) fn deletions(
    connection: &Connection,
    from: Timestamp,
    to: Timestamp,
    limit: usize,
) -> rusqlite::Result<Vec<PastDeletion>> {
    let mut statement = connection.prepare(
        "SELECT at, lock, path, by, result, reason FROM deletion WHERE at BETWEEN ?1 AND ?2 ORDER BY at, id LIMIT ?3",
    )?;
    let memory = RowMemory::default();
    let deletion = |row: &Row<'_>| {
        memory.take(row)?;
        Ok(PastDeletion {
            at: Timestamp(row.get(0)?),
            lock: row.get(1)?,
            path: row.get(2)?,
            by: row.get(3)?,
            result: row.get(4)?,
            reason: row.get(5)?,
        })
    };
    statement.query_map(params![from.0, to.0, limit_of(limit)], deletion)?.collect()
}

fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn window(from: Option<Timestamp>, to: Option<Timestamp>) -> [i64; 2] {
    [from.map_or(i64::MIN, |from| from.0), to.map_or(i64::MAX, |to| to.0)]
}
