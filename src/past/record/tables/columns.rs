//! Columns that earlier versions of the tables lack.

use rusqlite::Connection;

/// The columns that were added to the table of contenders, with their types.
const ADDED: [(&str, &str); 2] = [("deleted_by", "INTEGER"), ("source", "TEXT")];

/// Returns the expression that reads an added column; NULL in a file without it.
pub(in crate::record) fn or_null(connection: &Connection, column: &'static str) -> rusqlite::Result<&'static str> {
    Ok(if exists(connection, column)? { column } else { "NULL" })
}

/// Adds the columns that a file of an earlier version lacks.
pub(super) fn add_missing(connection: &Connection) -> rusqlite::Result<()> {
    for (column, kind) in ADDED {
        if !exists(connection, column)? {
            connection.execute_batch(&format!("ALTER TABLE contender ADD COLUMN {column} {kind}"))?;
        }
    }
    Ok(())
}

fn exists(connection: &Connection, column: &str) -> rusqlite::Result<bool> {
    connection.column_exists(None, "contender", column)
}
