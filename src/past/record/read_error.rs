//! Why a part of a recording cannot be read.

use super::{Damage, StoreError};

/// Why a part of a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The part is damaged. Others can be read.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// Nothing can be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReadError {
    /// What was read; `None` where it is damaged.
    ///
    /// # Errors
    ///
    /// Where nothing can be read.
    pub fn skip_damage<T>(read: Result<T, Self>) -> Result<Option<T>, StoreError> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(Self::Damaged(_)) => Ok(None),
            Err(Self::Store(error)) => Err(error),
        }
    }
}
