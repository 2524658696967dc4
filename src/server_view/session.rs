//! A session, as a server lists it.

use serde::{Deserialize, Serialize};

use super::{Expiry, Keyed};
use crate::znode::{SessionId, Timestamp};

/// A session, as the leader or a standalone server lists it, connected or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedSession {
    /// Its id.
    pub id: SessionId,
    /// When it expires unless its client is heard before, as the server wrote it.
    pub expiry: Expiry,
    /// The same by our clock, to about a second; `None` when the server's clock cannot be translated.
    pub expires_at: Option<Timestamp>,
}

impl Keyed for ListedSession {
    type Key = SessionId;

    fn key(&self) -> &SessionId {
        &self.id
    }
}
