//! Compares a table with the tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockscope_sandbox::parts::{Owner, Tree};

use super::history::{Rank, lock_of, number};
use crate::program::View;

/// Path, czxid and owner of a node.
type Queued = (Arc<str>, i64, Option<i64>);

/// The nodes of each lock, by its path.
type Queues = BTreeMap<Arc<str>, Vec<Queued>>;

/// Returns what differs between a table and the tree.
pub(super) fn difference(tree: &Tree, view: &View) -> Option<String> {
    let there = queues_of(tree);
    let mut shown = Queues::new();
    for queue in &view.queues {
        shown.entry(Arc::clone(&queue.lock)).or_default().extend(queue.nodes.iter().cloned());
        if !queue.nodes.is_sorted_by_key(place) {
            return Some(format!("a wrong order: {:?}", queue.nodes));
        }
    }
    // Nodes of several recipes at one path are shown as a queue each.
    for nodes in shown.values_mut() {
        nodes.sort_by_key(place);
    }
    (shown != there).then(|| format!("{shown:?}, but the servers have {there:?}"))
}

/// Returns the queues of a tree: each node that a session owns, in the order of the numbers.
fn queues_of(tree: &Tree) -> Queues {
    let mut queues = Queues::new();
    for path in tree.owners().flat_map(|(_, paths)| paths) {
        let Ok(node) = tree.node(path) else { continue };
        let Owner::Session(session) = node.owner else { continue };
        let entry = (Arc::clone(path), node.czxid, Some(session));
        queues.entry(lock_of(path)).or_default().push(entry);
    }
    for nodes in queues.values_mut() {
        nodes.sort_by_key(place);
    }
    queues
}

/// Returns the place of a node in its queue.
fn place((path, czxid, _): &Queued) -> Rank {
    (number(path), *czxid)
}
