//! The times that a recording knows everything of.

use rusqlite::Connection;

use crate::record::spans::{Spans, TooManySpans};
use lockscope_base::znode::{TimeRange, Timestamp};

/// Returns when everything is known: a run of a recorder has rows and segments of that time, and it
/// is in no gap.
pub(super) fn known(connection: &Connection) -> rusqlite::Result<Result<Spans, TooManySpans>> {
    let rows = spans(connection, "SELECT began_at, until_at FROM recording ORDER BY began_at")?;
    let segments = spans(connection, "SELECT from_ms, until_ms FROM segment ORDER BY from_ms")?;
    let gaps = spans(connection, "SELECT began_at, ifnull(ended_at, 9223372036854775807) FROM gap ORDER BY began_at")?;
    Ok(rows.and_then(|rows| rows.within(&segments?)?.without(&gaps?)))
}

fn spans(connection: &Connection, query: &str) -> rusqlite::Result<Result<Spans, TooManySpans>> {
    let (mut statement, mut spans) = (connection.prepare(query)?, Spans::default());
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let span = TimeRange { from: Timestamp(row.get(0)?), to: Timestamp(row.get(1)?) };
        if let Err(error) = spans.add(span) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(spans))
}
