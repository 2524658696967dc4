//! The keyframe of a segment in the file: one compressed stream, cut into pieces.
//!
//! The first piece is the row of `keyframe`; most keyframes have no other. The rest of a large one
//! is in `keyframe_piece`, so that only the disk bounds its size: `SQLite` bounds a single value. It
//! is one stream, and not one for each piece, so that its checksum shows when a piece is missing. It
//! is read piece by piece while it is decoded.

use std::io;
use std::io::{BufRead, Read};

use rusqlite::types::{FromSqlError, Type};
use rusqlite::{Connection, Row, Rows, params};

/// The table of the pieces but the first. Since format 9.
pub const PIECES: &str = "
-- The rest of a large keyframe, numbered from 1 on.
CREATE TABLE IF NOT EXISTS keyframe_piece (
    segment INTEGER NOT NULL REFERENCES segment (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (segment, number)
);
";

/// The largest piece that is written, in bytes. A reader holds one in memory.
const MAX_PIECE: usize = 4 << 20;

/// Writes the keyframe of a segment.
pub fn put(sql: &Connection, segment: i64, packed: &[u8]) -> rusqlite::Result<()> {
    for (number, piece) in packed.chunks(MAX_PIECE).enumerate() {
        put_piece(sql, segment, number, piece)?;
    }
    Ok(())
}

fn put_piece(sql: &Connection, segment: i64, number: usize, piece: &[u8]) -> rusqlite::Result<()> {
    if number == 0 {
        let insert = "INSERT INTO keyframe (segment, state) VALUES (?1, ?2)";
        sql.prepare_cached(insert)?.execute(params![segment, piece])?;
    } else {
        let insert = "INSERT INTO keyframe_piece (segment, number, state) VALUES (?1, ?2, ?3)";
        sql.prepare_cached(insert)?.execute(params![segment, number, piece])?;
    }
    Ok(())
}

/// Copies the keyframe of a segment to one of another recording, piece by piece.
pub fn copy(from: &Connection, segment: i64, to: &Connection, target: i64) -> rusqlite::Result<()> {
    let mut query = from.prepare_cached(&query(from, "state")?)?;
    let mut rows = query.query([segment])?;
    let mut number = 0;
    while let Some(row) = rows.next()? {
        put_piece(to, target, number, blob(row)?)?;
        number += 1;
    }
    Ok(())
}

/// Deletes the keyframe of a segment.
pub fn delete(sql: &Connection, segment: i64) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM keyframe WHERE segment = ?1")?.execute([segment])?;
    sql.prepare_cached("DELETE FROM keyframe_piece WHERE segment = ?1")?.execute([segment])?;
    Ok(())
}

/// Returns the size of a segment's keyframe in the file, in bytes.
pub fn bytes(sql: &Connection, segment: i64) -> rusqlite::Result<u64> {
    let sum = format!("SELECT ifnull(sum(bytes), 0) FROM ({})", query(sql, "length(state) AS bytes")?);
    sql.prepare_cached(&sum)?.query_row([segment], |row| row.get(0))
}

/// Returns the query for all pieces of a keyframe, in order.
fn query(sql: &Connection, column: &str) -> rusqlite::Result<String> {
    let first = format!("SELECT {column} FROM keyframe WHERE segment = ?1");
    // Older recordings have no such table.
    if !sql.table_exists(None, "keyframe_piece")? {
        return Ok(first);
    }
    let rest = format!("SELECT {column} FROM keyframe_piece WHERE segment = ?1 ORDER BY number");
    Ok(format!("{first} UNION ALL SELECT * FROM ({rest})"))
}

/// Reads the keyframe of a segment with `read`. Returns `None` if there is none; else also how many
/// of its bytes were read.
pub fn read<T>(
    sql: &Connection,
    segment: i64,
    read: impl FnOnce(&mut KeyframeStream<'_>) -> T,
) -> rusqlite::Result<Option<(T, u64)>> {
    let mut query = sql.prepare_cached(&query(sql, "state")?)?;
    let mut stream = KeyframeStream { rows: query.query([segment])?, piece: Vec::new(), at: 0, read: 0, failed: None };
    if !stream.next_piece()? {
        return Ok(None);
    }
    let value = read(&mut stream);
    stream.failed.map_or(Ok(Some((value, stream.read))), Err)
}

/// Returns the bytes in the first column of a row.
pub fn blob<'r>(row: &'r Row<'_>) -> rusqlite::Result<&'r [u8]> {
    let wrong = |error: FromSqlError| rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error.into());
    row.get_ref(0)?.as_blob().map_err(wrong)
}

/// The bytes of a keyframe, forward only.
pub struct KeyframeStream<'q> {
    rows: Rows<'q>,
    piece: Vec<u8>,
    /// The place in the piece.
    at: usize,
    /// How many bytes were read.
    read: u64,
    /// The error that ended the stream.
    failed: Option<rusqlite::Error>,
}

impl KeyframeStream<'_> {
    fn next_piece(&mut self) -> rusqlite::Result<bool> {
        self.piece.clear();
        self.at = 0;
        let Some(row) = self.rows.next()? else { return Ok(false) };
        self.piece.extend_from_slice(blob(row)?);
        Ok(true)
    }
}

impl BufRead for KeyframeStream<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at == self.piece.len() {
            match self.next_piece() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.failed = Some(error);
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
        }
        Ok(&self.piece[self.at..])
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes;
        self.read += bytes as u64;
    }
}

impl Read for KeyframeStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?.read(buffer)?;
        self.consume(bytes);
        Ok(bytes)
    }
}
