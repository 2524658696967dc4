//! Reads the rows of a history: contenders, gaps, findings, and what happened to the ensemble as a
//! whole.
//!
//! The parts of a time range before and after the recording are gaps, too.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Row, params};

use crate::record::memory::RowMemory;
use crate::record::tables;
use crate::record::tables::{ContenderEnd, CoveredTime, EnsembleRecord, NOT_READ, PastContender};
use lockscope_base::znode::{TimeBounds, TimeRange, Timestamp};
use lockscope_model::ensemble::EnsembleEventKind;

/// A first reading that took less is not worth to be told.
const MAX_BRIEF_READING: Duration = Duration::from_secs(1);

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
    /// What was said of it, where somebody muted it.
    pub muted: Option<PastMute>,
}

/// A mute of a finding of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastMute {
    /// The person who muted it.
    pub by: String,
    /// What was written.
    pub note: String,
    /// Until when; `None` until it is cleared.
    pub until: Option<Timestamp>,
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
    let mut statement =
        connection.prepare(&format!("{} WHERE contender.id = ?1", tables::select_contenders(connection)?))?;
    let named = NamedEnds::read(connection)?;
    let (mut found, memory) = (Vec::with_capacity(ids.len()), RowMemory::default());
    for id in ids {
        let mut rows = statement.query([id])?;
        if let Some(row) = rows.next()? {
            memory.charge(row)?;
            let mut past = PastContender::read(row)?;
            past.end = named.meaning_of(past.end, past.ended.map(|ended| ended.before.0));
            if past.ended.is_none() {
                past.known_until = past.known_until.max(until.unwrap_or(past.known_until));
            }
            found.push(past);
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

    /// Returns what this end means, at this time.
    pub fn meaning_of(&self, end: ContenderEnd, ended_before: Option<i64>) -> ContenderEnd {
        let is_proven = ended_before.zip(self.proven_since).is_some_and(|(at, since)| at >= since);
        if is_proven { end } else { end.unproven() }
    }
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
    let added = |column| tables::or_null(connection, "finding", column);
    let (by, note, until) = (added("muted_by")?, added("muted_note")?, added("muted_until")?);
    let mut statement = connection.prepare(&format!(
        "SELECT lock.path, lock.name, node, code, severity, raised_at, cleared_at, summary, remedy, {by}, {note}, {until}
         FROM finding JOIN lock ON lock.id = lock_id
         WHERE ifnull(cleared_at, 9223372036854775807) >= ?1 AND raised_at <= ?2 ORDER BY raised_at, finding.id LIMIT ?3",
    ))?;
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
            muted: row.get::<_, Option<String>>(9)?.map(|by| muted(row, by)).transpose()?,
        })
    };
    statement.query_map(params![from.0, to.0, limit_of(limit)], finding)?.collect()
}

fn muted(row: &Row<'_>, by: String) -> rusqlite::Result<PastMute> {
    let note = row.get::<_, Option<String>>(10)?.unwrap_or_default();
    Ok(PastMute { by, note, until: row.get::<_, Option<i64>>(11)?.map(Timestamp) })
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
    let overlap =
        "ifnull(ended_before, 9223372036854775807) >= ?1 AND iif(began_after > 0, began_after, began_before) <= ?2";
    let event = |EnsembleRecord { what, member, epoch, began, ended, detail, .. }| {
        let text = |text: Option<Arc<str>>| text.as_deref().map(str::to_owned);
        PastEnsembleEvent { what, member: text(member), epoch, began, ended, detail: text(detail) }
    };
    Ok(tables::ensemble_rows(connection, overlap, window(from, to), limit)?.into_iter().map(event).collect())
}

/// Returns what of a time range is covered; `None` where the recording has too many gaps to tell.
/// Adds the other parts of the range to its gaps, the earliest first.
pub(super) fn coverage(
    connection: &Connection,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    gaps: &mut Vec<PastGap>,
) -> rusqlite::Result<Option<Vec<CoveredTime>>> {
    let [first, last] = window(from, to).map(Timestamp);
    let Some(covered) = tables::covered(connection, TimeRange { from: first, to: last })? else { return Ok(None) };
    let told = gaps.iter().map(|gap| TimeRange { from: gap.from, to: gap.to.unwrap_or(Timestamp(i64::MAX)) });
    let Some(uncovered) = tables::uncovered(connection, (from, to), &covered, told)? else { return Ok(None) };
    for (time, reason) in uncovered {
        let at = gaps.partition_point(|gap| gap.from <= time.from);
        gaps.insert(at, PastGap { from: time.from, to: Some(time.to), reason: reason.to_owned() });
    }
    Ok(Some(covered))
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
