//! The contenders that are tagged to be deleted together.

use super::is_there;
use crate::tui::app::App;
use lockscope_base::znode::{ZnodePath, Zxid};
use lockscope_live::admin::MAX_TARGETS;
use lockscope_model::queue::LockTable;

/// The contenders of the open lock that are tagged, in the order in which they were: at most as
/// many as a plan may hold.
#[derive(Clone, Debug, Default)]
pub struct Tags(Vec<(ZnodePath, Zxid)>);

impl Tags {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, path: &ZnodePath) -> bool {
        self.0.iter().any(|(tagged, _)| tagged == path)
    }

    pub fn paths(&self) -> impl Iterator<Item = &ZnodePath> {
        self.0.iter().map(|(path, _)| path)
    }

    /// Tags a contender, or takes its tag away; `false` when there are as many as a plan may hold.
    fn turn(&mut self, path: ZnodePath, czxid: Zxid) -> bool {
        if self.has(&path) {
            self.0.retain(|(tagged, _)| *tagged != path);
        } else if self.len() == MAX_TARGETS {
            return false;
        } else {
            self.0.push((path, czxid));
        }
        true
    }

    pub(in crate::tui::app) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets those that are gone, or whose names other nodes have now.
    pub(super) fn keep(&mut self, table: &LockTable) {
        self.0.retain(|(path, czxid)| is_there(table, path, *czxid));
    }
}

impl App {
    /// Tags the selected contender, or takes its tag away, and goes on to the next.
    pub(in crate::tui::app) fn tag(&mut self) {
        if let Some(why) = self.why_no_deletion() {
            return self.show_failure(why);
        }
        let Some(row) = self.live.queue_rows().row(self.cursors.contenders.rank()) else {
            return self.show_failure("There is no contender to tag.".to_owned());
        };
        let Some(path) = self.live.open_lock().map(|lock| lock.path_of(row.contender)) else { return };
        if self.deletions.tags.turn(path, row.contender.czxid) {
            self.step(1);
        } else {
            self.show_failure(format!("{MAX_TARGETS} nodes are as many as one plan may hold."));
        }
    }
}
