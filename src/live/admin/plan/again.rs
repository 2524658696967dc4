//! Checks whether the confirmed facts are still true.

use super::{Action, Confirmation, OwnerLiveness, PlannedNode};
use lockscope_model::queue::ContenderState;

/// Returns why the confirmation of `before` does not cover the node as it is `now`, as the rest of
/// a sentence; `None` if it does.
///
/// A less risky state needs no new answer: a holder that waits again, or an owner that is known
/// less.
pub(in crate::admin) fn outdated(action: Action, before: &PlannedNode, now: &PlannedNode) -> Option<String> {
    if action == Action::Revoke {
        return (!now.revocable).then(|| {
            "its owner cannot be asked: it does not hold, it is gone, or it does not know of this node".to_owned()
        });
    }
    if let (Some(was), Some(is)) = (before.emptiness, now.emptiness)
        && was != is
    {
        return Some("it was used meanwhile".to_owned());
    }
    if before.state == Some(ContenderState::Waits) && now.state != Some(ContenderState::Waits) {
        return Some(format!("it acquired, and its owner is {}", now.liveness.id()));
    }
    let was_gone =
        matches!(before.liveness, OwnerLiveness::Ghost | OwnerLiveness::Expiring { .. } | OwnerLiveness::Suspect);
    if was_gone && now.liveness == OwnerLiveness::Live {
        return Some(format!("its owner was {} and is live again", before.liveness.id()));
    }
    if before.confirmation == Confirmation::Yes && now.confirmation != Confirmation::Yes {
        return Some(format!("its owner was {} and is {}", before.liveness.id(), now.liveness.id()));
    }
    None
}
