//! The nodes in which the members are compared.

use std::collections::BTreeSet;

use crate::queue::LockTable;
use crate::server_view::{MemberView, ServerMode, ServerView};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::ZnodePath;

/// Maximum number of nodes whose children are compared.
const MAX_PARENTS: usize = 2_000;

/// Maximum number of single-node locks that are compared.
const MAX_SINGLE_NODES: usize = 1_000;

/// The nodes in which the members are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComparedNodes {
    /// The nodes whose children are compared.
    pub parents: BTreeSet<ZnodePath>,
    /// The nodes that are compared by themselves.
    pub single_nodes: BTreeSet<ZnodePath>,
    /// The number of nodes that are left out, because there are too many.
    pub left_out: usize,
    /// The address of the leader, or of the standalone server, where it is known.
    pub leader: Option<String>,
}

impl ComparedNodes {
    /// Chooses the parents of the locks, the nodes above them, and the roots: a lock whose parent
    /// one member lacks shows above it. Without roots, the whole chroot is one. Linear in the number
    /// of locks.
    pub fn of(table: &LockTable, view: &ServerView, roots: &[ZnodePath]) -> Self {
        let whole = [ZnodePath::root()];
        let roots = if roots.is_empty() { &whole } else { roots };
        let leads = |member: &&MemberView| member.mode.is_some_and(ServerMode::keeps_sessions);
        let leader = view.members.iter().find(leads).map(|member| member.address.clone());
        let mut chosen = Self { parents: roots.iter().cloned().collect(), leader, ..Self::default() };
        for lock in table.locks() {
            if lock.kind() == LockKind::SingleNode {
                chosen.add_single_node(lock.path());
            }
            for parent in lock.parents() {
                chosen.add_parent(parent, roots);
            }
        }
        chosen
    }

    fn add_single_node(&mut self, path: &ZnodePath) {
        if self.single_nodes.len() < MAX_SINGLE_NODES {
            self.single_nodes.insert(path.clone());
        } else {
            self.left_out += 1;
        }
    }

    fn add_parent(&mut self, parent: ZnodePath, roots: &[ZnodePath]) {
        if self.parents.len() >= MAX_PARENTS && !self.parents.contains(&parent) {
            self.left_out += 1;
            return;
        }
        let above = parent.parent().filter(|above| roots.iter().any(|root| above.is_within(root)));
        self.parents.extend(above);
        self.parents.insert(parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{path, reading, seen};
    use lockscope_base::znode::{SessionId, Timestamp, ZnodeStat, Zxid};

    #[test]
    fn the_parents_of_locks_what_is_above_them_and_single_nodes_are_compared() {
        let node = |at: &str, zxid| seen(at, ZnodeStat::of_new(Zxid(zxid), Timestamp(0), Some(SessionId(1))), b"");
        let found = [node("/app/l/lock-0000000001", 5), node("/app/m/lock-0000000001", 6), node("/app/single", 7)];
        let mut table = LockTable::new([path("/app/single")]);
        reading(found).for_each(|change| drop(table.apply(change, Timestamp(0))));
        let chosen = ComparedNodes::of(&table, table.view(), &[path("/app")]);
        assert_eq!(chosen.parents.iter().map(ZnodePath::as_str).collect::<Vec<_>>(), ["/app", "/app/l", "/app/m"]);
        assert_eq!(chosen.single_nodes.iter().map(ZnodePath::as_str).collect::<Vec<_>>(), ["/app/single"]);
        let all = ComparedNodes::of(&table, table.view(), &[]);
        assert_eq!(all.parents.iter().map(ZnodePath::as_str).collect::<Vec<_>>(), ["/", "/app", "/app/l", "/app/m"]);
        assert_eq!((all.left_out, all.leader), (0, None));
    }
}
