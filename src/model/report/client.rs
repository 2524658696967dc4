//! Who the client behind a contender or a session is, as JSON.

use std::sync::Arc;

use serde::Serialize;

use super::rfc3339;
use crate::queue::{ClientIdentity, LastConnection};

/// Who a client is or was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClientFacts {
    /// Its address, while a server lists its connection, or does not answer that listed it last.
    client: Option<Arc<str>>,
    /// What its node calls it.
    client_name: Option<Arc<str>>,
    /// Its last address, when no server lists its connection any more.
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

/// What the servers say or last said of a client's connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ConnectionFacts<'a> {
    session_timeout_ms: Option<u64>,
    client_connected_at: Option<String>,
    /// In the server's letters.
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
    fn what_was_its_address_is_not_called_its_address() {
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
