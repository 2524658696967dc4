//! The memory of contenders whose nodes were deleted: [`returned`](super::returned) asks it about a node that is read again.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use serde::{Deserialize, Serialize};

use super::Contender;
use super::contender::Queued;
use crate::znode::{SessionId, Timestamp, ZnodePath, Zxid};

/// How many deleted contenders are remembered. Beyond that the oldest is forgotten: if a member brings it back, it looks new.
pub(super) const MAX_DELETED: usize = 10_000;

type NodeKey = (ZnodePath, Zxid);

/// A contender whose node was deleted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DeletedNode {
    number: u64,
    /// Which reading of everything was the last one before its deletion was known.
    pub epoch: u32,
    pub created_at: Timestamp,
    pub session: Option<SessionId>,
    pub enqueued_at: Option<Timestamp>,
    pub queued: Option<Box<Queued>>,
}

/// The contenders that were deleted last: at most [`MAX_DELETED`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct DeletedNodes {
    nodes: FxHashMap<NodeKey, DeletedNode>,
    oldest_first: BTreeMap<u64, NodeKey>,
    next: u64,
}

impl DeletedNodes {
    /// Remembers a contender whose node was deleted while `epoch` was the last reading of everything.
    pub fn insert(&mut self, path: ZnodePath, contender: &Contender, epoch: u32) {
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

    /// Forgets it, and gives what was known of it; `None` when no deletion of this node is remembered.
    pub fn remove(&mut self, path: &ZnodePath, czxid: Zxid) -> Option<DeletedNode> {
        if self.nodes.is_empty() {
            return None;
        }
        let node = self.nodes.remove(&(path.clone(), czxid))?;
        self.oldest_first.remove(&node.number);
        Some(node)
    }
}
