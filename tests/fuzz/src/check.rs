//! What must be true of the sandbox's state after every request.

use crate::{machine, tree};

/// Panics when the state cannot be.
pub fn check(machine: &machine::Machine) {
    for (session, paths) in machine.tree.owners() {
        assert!(machine.sessions.get(session).is_some(), "nodes of a session that has ended");
        for path in paths {
            let owner = machine.tree.node(path).map(|node| node.owner);
            assert_eq!(owner, Ok(tree::Owner::Session(session)), "{path}");
        }
    }
    for table in [&machine.watches.data, &machine.watches.child] {
        let by_path: usize = table.paths().map(|(_, watchers)| watchers.count()).sum();
        let by_watcher: usize = table.watchers().map(|(_, paths)| paths.len()).sum();
        assert_eq!((by_path, by_watcher), (table.len(), table.len()));
        assert!(table.watchers().all(|(watcher, _)| machine.connections.contains(watcher)));
    }
    assert_eq!(machine.tree.below("/") + 1, machine.tree.nodes());
    assert!(machine.tree.memory() <= machine.options.max_memory);
}
