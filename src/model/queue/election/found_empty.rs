//! Elections that were found empty: their parents tell that they had candidates before.

use super::Expectation;
use super::take_over::without_candidates;
use crate::queue::{Happening, LockTable};
use lockscope_base::recipe::is_named_election;
use lockscope_base::znode::{Timestamp, ZnodePath, ZnodeStat};

impl LockTable {
    /// Adds an election that was found without candidates. Its recipe shows once one comes.
    pub(in crate::queue) fn note_empty_election(
        &mut self,
        path: &ZnodePath,
        stat: &ZnodeStat,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) {
        if !self.ids_at(path).is_empty() || !is_empty_election(path, stat, self.expectations()) {
            return;
        }
        let id = self.lock_of(&without_candidates(path), now, out);
        self.elections.record_mut(id, now).empty_since = Some(now);
    }
}

/// Returns whether a node is an election whose candidates have gone: it had children, and its path
/// or the user says so.
///
/// `cversion`, as servers report it, counts each creation and each deletion of a child.
pub fn is_empty_election(path: &ZnodePath, stat: &ZnodeStat, expected: &[Expectation]) -> bool {
    let had_children = stat.num_children == 0 && stat.cversion > 0 && stat.has_child_history() && !path.is_root();
    had_children
        && (is_named_election(path)
            || expected.iter().any(|expected| expected.is_of_elections() && expected.path.matches(path)))
}
