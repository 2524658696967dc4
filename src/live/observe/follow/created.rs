//! Contenders that were created and are not read yet, in the order of creation.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use lockscope_base::znode::ZnodePath;

/// Contenders of which only the creation is known.
///
/// A later contender must not be reported before them: it would look as if they did not exist.
/// Whenever one is reported, all contenders created before it are reported too.
#[derive(Debug, Default)]
pub(super) struct CreatedContenders {
    in_order: VecDeque<ZnodePath>,
    /// The contenders in the list that are not reported yet.
    unreported: FxHashSet<ZnodePath>,
}

impl CreatedContenders {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds a created contender.
    pub(super) fn insert(&mut self, path: &ZnodePath) {
        if self.unreported.insert(path.clone()) {
            self.in_order.push_back(path.clone());
        }
    }

    /// Removes a contender that turned out to be none or that cannot be read.
    pub(super) fn remove(&mut self, path: &ZnodePath) {
        self.unreported.remove(path);
        while self.in_order.front().is_some_and(|first| !self.unreported.contains(first)) {
            self.in_order.pop_front();
        }
    }

    /// Takes all contenders created before `path`, and `path` itself last. Takes nothing when
    /// `path` is not in the list.
    pub(super) fn take_until(&mut self, path: &ZnodePath) -> Vec<ZnodePath> {
        if !self.unreported.contains(path) {
            return Vec::new();
        }
        let mut taken = Vec::new();
        while let Some(first) = self.in_order.pop_front() {
            let found = first == *path;
            if self.unreported.remove(&first) {
                taken.push(first);
            }
            if found {
                break;
            }
        }
        taken
    }

    pub(super) fn take_all(&mut self) -> Vec<ZnodePath> {
        let taken = self.in_order.drain(..).filter(|path| self.unreported.contains(path)).collect();
        self.unreported.clear();
        taken
    }
}

#[cfg(test)]
mod tests {
    use crate::observe::follow::model::stat;
    use crate::observe::follow::{Follower, NodeEvent, NodeRead, ReadAnswer, WatchStyle};
    use crate::testing::{connected, path};
    use lockscope_base::znode::{Node, NodeData, Timestamp};
    use lockscope_model::queue::LockTable;

    fn apply_changes(follower: &mut Follower, table: &mut LockTable) {
        for change in follower.take_changes() {
            table.apply(change, Timestamp(1));
        }
    }

    fn node(czxid: i64, owner: Option<i64>) -> ReadAnswer {
        ReadAnswer::Node(Node { stat: stat(czxid, czxid, owner, 0), data: NodeData::default() })
    }

    #[test]
    fn a_node_that_turns_out_to_be_no_contender_leaves_the_table() {
        let (mut follower, mut table) = (Follower::new(&[path("/a")], &[]), LockTable::new([]));
        table.apply(connected(), Timestamp(0));
        follower.begin(WatchStyle::Recursive);
        let list = follower.next_read(|_| true).expect("the root's listing");
        follower.answer(&list, ReadAnswer::Children(vec!["lock".to_owned()], stat(1, 1, None, 1)));
        let lock = path("/a/lock");
        assert_eq!(follower.next_read(|_| true), Some(NodeRead::Node(lock.clone())));
        follower.answer(&NodeRead::Node(lock.clone()), node(2, Some(7)));
        apply_changes(&mut follower, &mut table);
        assert_eq!(table.contender_count(), 1);

        follower.event(NodeEvent::Deleted, &lock, None);
        follower.event(NodeEvent::Created, &lock, None);
        follower.report_unread();
        apply_changes(&mut follower, &mut table);
        assert_eq!(table.contender_count(), 1, "it may be the lock's next holder");
        assert_eq!(follower.next_read(|_| true), Some(NodeRead::Node(lock.clone())));
        follower.answer(&NodeRead::Node(lock), node(3, None));
        apply_changes(&mut follower, &mut table);
        assert_eq!(table.contender_count(), 0, "it is a folder");
    }
}
