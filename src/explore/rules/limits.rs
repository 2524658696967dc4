//! The documented limits of the locks, and how to tell that one of them explains a violation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::ensemble::{Change, Ensemble, LinkId, ReadOp, Request, WriteOp, session_of};
use crate::program::Hold;

/// A limit that the documentation of the lock library, or that of the deletion, names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Somebody else deletes the own node, and another client gets its path, between the look at
    /// the node and its deletion.
    ReplacedMeanwhile,
    /// A deletion arrives late, after the session was moved back to a server that hung.
    LateDeletion,
    /// Somebody else deletes the node of a holder, or of a waiter right before its turn, which then
    /// takes the lock for held until it looks.
    NodeDeleted,
    /// A process is stopped for so long that its session ends, and takes its lock for held until it
    /// has run again.
    Stopped,
    /// The servers end a session of which they hear, and its client takes its lock for held until it
    /// learns of that.
    EndedEarly,
    /// Somebody else overwrites the data of a node whose create is not answered. The attempt does
    /// not know its node any more. Or the data become those of an earlier node of the same client,
    /// which then takes the node for one that a lost create left behind.
    Overwritten,
    /// A client of another library leaves a node whose create was not answered: it has searched on a
    /// server that lags.
    LeftByOthers,
    /// A client of another library takes its turn by what a server shows that has not learned of the end
    /// of its session.
    HeldByOthers,
    /// A confirmed deletion hits another node, which was created and written to between two of its
    /// requests as often as the confirmed one, or nothing guards it. Its outcome says so.
    DeletedOther,
}

impl Limit {
    /// All limits.
    pub const ALL: [Self; 9] = [
        Self::ReplacedMeanwhile,
        Self::LateDeletion,
        Self::NodeDeleted,
        Self::Stopped,
        Self::EndedEarly,
        Self::Overwritten,
        Self::LeftByOthers,
        Self::HeldByOthers,
        Self::DeletedOther,
    ];
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReplacedMeanwhile => "replaced-meanwhile",
            Self::LateDeletion => "late-deletion",
            Self::NodeDeleted => "node-deleted",
            Self::Stopped => "stopped",
            Self::EndedEarly => "ended-early",
            Self::Overwritten => "overwritten",
            Self::LeftByOthers => "left-by-others",
            Self::HeldByOthers => "held-by-others",
            Self::DeletedOther => "deleted-other",
        })
    }
}

/// The kind of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ReadKind {
    Stat,
    Data,
}

/// A node that a session has seen: path, czxid and version.
type SeenNode = (Arc<str>, i64, i32);

/// What a run leaves behind that tells one limit from another.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Traces {
    /// The nodes that a stranger has deleted.
    deleted_by_stranger: BTreeSet<(i64, Arc<str>)>,
    /// The nodes that a stranger has overwritten, by czxid.
    overwritten: BTreeSet<i64>,
    /// The own node that each session has seen at its last read of a stat, and at its last read of
    /// data. None if the server showed another node, or none. A read of one kind can be on its way
    /// while the deletion follows one of the other.
    looks: BTreeMap<(i64, ReadKind), Option<SeenNode>>,
    /// Whether the last request was a deletion over a connection that is given up.
    is_late: bool,
}

impl Traces {
    pub(super) fn carries_out(&mut self, ensemble: &Ensemble, id: LinkId, request: &Request) {
        let given_up = ensemble.link(id).is_some_and(|link| link.broken);
        self.is_late = given_up && matches!(request, Request::Write(WriteOp::Delete { .. }));
        let (path, kind) = match request {
            Request::Read { read: ReadOp::Stat(path), .. } if !given_up => (path, ReadKind::Stat),
            Request::Read { read: ReadOp::Data(path), .. } if !given_up => (path, ReadKind::Data),
            _ => return,
        };
        let own = ensemble.own_node(id, path).map(|(czxid, version)| (Arc::clone(path), czxid, version));
        self.looks.insert((session_of(id.client), kind), own);
    }

    /// Records a change that a stranger or an operator has made.
    pub(super) fn changed_by_stranger(&mut self, change: &Change, leaves_other_data: bool) {
        match change {
            Change::Deleted { czxid, path, .. } => {
                self.deleted_by_stranger.insert((*czxid, Arc::clone(path)));
            }
            Change::DataChanged { czxid, .. } if leaves_other_data => drop(self.overwritten.insert(*czxid)),
            _ => {}
        }
    }

    pub(super) fn was_overwritten(&self, czxid: i64) -> bool {
        self.overwritten.contains(&czxid)
    }

    pub(super) fn was_deleted_by_stranger(&self, hold: &Hold) -> bool {
        let mut deleted = self.deleted_by_stranger.iter();
        deleted.any(|(czxid, path)| hold.node == *path && (hold.is_downgraded || hold.token == *czxid))
    }

    /// Returns whether a stranger has deleted a node with this path.
    pub(super) fn was_deleted(&self, node: &str) -> bool {
        self.deleted_by_stranger.iter().any(|(_, path)| &**path == node)
    }

    /// Returns whether a stranger has deleted any node.
    pub(super) fn has_deletions(&self) -> bool {
        !self.deleted_by_stranger.is_empty()
    }

    /// Returns the limit that explains why a session has deleted or overwritten that node.
    pub(super) fn explain(&self, author: i64, change: &Change) -> Option<Limit> {
        if self.is_late {
            return Some(Limit::LateDeletion);
        }
        if let Change::Deleted { czxid, owner, .. } = change
            && *owner == Some(author)
            && self.was_overwritten(*czxid)
        {
            return Some(Limit::Overwritten);
        }
        let has_lost_what_it_hits = [ReadKind::Stat, ReadKind::Data].into_iter().any(|kind| {
            let Some(Some((path, czxid, version))) = self.looks.get(&(author, kind)) else { return false };
            let has_lost_it = self.deleted_by_stranger.contains(&(*czxid, Arc::clone(path)));
            // The version that it saw guards the deletion: a node with another version is spared.
            let hits = matches!(change, Change::Deleted { path: hit, version: of_hit, .. } if hit == path && of_hit == version);
            has_lost_it && hits
        });
        has_lost_what_it_hits.then_some(Limit::ReplacedMeanwhile)
    }
}
