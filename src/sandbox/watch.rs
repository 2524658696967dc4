//! Watches: one-shot, persistent and recursive, and which connections get an event.
//!
//! A watch belongs to a connection, not to a session: a client sets its watches again after a
//! reconnect.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use lockscope_base::wire::EventKind;

/// The kind of watch that a client wants to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxWatchKind {
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
        2 * (WATCH_MEMORY + path.len())
    }

    /// Adds a persistent or recursive watch.
    pub fn add(&mut self, path: &str, watcher: usize, mode: WatchMode) {
        self.data.add(path, watcher, mode);
        self.child.add(path, watcher, mode);
    }

    /// Removes a watch. Returns `false` if there was none.
    pub fn remove(&mut self, path: &str, watcher: usize, kind: SandboxWatchKind) -> bool {
        let child = kind != SandboxWatchKind::Data && self.child.remove(path, watcher);
        let data = kind != SandboxWatchKind::Children && self.data.remove(path, watcher);
        child || data
    }

    /// Returns whether any connection watches a path. ZooKeeper 3.8.0 ignores the owner when a
    /// client asks for its own watch.
    pub fn contains(&self, path: &str, kind: SandboxWatchKind) -> bool {
        kind != SandboxWatchKind::Data && self.child.contains(path)
            || kind != SandboxWatchKind::Children && self.data.contains(path)
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

/// The approximate bytes that a watch takes besides its path.
const WATCH_MEMORY: usize = 256;

/// The duration and the reach of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchMode {
    /// Lasts until its first event.
    OneShot,
    /// Lasts until it is removed.
    Persistent,
    /// Lasts until it is removed, and covers the node and all its descendants. It gets no
    /// `ChildrenChanged` events.
    Recursive,
}

/// The watches of one kind. A connection has at most one on a path.
#[derive(Debug, Default)]
pub struct WatchTable {
    by_path: HashMap<Arc<str>, BTreeMap<usize, WatchMode>>,
    by_watcher: HashMap<usize, BTreeSet<Arc<str>>>,
    watches: usize,
    bytes: usize,
    /// The recursive watches.
    recursive: Recursive,
}

/// Recursive watches, by the hash of their path. One walk over a node's path finds the watches of
/// all its ancestors, however deep the node is.
#[derive(Debug, Default)]
struct Recursive {
    hashes: RandomState,
    by_hash: HashMap<u64, Vec<Watched>>,
}

/// A path and the connections that watch it.
type Watched = (Arc<str>, BTreeSet<usize>);

impl Recursive {
    fn add(&mut self, path: &Arc<str>, watcher: usize) {
        let hash = prefixes(&self.hashes, path).last().map_or(0, |(_, hash)| hash);
        let paths = self.by_hash.entry(hash).or_default();
        match paths.iter_mut().find(|(known, _)| known == path) {
            Some((_, watchers)) => drop(watchers.insert(watcher)),
            None => paths.push((Arc::clone(path), BTreeSet::from([watcher]))),
        }
    }

    fn remove(&mut self, path: &str, watcher: usize) {
        let hash = prefixes(&self.hashes, path).last().map_or(0, |(_, hash)| hash);
        let Some(paths) = self.by_hash.get_mut(&hash) else { return };
        if let Some((_, watchers)) = paths.iter_mut().find(|(known, _)| **known == *path) {
            watchers.remove(&watcher);
        }
        paths.retain(|(_, watchers)| !watchers.is_empty());
        if paths.is_empty() {
            self.by_hash.remove(&hash);
        }
    }

    /// Returns the lowest ancestor of a path on which a connection has a recursive watch.
    fn watched_above(&self, path: &str, watcher: usize) -> Option<&str> {
        let above = prefixes(&self.hashes, path).filter(|(prefix, _)| prefix.len() < path.len());
        let found = above.filter_map(|(prefix, hash)| {
            let (known, watchers) = self.by_hash.get(&hash)?.iter().find(|(known, _)| **known == *prefix)?;
            watchers.contains(&watcher).then_some(&**known)
        });
        found.last()
    }

    /// Returns the connections with a recursive watch on an ancestor of a path.
    fn above(&self, path: &str) -> impl Iterator<Item = usize> {
        let found = (!self.by_hash.is_empty()).then(|| prefixes(&self.hashes, path)).into_iter().flatten();
        let above = found.filter(move |(prefix, _)| prefix.len() < path.len());
        let watched = above.filter_map(|(prefix, hash)| {
            let paths = self.by_hash.get(&hash)?;
            paths.iter().find(|(known, _)| **known == *prefix).map(|(_, watchers)| watchers)
        });
        watched.flatten().copied()
    }
}

/// Returns the root, all ancestors of a path and the path itself. Each has a hash that extends the
/// one before.
fn prefixes<'a>(hashes: &RandomState, path: &'a str) -> impl Iterator<Item = (&'a str, u64)> {
    let mut state = hashes.build_hasher();
    let root = state.finish();
    let mut start = 1;
    let below = std::iter::from_fn(move || {
        let rest = path.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.find('/').unwrap_or(rest.len());
        state.write(&rest.as_bytes()[..length]);
        state.write_u8(b'/');
        let end = start + length;
        start = end + 1;
        Some((&path[..end], state.finish()))
    });
    std::iter::once(("/", root)).chain(below)
}

impl WatchTable {
    pub fn len(&self) -> usize {
        self.watches
    }

    pub fn memory(&self) -> usize {
        self.bytes + self.watches * WATCH_MEMORY
    }

    /// Adds a watch and replaces the connection's earlier one on the path. A one-shot watch cancels
    /// a persistent one, as in servers before 3.9 (ZOOKEEPER-4466).
    pub fn add(&mut self, path: &str, watcher: usize, mode: WatchMode) {
        let path = match self.by_path.get_key_value(path) {
            Some((path, _)) => Arc::clone(path),
            None => path.into(),
        };
        let before = self.by_path.entry(Arc::clone(&path)).or_default().insert(watcher, mode);
        match (before, mode) {
            (Some(WatchMode::Recursive), WatchMode::Recursive) => {}
            (Some(WatchMode::Recursive), _) => self.recursive.remove(&path, watcher),
            (_, WatchMode::Recursive) => self.recursive.add(&path, watcher),
            _ => {}
        }
        if before.is_none() {
            self.watches += 1;
            self.bytes += path.len();
            self.by_watcher.entry(watcher).or_default().insert(path);
        }
    }

    /// Removes a watch. Returns `false` if there was none.
    pub fn remove(&mut self, path: &str, watcher: usize) -> bool {
        if !self.remove_from_paths(path, watcher) {
            return false;
        }
        if let Some(paths) = self.by_watcher.get_mut(&watcher) {
            paths.remove(path);
        }
        true
    }

    /// Returns whether any connection watches a path.
    pub fn contains(&self, path: &str) -> bool {
        self.by_path.contains_key(path)
    }

    /// Removes the watches of a connection.
    pub fn forget(&mut self, watcher: usize) {
        for path in self.by_watcher.remove(&watcher).into_iter().flatten() {
            self.remove_from_paths(&path, watcher);
        }
    }

    /// Returns the connections that get an event, in order, and removes their one-shot watches.
    pub fn fire(&mut self, path: &str, kind: EventKind) -> Vec<usize> {
        let mut fired = Vec::new();
        let mut spent = Vec::new();
        for (watcher, mode) in self.by_path.get(path).into_iter().flatten() {
            match mode {
                WatchMode::Recursive if kind == EventKind::ChildrenChanged => continue,
                WatchMode::Recursive | WatchMode::Persistent => {}
                WatchMode::OneShot => spent.push(*watcher),
            }
            fired.push(*watcher);
        }
        for watcher in spent {
            self.remove(path, watcher);
        }
        if kind != EventKind::ChildrenChanged {
            fired.extend(self.recursive.above(path));
            fired.sort_unstable();
            fired.dedup();
        }
        fired
    }

    /// Returns the node above a path on which a connection has a recursive watch.
    pub fn recursive_above(&self, path: &str, watcher: usize) -> Option<&str> {
        self.recursive.watched_above(path, watcher)
    }

    /// Returns the number of connections and of paths. Like a server, it counts connections whose
    /// watches have all fired.
    pub fn breadth(&self) -> (usize, usize) {
        (self.by_watcher.len(), self.by_path.len())
    }

    pub fn paths(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = usize>)> {
        self.by_path.iter().map(|(path, watchers)| (&**path, watchers.keys().copied()))
    }

    pub fn watchers(&self) -> impl Iterator<Item = (usize, &BTreeSet<Arc<str>>)> {
        self.by_watcher.iter().map(|(watcher, paths)| (*watcher, paths))
    }

    /// Removes a watch from the indexes by path, not from the one by watcher.
    fn remove_from_paths(&mut self, path: &str, watcher: usize) -> bool {
        let Some(watchers) = self.by_path.get_mut(path) else { return false };
        let Some(mode) = watchers.remove(&watcher) else { return false };
        if watchers.is_empty() {
            self.by_path.remove(path);
        }
        self.watches -= 1;
        self.bytes -= path.len();
        if mode == WatchMode::Recursive {
            self.recursive.remove(path, watcher);
        }
        true
    }
}

/// The count, sum, minimum and maximum of some values, such as the watchers of each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistic {
    pub count: u64,
    pub sum: u64,
    pub least: u64,
    pub most: u64,
}

impl Statistic {
    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = self.most.max(value);
        self.count += 1;
        self.sum += value;
    }

    /// Returns the average, or zero without values.
    #[expect(clippy::cast_precision_loss, reason = "the figure is shown with four decimals")]
    pub fn average(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }
}

/// The watchers of each event, by kind of event.
#[derive(Clone, Debug, Default)]
pub struct EventStatistics([Statistic; 4]);

impl EventStatistics {
    /// Counts an event with its number of watchers. Events without watchers do not count.
    fn add(&mut self, kind: EventKind, watchers: usize) {
        if watchers > 0 {
            self.0[kind as usize - 1].add(watchers as u64);
        }
    }

    pub fn of(&self, kind: EventKind) -> Statistic {
        self.0[kind as usize - 1]
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
        assert!(watches.remove("/a", 1, SandboxWatchKind::Data));
        assert!(!watches.contains("/a", SandboxWatchKind::Data) && watches.contains("/a", SandboxWatchKind::Any));
        assert!(watches.remove("/a", 1, SandboxWatchKind::Any));
        assert!(!watches.remove("/a", 1, SandboxWatchKind::Any));
    }

    #[test]
    fn a_one_shot_watch_fires_once_and_a_persistent_one_repeatedly() {
        let mut table = WatchTable::default();
        table.add("/a", 2, WatchMode::OneShot);
        table.add("/a", 1, WatchMode::Persistent);
        assert_eq!(table.fire("/a", EventKind::DataChanged), [1, 2]);
        assert_eq!(table.fire("/a", EventKind::DataChanged), [1]);
        assert_eq!(table.fire("/a/b", EventKind::Created), [] as [usize; 0]);
    }

    #[test]
    fn a_recursive_watch_gets_events_of_descendants_but_no_children_changes() {
        let mut table = WatchTable::default();
        table.add("/", 1, WatchMode::Recursive);
        table.add("/a", 1, WatchMode::Recursive);
        table.add("/a", 2, WatchMode::Persistent);
        assert_eq!(table.fire("/a/b/c", EventKind::Created), [1]);
        assert_eq!(table.fire("/a", EventKind::ChildrenChanged), [2]);
        assert_eq!(table.fire("/b", EventKind::Deleted), [1]);
        assert_eq!(table.fire("/", EventKind::DataChanged), [1]);
    }

    #[test]
    fn each_prefix_of_a_path_is_visited_once_with_a_hash_of_its_own() {
        let hashes = RandomState::new();
        let walk = |path| prefixes(&hashes, path).collect::<Vec<_>>();
        let paths: Vec<&str> = walk("/a/bc/d").into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["/", "/a", "/a/bc", "/a/bc/d"]);
        assert_eq!(walk("/a/bc/d")[..3], walk("/a/bc"));
        assert_ne!(walk("/ab/c").last().unwrap().1, walk("/a/bc").last().unwrap().1);
        assert_eq!((walk("/").len(), walk("").len()), (1, 1));
    }

    #[test]
    fn an_event_100_000_levels_deep_reaches_recursive_watches_far_above() {
        let mut table = WatchTable::default();
        table.add("/", 1, WatchMode::Recursive);
        table.add("/d/d", 2, WatchMode::Recursive);
        table.add("/d/dd", 3, WatchMode::Recursive);
        // Looking up each ancestor's path on its own would read 10 GB for each event.
        let deep = "/d".repeat(100_000);
        for _ in 0..20 {
            assert_eq!(table.fire(&deep, EventKind::DataChanged), [1, 2]);
        }
    }

    #[test]
    fn a_one_shot_watch_cancels_a_persistent_one_of_the_same_connection() {
        let mut table = WatchTable::default();
        table.add("/a", 1, WatchMode::Recursive);
        table.add("/a", 1, WatchMode::OneShot);
        assert_eq!(table.len(), 1);
        assert_eq!(table.fire("/a", EventKind::DataChanged), [1]);
        assert_eq!(table.fire("/a/b", EventKind::Created), [] as [usize; 0]);
        assert_eq!((table.len(), table.memory(), table.breadth()), (0, 0, (1, 0)));
    }

    #[test]
    fn a_forgotten_connection_leaves_no_watches() {
        let mut table = WatchTable::default();
        for path in ["/a", "/b", "/a/b"] {
            table.add(path, 1, WatchMode::Recursive);
            table.add(path, 2, WatchMode::OneShot);
        }
        table.forget(1);
        assert_eq!((table.len(), table.recursive.by_hash.len(), table.breadth()), (3, 0, (1, 3)));
        assert_eq!(table.fire("/a/b", EventKind::Deleted), [2]);
    }
}
