//! Who watches what: one-shot, persistent and recursive watches, and who is told of an event.
//!
//! A watch belongs to a connection, not to a session: after a reconnect the client says again what it watches.

mod figures;
mod table;

pub use figures::{Figure, Figures};
pub use table::{Mode, Table};

use super::wire::EventKind;

/// Which watches a client means when it takes one back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Children,
    Data,
    Any,
}

/// The two kinds of watches that a server keeps: of a node and its data, and of a node's children.
///
/// As in servers before 3.9, a persistent watch of either mode stands in both.
#[derive(Debug, Default)]
pub struct Watches {
    pub data: Table,
    pub child: Table,
    pub figures: Figures,
}

/// Who is told of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired<'a> {
    pub kind: EventKind,
    pub path: &'a str,
    /// Connections, each once.
    pub watchers: Vec<usize>,
}

impl Watches {
    /// How many there are, as the server counts: a persistent one twice.
    pub fn len(&self) -> usize {
        self.data.len() + self.child.len()
    }

    /// Bytes of memory, about.
    pub fn memory(&self) -> usize {
        self.data.memory() + self.child.memory()
    }

    /// Bytes of memory that a watch takes at most, about: in both kinds.
    pub fn cost(path: &str) -> usize {
        2 * (table::WATCH + path.len())
    }

    /// Watches a node until it is taken back.
    pub fn add(&mut self, path: &str, watcher: usize, mode: Mode) {
        self.data.add(path, watcher, mode);
        self.child.add(path, watcher, mode);
    }

    /// Takes back; `false` when there was none.
    pub fn remove(&mut self, path: &str, watcher: usize, kind: Kind) -> bool {
        let child = kind != Kind::Data && self.child.remove(path, watcher);
        let data = kind != Kind::Children && self.data.remove(path, watcher);
        child || data
    }

    /// Whether there is a watch on a path, whoever's: ZooKeeper 3.8.0 does not look whose it is when a client asks for its
    /// own.
    pub fn contains(&self, path: &str, kind: Kind) -> bool {
        kind != Kind::Data && self.child.contains(path) || kind != Kind::Children && self.data.contains(path)
    }

    /// Forgets a connection.
    pub fn forget(&mut self, watcher: usize) {
        self.data.forget(watcher);
        self.child.forget(watcher);
    }

    pub fn created<'a>(&mut self, path: &'a str, parent: &'a str) -> [Fired<'a>; 2] {
        [self.fire_data(path, EventKind::Created), self.fire_child(parent, EventKind::ChildrenChanged)]
    }

    pub fn data_changed<'a>(&mut self, path: &'a str) -> [Fired<'a>; 1] {
        [self.fire_data(path, EventKind::DataChanged)]
    }

    /// Who watches both a node and its children is told once that it is gone, but counted twice.
    pub fn deleted<'a>(&mut self, path: &'a str, parent: &'a str) -> [Fired<'a>; 3] {
        let data = self.fire_data(path, EventKind::Deleted);
        let mut child = self.fire_child(path, EventKind::Deleted);
        child.watchers.retain(|watcher| data.watchers.binary_search(watcher).is_err());
        [data, child, self.fire_child(parent, EventKind::ChildrenChanged)]
    }

    fn fire_data<'a>(&mut self, path: &'a str, kind: EventKind) -> Fired<'a> {
        let watchers = self.data.fire(path, kind);
        self.figures.add(kind, watchers.len());
        Fired { kind, path, watchers }
    }

    fn fire_child<'a>(&mut self, path: &'a str, kind: EventKind) -> Fired<'a> {
        let watchers = self.child.fire(path, kind);
        self.figures.add(kind, watchers.len());
        Fired { kind, path, watchers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_watches_a_node_and_its_children_is_told_once_that_it_is_gone_and_counted_twice() {
        let mut watches = Watches::default();
        watches.data.add("/a", 1, Mode::OneShot);
        watches.child.add("/a", 1, Mode::OneShot);
        watches.child.add("/", 2, Mode::OneShot);
        let told: Vec<(EventKind, Vec<usize>)> =
            watches.deleted("/a", "/").map(|fired| (fired.kind, fired.watchers)).into();
        let (deleted, children) = (EventKind::Deleted, EventKind::ChildrenChanged);
        assert_eq!(told, [(deleted, vec![1]), (deleted, vec![]), (children, vec![2])]);
        assert_eq!(watches.figures.of(deleted).sum, 2);
        assert_eq!(watches.figures.of(children).sum, 1);
        assert_eq!(watches.len(), 0);
    }

    #[test]
    fn a_watch_that_is_taken_back_is_there_no_more() {
        let mut watches = Watches::default();
        watches.add("/a", 1, Mode::Persistent);
        assert_eq!(watches.len(), 2);
        assert!(watches.remove("/a", 1, Kind::Data));
        assert!(!watches.contains("/a", Kind::Data) && watches.contains("/a", Kind::Any));
        assert!(watches.remove("/a", 1, Kind::Any));
        assert!(!watches.remove("/a", 1, Kind::Any));
    }
}
