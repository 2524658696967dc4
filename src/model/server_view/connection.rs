//! A client's connection, as its server lists it.
//!
//! Architecture invariant: a figure that stands for "none yet" is no measurement. Both decoders end
//! in [`ListedConnection`], so nothing else in the program sees such a figure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Keyed;
use lockscope_base::znode::{SessionId, Timestamp, Zxid, is_marked_timeout};

/// A client's connection with a session, as its server lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// The connection's session.
    pub session: SessionId,
    /// The client's address, `ADDRESS:PORT`, with brackets around an IPv6 address.
    pub client: String,
    /// The negotiated session timeout, in milliseconds; `None` when the server does not report it.
    pub timeout_ms: Option<u64>,
    /// When the connection was made, by the server's clock; `None` when the server does not report
    /// it.
    pub established: Option<Timestamp>,
    /// The last operation in the server's abbreviation: `PING`, `GETC` (getChildren), `GETD`
    /// (getData), `EXST` (exists) … `None` before the first one on this connection.
    pub last_operation: Option<String>,
    /// The number that the client gave its last request on this connection. Pings do not change it:
    /// if it stays the same while `last_response` moves, the client only sends heartbeats. `None`
    /// before the first answer.
    pub last_cxid: Option<i64>,
    /// The newest transaction in the answers to the client; `None` before the first answer, and
    /// after a ping.
    pub last_zxid: Option<Zxid>,
    /// When the client was last answered, pings included, by the server's monotonic clock in
    /// milliseconds. `None` before the first answer on this connection, and when the server does
    /// not report it.
    pub last_response: Option<i64>,
    /// When the client was last answered, by our clock ([`ServerClock`](super::ServerClock)). The
    /// time may be too late but never too early: the client may have been silent for longer than it
    /// seems. Before the first answer it is when the connection was first listed
    /// ([`FirstListed`](super::FirstListed)).
    pub last_heard: Option<Timestamp>,
    /// The number of packets that the server received, pings included.
    pub received: u64,
    /// The number of packets that the server sent, watch events included.
    pub sent: u64,
}

impl Connection {
    /// Returns the negotiated session timeout.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }

    /// Returns whether the session belongs to a lockscope: this one, or another console, recorder
    /// or check.
    ///
    /// They are recognised by their timeout ([`marked_timeout`](lockscope_base::znode::marked_timeout)),
    /// unless a server granted another one or the timeout is below two seconds.
    pub fn is_of_lockscope(&self) -> bool {
        self.timeout_ms.is_some_and(is_marked_timeout)
    }
}

/// What a server lists of a connection, in its own figures.
///
/// A server counts by connection. A session that has just moved to it was answered nothing there,
/// which it writes as 0, as -1, as `null` or as `NA`, depending on the figure.
#[derive(Clone, Debug)]
pub(super) struct ListedConnection {
    pub session: SessionId,
    pub client: String,
    pub timeout_ms: Option<u64>,
    pub established: Option<i64>,
    pub last_operation: Option<String>,
    pub last_cxid: Option<i64>,
    pub last_zxid: Option<i64>,
    pub last_response: Option<i64>,
    pub received: u64,
    pub sent: u64,
}

impl From<ListedConnection> for Connection {
    fn from(listed: ListedConnection) -> Self {
        let was_answered = listed.last_response != Some(0);
        Self {
            session: listed.session,
            client: listed.client,
            timeout_ms: listed.timeout_ms,
            established: listed.established.map(Timestamp),
            last_operation: listed.last_operation.filter(|name| !["null", "NA", ""].contains(&&**name)),
            last_cxid: listed.last_cxid.filter(|cxid| was_answered && *cxid != -1),
            last_zxid: listed.last_zxid.filter(|zxid| was_answered && *zxid >= 0).map(Zxid),
            last_response: listed.last_response.filter(|_| was_answered),
            last_heard: None,
            received: listed.received,
            sent: listed.sent,
        }
    }
}

impl Keyed for Connection {
    type Key = SessionId;

    fn key(&self) -> &SessionId {
        &self.session
    }
}

/// Converts Java's text of a socket's address to `ADDRESS:PORT`. Java writes `/10.0.0.1:1`,
/// `host/10.0.0.1:1`, `/[0:0:0:0:0:0:0:1]:1`, and before Java 14 `/0:0:0:0:0:0:0:1:1`.
pub(super) fn client_address(java: &str) -> String {
    let address = java.rsplit_once('/').map_or(java, |(_, address)| address);
    match address.rsplit_once(':') {
        Some((host, port)) if host.contains(':') && !host.starts_with('[') => format!("[{host}]:{port}"),
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_address_has_the_usual_notation() {
        assert_eq!(client_address("/127.0.0.1:40086"), "127.0.0.1:40086");
        assert_eq!(client_address("app1/10.0.0.1:7"), "10.0.0.1:7");
        assert_eq!(client_address("/0:0:0:0:0:0:0:1:7"), "[0:0:0:0:0:0:0:1]:7");
        assert_eq!(client_address("/[0:0:0:0:0:0:0:1]:7"), "[0:0:0:0:0:0:0:1]:7");
        assert_eq!(client_address(""), "");
    }
}
