//! Reduces the gaps of a recording by the times that a log covers.

use rusqlite::{Connection, params};

use crate::record::spans::Spans;
use lockscope_base::znode::{TimeRange, Timestamp};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tables;

    /// Returns what a log that knows these times leaves of gaps, and how many of them it reduces.
    fn left(known: &[(i64, i64)], gaps: &[(i64, Option<i64>)]) -> (Vec<(i64, Option<i64>)>, u64) {
        let connection = Connection::open_in_memory().unwrap();
        tables::create(&connection).unwrap();
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
