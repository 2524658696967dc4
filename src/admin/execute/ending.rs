use std::fmt;

use super::super::PlannedNode;
use crate::znode::{ZnodePath, Zxid};

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
    /// It is gone, and the reply was lost that would tell whether we deleted it.
    GoneUnseen,
    /// Another node has its name now. Nothing was deleted.
    ChangedHands {
        /// That node's creation.
        czxid: Zxid,
        /// Whether that node's data were replaced by those of the node that was seen: it took the name in the very moment in
        /// which the node was made sure of.
        overwritten: bool,
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
        /// Why.
        why: String,
    },
    /// There was no answer in time, or the session ended, before a deletion was sent. Nothing was deleted.
    NotDone {
        /// What happened.
        why: String,
    },
    /// A deletion was sent, and there was no answer in time, or the session ended.
    NotKnown {
        /// What happened.
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
            Self::GoneUnseen => "gone-unseen",
            Self::ChangedHands { .. } => "changed-hands",
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
            Self::Refused { .. } | Self::NotAudited { .. } | Self::NotDone { .. } | Self::NotKnown { .. } | Self::Busy
        )
    }
}

impl fmt::Display for Ending {
    /// The rest of a sentence that begins with the node's path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleted { window: false } => f.write_str("is deleted"),
            Self::Deleted { window: true } => f.write_str(
                "is deleted; since we may not write to it, it could have changed hands between the last look and that",
            ),
            Self::Asked => f.write_str("is marked: its owner is asked to release, and does so if it listens"),
            Self::Gone => f.write_str("was gone already: nothing was deleted"),
            Self::GoneUnseen => {
                f.write_str("is gone; the reply to the deletion was lost, so that it is not known who deleted it")
            }
            Self::ChangedHands { czxid, overwritten: false } => {
                write!(f, "changed hands: another node has that name since zxid {czxid}, and nothing was deleted")
            }
            Self::ChangedHands { czxid, overwritten: true } => write!(
                f,
                "changed hands at the last moment: another node has that name since zxid {czxid} and was not deleted, but its \
                 data were overwritten by those of the node before it: tell its owner"
            ),
            Self::NotEmpty => f.write_str("has children, and nothing is deleted recursively: nothing was deleted"),
            Self::Refused { lacks } => {
                write!(f, "was not deleted: the server wants {lacks}: log in as somebody who has it")
            }
            Self::Busy => f.write_str("was changed by others again and again: nothing was deleted, try again"),
            Self::NotAudited { why } => write!(f, "was not touched: {why}"),
            Self::NotDone { why } => write!(f, "was not deleted: {why}"),
            Self::NotKnown { why } => write!(f, "may be deleted or not: {why}; look again"),
        }
    }
}

/// What became of one node, and whether that is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The node.
    pub path: ZnodePath,
    /// Its creation.
    pub czxid: Zxid,
    /// What became of it.
    pub ending: Ending,
    /// Why the audit log lacks this outcome; it has the intent.
    pub unaudited: Option<String>,
}

impl Outcome {
    pub(super) fn new(node: &PlannedNode, ending: Ending) -> Self {
        Self { path: node.path.clone(), czxid: node.czxid, ending, unaudited: None }
    }

    /// It in one sentence, with the node's path as it is: escape it before it is shown.
    pub fn sentence(&self) -> String {
        format!("{} {}", self.path, self.ending)
    }
}
