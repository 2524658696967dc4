//! The client behind a contender or a session, as JSON.

use std::sync::Arc;

use serde::Serialize;

use super::rfc3339;
use crate::queue::{ClientIdentity, LastConnection};

/// The identity of a client, now or before it disconnected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClientFacts {
    /// The client's address, while a server lists its connection, or while the server that listed
    /// it last does not answer.
    client: Option<Arc<str>>,
    /// The client's name in its node.
    client_name: Option<Arc<str>>,
    /// The client's last address, once no server lists its connection any more.
    was_client: Option<Arc<str>>,
    /// When a server last listed that connection.
    client_last_seen_at: Option<String>,
}

impl From<&ClientIdentity> for ClientFacts {
    fn from(identity: &ClientIdentity) -> Self {
        let ClientIdentity { name, address, last_listed, .. } = identity;
        Self {
            client: address.clone().filter(|_| last_listed.is_none()),
            client_name: name.clone(),
            was_client: address.clone().filter(|_| last_listed.is_some()),
            client_last_seen_at: last_listed.and_then(rfc3339),
        }
    }
}

/// A client's connection, as the servers list it or listed it last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ConnectionFacts<'a> {
    session_timeout_ms: Option<u64>,
    client_connected_at: Option<String>,
    /// The last operation in the server's abbreviation.
    client_last_request: Option<&'a str>,
}

impl<'a> From<Option<LastConnection<'a>>> for ConnectionFacts<'a> {
    fn from(last: Option<LastConnection<'a>>) -> Self {
        let Some(LastConnection { connection, .. }) = last else { return Self::default() };
        Self {
            session_timeout_ms: connection.timeout_ms,
            client_connected_at: connection.established.and_then(rfc3339),
            client_last_request: connection.last_operation.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use lockscope_base::znode::Timestamp;

    #[test]
    fn a_former_address_has_its_own_field() {
        let identity = |last_listed| ClientIdentity {
            name: Some("worker-3".into()),
            address: Some("10.0.4.17:51586".into()),
            last_listed,
            session: None,
            unread: false,
        };
        let facts = |identity: &ClientIdentity| serde_json::to_value(ClientFacts::from(identity)).unwrap();
        assert_eq!(
            facts(&identity(None)),
            json!({ "client": "10.0.4.17:51586", "client_name": "worker-3", "was_client": null, "client_last_seen_at": null })
        );
        assert_eq!(
            facts(&identity(Some(Timestamp(0)))),
            json!({
                "client": null, "client_name": "worker-3", "was_client": "10.0.4.17:51586",
                "client_last_seen_at": "1970-01-01T00:00:00.000Z",
            })
        );
    }
}
