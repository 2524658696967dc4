//! Bounds the memory of the rows read for one question: a small file can hold very many rows.

use std::cell::Cell;

use rusqlite::Row;
use rusqlite::types::{Type, ValueRef};

use super::memory::MAX_ROWS;

/// The memory of a row besides its texts, in bytes.
const ROW_OVERHEAD: u64 = 256;

/// The rows exceed the memory bound.
#[derive(Debug, thiserror::Error)]
#[error("the rows take more memory than they may")]
struct Exceeded;

/// The memory left for rows.
#[derive(Debug)]
pub(super) struct RowMemory {
    left: Cell<u64>,
}

impl Default for RowMemory {
    fn default() -> Self {
        Self { left: Cell::new(MAX_ROWS) }
    }
}

impl RowMemory {
    /// Charges the memory of a row. Must be called before its values are read.
    pub fn charge(&self, row: &Row<'_>) -> rusqlite::Result<()> {
        let columns = row.as_ref().column_count();
        let text = |column| match row.get_ref(column)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok::<_, rusqlite::Error>(bytes.len() as u64),
            _ => Ok(0),
        };
        let bytes =
            (0..columns).try_fold(ROW_OVERHEAD, |bytes, column| Ok::<_, rusqlite::Error>(bytes + text(column)?))?;
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.ok_or_else(|| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Exceeded.into()))?);
        Ok(())
    }

    /// Returns whether an error was caused by this bound.
    pub fn is_exceeded(error: &rusqlite::Error) -> bool {
        matches!(error, rusqlite::Error::FromSqlConversionFailure(.., why) if why.is::<Exceeded>())
    }
}
