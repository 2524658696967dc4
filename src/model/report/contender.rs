//! Contenders, their clients, and sessions with what they wait for, as JSON.
//!
//! [`ClientFacts`] is the client behind a contender, a finding or a session. [`SessionFacts`] and
//! [`WaitFacts`] are the sessions and the wait-for graph.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::rfc3339;
use crate::diagnose::{HeldBy, OwnerFacts, SessionLocks, TableAt, Wait, WaitStyle, Waits};
use crate::queue::{
    ClientIdentity, Contender, ContenderRow, ContenderState, LastConnection, LockId, LockQueue, LockTable,
};
use lockscope_base::recipe::RequestMode;
use lockscope_base::znode::{Timestamp, ZnodePath};

/// Maximum number of nodes in `waits_for`. Only writers behind readers, and the head of a
/// semaphore's queue, wait for more than one.
const MAX_WAITS_FOR: usize = 1000;

/// A contender.
#[derive(Serialize)]
pub struct ContenderFacts<'a> {
    node: &'a str,
    path: ZnodePath,
    sequence: Option<i32>,
    mode: RequestMode,
    state: &'static str,
    /// How it is known that the contender holds; `null` for one that does not.
    by: Option<&'static str>,
    /// `null` when no session's end deletes the node.
    session: Option<String>,
    /// `null` when the node was not read yet. The session, the stat and the length of the data are
    /// then `null` too.
    ephemeral: Option<bool>,
    created_at: Option<String>,
    age_ms: u64,
    czxid: Option<i64>,
    version: Option<i32>,
    data: Cow<'a, str>,
    data_encoding: &'static str,
    /// The length of the node's whole data, in bytes.
    data_length: Option<i32>,
    /// Whether `data` is only the beginning of the node's data.
    data_truncated: bool,
    waits_for: Vec<&'a str>,
    /// How `waits_for` is known; `null` when it is empty.
    waits_for_by: Option<&'static str>,
    watches: &'static str,
    #[serde(flatten)]
    client: ClientFacts,
    #[serde(flatten)]
    connection: ConnectionFacts<'a>,
    expires_in_ms: Option<u64>,
    liveness: &'static str,
    /// How long the client has not been heard, while it is silent.
    silent_ms: Option<u64>,
    /// The bounds of how long the contender has held. Equal where the time is known.
    held_at_least_ms: Option<u64>,
    held_at_most_ms: Option<u64>,
    /// Until when a lock without a session is locked, as its data says.
    locked_until: Option<String>,
}

impl<'a> ContenderFacts<'a> {
    /// Creates the facts of a contender. Holders are only known while the table is live.
    pub fn new(lock: &'a LockQueue, row: &ContenderRow<'a>, table_at: TableAt<'a>, now: Timestamp) -> Self {
        let is_live = table_at.table().is_live();
        let facts = table_at.facts(lock, row);
        let OwnerFacts { owner: liveness, expires_in, silence, watching, .. } = facts;
        let waits_for = facts.blockers(lock, row, MAX_WAITS_FOR);
        let contender: &'a Contender = row.contender;
        let held = table_at.table().clock().hold_bounds(contender, table_at.now()).filter(|_| is_live);
        let read = Some(contender).filter(|contender| contender.is_read());
        let kept = contender.data.bytes();
        let data_truncated = usize::try_from(contender.data_length).is_ok_and(|all| all > kept.len());
        let (data, data_encoding) = encode(kept, data_truncated);
        Self {
            node: &contender.node,
            path: lock.path_of(contender),
            sequence: contender.sequence.map(|sequence| sequence.0),
            mode: row.mode,
            state: if is_live { row.state } else { ContenderState::Unknown }.id(),
            by: table_at.held_by(lock, row).filter(|_| is_live).map(HeldBy::id),
            session: contender.session().map(|session| session.to_string()),
            ephemeral: read.map(|read| read.session().is_some()),
            created_at: read.and_then(|read| rfc3339(read.created_at)),
            age_ms: millis(now.since(contender.created_at)),
            czxid: read.map(|read| read.czxid.0),
            version: read.map(|read| read.version),
            data,
            data_encoding,
            data_length: read.map(|read| read.data_length),
            data_truncated,
            waits_for_by: (!waits_for.is_empty()).then(|| facts.awaited_by().id()),
            waits_for,
            watches: watching.id(),
            client: (&table_at.table().clients().identity_of(contender)).into(),
            connection: contender
                .session()
                .and_then(|session| table_at.table().clients().last_connection(session))
                .into(),
            expires_in_ms: expires_in.map(millis),
            liveness: liveness.id(),
            silent_ms: silence.map(|silence| millis(silence.lasted(table_at.now()))),
            held_at_least_ms: held.map(|held| millis(held.at_least)),
            held_at_most_ms: held.map(|held| millis(held.at_most)),
            locked_until: contender.locked_until().and_then(rfc3339),
        }
    }
}

pub fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns data as text, and the encoding of the text. Data that was truncated within a character
/// is still text, without that character.
pub(super) fn encode(bytes: &[u8], truncated: bool) -> (Cow<'_, str>, &'static str) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.into(), "utf8"),
        Err(error) if truncated && error.error_len().is_none() => {
            (String::from_utf8_lossy(&bytes[..error.valid_up_to()]), "utf8")
        }
        Err(_) => (STANDARD.encode(bytes).into(), "base64"),
    }
}

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

impl ClientFacts {
    /// Returns the client's name, or else its address now or at last.
    pub fn telling(&self) -> Option<&str> {
        self.client_name.as_deref().or(self.client.as_deref()).or(self.was_client.as_deref())
    }
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
struct ConnectionFacts<'a> {
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

/// A session that holds or waits for a lock.
#[derive(Serialize)]
pub struct SessionFacts<'a> {
    session: String,
    #[serde(flatten)]
    client: ClientFacts,
    server: Option<&'a str>,
    #[serde(flatten)]
    connection: ConnectionFacts<'a>,
    last_heard_at: Option<String>,
    expires_in_ms: Option<u64>,
    liveness: &'static str,
    /// `null` when the session does not wait.
    style: Option<&'static str>,
    holds: Vec<&'a str>,
    waits_for: Vec<&'a str>,
}

impl<'a> SessionFacts<'a> {
    /// Creates the facts of a session.
    pub fn new(row: &SessionLocks, table_at: TableAt<'a>) -> Self {
        let found = table_at.view().connection_of(row.session);
        let connection = found.map(|(_, connection)| connection);
        let (life, expires_in) = table_at.owner_state(row.session, row.since);
        let path = |lock: &LockId| path(*lock, table_at.table());
        Self {
            session: row.session.to_string(),
            client: (&table_at.table().clients().identity(row.session)).into(),
            server: found.map(|(server, _)| server.address.as_str()),
            connection: table_at.table().clients().last_connection(row.session).into(),
            last_heard_at: connection.and_then(|connection| rfc3339(connection.last_heard?)),
            expires_in_ms: expires_in.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
            liveness: life.id(),
            style: row.style(table_at).map(WaitStyle::id),
            holds: row.holds.iter().filter_map(path).collect(),
            waits_for: row.awaits.iter().filter_map(|(lock, _)| path(lock)).collect(),
        }
    }
}

/// The wait-for graph.
#[derive(Serialize)]
pub struct WaitFacts<'a> {
    blockers: Vec<BlockerFacts<'a>>,
    cycles: Vec<Vec<OneWait<'a>>>,
    self_blocked: Vec<OneWait<'a>>,
}

#[derive(Serialize)]
struct BlockerFacts<'a> {
    session: String,
    #[serde(flatten)]
    client: ClientFacts,
    holds_up: usize,
    /// Whether the true number may be higher, since the count is bounded.
    at_least: bool,
    locks: Vec<&'a str>,
}

#[derive(Serialize)]
struct OneWait<'a> {
    session: String,
    #[serde(flatten)]
    client: ClientFacts,
    node: &'a str,
    waits_for: Option<&'a str>,
    held_by: String,
    held_node: &'a str,
}

impl<'a> WaitFacts<'a> {
    /// Creates the facts of the whole graph.
    pub fn new(waits: &'a Waits, table: &'a LockTable) -> Self {
        let one = |wait: &'a Wait| OneWait {
            session: wait.waiter.to_string(),
            client: (&table.identity_at(wait.lock, &wait.node, wait.waiter)).into(),
            node: &wait.node,
            waits_for: path(wait.lock, table),
            held_by: wait.blocker.to_string(),
            held_node: &wait.held,
        };
        let blockers = waits.blockers().iter().map(|blocker| BlockerFacts {
            session: blocker.session.to_string(),
            client: (&table.clients().identity(blocker.session)).into(),
            holds_up: blocker.holds_up,
            at_least: blocker.at_least,
            locks: blocker.locks.iter().filter_map(|lock| path(*lock, table)).collect(),
        });
        Self {
            blockers: blockers.collect(),
            cycles: waits.cycles().iter().map(|cycle| cycle.iter().map(one).collect()).collect(),
            self_blocked: waits.self_blocked().iter().map(one).collect(),
        }
    }
}

fn path(lock: LockId, table: &LockTable) -> Option<&str> {
    table.lock(lock).map(|lock| lock.path().as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use lockscope_base::znode::Timestamp;

    #[test]
    fn data_is_text_where_it_is_utf8_and_base64_where_it_is_not() {
        assert_eq!(encode("Größe\n".as_bytes(), false), ("Größe\n".into(), "utf8"));
        assert_eq!(encode(b"\xac\xed\0\x05", false), ("rO0ABQ==".into(), "base64"));
        assert_eq!(encode(b"", false), ("".into(), "utf8"));
    }

    #[test]
    fn text_that_was_truncated_within_a_character_stays_text() {
        assert_eq!(encode(b"ab\xf0\x9f", true), ("ab".into(), "utf8"));
        assert_eq!(encode(b"ab\xf0\x9f", false).1, "base64", "the whole of it ends in a broken character");
        assert_eq!(encode(b"a\xffb\xf0\x9f", true).1, "base64", "broken before the cut");
    }

    #[test]
    fn a_former_address_has_its_own_field() {
        let identity = |last_listed| ClientIdentity {
            given: None,
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
