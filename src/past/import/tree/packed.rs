//! The nodes of a snapshot that are no contenders, in little memory, until a transaction changes
//! them.
//!
//! An ensemble may have a million nodes and a few locks. Any of them may become the parent of a lock
//! or count in a digest, so none can be left out. A node takes some hundred bytes here: its name once,
//! its numbers at the length that they need, and its place among its neighbours as numbers of slots.

use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use super::{LogNode, NodeSum};
use lockscope_base::znode::{Node, NodeData, Timestamp, ZnodeStat, Zxid};

/// No slot.
const NONE: u32 = u32::MAX;

/// The slot of `/`.
const ROOT: u32 = 0;

/// Nodes that no session owns, by their paths.
#[derive(Debug, Default)]
pub struct PackedNodes {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// The slots by their parents and names.
    by_name: HashTable<u32>,
}

/// A node, or only a step on the way to nodes below it.
#[derive(Debug)]
struct Slot {
    /// The name, and behind it the packed node if it is here.
    bytes: Box<[u8]>,
    parent: u32,
    first_child: u32,
    next: u32,
    previous: u32,
}

impl Slot {
    /// Returns the name, and the packed node behind it.
    fn parts(&self) -> (&[u8], &[u8]) {
        postcard::take_from_bytes(&self.bytes).unwrap_or_default()
    }

    fn has_node(&self) -> bool {
        !self.parts().1.is_empty()
    }
}

/// A child that is packed.
#[derive(Clone, Copy)]
pub struct PackedChild<'a>(&'a Slot);

impl PackedChild<'_> {
    /// Returns its name.
    pub fn name(self) -> String {
        String::from_utf8_lossy(self.0.parts().0).into_owned()
    }

    /// Returns whether something is packed below it.
    pub fn has_any_below(self) -> bool {
        self.0.first_child != NONE
    }

    /// Returns whether it never had children.
    pub fn is_childless(self) -> bool {
        let packed = postcard::from_bytes::<PackedNode<'_>>(self.0.parts().1);
        !self.has_any_below() && packed.is_ok_and(|node| (node.num_children, node.cversion) == (0, 0))
    }
}

/// A node as it is packed: numbers near zero take one byte.
#[derive(Serialize, Deserialize)]
struct PackedNode<'a> {
    czxid: i64,
    mzxid_after: i64,
    pzxid_after: i64,
    ctime: i64,
    mtime_after: i64,
    version: i32,
    cversion: i32,
    aversion: i32,
    data_length: i32,
    num_children: i32,
    sum: NodeSum,
    data: &'a [u8],
}

impl<'a> PackedNode<'a> {
    fn of(LogNode { node: Node { stat, data }, sum }: &'a LogNode) -> Self {
        Self {
            czxid: stat.czxid.0,
            mzxid_after: stat.mzxid.0.wrapping_sub(stat.czxid.0),
            pzxid_after: stat.pzxid.0.wrapping_sub(stat.czxid.0),
            ctime: stat.ctime.0,
            mtime_after: stat.mtime.0.wrapping_sub(stat.ctime.0),
            version: stat.version,
            cversion: stat.cversion,
            aversion: stat.aversion,
            data_length: stat.data_length,
            num_children: stat.num_children,
            sum: *sum,
            data: data.bytes(),
        }
    }

    fn stat(&self) -> ZnodeStat {
        ZnodeStat {
            czxid: Zxid(self.czxid),
            mzxid: Zxid(self.czxid.wrapping_add(self.mzxid_after)),
            pzxid: Zxid(self.czxid.wrapping_add(self.pzxid_after)),
            ctime: Timestamp(self.ctime),
            mtime: Timestamp(self.ctime.wrapping_add(self.mtime_after)),
            version: self.version,
            cversion: self.cversion,
            aversion: self.aversion,
            ephemeral_owner: None,
            data_length: self.data_length,
            num_children: self.num_children,
        }
    }
}

/// Packs a name, and a node behind it if there is one; `None` if that is not possible.
fn pack(name: &[u8], node: Option<&LogNode>) -> Option<Box<[u8]>> {
    match node {
        Some(node) => postcard::to_allocvec(&(name, PackedNode::of(node))),
        None => postcard::to_allocvec(name),
    }
    .map(Vec::into_boxed_slice)
    .ok()
}

impl PackedNodes {
    /// Adds a node that no session owns, in place of one of that path. Returns whether it was
    /// possible.
    pub fn insert(&mut self, path: &str, node: &LogNode) -> bool {
        let Some(slot) = self.enter(path) else { return false };
        let packed = pack(name_of(path).as_bytes(), Some(node));
        let is_packed = packed.is_some();
        if let Some(packed) = packed {
            self.slots[slot as usize].bytes = packed;
        }
        self.drop_steps(slot);
        is_packed
    }

    /// Returns a node.
    pub fn get(&self, path: &str) -> Option<LogNode> {
        self.node(self.find(path)?)
    }

    /// Returns whether a node is here.
    pub fn contains(&self, path: &str) -> bool {
        self.find(path).is_some_and(|slot| self.slots[slot as usize].has_node())
    }

    /// Takes a node out.
    pub fn take(&mut self, path: &str) -> Option<LogNode> {
        let slot = self.find(path)?;
        let node = self.node(slot)?;
        self.slots[slot as usize].bytes = pack(name_of(path).as_bytes(), None)?;
        self.drop_steps(slot);
        Some(node)
    }

    /// Changes the stat of a node, if it is here.
    pub fn update(&mut self, path: &str, change: impl FnOnce(&mut ZnodeStat)) {
        let Some((slot, mut node)) = self.find(path).and_then(|slot| Some((slot, self.node(slot)?))) else { return };
        change(&mut node.node.stat);
        if let Some(packed) = pack(name_of(path).as_bytes(), Some(&node)) {
            self.slots[slot as usize].bytes = packed;
        }
    }

    /// Returns the children of a node that are here, in no particular order.
    pub fn children(&self, path: &str) -> impl Iterator<Item = PackedChild<'_>> {
        let first = self.find(path).map_or(NONE, |slot| self.slots[slot as usize].first_child);
        let slots = std::iter::successors(self.slots.get(first as usize), |slot| self.slots.get(slot.next as usize));
        slots.filter(|slot| slot.has_node()).map(PackedChild)
    }

    /// Returns whether a node has anything below it here.
    pub fn has_any_below(&self, path: &str) -> bool {
        self.find(path).is_some_and(|slot| self.slots[slot as usize].first_child != NONE)
    }

    /// Returns the stats of all nodes.
    pub fn stats(&self) -> impl Iterator<Item = ZnodeStat> {
        let packed = self.slots.iter().map(|slot| slot.parts().1).filter(|packed| !packed.is_empty());
        packed.filter_map(|packed| Some(postcard::from_bytes::<PackedNode<'_>>(packed).ok()?.stat()))
    }

    fn node(&self, slot: u32) -> Option<LogNode> {
        let packed: PackedNode<'_> = postcard::from_bytes(self.slots[slot as usize].parts().1).ok()?;
        Some(LogNode { node: Node { stat: packed.stat(), data: NodeData::keep(packed.data) }, sum: packed.sum })
    }

    fn find(&self, path: &str) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        steps(path).try_fold(ROOT, |parent, name| self.child(parent, name.as_bytes()))
    }

    fn child(&self, parent: u32, name: &[u8]) -> Option<u32> {
        let is_it = |slot: &u32| {
            let slot = &self.slots[*slot as usize];
            slot.parent == parent && slot.parts().0 == name
        };
        self.by_name.find(hash(parent, name), is_it).copied()
    }

    /// Returns the slot of a path, which is made if needed; `None` when no more are possible.
    fn enter(&mut self, path: &str) -> Option<u32> {
        if self.slots.is_empty() {
            let bytes = pack(&[], None)?;
            self.slots.push(Slot { bytes, parent: NONE, first_child: NONE, next: NONE, previous: NONE });
        }
        let mut at = ROOT;
        for name in steps(path) {
            at = match self.child(at, name.as_bytes()) {
                Some(slot) => slot,
                None => self.add_step(at, name.as_bytes())?,
            };
        }
        Some(at)
    }

    fn add_step(&mut self, parent: u32, name: &[u8]) -> Option<u32> {
        let next = self.slots[parent as usize].first_child;
        let slot = Slot { bytes: pack(name, None)?, parent, first_child: NONE, next, previous: NONE };
        let at = if let Some(at) = self.free.pop() {
            self.slots[at as usize] = slot;
            at
        } else {
            let at = u32::try_from(self.slots.len()).ok().filter(|at| *at != NONE)?;
            self.slots.push(slot);
            at
        };
        self.slots[parent as usize].first_child = at;
        if let Some(next) = self.slots.get_mut(next as usize) {
            next.previous = at;
        }
        let Self { slots, by_name, .. } = self;
        by_name.insert_unique(hash(parent, name), at, |slot| {
            let slot = &slots[*slot as usize];
            hash(slot.parent, slot.parts().0)
        });
        Some(at)
    }

    /// Frees a slot that leads to no node any more, and so those above it.
    fn drop_steps(&mut self, mut at: u32) {
        while at != ROOT {
            let Slot { parent, first_child, next, previous, .. } = self.slots[at as usize];
            if first_child != NONE || self.slots[at as usize].has_node() {
                return;
            }
            let hash = hash(parent, self.slots[at as usize].parts().0);
            if let Ok(entry) = self.by_name.find_entry(hash, |slot| *slot == at) {
                entry.remove();
            }
            match self.slots.get_mut(previous as usize) {
                Some(previous) => previous.next = next,
                None => self.slots[parent as usize].first_child = next,
            }
            if let Some(next) = self.slots.get_mut(next as usize) {
                next.previous = previous;
            }
            self.slots[at as usize].bytes = Box::default();
            self.free.push(at);
            at = parent;
        }
    }
}

fn hash(parent: u32, name: &[u8]) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    hasher.write_u32(parent);
    hasher.write(name);
    hasher.finish()
}

/// Returns the names from below `/` down to a node.
fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lockscope_base::disk::NodeKind;
    use proptest::prelude::*;

    use super::*;

    fn node(number: i64) -> LogNode {
        let stat = ZnodeStat {
            mzxid: Zxid(number + 3),
            pzxid: Zxid(i64::MAX),
            mtime: Timestamp(-number),
            cversion: -1,
            ..ZnodeStat::of_new(Zxid(number), Timestamp(number), None)
        };
        let data = number.to_string();
        LogNode {
            sum: NodeSum::of("/x", data.as_bytes(), NodeKind::Container),
            node: Node { stat, data: NodeData::keep(data.as_bytes()) },
        }
    }

    fn known(node: &LogNode) -> (ZnodeStat, NodeSum, Vec<u8>) {
        (node.node.stat, node.sum, node.node.data.bytes().to_vec())
    }

    const PATHS: [&str; 8] = ["/", "/a", "/a/b", "/a/b/c", "/a/d", "/ab", "/e/f/g", "/e"];

    proptest! {
        #[test]
        fn packed_nodes_are_those_of_a_map(
            steps in prop::collection::vec((0..3_u8, 0..PATHS.len(), 1..1_000_000_i64), 1..60)
        ) {
            let (mut packed, mut map) = (PackedNodes::default(), BTreeMap::new());
            for (step, path, number) in steps {
                let path = PATHS[path];
                match step {
                    0 => {
                        prop_assert!(packed.insert(path, &node(number)));
                        map.insert(path, known(&node(number)));
                    }
                    1 => prop_assert_eq!(packed.take(path).as_ref().map(known), map.remove(path)),
                    _ => {
                        packed.update(path, |stat| stat.num_children += 1);
                        map.entry(path).and_modify(|(stat, ..)| stat.num_children += 1);
                    }
                }
                for path in PATHS {
                    prop_assert_eq!(packed.get(path).as_ref().map(known), map.get(path).cloned());
                    let mut children: Vec<String> = packed.children(path).map(PackedChild::name).collect();
                    children.sort();
                    let above = format!("{}/", path.trim_end_matches('/'));
                    let below = map.keys().filter_map(|child| child.strip_prefix(&*above));
                    let names: Vec<&str> = below.filter(|name| !name.is_empty() && !name.contains('/')).collect();
                    prop_assert_eq!(&children, &names);
                    let is_above = map.keys().any(|other| other.len() > above.len() && other.starts_with(&*above));
                    prop_assert_eq!(packed.has_any_below(path), is_above);
                }
                prop_assert_eq!(packed.stats().count(), map.len());
            }
        }
    }
}
