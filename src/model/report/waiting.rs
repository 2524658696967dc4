//! Sessions and the wait-for graph, as JSON.

use serde::Serialize;

use super::client::{ClientFacts, ConnectionFacts};
use super::rfc3339;
use crate::diagnose::{SessionLocks, TableAt, Wait, WaitStyle, Waits};
use crate::queue::{LockId, LockTable};

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
            client: (&table_at.table().identity(row.session)).into(),
            server: found.map(|(server, _)| server.address.as_str()),
            connection: table_at.table().last_connection(row.session).into(),
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
            client: (&table.identity(blocker.session)).into(),
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
