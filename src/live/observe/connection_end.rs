//! How a connection of the observer's session ends.

use zookeeper_client::{Error, SessionState};

use super::outbox::Gone;

/// How a connection ended.
#[derive(Debug)]
pub(super) enum ConnectionEnd {
    /// The connection was cut.
    Cut(String),
    /// The connected member lags, which was reported: another member is tried.
    Left,
    /// The session is over.
    Over(SessionState),
    /// The consumer has gone.
    Gone,
}

impl From<Gone> for ConnectionEnd {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl From<Error> for ConnectionEnd {
    fn from(error: Error) -> Self {
        match error {
            Error::SessionExpired | Error::SessionMoved => Self::Over(SessionState::Expired),
            Error::AuthFailed => Self::Over(SessionState::AuthFailed),
            Error::ClientClosed => Self::Over(SessionState::Closed),
            Error::ConnectionLoss => Self::Cut("the connection to the server was cut".to_owned()),
            Error::Throttled => Self::Cut("the server is overloaded and refuses to answer".to_owned()),
            error => Self::Cut(format!("the server's answer was unexpected ({error})")),
        }
    }
}

/// Returns what a new session state means for the current connection. Even `SyncConnected` ends it,
/// because it belongs to a new connection.
pub(super) fn end_of(state: SessionState) -> ConnectionEnd {
    if state.is_terminated() { ConnectionEnd::Over(state) } else { Error::ConnectionLoss.into() }
}
