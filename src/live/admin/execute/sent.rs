//! What a run handed to the client library, and what is known of it: the outcome that is reported depends on nothing else.

use super::super::Action;
use super::raise::Raise;
use super::{Ending, NodeOutcome};
use crate::admin::PlannedNode;
use lockscope_base::znode::ZnodePath;

/// A deletion that was handed over and has no answer so far: it may be on its way, or its reply is lost.
#[derive(Clone, Copy, Debug)]
pub(super) enum UnansweredDeletion {
    /// Only the node's absence could show that it was carried out.
    Plain,
    /// It would have raised the version of this very parent.
    WithParent { czxid: i64, version: i32 },
}

/// What was handed to the client library, and is not known to have failed.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// The deletion without an answer.
    pub deletion: Option<UnansweredDeletion>,
    /// The raise of a version, or the revocation, without an answer.
    pub raise: Option<Raise>,
    /// Whose version was raised.
    pub raised: Option<ZnodePath>,
    /// Another owner's data were replaced, or may have been.
    pub overwritten: bool,
}

impl Sent {
    /// The outcome when the work ends now for a reason that has nothing to do with the node.
    pub fn cut_off(&self, action: Action, why: &str) -> Ending {
        let why = why.to_owned();
        match action {
            Action::Delete if self.deletion.is_some() => Ending::NotKnown { action, why },
            Action::Revoke if self.raise.is_some() => Ending::NotKnown { action, why },
            _ => Ending::NotDone { why },
        }
    }

    /// The outcome for a node, with what the work changed besides.
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
