//! The documented limits of the locks, and how to tell that one of them explains a violation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::ensemble::{Author, Change, Commit, Ensemble, LinkId, ReadOp, Request, WriteOp, session_of};
use crate::program::Hold;

/// A limit that the documentation of the lock library names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Somebody else deletes the own node, and another client gets its path, between the look at
    /// the node and its deletion.
    ReplacedMeanwhile,
    /// A deletion arrives late, after the session was moved back to a server that hung.
    LateDeletion,
    /// Somebody else overwrites the data of a node whose create is not answered. The attempt does
    /// not know its node any more.
    Overwritten,
}

impl Limit {
    /// All limits.
    pub const ALL: [Self; 3] = [Self::ReplacedMeanwhile, Self::LateDeletion, Self::Overwritten];
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReplacedMeanwhile => "replaced-meanwhile",
            Self::LateDeletion => "late-deletion",
            Self::Overwritten => "overwritten",
        })
    }
}

/// What a run leaves behind that tells one limit from another.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Traces {
    /// The nodes that a stranger has deleted.
    deleted_by_stranger: BTreeSet<(i64, Arc<str>)>,
    /// The nodes that a stranger has overwritten, by czxid.
    overwritten: BTreeSet<i64>,
    /// The path that each session has read last and the owner of its node, as the server showed it.
    looks: BTreeMap<i64, (Arc<str>, bool)>,
    /// Whether the last request that was carried out came over a connection that is given up.
    is_late: bool,
}

impl Traces {
    pub(super) fn carries_out(&mut self, ensemble: &Ensemble, id: LinkId, request: &Request) {
        self.is_late = ensemble.link(id).is_some_and(|link| link.broken);
        let session = session_of(id.client);
        if let Request::Read { read: ReadOp::Stat(path) | ReadOp::Data(path), .. } = request {
            self.looks.insert(session, (Arc::clone(path), ensemble.shows_own(id, path)));
        }
        let is_deletion = |write: &WriteOp| matches!(write, WriteOp::Delete { .. });
        if !matches!(request, Request::Write(write) if is_deletion(write)) && !matches!(request, Request::Read { .. }) {
            self.is_late = false;
        }
    }

    pub(super) fn changed(&mut self, commit: &Commit, change: &Change) {
        match (commit.by, change) {
            (Author::Stranger, Change::Deleted { czxid, path, .. }) => {
                self.deleted_by_stranger.insert((*czxid, Arc::clone(path)));
            }
            (Author::Stranger, Change::DataChanged { czxid, .. }) => drop(self.overwritten.insert(*czxid)),
            _ => {}
        }
    }

    pub(super) fn was_overwritten(&self, czxid: i64) -> bool {
        self.overwritten.contains(&czxid)
    }

    pub(super) fn was_deleted_by_stranger(&self, hold: &Hold) -> bool {
        self.deleted_by_stranger.iter().any(|(czxid, path)| match &hold.node {
            Some(node) => node == path,
            None => hold.token == *czxid,
        })
    }

    /// Returns the limit that explains why a session has deleted or overwritten that node.
    pub(super) fn explain(&self, author: i64, change: &Change) -> Option<Limit> {
        if self.is_late {
            return Some(Limit::LateDeletion);
        }
        let looked = self.looks.get(&author).is_some_and(|(path, own)| path == change.path() && *own);
        (looked && !self.deleted_by_stranger.is_empty()).then_some(Limit::ReplacedMeanwhile)
    }
}
