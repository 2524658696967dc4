//! The end of a session, closed or expired.

use super::{CloseReason, Machine};
use crate::tree::Change;

impl Machine {
    /// Closes the session at the client's request. Events of its own nodes, where it watched them,
    /// precede the reply.
    pub(super) fn close_session(&mut self, id: usize, xid: i32) {
        let Some((session, _)) = self.connections.get(id).and_then(|connection| connection.session) else { return };
        self.end_session(session);
        self.reply(id, xid, |_| {});
        self.end(id, CloseReason::Closed);
    }

    /// Expires a session.
    pub(super) fn expire(&mut self, session: i64) {
        let connection = self.sessions.get(session).and_then(|session| session.connection);
        self.end_session(session);
        if let Some(connection) = connection {
            self.end(connection, CloseReason::Expired);
        }
    }

    /// Ends a session and deletes its ephemeral nodes, in one transaction.
    fn end_session(&mut self, session: i64) {
        self.sessions.remove(session);
        self.zxid += 1;
        let paths: Vec<_> = self.tree.ephemerals_of(session).cloned().collect();
        for path in paths {
            // The node exists and has no children: an ephemeral node cannot have any.
            if let Ok((change @ Change::Deleted { .. }, _)) = self.tree.delete(&path, -1, self.zxid) {
                self.notify(&change);
            }
        }
    }
}
