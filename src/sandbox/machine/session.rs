//! The end of a session, closed or expired.

use super::{CloseReason, Machine};
use crate::tree::Change;

impl Machine {
    /// The client ends its session. Events of its own nodes, where it watched them, come before the reply.
    pub(super) fn close_session(&mut self, id: usize, xid: i32) {
        let Some((session, _)) = self.connections.get(id).and_then(|connection| connection.session) else { return };
        self.end_session(session);
        self.reply(id, xid, |_| {});
        self.end(id, CloseReason::Closed);
    }

    /// The session's time is over.
    pub(super) fn expire(&mut self, session: i64) {
        let connection = self.sessions.get(session).and_then(|session| session.connection);
        self.end_session(session);
        if let Some(connection) = connection {
            self.end(connection, CloseReason::Expired);
        }
    }

    /// Ends a session and all nodes that are its own, in one transaction.
    fn end_session(&mut self, session: i64) {
        self.sessions.remove(session);
        self.zxid += 1;
        let paths: Vec<_> = self.tree.ephemerals_of(session).cloned().collect();
        for path in paths {
            // It is there and has no children: nothing else can be below an ephemeral node.
            if let Ok((change @ Change::Deleted { .. }, _)) = self.tree.delete(&path, -1, self.zxid) {
                self.notify(&change);
            }
        }
    }
}
