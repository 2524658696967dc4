//! What became of each node of a plan, and the sentences for it.

use std::fmt;

use super::super::{Action, PlannedNode};
use lockscope_base::znode::{ZnodePath, Zxid};

/// What became of one node of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is deleted.
    Deleted {
        /// Whether its name could have changed hands between the last look and the deletion, without our noticing: we may not
        /// write to the node.
        window: bool,
    },
    /// Its owner is asked to release.
    Asked,
    /// It was gone already.
    Gone,
    /// Another node has its name now. Nothing was deleted.
    ChangedHands {
        /// The transaction that created that node.
        czxid: Zxid,
    },
    /// Another owner's node was deleted: it, or its parent, was made again and written to exactly as often as the one that was
    /// made sure of, all between two requests.
    DeletedOther,
    /// What was confirmed is not true any more. Nothing was deleted.
    Changed {
        /// What is different now.
        what: String,
    },
    /// There are children below it. Nothing was deleted.
    NotEmpty,
    /// The server does not let us. Nothing was deleted.
    Refused {
        /// Which permission is missing, and where.
        lacks: &'static str,
    },
    /// It was changed by others again and again while it was being made sure of. Nothing was deleted.
    Busy,
    /// The intent could not be written down. Nothing was sent.
    NotAudited {
        /// Why the audit log could not be written, as a sentence.
        why: String,
    },
    /// There was no answer in time, or the session ended, before a deletion was sent. Nothing was deleted.
    NotDone {
        /// What happened, as a part of a sentence.
        why: String,
    },
    /// A deletion or a question to the owner was sent, and nothing proves what came of it.
    NotKnown {
        /// What was sent.
        action: Action,
        /// What happened, as a part of a sentence.
        why: String,
    },
}

impl Ending {
    /// The name in JSON and in the audit log.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Deleted { .. } => "deleted",
            Self::Asked => "asked",
            Self::Gone => "gone",
            Self::ChangedHands { .. } => "changed-hands",
            Self::DeletedOther => "deleted-other",
            Self::Changed { .. } => "changed",
            Self::NotEmpty => "not-empty",
            Self::Refused { .. } => "refused",
            Self::Busy => "busy",
            Self::NotAudited { .. } => "not-audited",
            Self::NotDone { .. } => "not-done",
            Self::NotKnown { .. } => "not-known",
        }
    }

    /// Whether what was asked for is done.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Deleted { .. } | Self::Asked)
    }

    /// Whether it could not be tried to the end: by permission, connection or audit log, not by what the node was.
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. }
                | Self::NotAudited { .. }
                | Self::NotDone { .. }
                | Self::NotKnown { .. }
                | Self::Busy
                | Self::DeletedOther
        )
    }
}

impl fmt::Display for Ending {
    /// The rest of a sentence that begins with the node's path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleted { window: false } => f.write_str("is deleted"),
            Self::Deleted { window: true } => f.write_str(
                "is deleted; since we may not write to it, its name could have passed to another owner between our last look and the \
                 deletion",
            ),
            Self::Asked => f.write_str("is marked: its owner is asked to release, and does so if its application made the lock revocable"),
            Self::Gone => f.write_str("was gone already: nothing was deleted"),
            Self::ChangedHands { czxid } => {
                write!(f, "changed hands: since zxid {czxid} another node has that name; nothing was deleted")
            }
            Self::DeletedOther => f.write_str(
                "is deleted, but by then it was another owner's node: it, or its parent, was created again at that very moment; \
                 tell that owner",
            ),
            Self::Changed { what } => {
                write!(f, "changed since you confirmed: {what}; nothing was deleted, look again and confirm anew")
            }
            Self::NotEmpty => f.write_str("has children: nothing was deleted, since nothing is ever deleted recursively"),
            Self::Refused { lacks } => {
                write!(f, "was not deleted: this needs {lacks}; log in as somebody who has it")
            }
            Self::Busy => f.write_str("was changed by others again and again: nothing was deleted; try again"),
            Self::NotAudited { why } => write!(f, "was not touched: {why}"),
            Self::NotDone { why } => write!(f, "was not deleted: {why}"),
            Self::NotKnown { action: Action::Delete, why } => {
                write!(f, "may or may not be deleted: {why}; look again")
            }
            Self::NotKnown { action: Action::Revoke, why } => {
                write!(f, "may or may not be marked: {why}; look again")
            }
        }
    }
}

/// What became of one node, and whether that is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOutcome {
    /// The node.
    pub path: ZnodePath,
    /// The transaction that created it.
    pub czxid: Zxid,
    /// What became of it.
    pub ending: Ending,
    /// The node whose version and modification time were or may have been raised to make sure of the deletion; `None` when the
    /// node itself is gone with that.
    pub raised: Option<ZnodePath>,
    /// Whether the data of another owner's node, or of a parent that was made again, were replaced by those of the one before it, or
    /// may have been.
    pub overwritten: bool,
    /// Why the outcome could not be written to the audit log, which has the intent; `None` when it was.
    pub unaudited: Option<String>,
}

impl NodeOutcome {
    /// What became of a node of which no trace is left.
    pub fn new(node: &PlannedNode, ending: Ending) -> Self {
        let (path, czxid) = (node.path.clone(), node.czxid);
        Self { path, czxid, ending, raised: None, overwritten: false, unaudited: None }
    }

    /// The outcome as one sentence, with the node's path as it is: escape it before it is shown.
    pub fn sentence(&self) -> String {
        format!("{} {}", self.path, self.predicate())
    }

    /// That sentence without the node's path.
    pub fn predicate(&self) -> String {
        let mut words = vec![self.ending.to_string()];
        if let Some(raised) = &self.raised {
            words.push(format!("the version and the modification time of {raised} changed, its data did not"));
        }
        if self.overwritten {
            let hit = "the data of another owner's node at that name, or of a parent that was created again, were or may have been \
                       overwritten with older data: tell that owner";
            words.push(hit.to_owned());
        }
        words.join("; ")
    }
}
