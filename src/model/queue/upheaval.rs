//! Notices upheavals of the ensemble, after which sessions look for another server.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::LockTable;
use crate::server_view::{MemberView, ServerMode, ServerView, ViewExtras};
use lockscope_base::znode::Timestamp;

/// What the table knows of the ensemble as a whole, as a recording stores it. It is stored beside
/// the table, because older recordings have no place for it in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnsembleState {
    extras: ViewExtras,
    upheaval_at: Option<Timestamp>,
}

impl LockTable {
    /// Returns what is known of the ensemble. It is not part of the serialized table.
    pub fn ensemble_state(&self) -> EnsembleState {
        EnsembleState { extras: self.view.extras(), upheaval_at: self.upheaval_at }
    }

    /// Returns the table with what was stored beside it.
    #[must_use]
    pub fn with_ensemble_state(mut self, state: EnsembleState) -> Self {
        Arc::make_mut(&mut self.view).set_extras(&state.extras);
        self.upheaval_at = state.upheaval_at;
        self
    }

    /// Returns when a member of the ensemble last went, came back or changed its role, by this
    /// machine's clock. `None` if that was never seen.
    ///
    /// Clients connect again within moments. Until every server was asked again, a session without
    /// a connection may only be on its way.
    pub fn upheaval_at(&self) -> Option<Timestamp> {
        self.upheaval_at
    }
}

/// Returns whether a member went, came back or changed its role between two views.
///
/// Another leader shows in the roles of two members. A member that is new in the list is no
/// upheaval: sessions do not move for it, and the first views of a console name the members one
/// after the other.
pub(super) fn is_upheaval(before: &ServerView, view: &ServerView) -> bool {
    let asked = before.members.iter().filter(|member| answers(member) || member.error.is_some());
    let now = |member: &MemberView| view.members.iter().find(|other| other.address == member.address);
    asked.into_iter().any(|member| now(member).map_or(answers(member), |now| standing(now) != standing(member)))
}

fn answers(member: &MemberView) -> bool {
    member.mode.is_some() || member.connections.is_some()
}

fn standing(member: &MemberView) -> (bool, Option<ServerMode>) {
    (answers(member), member.mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(members: &[(&str, Option<ServerMode>)]) -> ServerView {
        let member = |(address, mode): &(&str, Option<ServerMode>)| MemberView {
            mode: *mode,
            error: mode.is_none().then(|| "it does not answer".to_owned()),
            ..MemberView::unasked((*address).to_owned())
        };
        ServerView { members: members.iter().map(member).collect(), ..ServerView::default() }
    }

    #[test]
    fn members_that_go_come_back_or_change_their_roles_are_an_upheaval() {
        let (leader, follower) = (Some(ServerMode::Leader), Some(ServerMode::Follower));
        let calm = view(&[("a", leader), ("b", follower)]);
        assert!(!is_upheaval(&ServerView::default(), &calm), "the first view");
        assert!(!is_upheaval(&calm, &calm));
        assert!(!is_upheaval(&calm, &view(&[("a", leader), ("b", follower), ("c", follower)])), "c is new");
        let unasked = ServerView { members: vec![MemberView::unasked("a".to_owned())], ..ServerView::default() };
        assert!(!is_upheaval(&unasked, &calm), "a was not asked before");

        let away = view(&[("a", leader), ("b", None)]);
        assert!(is_upheaval(&calm, &away), "b went");
        assert!(!is_upheaval(&away, &away), "b is still away");
        assert!(is_upheaval(&away, &calm), "b came back");
        assert!(is_upheaval(&calm, &view(&[("a", leader)])), "b is a member no longer");
        assert!(is_upheaval(&calm, &view(&[("a", follower), ("b", leader)])), "b leads");
    }
}
