//! The requests that a run handed to the client library, and what is known about them. The reported
//! result depends on nothing else.

use super::super::Action;
use super::raise::Raise;
use super::{Ending, NodeOutcome};
use crate::admin::PlannedNode;
use lockscope_base::znode::ZnodePath;

/// A deletion without an answer so far: it may be on its way, or its reply may be lost.
#[derive(Clone, Copy, Debug)]
pub(super) enum UnansweredDeletion {
    /// Only the node's absence could show that the deletion was carried out.
    Plain,
    /// The deletion would also have raised the version of this parent.
    WithParent { czxid: i64, version: i32 },
}

/// The requests that were handed to the client library and are not known to have failed.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// The deletion without an answer.
    pub deletion: Option<UnansweredDeletion>,
    /// The raise of a version, or the revocation, without an answer.
    pub raise: Option<Raise>,
    /// A raise whose reply was lost, and which had not arrived at the next read. A late attempt of
    /// the client library to connect can still bring it to the leader.
    pub late_raise: Option<Raise>,
    /// The node whose version was raised.
    pub raised: Option<ZnodePath>,
    /// Whether another owner's data were replaced, or may have been.
    pub overwritten: bool,
}

impl Sent {
    /// Returns the result if the work ends now for a reason other than the node's state.
    pub fn cut_off(&self, action: Action, why: &str) -> Ending {
        let why = why.to_owned();
        match action {
            Action::Delete if self.deletion.is_some() => Ending::NotKnown { action, why },
            Action::Revoke if self.raise.is_some() => Ending::NotKnown { action, why },
            _ => Ending::NotDone { why },
        }
    }

    /// Returns the outcome for a node, including other changes that the work made.
    pub fn outcome(self, node: &PlannedNode, action: Action, ending: Ending) -> NodeOutcome {
        let raising = self.raise.filter(|_| action == Action::Delete);
        let unanswered = raising.as_ref().and_then(|raise| ZnodePath::new(&raise.path).ok());
        NodeOutcome {
            raised: self.raised.or(unanswered).filter(|_| !ending.is_done()),
            overwritten: self.overwritten || raising.is_some(),
            ..NodeOutcome::new(node, ending)
        }
    }
}
