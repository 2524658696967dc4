//! A member shows a node again that was deleted: what counts as a deletion, and what the return of a node means.
//!
//! A transaction's number is given once: a node that was deleted never comes back with the one that created it. A member that
//! shows it all the same has kept what the ensemble deleted, or is behind.
//!
//! | evidence | counts as deleted |
//! | --- | --- |
//! | a recursive watch reported it | yes |
//! | everything was read anew, nothing was refused, and it was not there | yes |
//! | without recursive watches: two listings differ, which may be handled in another order than they were made | no |
//! | its parent is gone, or its name means something else now | no |
//!
//! A node that is read again before everything is read anew was never deleted: an answer overtook another. So only a node that a
//! later reading of everything finds is [returned](Contender::returned).

use super::deleted::DeletedNode;
use super::{ConnectionState, Contender, LockId, LockTable};
use lockscope_base::znode::{Node, ZnodePath};

impl LockTable {
    /// It is proved that this contender's node was deleted.
    pub(super) fn note_deleted(&mut self, path: &ZnodePath, id: LockId, slot: u32) {
        let contender = self.locks.get(&id).and_then(|lock| lock.contender(slot as usize));
        let proves = matches!(self.connection, ConnectionState::Connected { recursive: true, .. });
        if let Some(contender) = contender.filter(|contender| proves && contender.is_read()) {
            self.deleted_nodes.insert(path, contender, self.epoch);
        }
    }

    /// What was known of a node that comes, if it was deleted and a later reading of everything finds it again.
    pub(super) fn take_returned(&mut self, path: &ZnodePath, node: &Node) -> Option<DeletedNode> {
        let known = self.deleted_nodes.remove(path, node.stat.czxid)?;
        // An ensemble that was set up anew gives its numbers anew, but not at the same time.
        let is_the_same = known.created_at == node.stat.ctime && known.session == node.stat.ephemeral_owner;
        (is_the_same && known.epoch != self.epoch).then_some(known)
    }
}

impl Contender {
    /// The member shows again what was deleted: this is who it was before.
    pub(super) fn returns(&mut self, known: DeletedNode) {
        self.returned = true;
        self.set_enqueued_at(known.enqueued_at);
        self.set_queued(known.queued.map(|queued| *queued));
    }
}
