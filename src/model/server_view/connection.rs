//! A client's connection, as its server lists it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Keyed;
use lockscope_base::znode::{SessionId, Timestamp, Zxid};

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
    /// (getData), `EXST` (exists) …
    pub last_operation: Option<String>,
    /// The number that the client gave its last request. Pings do not change it: if it stays the
    /// same while `last_response` moves, the client only sends heartbeats.
    pub last_cxid: Option<i64>,
    /// The newest transaction in the answers to the client; `None` before the first answer, and
    /// after a ping.
    pub last_zxid: Option<Zxid>,
    /// When the client was last answered, pings included, by the server's monotonic clock in
    /// milliseconds.
    pub last_response: Option<i64>,
    /// When the client was last answered, by our clock ([`ServerClock`](super::ServerClock)). The
    /// time may be too late but never too early: the client may have been silent for longer than it
    /// seems.
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
