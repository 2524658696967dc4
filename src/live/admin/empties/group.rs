//! What the search found, in groups.

use std::collections::BTreeMap;

use super::choice::Left;
use crate::admin::DeletePlan;
use lockscope_base::znode::ZnodePath;

/// The maximum number of nodes that one run deletes: some minutes of work, and few enough that
/// somebody looks at what is left.
pub const MAX_EMPTIES: usize = 10_000;

/// The maximum number of paths that stand for a group of nodes.
pub const MAX_NAMED: usize = 5;

/// Nodes of which the same is to be said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The number of nodes.
    pub count: usize,
    /// The first of them, at most [`MAX_NAMED`].
    pub first: Vec<ZnodePath>,
}

impl Group {
    /// Adds a node.
    pub fn add(&mut self, path: &ZnodePath) {
        self.count += 1;
        if self.first.len() < MAX_NAMED {
            self.first.push(path.clone());
        }
    }
}

/// The nodes below one node: which would be deleted, and which are left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Empties {
    /// The plan to delete the empty ones.
    pub plan: DeletePlan,
    /// The others, by reason.
    pub left: BTreeMap<Left, Group>,
}

impl Empties {
    /// Returns the nodes that would be deleted, as a group.
    pub fn chosen(&self) -> Group {
        let mut group = Group::default();
        self.plan.nodes().iter().for_each(|node| group.add(&node.path));
        group
    }
}
