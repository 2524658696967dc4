//! Watches: one-shot, persistent and recursive, and which connections get an event.
//!
//! A watch belongs to a connection, not to a session: a client sets its watches again after a
//! reconnect.

mod statistics;
mod table;

pub use statistics::{EventStatistics, Statistic};
pub use table::{WatchMode, WatchTable};

use lockscope_base::wire::EventKind;

/// The kind of watch that a client wants to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchKind {
    Children,
    Data,
    Any,
}

/// The two tables of watches that a server keeps: of nodes and their data, and of children.
///
/// As in servers before 3.9, a persistent or recursive watch is in both tables.
#[derive(Debug, Default)]
pub struct WatchTables {
    pub data: WatchTable,
    pub child: WatchTable,
    pub statistics: EventStatistics,
}

/// An event and the connections that get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiredEvent<'a> {
    pub kind: EventKind,
    pub path: &'a str,
    /// The connections, each listed once.
    pub watchers: Vec<usize>,
}

impl WatchTables {
    /// Returns the number of watches as a server counts them: a persistent one counts twice.
    pub fn len(&self) -> usize {
        self.data.len() + self.child.len()
    }

    /// Returns the approximate bytes of memory of all watches.
    pub fn memory(&self) -> usize {
        self.data.memory() + self.child.memory()
    }

    /// Returns the approximate bytes that a watch takes at most, in both tables.
    pub fn cost(path: &str) -> usize {
        2 * (table::WATCH_MEMORY + path.len())
    }

    /// Adds a persistent or recursive watch.
    pub fn add(&mut self, path: &str, watcher: usize, mode: WatchMode) {
        self.data.add(path, watcher, mode);
        self.child.add(path, watcher, mode);
    }

    /// Removes a watch. Returns `false` if there was none.
    pub fn remove(&mut self, path: &str, watcher: usize, kind: WatchKind) -> bool {
        let child = kind != WatchKind::Data && self.child.remove(path, watcher);
        let data = kind != WatchKind::Children && self.data.remove(path, watcher);
        child || data
    }

    /// Returns whether any connection watches a path. ZooKeeper 3.8.0 ignores the owner when a
    /// client asks for its own watch.
    pub fn contains(&self, path: &str, kind: WatchKind) -> bool {
        kind != WatchKind::Data && self.child.contains(path) || kind != WatchKind::Children && self.data.contains(path)
    }

    /// Removes the watches of a connection.
    pub fn forget(&mut self, watcher: usize) {
        self.data.forget(watcher);
        self.child.forget(watcher);
    }

    pub fn created<'a>(&mut self, path: &'a str, parent: &'a str) -> [FiredEvent<'a>; 2] {
        [self.fire_data(path, EventKind::Created), self.fire_child(parent, EventKind::ChildrenChanged)]
    }

    pub fn data_changed<'a>(&mut self, path: &'a str) -> [FiredEvent<'a>; 1] {
        [self.fire_data(path, EventKind::DataChanged)]
    }

    /// Returns the events of a deletion. A connection that watches both a node and its children
    /// gets one event, but counts twice.
    pub fn deleted<'a>(&mut self, path: &'a str, parent: &'a str) -> [FiredEvent<'a>; 3] {
        let data = self.fire_data(path, EventKind::Deleted);
        let mut child = self.fire_child(path, EventKind::Deleted);
        child.watchers.retain(|watcher| data.watchers.binary_search(watcher).is_err());
        [data, child, self.fire_child(parent, EventKind::ChildrenChanged)]
    }

    fn fire_data<'a>(&mut self, path: &'a str, kind: EventKind) -> FiredEvent<'a> {
        let watchers = self.data.fire(path, kind);
        self.statistics.add(kind, watchers.len());
        FiredEvent { kind, path, watchers }
    }

    fn fire_child<'a>(&mut self, path: &'a str, kind: EventKind) -> FiredEvent<'a> {
        let watchers = self.child.fire(path, kind);
        self.statistics.add(kind, watchers.len());
        FiredEvent { kind, path, watchers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_of_a_node_and_its_children_gets_one_deletion_event_and_counts_twice() {
        let mut watches = WatchTables::default();
        watches.data.add("/a", 1, WatchMode::OneShot);
        watches.child.add("/a", 1, WatchMode::OneShot);
        watches.child.add("/", 2, WatchMode::OneShot);
        let sent: Vec<(EventKind, Vec<usize>)> =
            watches.deleted("/a", "/").map(|fired| (fired.kind, fired.watchers)).into();
        let (deleted, children) = (EventKind::Deleted, EventKind::ChildrenChanged);
        assert_eq!(sent, [(deleted, vec![1]), (deleted, vec![]), (children, vec![2])]);
        assert_eq!(watches.statistics.of(deleted).sum, 2);
        assert_eq!(watches.statistics.of(children).sum, 1);
        assert_eq!(watches.len(), 0);
    }

    #[test]
    fn a_removed_watch_is_gone() {
        let mut watches = WatchTables::default();
        watches.add("/a", 1, WatchMode::Persistent);
        assert_eq!(watches.len(), 2);
        assert!(watches.remove("/a", 1, WatchKind::Data));
        assert!(!watches.contains("/a", WatchKind::Data) && watches.contains("/a", WatchKind::Any));
        assert!(watches.remove("/a", 1, WatchKind::Any));
        assert!(!watches.remove("/a", 1, WatchKind::Any));
    }
}
