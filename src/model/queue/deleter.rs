//! The deleter of a node, where a transaction log shows it.

use serde::{Deserialize, Serialize};

use super::event::SessionAtEnd;
use lockscope_base::znode::SessionId;

/// The deleter of a node. Only the servers' transaction logs show it; watch events do not.
///
/// New variants go to the end: a recording stores a variant by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Deleter {
    /// A client of this session, by a request.
    Session(SessionId),
    /// The servers, with the session that owned the node: the session had expired.
    Expiry,
    /// The servers, with the session that owned the node: its client had closed the session.
    Close,
}

impl Deleter {
    /// Returns the session whose request deleted the node; `None` for the servers.
    pub fn session(self) -> Option<SessionId> {
        match self {
            Self::Session(session) => Some(session),
            Self::Expiry | Self::Close => None,
        }
    }

    pub(super) fn session_at_end(self) -> SessionAtEnd {
        match self {
            Self::Expiry => SessionAtEnd::Expired,
            Self::Session(_) | Self::Close => SessionAtEnd::Lived,
        }
    }
}
