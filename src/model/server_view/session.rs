//! A session, as a server lists it.

use serde::{Deserialize, Serialize};

use super::Keyed;
use lockscope_base::znode::{SessionId, Timestamp};

/// When a session expires, as a server wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expiry {
    /// By the server's monotonic clock, in milliseconds: the clock of [`Connection::last_response`](super::Connection::last_response).
    Monotonic {
        /// Since an unknown point in the past.
        millis: i64,
    },
    /// By the server's calendar, in whole seconds.
    Date {
        /// As if the date were of UTC.
        millis: i64,
        /// Whether it is.
        utc: bool,
    },
}

impl Expiry {
    /// Milliseconds by the clock that the server used.
    pub(super) fn millis(self) -> i64 {
        match self {
            Self::Monotonic { millis } | Self::Date { millis, .. } => millis,
        }
    }
}

/// A session, as the leader or a standalone server lists it, connected or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedSession {
    /// Its id.
    pub id: SessionId,
    /// When it expires unless its client sends something before, as the server wrote it.
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
