//! Identifies sessions and contenders by their nodes, the servers' lists and the memory of both.

use std::sync::Arc;

use super::{ClientIdentity, Contender, Happening, LastConnection, LockId, LockQueue, LockTable};
use crate::server_view::ServerView;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::SessionId;

/// Maximum number of holders that are searched for one session. A read lock may have very many.
const MAX_HOLDERS: usize = 64;

impl LockTable {
    /// Returns a session's connection as a server lists it, or as a server listed it last.
    ///
    /// A former listing is only known for sessions that have or recently had a contender. Returns
    /// `None` where no server reported the connection.
    pub fn last_connection(&self, session: SessionId) -> Option<LastConnection<'_>> {
        if let Some((member, connection)) = self.view.connection_of(session) {
            return Some(LastConnection { connection, server: &member.address, last_listed: None });
        }
        self.sessions.unlisted(session, &self.view)
    }

    /// Returns the address of a session's client, as a server lists it or listed it last. Also
    /// works while that server does not answer.
    pub fn address_of(&self, session: SessionId) -> Option<&str> {
        let connection = self.last_connection(session).map(|last| last.connection);
        connection.or_else(|| self.sessions.last_of(session)).map(|connection| connection.client.as_str())
    }

    /// Returns whether a session has a contender in any lock.
    pub fn contends(&self, session: SessionId) -> bool {
        self.sessions.contends(session)
    }

    /// Returns whether any server has listed its connections since the start.
    pub fn has_listed_clients(&self) -> bool {
        self.sessions.were_listed()
    }

    /// Returns the client of a session that has or recently had a contender.
    pub fn identity(&self, session: SessionId) -> ClientIdentity {
        let name = self.sessions.name(session).cloned();
        let connection = self.last_connection(session);
        ClientIdentity {
            name,
            address: self.address_of(session).map(Arc::from),
            last_listed: connection.and_then(|last| last.last_listed),
            session: Some(session),
            unread: false,
        }
    }

    /// Returns the client of a contender.
    pub fn identity_of(&self, contender: &Contender) -> ClientIdentity {
        let session = contender.session().map(|session| self.identity(session)).unwrap_or_default();
        let own = ClientIdentity::of_node(contender);
        ClientIdentity { name: own.name.or(session.name.clone()), unread: own.unread, ..session }
    }

    /// Returns the client with this node in the queue of a lock. Falls back to the session's client
    /// when there is no such node.
    pub fn identity_at(&self, lock: LockId, node: &str, session: SessionId) -> ClientIdentity {
        let contender = self.lock(lock).and_then(|queue| self.standing_at(queue, node));
        let contender = contender.filter(|contender| contender.session() == Some(session));
        contender.map_or_else(|| self.identity(session), |contender| self.identity_of(contender))
    }

    /// Returns whether a contender with this node stands in a lock.
    pub fn stands(&self, lock: LockId, node: &str) -> bool {
        self.lock(lock).is_some_and(|queue| self.standing_at(queue, node).is_some())
    }

    /// Returns the client of a session that holds a lock, named by its node there.
    pub fn identity_of_holder(&self, lock: LockId, session: SessionId) -> ClientIdentity {
        let held = self.lock(lock).and_then(|lock| {
            let mut holders = lock.rows(0..lock.holding().min(MAX_HOLDERS));
            holders.find(|row| row.contender.session() == Some(session))
        });
        held.map_or_else(|| self.identity(session), |row| self.identity_of(row.contender))
    }

    /// Returns the contender with this node. A semaphore's holders stand below another parent than
    /// its waiters.
    fn standing_at<'a>(&'a self, queue: &'a LockQueue, node: &str) -> Option<&'a Contender> {
        let paths = [queue.queue_path().child(node), queue.lease_parent().child(node), queue.path().clone()];
        let found = paths.iter().filter_map(|path| self.position(path)).find(|(id, _)| *id == queue.id())?;
        queue.row(found.1).map(|row| row.contender).filter(|contender| &*contender.node == node)
    }

    /// Takes over the servers' new answers. Returns the former ones.
    pub(super) fn surveyed(&mut self, view: Arc<ServerView>) -> Arc<ServerView> {
        self.sessions.surveyed(&self.view, &view);
        self.line.surveyed(&view);
        let listed = |view: &ServerView| view.members.iter().map(|member| Some(member.watched.as_ref()?.at)).collect();
        let (before, now): (Vec<_>, Vec<_>) = (listed(&self.view), listed(&view));
        if let Some((least, most)) = view.clock_ahead() {
            self.clock.measured(least, most);
        }
        let former = std::mem::replace(&mut self.view, view);
        if before != now {
            self.remember_who_waits();
        }
        former
    }

    /// Remembers who waits for single-node locks: these waiters are only visible while they watch
    /// the node. Linear in the number of locks.
    fn remember_who_waits(&mut self) {
        let single = self.locks().filter(|lock| lock.kind() == LockKind::SingleNode);
        let watchers = single.filter_map(|lock| self.view.watchers_of(lock.path()));
        let sessions: Vec<_> = watchers.flat_map(|watchers| watchers.sessions).collect();
        for session in sessions {
            self.sessions.seen_to_wait(session);
        }
    }

    /// Adds the client to each event that has a session, as far as it is known now.
    pub(super) fn name_clients(&self, happenings: &mut [Happening]) {
        for happening in happenings {
            let Some(session) = happening.session else { continue };
            let known = self.identity(session);
            happening.client = ClientIdentity { name: happening.client.name.take().or(known.name.clone()), ..known };
        }
    }
}
