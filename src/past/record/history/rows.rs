//! Reads the rows of a history: contenders, gaps, findings, deletions, and what happened to the
//! ensemble as a whole.
//!
//! The parts of a time range before and after the recording are gaps, too.

use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use crate::record::memory::RowMemory;
use crate::record::tables;
use crate::record::tables::{ContenderEnd, NOT_READ, RowSource};
use lockscope_base::znode::{SessionId, TimeBounds, Timestamp};
use lockscope_model::ensemble::EnsembleEventKind;

/// A first reading that took less is not worth to be told.
const MAX_BRIEF_READING: Duration = Duration::from_secs(1);

/// A contender of the past. Texts from znodes are unescaped and must be escaped before they are
/// shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastContender {
    /// The id, which rises in the order in which contenders were first seen.
    pub id: i64,
    /// The path of the lock.
    pub lock: String,
    /// The name of the queue, if the parent has several.
    pub name: Option<String>,
    /// The name of the recipe.
    pub recipe: String,
    /// The node of the contender; for a holder of a lease, the lease.
    pub node: String,
    /// The transaction that created the node, if the node was read.
    pub czxid: Option<i64>,
    /// The requested mode: `exclusive`, `read`, `write` or `lease`.
    pub mode: String,
    /// The session of the contender.
    pub session: Option<SessionId>,
    /// The address of the client.
    pub client: Option<String>,
    /// The name of the client in its node.
    pub client_name: Option<String>,
    /// The beginning of the node's data; `None` if empty or not recorded.
    pub data: Option<Vec<u8>>,
    /// The time of arrival.
    pub enqueued_at: Option<Timestamp>,
    /// The bounds of the acquisition; `None` if the contender never held.
    pub acquired: Option<TimeBounds>,
    /// The bounds of the end; `None` while the contender is present.
    pub ended: Option<TimeBounds>,
    /// The kind of end.
    pub end: ContenderEnd,
    /// The session whose request deleted the node, if a transaction log shows it.
    pub deleted_by: Option<SessionId>,
    /// Where the facts come from.
    pub source: RowSource,
    /// The time up to which the contender is known to be present; after its end, the latest
    /// possible end.
    pub known_until: Timestamp,
}

impl PastContender {
    /// Returns the least length of the hold, in milliseconds; `None` if the contender never held.
    pub fn held_at_least_ms(&self) -> Option<u64> {
        Some(length(self.acquired?.before, self.ended.map_or(self.known_until, |ended| ended.after)))
    }

    /// Returns the greatest length of the hold as far as is known, in milliseconds.
    pub fn held_at_most_ms(&self) -> Option<u64> {
        Some(length(self.acquired?.after, self.ended.map_or(self.known_until, |ended| ended.before)))
    }

    /// Returns the wait until the acquisition, the end or now; `None` when it is not known exactly.
    pub fn waited_ms(&self) -> Option<u64> {
        let until = match (self.acquired, self.ended) {
            (Some(acquired), _) => acquired.exactly()?,
            (None, Some(ended)) => ended.exactly()?,
            (None, None) => self.known_until,
        };
        Some(length(self.enqueued_at?, until))
    }

    /// Returns the certain length of the hold or wait, whichever is longer, in milliseconds.
    pub fn weight_ms(&self) -> u64 {
        let until = self.acquired.or(self.ended).map_or(self.known_until, |bounds| bounds.after);
        let waited = self.enqueued_at.map(|came| length(came, until));
        self.held_at_least_ms().max(waited).unwrap_or(0)
    }

    /// Returns the earliest known time of the contender.
    pub fn began_at(&self) -> Timestamp {
        self.enqueued_at.or(self.acquired.map(|acquired| acquired.after)).unwrap_or(self.known_until)
    }
}

fn length(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}

/// A time in which nothing was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastGap {
    /// The time up to which everything was seen.
    pub from: Timestamp,
    /// The time from which everything was seen again; `None` while the gap lasts.
    pub to: Option<Timestamp>,
    /// The reason of the gap.
    pub reason: String,
}

impl PastGap {
    /// Returns whether the gap is only the first reading, which took no longer than it must.
    pub fn is_brief_reading(&self) -> bool {
        self.reason == NOT_READ && self.to.is_some_and(|to| to.since(self.from) < MAX_BRIEF_READING)
    }
}

/// A finding of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastFinding {
    /// The path of the lock.
    pub lock: String,
    /// The name of the queue, if the parent has several.
    pub name: Option<String>,
    /// The node that the finding is about.
    pub node: Option<String>,
    /// The code of the finding.
    pub code: String,
    /// The worst severity of the finding.
    pub severity: String,
    /// The time at which it was raised.
    pub raised_at: Timestamp,
    /// The time at which it was cleared or the locks were no longer seen; `None` while it is open.
    pub cleared_at: Option<Timestamp>,
    /// The evidence in a sentence.
    pub summary: String,
    /// The remedy in a sentence.
    pub remedy: String,
}

/// A deletion by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastDeletion {
    /// The time at which the outcome was known.
    pub at: Timestamp,
    /// The path of the lock.
    pub lock: String,
    /// The path of the node.
    pub path: String,
    /// The user who deleted the node.
    pub by: Option<String>,
    /// The name of the outcome in the audit log.
    pub result: String,
    /// The outcome in a sentence.
    pub reason: Option<String>,
}

/// Returns the beginning and the end of the recorded time.
pub(in crate::record) fn recorded(connection: &Connection) -> rusqlite::Result<(Option<Timestamp>, Option<Timestamp>)> {
    let times = |row: &Row<'_>| {
        Ok((row.get::<_, Option<i64>>(0)?.map(Timestamp), row.get::<_, Option<i64>>(1)?.map(Timestamp)))
    };
    connection.query_row("SELECT min(began_at), max(until_at) FROM recording", [], times)
}

/// Returns the contenders with these ids, in this order. `until` is the time up to which open
/// contenders are known to be present.
pub(in crate::record) fn contenders(
    connection: &Connection,
    ids: &[i64],
    until: Option<Timestamp>,
) -> rusqlite::Result<Vec<PastContender>> {
    let [deleted_by, source] = [tables::or_null(connection, "deleted_by")?, tables::or_null(connection, "source")?];
    let mut statement = connection.prepare(&format!(
        "SELECT contender.id, lock.path, lock.name, lock.recipe, node, czxid, mode, session, client.address, client.name, data,
            enqueued_at, acquired_after, acquired_before, ended_after, ended_before, ending, first_seen_at,
            {deleted_by}, {source}
         FROM contender JOIN lock ON lock.id = lock_id LEFT JOIN client ON client.id = client_id WHERE contender.id = ?1",
    ))?;
    let named = NamedEnds::read(connection)?;
    let (mut found, memory) = (Vec::with_capacity(ids.len()), RowMemory::default());
    for id in ids {
        let mut rows = statement.query([id])?;
        if let Some(row) = rows.next()? {
            memory.charge(row)?;
            found.push(contender(row, &named, until)?);
        }
    }
    Ok(found)
}

/// The meaning of the names of ends in a recording.
pub(super) struct NamedEnds {
    /// The time since which an end is called `released` or `left` only with proof; `None`: never.
    proven_since: Option<i64>,
}

impl NamedEnds {
    pub fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let query = "SELECT min(began_at) FROM recording WHERE tables_version >= 2";
        Ok(Self { proven_since: connection.query_row(query, [], |row| row.get(0))? })
    }

    /// Returns the end with this name, at this time.
    pub fn end_named(&self, name: &str, ended_before: Option<i64>) -> ContenderEnd {
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
        end: named.end_named(&row.get::<_, String>(16)?, ended.map(|ended| ended.before.0)),
        deleted_by: row.get::<_, Option<i64>>(18)?.map(SessionId),
        source: RowSource::from_id(row.get::<_, Option<String>>(19)?.as_deref()),
        known_until: ended.map_or(until.unwrap_or(first_seen_at).max(first_seen_at), |ended| ended.before),
    })
}

/// Returns the gaps that overlap a time range, the earliest first.
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
        memory.charge(row)?;
        let to = row.get::<_, Option<i64>>(1)?.map(Timestamp);
        Ok(PastGap { from: Timestamp(row.get(0)?), to, reason: row.get(2)? })
    };
    statement.query_map(window(from, to), gap)?.collect()
}

/// Returns the findings that were open within a time range, in the order in which they were raised,
/// up to `limit`.
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
        memory.charge(row)?;
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

/// Returns the deletions within a time range, up to `limit`.
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
        memory.charge(row)?;
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

pub(super) fn window(from: Option<Timestamp>, to: Option<Timestamp>) -> [i64; 2] {
    [from.map_or(i64::MIN, |from| from.0), to.map_or(i64::MAX, |to| to.0)]
}

/// The most events of a history, of each ensemble.
pub(super) const MAX_EVENTS: usize = 2_000;

/// Something that happened to the ensemble in the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastEnsembleEvent {
    /// What happened.
    pub what: EnsembleEventKind,
    /// The member that it happened to, or that leads since. Unescaped.
    pub member: Option<String>,
    /// The epoch that began with it.
    pub epoch: Option<u32>,
    /// When it began.
    pub began: TimeBounds,
    /// When it was over; `None` while it lasts.
    pub ended: Option<TimeBounds>,
    /// What else is known, in a sentence. Unescaped.
    pub detail: Option<String>,
}

/// Returns the events that overlap a time range, the earliest first, up to `limit`. Events of kinds
/// that a newer version recorded are left out, and recordings before format 6 have none.
pub(super) fn events(
    connection: &Connection,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    limit: usize,
) -> rusqlite::Result<Vec<PastEnsembleEvent>> {
    if !connection.table_exists(None, "ensemble_event")? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(
        "SELECT what, member, epoch, began_after, began_before, ended_after, ended_before, detail FROM ensemble_event
         WHERE ifnull(ended_before, 9223372036854775807) >= ?1 AND iif(began_after > 0, began_after, began_before) <= ?2
         ORDER BY began_before, id LIMIT ?3",
    )?;
    let memory = RowMemory::default();
    let event = |row: &Row<'_>| {
        memory.charge(row)?;
        let Some(what) = EnsembleEventKind::from_id(&row.get::<_, String>(0)?) else { return Ok(None) };
        let bounds = |after, before| TimeBounds::between(Timestamp(after), Timestamp(before));
        let ended = row.get::<_, Option<i64>>(5)?.zip(row.get::<_, Option<i64>>(6)?);
        Ok(Some(PastEnsembleEvent {
            what,
            member: row.get(1)?,
            epoch: row.get::<_, Option<i64>>(2)?.and_then(|epoch| u32::try_from(epoch).ok()),
            began: bounds(row.get(3)?, row.get(4)?),
            ended: ended.map(|(after, before)| bounds(after, before)),
            detail: row.get(7)?,
        }))
    };
    let [from, to] = window(from, to);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = statement.query_map(params![from, to, limit], event)?;
    found.filter_map(Result::transpose).collect()
}

/// Adds the parts of a time range outside of the recording to its gaps, the earliest first.
pub(super) fn add(
    connection: &Connection,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    gaps: &mut Vec<PastGap>,
) -> rusqlite::Result<()> {
    let times = |row: &Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
    let (first, last) = connection.query_row("SELECT min(from_ms), max(until_ms) FROM segment", [], times)?;
    let (Some(first), Some(last)) = (first.map(Timestamp), last.map(Timestamp)) else { return Ok(()) };
    let gap = |from, to, reason: &str| PastGap { from, to: Some(to), reason: reason.to_owned() };
    if let Some(from) = from.filter(|from| *from < first) {
        gaps.insert(0, gap(from, first, "the recording begins later"));
    }
    if let Some(to) = to.filter(|to| *to > last) {
        gaps.push(gap(last, to, "the recording ends earlier"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use EnsembleEventKind::{LeaderChanged, MemberMissing, NoMajority};

    use super::*;
    use crate::record::batch::SegmentBounds;
    use crate::record::history::PastWindow;
    use crate::record::store::Store;
    use crate::record::tables;
    use crate::record::tests::fixture::{ALL, ConsoleFixture};

    #[test]
    fn events_that_overlap_the_time_are_read_and_unknown_ones_are_left_out() {
        let connection = Connection::open_in_memory().unwrap();
        assert_eq!(events(&connection, None, None, 9), Ok(Vec::new()), "a recording before format 6");
        tables::create(&connection).unwrap();
        let rows = "INSERT INTO ensemble_event (what, member, epoch, began_after, began_before, ended_after, ended_before, source)
            VALUES ('no-majority', NULL, NULL, 10, 12, 20, 23, 'watched'), ('leader-changed', 'zk2:2181', 4, 23, 24, 23, 24, 'log'),
            ('member-missing', 'zk1:2181', NULL, 30, 31, NULL, NULL, 'watched'), ('a-newer-one', NULL, NULL, 1, 99, 1, 99, 'log')";
        connection.execute(rows, []).unwrap();
        let between = |from, to| {
            let found = events(&connection, Some(Timestamp(from)), Some(Timestamp(to)), 9).unwrap();
            found.into_iter().map(|event| (event.what, event.ended.map(|ended| ended.before.0))).collect::<Vec<_>>()
        };
        assert_eq!(between(0, 9), []);
        assert_eq!(between(0, 10), [(NoMajority, Some(23))]);
        assert_eq!(between(23, 25), [(NoMajority, Some(23)), (LeaderChanged, Some(24))]);
        assert_eq!(between(90, 95), [(MemberMissing, None)]);
        let all = events(&connection, None, None, 9).unwrap();
        assert_eq!(
            (all[1].epoch, all[1].member.as_deref(), all[0].began.after),
            (Some(4), Some("zk2:2181"), Timestamp(10))
        );
    }

    #[test]
    fn parts_of_a_window_outside_of_the_recording_are_gaps_without_contenders() {
        let mut fixture = ConsoleFixture::new(ALL, SegmentBounds::default());
        let path = fixture.ensemble.put_numbered("/a/lock-", 1);
        fixture.apply(fixture.ensemble.observed(&path));
        fixture.stop();
        let mut store = Store::open(&fixture.path).unwrap();
        let whole = PastWindow::read(&mut store, None, None).unwrap().expect("recorded");
        let (from, to) = (Timestamp(whole.from.0 - 60_000), Timestamp(whole.to.0 + 60_000));
        let wide = PastWindow::read(&mut store, Some(from), Some(to)).unwrap().expect("recorded");
        assert_eq!((wide.from, wide.to, wide.known_until), (from, to, whole.to));
        let outside = wide.gaps.iter().filter(|gap| gap.reason.starts_with("the recording ")).count();
        assert_eq!(whole.gaps, [], "the first reading is no gap");
        assert_eq!((outside, wide.gaps[0].from), (2, from), "{:?}", wide.gaps);
        assert_eq!(wide.gaps.last().map(|gap| (gap.from >= whole.to, gap.to)), Some((true, Some(to))));
    }
}
