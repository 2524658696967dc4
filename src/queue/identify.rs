//! Who sessions and contenders are: what their nodes say, what the servers list, and what is remembered of both.

use super::{ClientIdentity, Contender, Happening, LastConnection, LockTable};
use crate::znode::SessionId;

impl LockTable {
    /// A session's connection: as a server lists it, else as one last listed it while the session had a contender or had had one
    /// lately. `None` where no server reported it.
    pub fn last_connection(&self, session: SessionId) -> Option<LastConnection<'_>> {
        if let Some((member, connection)) = self.view.connection_of(session) {
            return Some(LastConnection { connection, server: &member.address, last_listed: None });
        }
        self.sessions.unlisted(session, &self.view)
    }

    /// Who a session is that has a contender, or had one lately.
    pub fn identity(&self, session: SessionId) -> ClientIdentity {
        let name = self.sessions.name(session).cloned();
        let connection = self.last_connection(session);
        ClientIdentity {
            name,
            address: connection.map(|last| last.connection.client.as_str().into()),
            last_listed: connection.and_then(|last| last.last_listed),
            session: Some(session),
        }
    }

    /// Who a contender is.
    pub fn identity_of(&self, contender: &Contender) -> ClientIdentity {
        let session = contender.session.map(|session| self.identity(session)).unwrap_or_default();
        let own = ClientIdentity::of_node(contender);
        ClientIdentity { name: own.name.or(session.name.clone()), ..session }
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
