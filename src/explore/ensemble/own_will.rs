//! What servers do for reasons of their own: they refuse requests, spoil replies, and delete empty
//! containers.

use super::{Author, Ensemble, LinkId, Message, Refusal, WriteOp};

impl Ensemble {
    /// Lets the member refuse the oldest request of a link, or send a reply that cannot be read.
    pub fn refuse(&mut self, id: LinkId, why: Refusal) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if why == Refusal::Garbled {
            let sent = link.messages.len();
            self.carry_out(id);
            let last = self.links.get_mut(&id).and_then(|link| link.messages.iter_mut().skip(sent).last());
            if let Some((_, message)) = last
                && let Message::Reply { xid, answer: Ok(_) } = *message
            {
                *message = Message::Refused { xid, why };
            }
        } else if let Some((xid, _)) = link.requests.pop_front() {
            link.partly.clear();
            let zxid = self.replicas.members[link.member].zxid;
            link.push(zxid, Message::Refused { xid, why });
        }
    }

    /// Lets the servers delete an empty container. Returns whether there was one.
    pub fn reap(&mut self, path: &str) -> bool {
        let is_due = self.is_reapable(path);
        is_due && self.try_write(Author::Servers, 0, &[WriteOp::Delete { path: path.into(), version: None }]).is_ok()
    }

    /// Returns whether the servers may delete a node because it is a container that has become empty.
    pub fn is_reapable(&self, path: &str) -> bool {
        self.tree().due(0).iter().any(|due| &**due == path)
    }
}
