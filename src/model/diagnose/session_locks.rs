//! The locks that each session holds and waits for, and how it waits.

use std::net::IpAddr;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::facts::{TableAt, WatchTarget};
use crate::queue::{ClientIdentity, ContenderState, LockId, LockTable};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};

/// A session with the locks that it holds and waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLocks {
    /// The session.
    pub session: SessionId,
    /// When the session's oldest node was created, by this machine's clock.
    pub since: Timestamp,
    /// The locks that the session holds, ordered by path.
    pub holds: Vec<LockId>,
    /// The locks that the session waits for, ordered by path, each with the session's node. `None`
    /// for a single-node lock, whose waiters are not in the tree.
    pub awaits: Vec<(LockId, Option<ZnodePath>)>,
    /// The names of clients in the session's nodes, sorted, without addresses, at most `MAX_NAMES`.
    /// Several clients may share a session.
    pub names: Vec<Arc<str>>,
}

/// How a session waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStyle {
    /// The session watches its predecessor's node.
    Chain,
    /// The session watches what all waiters watch.
    Herd,
    /// The session watches nothing.
    Nothing,
    /// The servers did not report it.
    Unknown,
}

impl WaitStyle {
    /// Returns the name on the screen and in exports.
    pub fn id(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Herd => "herd",
            Self::Nothing => "nothing",
            Self::Unknown => "unknown",
        }
    }
}

/// Maximum number of a session's nodes that are checked for its style.
const MAX_NODES_FOR_STYLE: usize = 4;

/// Maximum number of names per session.
const MAX_NAMES: usize = 4;

impl SessionLocks {
    /// Returns the session's client, with all the names in its nodes.
    pub fn identity(&self, table: &LockTable) -> ClientIdentity {
        let known = table.clients().identity(self.session);
        if self.names.is_empty() {
            return known;
        }
        ClientIdentity { name: Some(self.names.join(", ").into()), ..known }
    }

    fn note_name(&mut self, data: &[u8]) {
        let is_name = |name: &&str| self.names.len() < MAX_NAMES && name.parse::<IpAddr>().is_err();
        let Some(name) = ClientIdentity::name_in(data).filter(is_name) else { return };
        if let Err(place) = self.names.binary_search_by(|known| (**known).cmp(name)) {
            self.names.insert(place, name.into());
        }
    }

    /// Returns how the session waits; `None` when it does not wait.
    pub fn style(&self, table_at: TableAt<'_>) -> Option<WaitStyle> {
        let mut found = None;
        for (lock, node) in self.awaits.iter().take(MAX_NODES_FOR_STYLE) {
            let Some(node) = node else { return Some(WaitStyle::Herd) };
            let Some((queue, row)) = table_at.table().lock(*lock).zip(table_at.table().position(node)).and_then(
                |(queue, (id, position))| (id == *lock).then(|| queue.row(position).map(|row| (queue, row))).flatten(),
            ) else {
                continue;
            };
            match table_at.facts(queue, &row).watching {
                WatchTarget::Predecessor | WatchTarget::TwoBefore => return Some(WaitStyle::Chain),
                WatchTarget::Parent => return Some(WaitStyle::Herd),
                WatchTarget::Nothing => found = Some(WaitStyle::Nothing),
                WatchTarget::Unknown => found = found.or(Some(WaitStyle::Unknown)),
            }
        }
        found
    }
}

/// Returns every session that contends for a lock. One of a queue of unknown rules is not known to
/// wait. Linear in the number of contenders.
pub fn session_locks(table_at: TableAt<'_>) -> FxHashMap<SessionId, SessionLocks> {
    let mut found: FxHashMap<SessionId, SessionLocks> = FxHashMap::default();
    let table = table_at.table();
    for lock in table.locks() {
        for row in lock.rows(0..lock.len()) {
            let Some(session) = row.contender.session() else { continue };
            let since = row.contender.contends_since(table.clock().ahead_ms());
            let entry = entry(&mut found, session, since);
            entry.note_name(row.contender.data.bytes());
            match row.state {
                ContenderState::Holds => entry.holds.push(lock.id()),
                ContenderState::Unknown if lock.is_assumed() => {}
                ContenderState::Waits | ContenderState::Unknown => {
                    entry.awaits.push((lock.id(), Some(lock.path_of(row.contender))));
                }
            }
        }
        if lock.kind() == LockKind::SingleNode {
            for session in table_at.waiters(lock).into_iter().flat_map(|watchers| watchers.sessions) {
                entry(&mut found, session, table_at.now()).awaits.push((lock.id(), None));
            }
        }
    }
    found
}

fn entry(found: &mut FxHashMap<SessionId, SessionLocks>, session: SessionId, since: Timestamp) -> &mut SessionLocks {
    let empty = || SessionLocks { session, since, holds: Vec::new(), awaits: Vec::new(), names: Vec::new() };
    let row = found.entry(session).or_insert_with(empty);
    row.since = row.since.min(since);
    row
}
