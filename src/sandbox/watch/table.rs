use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::sandbox::wire::EventKind;

/// What a watch costs in memory besides its path, about.
pub(super) const WATCH: usize = 128;

/// How long a watch lasts and how far it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Until its first event.
    OneShot,
    /// Until it is taken back.
    Persistent,
    /// As that, for the node and all below it; it is never told that children changed.
    Recursive,
}

/// Watches of one kind. A connection has at most one on a path.
#[derive(Debug, Default)]
pub struct Table {
    by_path: HashMap<Arc<str>, BTreeMap<usize, Mode>>,
    by_watcher: HashMap<usize, BTreeSet<Arc<str>>>,
    watches: usize,
    bytes: usize,
    /// While it is zero, no parents are looked up.
    recursive: usize,
}

impl Table {
    pub fn len(&self) -> usize {
        self.watches
    }

    pub fn memory(&self) -> usize {
        self.bytes + self.watches * WATCH
    }

    /// Adds one, in place of any that the connection had on the path: a one-shot one cancels a persistent one, as in
    /// servers before 3.9 (ZOOKEEPER-4466).
    pub fn add(&mut self, path: &str, watcher: usize, mode: Mode) {
        let path = match self.by_path.get_key_value(path) {
            Some((path, _)) => Arc::clone(path),
            None => path.into(),
        };
        let before = self.by_path.entry(Arc::clone(&path)).or_default().insert(watcher, mode);
        self.recursive += usize::from(mode == Mode::Recursive);
        self.recursive -= usize::from(before == Some(Mode::Recursive));
        if before.is_none() {
            self.watches += 1;
            self.bytes += path.len();
            self.by_watcher.entry(watcher).or_default().insert(path);
        }
    }

    /// Takes one back; `false` when there was none.
    pub fn remove(&mut self, path: &str, watcher: usize) -> bool {
        if !self.take(path, watcher) {
            return false;
        }
        if let Some(paths) = self.by_watcher.get_mut(&watcher) {
            paths.remove(path);
        }
        true
    }

    /// Whether anybody watches a path.
    pub fn contains(&self, path: &str) -> bool {
        self.by_path.contains_key(path)
    }

    /// Forgets a connection.
    pub fn forget(&mut self, watcher: usize) {
        for path in self.by_watcher.remove(&watcher).into_iter().flatten() {
            self.take(&path, watcher);
        }
    }

    /// Who is told of an event, in order; one-shot watches are gone afterwards.
    pub fn fire(&mut self, path: &str, kind: EventKind) -> Vec<usize> {
        let mut fired = Vec::new();
        let mut spent = Vec::new();
        for (watcher, mode) in self.by_path.get(path).into_iter().flatten() {
            match mode {
                Mode::Recursive if kind == EventKind::ChildrenChanged => continue,
                Mode::Recursive | Mode::Persistent => {}
                Mode::OneShot => spent.push(*watcher),
            }
            fired.push(*watcher);
        }
        for watcher in spent {
            self.remove(path, watcher);
        }
        if self.recursive > 0 && kind != EventKind::ChildrenChanged {
            let above = ancestors(path).filter_map(|path| self.by_path.get(path));
            let recursive = above.flatten().filter(|(_, mode)| **mode == Mode::Recursive);
            fired.extend(recursive.map(|(watcher, _)| *watcher));
            fired.sort_unstable();
            fired.dedup();
        }
        fired
    }

    /// How many connections watch or have watched, as the server counts, and how many paths.
    pub fn breadth(&self) -> (usize, usize) {
        (self.by_watcher.len(), self.by_path.len())
    }

    pub fn paths(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = usize>)> {
        self.by_path.iter().map(|(path, watchers)| (&**path, watchers.keys().copied()))
    }

    pub fn watchers(&self) -> impl Iterator<Item = (usize, &BTreeSet<Arc<str>>)> {
        self.by_watcher.iter().map(|(watcher, paths)| (*watcher, paths))
    }

    /// Takes one out of the paths alone.
    fn take(&mut self, path: &str, watcher: usize) -> bool {
        let Some(watchers) = self.by_path.get_mut(path) else { return false };
        let Some(mode) = watchers.remove(&watcher) else { return false };
        if watchers.is_empty() {
            self.by_path.remove(path);
        }
        self.watches -= 1;
        self.bytes -= path.len();
        self.recursive -= usize::from(mode == Mode::Recursive);
        true
    }
}

/// The paths above one, to the root.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| match path.rfind('/') {
        Some(0) if path.len() > 1 => Some("/"),
        Some(at) if at > 0 => Some(&path[..at]),
        _ => None,
    })
    .skip(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_one_shot_watch_fires_once_and_a_persistent_one_again_and_again() {
        let mut table = Table::default();
        table.add("/a", 2, Mode::OneShot);
        table.add("/a", 1, Mode::Persistent);
        assert_eq!(table.fire("/a", EventKind::DataChanged), [1, 2]);
        assert_eq!(table.fire("/a", EventKind::DataChanged), [1]);
        assert_eq!(table.fire("/a/b", EventKind::Created), [] as [usize; 0]);
    }

    #[test]
    fn a_recursive_watch_sees_what_lies_below_but_no_changes_of_children() {
        let mut table = Table::default();
        table.add("/", 1, Mode::Recursive);
        table.add("/a", 1, Mode::Recursive);
        table.add("/a", 2, Mode::Persistent);
        assert_eq!(table.fire("/a/b/c", EventKind::Created), [1]);
        assert_eq!(table.fire("/a", EventKind::ChildrenChanged), [2]);
        assert_eq!(table.fire("/b", EventKind::Deleted), [1]);
        assert_eq!(table.fire("/", EventKind::DataChanged), [1]);
    }

    #[test]
    fn a_one_shot_watch_cancels_a_persistent_one_of_the_same_connection() {
        let mut table = Table::default();
        table.add("/a", 1, Mode::Recursive);
        table.add("/a", 1, Mode::OneShot);
        assert_eq!(table.len(), 1);
        assert_eq!(table.fire("/a", EventKind::DataChanged), [1]);
        assert_eq!(table.fire("/a/b", EventKind::Created), [] as [usize; 0]);
        assert_eq!((table.len(), table.memory(), table.breadth()), (0, 0, (1, 0)));
    }

    #[test]
    fn a_forgotten_connection_leaves_nothing() {
        let mut table = Table::default();
        for path in ["/a", "/b", "/a/b"] {
            table.add(path, 1, Mode::Recursive);
            table.add(path, 2, Mode::OneShot);
        }
        table.forget(1);
        assert_eq!((table.len(), table.recursive, table.breadth()), (3, 0, (1, 3)));
        assert_eq!(table.fire("/a/b", EventKind::Deleted), [2]);
    }
}
