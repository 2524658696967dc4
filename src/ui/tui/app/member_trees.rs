//! When the trees of the members are compared.

use super::{App, Effect, Screen};
use lockscope_base::znode::Timestamp;
use lockscope_model::members::ComparedNodes;

/// The time between two comparisons, in milliseconds.
const INTERVAL_MS: u64 = 30_000;

/// Remembers when a comparison was last asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemberTrees {
    asked_at: Option<Timestamp>,
}

impl App {
    /// Asks for a comparison of the members while Servers is open, and for as long as the last one
    /// shows a difference. At most one each [`INTERVAL_MS`].
    pub(super) fn compare_members_if_due(&mut self) -> Option<Effect> {
        let table = self.live.table();
        let differs = table.compared().is_some_and(|compared| !compared.differences.is_empty());
        let is_open = self.navigation.screen == Screen::Servers && self.shown.is_live();
        let is_possible = self.observing && table.is_live() && table.view().members.len() > 1;
        let is_early =
            self.member_trees.asked_at.is_some_and(|asked| self.wall.since(asked).as_millis() < INTERVAL_MS.into());
        if !is_possible || !(is_open || differs) || is_early {
            return None;
        }
        self.member_trees.asked_at = Some(self.wall);
        let nodes = ComparedNodes::of(table, table.view(), &self.settings.roots);
        Some(Effect::CompareMembers(Box::new(nodes)))
    }
}
