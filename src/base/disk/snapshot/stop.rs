//! Reasons not to go on.

use std::io;

use super::item::{Fault, SnapshotEnd};

/// A reason not to go on.
#[derive(Debug)]
pub enum Stop {
    /// Reading failed.
    Io(io::Error),
    /// The stream ended in the midst of a value.
    Torn,
    /// A value is impossible.
    Damaged(Fault),
    /// The snapshot is over.
    End(SnapshotEnd),
}

impl Stop {
    /// Returns how the snapshot ends, at this offset.
    pub fn end(self, offset: u64) -> io::Result<SnapshotEnd> {
        match self {
            Self::Io(error) => Err(error),
            Self::Torn => Ok(SnapshotEnd::Torn { offset }),
            Self::Damaged(fault) => Ok(SnapshotEnd::Damaged { offset, fault }),
            Self::End(end) => Ok(end),
        }
    }
}
