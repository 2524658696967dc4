//! A client's connection, as its server lists it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Keyed;
use lockscope_base::znode::{SessionId, Timestamp, Zxid};

/// A client's connection with a session, as the server at its other end sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Its session.
    pub session: SessionId,
    /// The client's end, `ADDRESS:PORT`, with brackets around an IPv6 address.
    pub client: String,
    /// The negotiated session timeout, in milliseconds; `None` when the server does not say.
    pub timeout_ms: Option<u64>,
    /// When it was made, by the server's clock; `None` when the server does not say.
    pub established: Option<Timestamp>,
    /// The last operation, in the server's letters: `PING`, `GETC` (getChildren), `GETD` (getData), `EXST` (exists) …
    pub last_operation: Option<String>,
    /// The number that the client gave its last request. Pings don't move it: a client in which it stands still while
    /// `last_response` moves only sends heartbeats.
    pub last_cxid: Option<i64>,
    /// The newest transaction in the answers to it; `None` before the first, and after a ping.
    pub last_zxid: Option<Zxid>,
    /// When it was last answered, pings included, by the server's monotonic clock in milliseconds.
    pub last_response: Option<i64>,
    /// The same by our clock, as well as it is known ([`ServerClock`](super::ServerClock)). It may be too late, never too
    /// early: the client may have been silent for longer than it seems.
    pub last_heard: Option<Timestamp>,
    /// Packets that the server received, pings included.
    pub received: u64,
    /// Packets that the server sent, watch events included.
    pub sent: u64,
}

impl Connection {
    /// The negotiated session timeout.
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

/// Java's text of a socket's address as `ADDRESS:PORT`: `/10.0.0.1:1`, `host/10.0.0.1:1`, `/0:0:0:0:0:0:0:1:1` (before
/// Java 14) and `/[0:0:0:0:0:0:0:1]:1`.
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
    fn the_clients_address_is_shown_as_one_would_write_it() {
        assert_eq!(client_address("/127.0.0.1:40086"), "127.0.0.1:40086");
        assert_eq!(client_address("app1/10.0.0.1:7"), "10.0.0.1:7");
        assert_eq!(client_address("/0:0:0:0:0:0:0:1:7"), "[0:0:0:0:0:0:0:1]:7");
        assert_eq!(client_address("/[0:0:0:0:0:0:0:1]:7"), "[0:0:0:0:0:0:0:1]:7");
        assert_eq!(client_address(""), "");
    }
}
