//! The state of the connection to the ensemble.

use serde::{Deserialize, Serialize};

use lockscope_base::znode::{SessionId, Timestamp};

/// The way to the ensemble: whether what the table says is true now.
///
/// New states are added at the end: their place is their number in a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectionState {
    /// No session yet, or none any more: trying.
    Connecting {
        /// Which try this is, from 1.
        attempt: u32,
        /// Why the last one failed.
        reason: Option<String>,
        /// When the next one starts; `None` while one is under way.
        next_try: Option<Timestamp>,
    },
    /// There is a session and a connection.
    Connected {
        /// The console's own session.
        session: SessionId,
        /// Whether one recursive watch a root serves; otherwise the server is older than 3.6.0 and one-shot
        /// child watches are used.
        recursive: bool,
    },
    /// There is a connection, and events come faster than they can be taken in: what the table says is old until everything
    /// was read again, which begins with the next [`Connected`](Self::Connected).
    Overloaded {
        /// What is the matter, as a sentence.
        reason: String,
    },
    /// The connection was cut; the session may yet be saved.
    Lost {
        /// Why.
        reason: String,
    },
    /// It will not be tried again: the server refused us.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
    /// There is a connection, and the member of the ensemble that it leads to lags: what it shows
    /// is old. Everything is read again from another member, or from this one when it has caught
    /// up. That begins with the next [`Connected`](Self::Connected).
    Lagging {
        /// The member, as `--connect` names it.
        member: String,
        /// What is the matter and what comes next, as a sentence.
        reason: String,
    },
}
