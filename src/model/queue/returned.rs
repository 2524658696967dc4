//! Recognizes nodes that a member shows again after their deletion.
//!
//! Transaction numbers are unique, so a deleted node never comes back with the transaction that
//! created it. A member that still shows such a node has kept what the ensemble deleted, or lags.
//!
//! | evidence | proves a deletion |
//! | --- | --- |
//! | a recursive watch reported it | yes |
//! | a complete reading was not refused anywhere and did not find the node | yes |
//! | without recursive watches, two listings differ: they may be processed out of order | no |
//! | the parent is gone, or the node's name means something else now | no |
//!
//! A node that shows up again before the next complete reading was never deleted: one answer
//! overtook another. So only a node that a later complete reading finds counts as
//! [returned](Contender::returned).

use super::deleted::DeletedNode;
use super::{ConnectionState, Contender, LockId, LockTable};
use lockscope_base::znode::{Node, ZnodePath};

impl LockTable {
    /// Remembers a contender whose node is gone, if its deletion is proven.
    pub(super) fn note_deleted(&mut self, path: &ZnodePath, id: LockId, slot: u32) {
        let contender = self.locks.get(&id).and_then(|lock| lock.contender(slot as usize));
        let proves = matches!(self.connection, ConnectionState::Connected { recursive: true, .. });
        if let Some(contender) = contender.filter(|contender| proves && contender.is_read()) {
            self.deleted_nodes.insert(path, contender, self.epoch);
        }
    }

    /// Returns what is known about a new node if it was deleted and a later complete reading found
    /// it again.
    pub(super) fn take_returned(&mut self, path: &ZnodePath, node: &Node) -> Option<DeletedNode> {
        let known = self.deleted_nodes.remove(path, node.stat.czxid)?;
        // A rebuilt ensemble may reuse transaction numbers, but not at the same times.
        let is_the_same = known.created_at == node.stat.ctime && known.session == node.stat.ephemeral_owner;
        (is_the_same && known.epoch != self.epoch).then_some(known)
    }
}

impl Contender {
    /// Marks the contender as returned, and restores its place from before the deletion.
    pub(super) fn returns(&mut self, known: DeletedNode) {
        self.returned = true;
        self.set_enqueued_at(known.enqueued_at);
        self.set_queued(known.queued.map(|queued| *queued));
    }
}
