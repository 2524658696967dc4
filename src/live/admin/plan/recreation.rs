//! How a deletion makes sure that it hits the node that was confirmed, and no new node of the same name.

use super::{DeletePlan, PlannedNode, TargetKind};
use lockscope_base::znode::ZnodePath;

/// By how much a version is raised at most; at least by [`MIN_RAISES`]. The number is random for each node, so that nobody else
/// brings a new node to the same version by chance.
pub(in crate::admin) const MAX_RAISES: i32 = 16;
/// By how much a version is raised at least: see [`MAX_RAISES`].
pub(in crate::admin) const MIN_RAISES: i32 = 9;
/// How many bytes one request to raise a version carries: far below the servers' usual limit of a megabyte.
pub(in crate::admin) const MAX_RAISE_BYTES: usize = 256 * 1024;

/// How a deletion makes sure that it hits the node that was confirmed, and no other that has the same name by then.
///
/// A deletion by itself compares only how often the data were changed, which is 0 for every new node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecreationGuard {
    /// The name cannot come back: no write is needed.
    UniqueName,
    /// The parent's data are rewritten unchanged, and once more in the transaction that deletes the node. Only watchers of the
    /// parent's data see that.
    Parent {
        /// Bytes of the parent's data.
        data_length: usize,
    },
    /// The node's own data are rewritten unchanged. Watchers of the node see that.
    OwnNode {
        /// Bytes of the node's data.
        data_length: usize,
    },
    /// Neither may be written: the name can come to another owner between the last look and the deletion.
    Unguarded,
}

impl RecreationGuard {
    /// The name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::UniqueName => "unique-name",
            Self::Parent { .. } => "parent",
            Self::OwnNode { .. } => "node",
            Self::Unguarded => "none",
        }
    }

    /// How a node is guarded when everything that is needed may be written.
    pub(in crate::admin) fn needed(node: &PlannedNode) -> NeededGuard {
        if lockscope_base::recipe::is_never_reused(node.name()) {
            NeededGuard::Nothing
        } else if node.kind == TargetKind::Contender && node.sequence.is_some() {
            NeededGuard::ParentOrNode
        } else {
            NeededGuard::Node
        }
    }

    /// What others will see of it, in a sentence.
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

/// What a node needs for its guard, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::admin) enum NeededGuard {
    /// The name cannot come back.
    Nothing,
    /// The number can only come back with another parent.
    ParentOrNode,
    /// The name comes back below the same parent too.
    Node,
}

/// How many requests raise the version. Each wakes the watchers of the data once.
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

/// What was found out about one node of a plan: see [`DeletePlan::guarded`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permitted {
    /// How it can be made sure of.
    pub guard: RecreationGuard,
    /// Which permission the plan lacks, and where; `None` when nothing is known to be missing.
    pub lacks: Option<&'static str>,
}

impl DeletePlan {
    /// The same plan, with what was found out about each of its nodes, in their order.
    #[must_use]
    pub fn guarded(mut self, permitted: impl IntoIterator<Item = Permitted>) -> Self {
        for (node, permitted) in self.nodes.iter_mut().zip(permitted) {
            (node.guard, node.lacks) = (Some(permitted.guard), permitted.lacks);
        }
        self
    }

    /// The same plan, with what an earlier one knew of the same nodes and of the ensemble.
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

    /// Whether it is known of each node how it can be made sure of.
    pub fn is_guarded(&self) -> bool {
        self.nodes.iter().all(|node| node.guard.is_some())
    }

    /// The first node that cannot be made sure of.
    pub fn unguarded(&self) -> Option<&PlannedNode> {
        self.nodes.iter().find(|node| node.guard == Some(RecreationGuard::Unguarded))
    }

    /// The first node for which a permission is missing, and which.
    pub fn lacks(&self) -> Option<(&ZnodePath, &'static str)> {
        self.nodes.iter().find_map(|node| Some((&node.path, node.lacks?)))
    }
}
