//! The state of the connection to the ensemble.

use serde::{Deserialize, Serialize};

use lockscope_base::znode::{SessionId, Timestamp};

/// What a [silent](ConnectionState::Silent) ensemble means.
pub const NO_ANSWER: &str = "the ensemble does not answer: it has stopped, has lost its majority, or cannot be reached";

/// The state of the connection to the ensemble. It tells whether the table is accurate now.
///
/// New variants go to the end: a recording stores a variant by its position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectionState {
    /// There is no session, or it is lost. The console is trying to connect.
    Connecting {
        /// The number of this attempt, from 1.
        attempt: u32,
        /// Why the last attempt failed.
        reason: Option<String>,
        /// When the next attempt starts; `None` while one is running.
        next_try: Option<Timestamp>,
    },
    /// There is a session, and it is connected.
    Connected {
        /// The console's own session.
        session: SessionId,
        /// Whether one recursive watch per root is used. `false` for a server before 3.6.0, where
        /// one-shot child watches are used instead.
        recursive: bool,
    },
    /// There is a connection, but events arrive faster than they can be processed.
    ///
    /// The table is outdated until the next complete reading, which begins with the next
    /// [`Connected`](Self::Connected).
    Overloaded {
        /// What is wrong, as a sentence.
        reason: String,
    },
    /// The connection was cut. The session may still survive.
    Lost {
        /// Why the connection was cut.
        reason: String,
    },
    /// The server refused us. There is no further attempt.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
    /// There is a connection, but the member of the ensemble behind it lags, so its data is
    /// outdated.
    ///
    /// Everything is read again from another member, or from this one once it has caught up. That
    /// reading begins with the next [`Connected`](Self::Connected).
    Lagging {
        /// The member, as `--connect` names it.
        member: String,
        /// What is wrong and what happens next, as a sentence.
        reason: String,
    },
    /// There is a connection, but nothing has come from the ensemble for a while: no event, and no
    /// answer to what it was asked. It may have stopped, lost its majority, or be out of reach.
    ///
    /// No event is missed as long as the connection lasts, so the next
    /// [`Connected`](Self::Connected) makes the table accurate again without a reading.
    Silent {
        /// When something came for the last time.
        since: Timestamp,
    },
}

impl ConnectionState {
    /// Returns why the locks are not seen.
    pub fn why_not_seen(&self) -> &str {
        match self {
            Self::Lost { reason }
            | Self::Overloaded { reason }
            | Self::Refused { reason }
            | Self::Lagging { reason, .. }
            | Self::Connecting { reason: Some(reason), .. } => reason,
            Self::Connecting { reason: None, .. } => "there is no connection",
            Self::Silent { .. } => NO_ANSWER,
            Self::Connected { .. } => "everything is read again",
        }
    }
}
