//! A session, as a server lists it.

use serde::{Deserialize, Serialize};

use super::Keyed;
use lockscope_base::znode::{SessionId, Timestamp};

/// When a session expires, as a server wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expiry {
    /// By the server's monotonic clock, in milliseconds. This is the clock of
    /// [`Connection::last_response`](super::Connection::last_response).
    Monotonic {
        /// Milliseconds since an unknown point in the past.
        millis: i64,
    },
    /// By the server's calendar, in whole seconds.
    Date {
        /// The date in milliseconds, read as if it were in UTC.
        millis: i64,
        /// Whether the date is in UTC.
        utc: bool,
    },
}

impl Expiry {
    /// Returns the milliseconds by the clock that the server used.
    pub(super) fn millis(self) -> i64 {
        match self {
            Self::Monotonic { millis } | Self::Date { millis, .. } => millis,
        }
    }
}

/// A session in the list of the leader or a standalone server, connected or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedSession {
    /// The session's id.
    pub id: SessionId,
    /// When the session expires unless its client sends something before, as the server wrote it.
    pub expiry: Expiry,
    /// When the session expires by our clock, to about a second; `None` when the server's clock
    /// cannot be converted.
    pub expires_at: Option<Timestamp>,
}

impl Keyed for ListedSession {
    type Key = SessionId;

    fn key(&self) -> &SessionId {
        &self.id
    }
}
