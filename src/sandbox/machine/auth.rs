use super::{End, Machine};
use crate::sandbox::tree::Id;
use crate::sandbox::wire::{Auth, Code, Reader, refusal, reply};

/// How many identities one connection may have.
const MOST: usize = 64;

impl Machine {
    /// Adds an identity to the connection. One that is not accepted ends it, as on a real server.
    pub(super) fn auth(&mut self, id: usize, xid: i32, mut from: Reader<'_>) {
        let Ok(auth) = Auth::read(&mut from) else { return self.end(id, End::NoHeader) };
        let Some(connection) = self.connections.get_mut(id) else { return };
        let known = match &*auth.scheme {
            "digest" => Some(Id::of_digest(&String::from_utf8_lossy(auth.credentials))),
            // Says nothing new: the address is known already.
            "ip" => connection.who.first().cloned(),
            _ => None,
        };
        match known {
            Some(known) if connection.who.contains(&known) => {}
            Some(known) if connection.who.len() < MOST => connection.who.push(known),
            _ => {
                self.push(id, |out| refusal(out, xid, 0, Code::AuthFailed));
                return self.end(id, End::BadCredentials);
            }
        }
        self.push(id, |out| reply(out, xid, 0, |_| {}));
    }
}
