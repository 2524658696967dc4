//! Guards against recreation: a deletion must hit the confirmed node, and no new node of the same
//! name.

use super::{DeletePlan, PlannedNode, TargetKind};
use lockscope_base::znode::ZnodePath;

/// The maximum number by which a version is raised; the minimum is [`MIN_RAISES`]. The number is
/// random for each node, so that nobody else brings a new node to the same version by chance.
pub const MAX_RAISES: i32 = 16;
/// The minimum number by which a version is raised: see [`MAX_RAISES`].
pub const MIN_RAISES: i32 = 9;
/// The maximum number of bytes in one request to raise a version: far below the servers' default
/// limit of 1 MiB.
pub const MAX_RAISE_BYTES: usize = 256 * 1024;

/// The way in which a deletion is kept from hitting a new node of the same name.
///
/// A deletion by itself compares only the number of data changes, which is 0 for every new node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecreationGuard {
    /// The name cannot come back: no write is needed.
    UniqueName,
    /// The parent's data are rewritten unchanged, and once more in the transaction that deletes the
    /// node. Only watchers of the parent's data notice.
    Parent {
        /// The length of the parent's data, in bytes.
        data_length: usize,
    },
    /// The node's own data are rewritten unchanged. Watchers of the node notice.
    OwnNode {
        /// The length of the node's data, in bytes.
        data_length: usize,
    },
    /// Neither may be written: the name can pass to another owner between the last look and the
    /// deletion.
    Unguarded,
}

impl RecreationGuard {
    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::UniqueName => "unique-name",
            Self::Parent { .. } => "parent",
            Self::OwnNode { .. } => "node",
            Self::Unguarded => "none",
        }
    }

    /// Returns the guard that a node needs if all writes are permitted.
    pub(in crate::admin) fn needed(node: &PlannedNode) -> NeededGuard {
        if lockscope_base::recipe::is_never_reused(node.name()) {
            NeededGuard::Nothing
        } else if node.kind == TargetKind::Contender && node.sequence.is_some() {
            NeededGuard::ParentOrNode
        } else {
            NeededGuard::Node
        }
    }

    /// Returns a sentence about what others see of the guard.
    pub fn sentence(self) -> String {
        match self {
            Self::UniqueName => "its name cannot come back: no write is needed".to_owned(),
            Self::Parent { data_length } => format!(
                "its parent's data are rewritten unchanged: no waiter is woken; watchers of these data see up to {} changes{}",
                MAX_RAISES + 1,
                large(data_length)
            ),
            Self::OwnNode { data_length } => format!(
                "its own data are rewritten unchanged: whoever watches it is woken {}; persistent watchers see up to {} changes \
                 before it is deleted{}",
                woken(data_length),
                MAX_RAISES + 1,
                large(data_length)
            ),
            Self::Unguarded => {
                "neither it nor its parent may be written: another owner could take its name just before the deletion, and be \
                 deleted instead"
                    .to_owned()
            }
        }
    }
}

/// The guard that a node needs, according to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeededGuard {
    /// The name cannot come back.
    Nothing,
    /// The number can only come back with another parent.
    ParentOrNode,
    /// The name comes back below the same parent too.
    Node,
}

/// Returns the number of requests that raise the version. Each wakes the watchers of the data once.
fn requests(data_length: usize) -> usize {
    let most = usize::try_from(MAX_RAISES).unwrap_or(1);
    most.div_ceil((MAX_RAISE_BYTES / data_length.max(1)).clamp(1, most))
}

fn woken(data_length: usize) -> String {
    match requests(data_length) {
        1 => "twice".to_owned(),
        many => format!("up to {} times", many + 1),
    }
}

fn large(data_length: usize) -> String {
    match requests(data_length) {
        1 => String::new(),
        many => format!("; its {data_length} bytes go in up to {many} requests"),
    }
}

/// The facts that were found out about one node of a plan: see [`DeletePlan::guarded`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permitted {
    /// The guard that the node can have.
    pub guard: RecreationGuard,
    /// The missing permission, and where; `None` if none is known to be missing.
    pub lacks: Option<&'static str>,
}

impl DeletePlan {
    /// Returns the plan with the facts about each of its nodes, in their order.
    #[must_use]
    pub fn guarded(mut self, permitted: impl IntoIterator<Item = Permitted>) -> Self {
        for (node, permitted) in self.nodes.iter_mut().zip(permitted) {
            (node.guard, node.lacks) = (Some(permitted.guard), permitted.lacks);
        }
        self
    }

    /// Returns the plan with an earlier plan's facts about the same nodes and the ensemble.
    #[must_use]
    pub fn guarded_as(mut self, earlier: &Self) -> Self {
        self.production.clone_from(&earlier.production);
        for node in &mut self.nodes {
            let known = earlier.nodes.iter().find(|known| known.path == node.path && known.czxid == node.czxid);
            if let Some(known) = known {
                (node.guard, node.lacks) = (known.guard, known.lacks);
            }
        }
        self
    }

    /// Returns whether the guard of each node is known.
    pub fn is_guarded(&self) -> bool {
        self.nodes.iter().all(|node| node.guard.is_some())
    }

    /// Returns the first node without a guard.
    pub fn unguarded(&self) -> Option<&PlannedNode> {
        self.nodes.iter().find(|node| node.guard == Some(RecreationGuard::Unguarded))
    }

    /// Returns the first node with a missing permission, and that permission.
    pub fn lacks(&self) -> Option<(&ZnodePath, &'static str)> {
        self.nodes.iter().find_map(|node| Some((&node.path, node.lacks?)))
    }
}
