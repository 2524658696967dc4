//! Contenders whose nodes were deleted, and what it means when a member shows one of them again.
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
//! later reading of everything finds is [returned](Contender::returned_at).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::contender::Queued;
use super::{ConnectionState, Contender, LockId, LockTable};
use crate::znode::{Node, SessionId, Timestamp, ZnodePath, Zxid};

/// How many deleted contenders are remembered. Beyond that the oldest is forgotten: if a member brings it back, it looks new.
pub(super) const MAX_DELETED: usize = 10_000;

type NodeKey = (ZnodePath, Zxid);

/// A contender whose node was deleted.
#[derive(Clone, Debug)]
pub(super) struct DeletedNode {
    number: u64,
    /// Which reading of everything was the last one before its deletion was known.
    epoch: u32,
    created_at: Timestamp,
    session: Option<SessionId>,
    enqueued_at: Option<Timestamp>,
    queued: Option<Box<Queued>>,
}

/// The contenders that were deleted last: at most [`MAX_DELETED`].
#[derive(Clone, Debug, Default)]
pub(super) struct DeletedNodes {
    nodes: FxHashMap<NodeKey, DeletedNode>,
    oldest_first: BTreeMap<u64, NodeKey>,
    next: u64,
}

impl DeletedNodes {
    fn insert(&mut self, path: ZnodePath, contender: &Contender, epoch: u32) {
        let (key, number) = ((path, contender.czxid), self.next);
        self.next += 1;
        let node = DeletedNode {
            number,
            epoch,
            created_at: contender.created_at,
            session: contender.session,
            enqueued_at: contender.enqueued_at,
            queued: contender.queued.clone(),
        };
        if let Some(before) = self.nodes.insert(key.clone(), node) {
            self.oldest_first.remove(&before.number);
        }
        self.oldest_first.insert(number, key);
        while self.nodes.len() > MAX_DELETED {
            let Some((_, oldest)) = self.oldest_first.pop_first() else { return };
            self.nodes.remove(&oldest);
        }
    }

    fn remove(&mut self, path: &ZnodePath, czxid: Zxid) -> Option<DeletedNode> {
        if self.nodes.is_empty() {
            return None;
        }
        let node = self.nodes.remove(&(path.clone(), czxid))?;
        self.oldest_first.remove(&node.number);
        Some(node)
    }
}

impl LockTable {
    /// It is proved that this contender's node was deleted.
    pub(super) fn note_deleted(&mut self, path: &ZnodePath, id: LockId, slot: u32) {
        let contender = self.locks.get(&id).and_then(|lock| lock.contender(slot as usize));
        let proves = matches!(self.connection, ConnectionState::Connected { recursive: true, .. });
        if let Some(contender) = contender.filter(|_| proves) {
            self.deleted_nodes.insert(path.clone(), contender, self.epoch);
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
    pub(super) fn returns(&mut self, known: DeletedNode, now: Timestamp) {
        self.returned_at = Some(now);
        self.enqueued_at = known.enqueued_at;
        self.queued = known.queued;
    }
}
