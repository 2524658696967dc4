//! The contenders that are tagged to be deleted together.

use super::is_there;
use crate::tui::app::App;
use lockscope_base::znode::{ZnodePath, Zxid};
use lockscope_live::admin::MAX_TARGETS;
use lockscope_model::queue::LockTable;

/// The tagged contenders of the open lock, in the order of tagging. At most `MAX_TARGETS`, the
/// limit of a plan.
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

    /// Toggles the tag of a contender. Returns `false` if `MAX_TARGETS` contenders are tagged
    /// already.
    fn toggle(&mut self, path: ZnodePath, czxid: Zxid) -> bool {
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

    /// Drops the tags of contenders that are gone or were recreated under the same name.
    pub(super) fn keep(&mut self, table: &LockTable) {
        self.0.retain(|(path, czxid)| is_there(table, path, *czxid));
    }
}

impl App {
    /// Toggles the tag of the selected contender, and selects the next one.
    pub(in crate::tui::app) fn tag(&mut self) {
        if let Some(why) = self.why_no_deletion() {
            return self.show_failure(why);
        }
        let Some(row) = self.live.queue_rows().row(self.cursors.contenders.rank()) else {
            return self.show_failure("There is no contender to tag.".to_owned());
        };
        let Some(path) = self.live.open_lock().map(|lock| lock.path_of(row.contender)) else { return };
        if self.deletions.tags.toggle(path, row.contender.czxid) {
            self.step(1);
        } else {
            self.show_failure(format!("One plan holds at most {MAX_TARGETS} nodes."));
        }
    }
}
