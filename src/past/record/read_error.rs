//! The errors of reading a part of a recording.

use super::{Damage, StoreError};

/// Why a part of a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The part is damaged. Other parts can be read.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// The recording cannot be read at all.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReadError {
    /// Returns the part; `None` when it is damaged.
    ///
    /// # Errors
    ///
    /// Fails when the recording cannot be read at all.
    pub fn skip_damage<T>(read: Result<T, Self>) -> Result<Option<T>, StoreError> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(Self::Damaged(_)) => Ok(None),
            Err(Self::Store(error)) => Err(error),
        }
    }
}
