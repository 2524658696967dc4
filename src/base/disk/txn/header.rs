//! What stands before and behind every body.

use crate::wire::{Malformed, Reader, op};
use crate::znode::{SessionId, Timestamp, Zxid};

/// The head of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxnHeader {
    /// The session that asked for it, or that it begins or ends.
    pub session: SessionId,
    /// The number of the client's request; 0 if the servers began it.
    pub cxid: i32,
    /// The id of the transaction.
    pub zxid: Zxid,
    /// The time of the leader's clock.
    pub time: Timestamp,
    /// The type: a number of [`op`].
    pub op: i32,
}

impl TxnHeader {
    /// The size of the head, in bytes.
    pub const BYTES: usize = 8 + 4 + 8 + 8 + 4;

    /// Returns whether the servers end a session whose client was silent for too long. A client
    /// that closes its session does so by a request of its own.
    pub fn is_expiry(&self) -> bool {
        self.op == op::CLOSE_SESSION && self.cxid == 0
    }

    /// Reads a head.
    pub fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            session: SessionId(from.long()?),
            cxid: from.int()?,
            zxid: Zxid(from.long()?),
            time: Timestamp(from.long()?),
            op: from.int()?,
        })
    }
}

/// A digest of the whole tree after a transaction, from 3.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxnDigest {
    /// The way in which it was made.
    pub version: i32,
    /// The digest.
    pub digest: i64,
}

impl TxnDigest {
    /// The size of a digest, in bytes.
    pub(super) const BYTES: usize = 4 + 8;

    /// Reads what follows a body. Servers ignore bytes that are no digest, and so does this.
    pub(super) fn read(mut from: Reader<'_>) -> Option<Self> {
        Some(Self { version: from.int().ok()?, digest: from.long().ok()? })
    }
}
