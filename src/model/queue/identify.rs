//! Who sessions and contenders are: what their nodes say, what the servers list, and what is remembered of both.

use std::sync::Arc;

use super::{ClientIdentity, Contender, Happening, LastConnection, LockId, LockQueue, LockTable};
use crate::server_view::ServerView;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::SessionId;

/// Holders of one lock among which one is looked for: many may read at the same time.
const MAX_HOLDERS: usize = 64;

impl LockTable {
    /// A session's connection: as a server lists it, else as one last listed it while the session had a contender or had had one
    /// lately. `None` where no server reported it.
    pub fn last_connection(&self, session: SessionId) -> Option<LastConnection<'_>> {
        if let Some((member, connection)) = self.view.connection_of(session) {
            return Some(LastConnection { connection, server: &member.address, last_listed: None });
        }
        self.sessions.unlisted(session, &self.view)
    }

    /// The address of a session's client: as a server lists or last listed it, also while that server does not answer.
    pub fn address_of(&self, session: SessionId) -> Option<&str> {
        let connection = self.last_connection(session).map(|last| last.connection);
        connection.or_else(|| self.sessions.last_of(session)).map(|connection| connection.client.as_str())
    }

    /// Whether any server listed its clients since the start.
    pub fn has_listed_clients(&self) -> bool {
        self.sessions.were_listed()
    }

    /// Who a session is that has a contender, or had one lately.
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

    /// Who a contender is.
    pub fn identity_of(&self, contender: &Contender) -> ClientIdentity {
        let session = contender.session().map(|session| self.identity(session)).unwrap_or_default();
        let own = ClientIdentity::of_node(contender);
        ClientIdentity { name: own.name.or(session.name.clone()), unread: own.unread, ..session }
    }

    /// The client with this node in the queue of a lock; the session's client where there is no
    /// such node.
    pub fn identity_at(&self, lock: LockId, node: &str, session: SessionId) -> ClientIdentity {
        let contender = self.lock(lock).and_then(|queue| self.standing_at(queue, node));
        let contender = contender.filter(|contender| contender.session() == Some(session));
        contender.map_or_else(|| self.identity(session), |contender| self.identity_of(contender))
    }

    /// Whether a contender with this node stands in a lock.
    pub fn stands(&self, lock: LockId, node: &str) -> bool {
        self.lock(lock).is_some_and(|queue| self.standing_at(queue, node).is_some())
    }

    /// The client of a session that holds a lock, as its node there names it.
    pub fn identity_of_holder(&self, lock: LockId, session: SessionId) -> ClientIdentity {
        let held = self.lock(lock).and_then(|lock| {
            let mut holders = lock.rows(0..lock.holding().min(MAX_HOLDERS));
            holders.find(|row| row.contender.session() == Some(session))
        });
        held.map_or_else(|| self.identity(session), |row| self.identity_of(row.contender))
    }

    /// The contender with this node. A semaphore's holders stand below another parent than its
    /// waiters.
    fn standing_at<'a>(&'a self, queue: &'a LockQueue, node: &str) -> Option<&'a Contender> {
        let paths = [queue.queue_path().child(node), queue.lease_parent().child(node), queue.path().clone()];
        let found = paths.iter().filter_map(|path| self.position(path)).find(|(id, _)| *id == queue.id())?;
        queue.row(found.1).map(|row| row.contender).filter(|contender| &*contender.node == node)
    }

    /// The servers answered anew.
    pub(super) fn surveyed(&mut self, view: Arc<ServerView>) {
        self.sessions.surveyed(&self.view, &view);
        let listed = |view: &ServerView| view.members.iter().map(|member| Some(member.watched.as_ref()?.at)).collect();
        let (before, now): (Vec<_>, Vec<_>) = (listed(&self.view), listed(&view));
        if let Some(measured) = view.clock_ahead() {
            self.clock.measured(measured);
        }
        self.view = view;
        if before != now {
            self.remember_who_waits();
        }
    }

    /// Those who wait for a single node are only known while they watch it. Linear in the number of locks.
    fn remember_who_waits(&mut self) {
        let single = self.locks().filter(|lock| lock.kind() == LockKind::SingleNode);
        let watchers = single.filter_map(|lock| self.view.watchers_of(lock.path()));
        let sessions: Vec<_> = watchers.flat_map(|watchers| watchers.sessions).collect();
        for session in sessions {
            self.sessions.seen_to_wait(session);
        }
    }

    /// Adds to what happened to somebody who that was, as far as it is known now.
    pub(super) fn name_clients(&self, happenings: &mut [Happening]) {
        for happening in happenings {
            let Some(session) = happening.session else { continue };
            let known = self.identity(session);
            happening.client = ClientIdentity { name: happening.client.name.take().or(known.name.clone()), ..known };
        }
    }
}
