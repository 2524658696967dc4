//! What happened to the ensemble as a whole, as rows.

use rusqlite::{Connection, Row, params};

use super::rows::window;
use crate::record::row_memory::RowMemory;
use lockscope_base::znode::{TimeBounds, Timestamp};
use lockscope_model::ensemble::EnsembleEventKind;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tables;
    use EnsembleEventKind::{LeaderChanged, MemberMissing, NoMajority};

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
}
