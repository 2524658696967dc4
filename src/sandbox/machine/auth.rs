//! Requests that add an identity to a connection.

use super::{CloseReason, Machine};
use crate::tree::Id;
use crate::wire::AuthRequest;
use lockscope_base::wire::{ErrorCode, Reader, refusal, reply};

/// The maximum number of identities of one connection.
const MAX_IDENTITIES: usize = 64;

impl Machine {
    /// Adds an identity to the connection. Rejected credentials close the connection, as on a real
    /// server.
    pub(super) fn auth(&mut self, id: usize, xid: i32, mut from: Reader<'_>) {
        let Ok(auth) = AuthRequest::read(&mut from) else { return self.end(id, CloseReason::NoHeader) };
        let Some(connection) = self.connections.get_mut(id) else { return };
        let known = match &*auth.scheme {
            "digest" => Some(Id::of_digest(&String::from_utf8_lossy(auth.credentials))),
            // No new fact: the server knows the address already.
            "ip" => connection.who.first().cloned(),
            _ => None,
        };
        match known {
            Some(known) if connection.who.contains(&known) => {}
            Some(known) if connection.who.len() < MAX_IDENTITIES => connection.who.push(known),
            _ => {
                self.push(id, |out| refusal(out, xid, 0, ErrorCode::AuthFailed));
                return self.end(id, CloseReason::BadCredentials);
            }
        }
        self.push(id, |out| reply(out, xid, 0, |_| {}));
    }
}
