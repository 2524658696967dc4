//! Goes on with the table of a recording, so that a new start forgets nothing.

use std::sync::Arc;

use super::table::SyncPhase;
use super::{ConnectionState, LockTable};
use lockscope_base::znode::{Timestamp, ZnodePath};

impl LockTable {
    /// Goes on with a recorded table in place of this one, which is empty: with its recipes and its
    /// expectations, for the locks below `roots` (all, if there are none). Holds, waits and the
    /// departures of candidates are known from then on, as after a cut of the connection.
    ///
    /// Locks elsewhere, and nodes that are no contenders by the recipes, are left out. Returns the
    /// empty table where nothing was read in the recording, or where other nodes were named as locks.
    #[must_use]
    pub fn resuming(self, recorded: Self, roots: &[ZnodePath]) -> Self {
        if !recorded.is_reporting() || !self.classifier.names_as(&recorded.classifier) {
            return self;
        }
        let table = Self { phase: SyncPhase::Stale, cut_reported: false, ..recorded };
        let mut table = table.with_recipes(self.own_recipes()).with_expectations(self.expectations());
        table.connection = ConnectionState::Connecting { attempt: 1, reason: None, next_try: None };
        // What the servers said then is no answer of now.
        (table.view, table.compared, table.pending_ends) = (Arc::default(), None, Box::default());
        table.samples.clear();
        table.leave_out(|table, path| {
            let is_below = roots.is_empty() || roots.iter().any(|root| path.is_within(root));
            !is_below || table.classifier.classify(path).is_none()
        });
        table
    }

    /// Drops the parents of contenders of which one is left out, without a report.
    fn leave_out(&mut self, is_left_out: impl Fn(&Self, &ZnodePath) -> bool) {
        let is_gone = |path: &ZnodePath| {
            let children = self.parents.get(path).map(|parent| parent.children.iter(&self.locks));
            children.into_iter().flatten().any(|(name, _)| is_left_out(self, &path.child(name)))
        };
        let gone: Vec<ZnodePath> = self.parents.keys().filter(|path| is_gone(path)).cloned().collect();
        let at = self.last_true.unwrap_or(Timestamp(0));
        for path in gone {
            self.drop_parent(&path, at, &mut Vec::new());
        }
    }
}
