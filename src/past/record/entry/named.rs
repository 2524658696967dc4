//! The stored form of an entry, in which the names that the segment has introduced are numbers.
//!
//! Writer and reader take the same steps, so a number means the same to both. New variants of a
//! stored type are added at the end: their position is their number in the file.
//!
//! A node's name is stored in two parts: the part shared by all names of one library, and the
//! random id and number that distinguish them.

use std::borrow::Cow;
use std::fmt::Write;
use std::hash::Hash;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slab::Slab;
use uuid::Uuid;

use super::{Ids, SegmentDamage, StoreEntry};
use lockscope_base::znode::{Node, NodeData, SessionId, Timestamp, ZnodePath, ZnodeStat, Zxid};
use lockscope_model::queue::{Change, Deleter};
use lockscope_model::server_view::{ServerView, SessionTiming, ViewExtras};

/// One entry, in which known names are numbers.
#[derive(Serialize, Deserialize)]
pub enum StoredEntry<'a> {
    /// A rare change, stored as a whole.
    Change(Cow<'a, Change>),
    /// An [`Entry::Examined`](super::StoreEntry::Examined).
    Examined,
    /// A [`Change::Seen`].
    Seen { path: StoredPath<'a>, node: StoredNode<'a> },
    /// A [`Change::Appeared`].
    Appeared { path: StoredPath<'a> },
    /// A [`Change::Deleted`], with the difference to the last transaction.
    Deleted { path: StoredPath<'a>, zxid: Option<i64> },
    /// An [`Entry::FindingsForgotten`](super::StoreEntry::FindingsForgotten).
    FindingsForgotten,
    /// A [`Change::Surveyed`] before format 6, with the timings that its view is stored without.
    /// Before format 3 it was stored as a rare change.
    Surveyed { view: Cow<'a, ServerView>, timings: Vec<SessionTiming> },
    /// A [`Change::DeletedBy`], with the difference to the last transaction. Since format 4.
    DeletedBy { path: StoredPath<'a>, zxid: i64, by: Deleter },
    /// A [`Change::Surveyed`], with all that its view is stored without. Since format 6.
    SurveyedWith { view: Cow<'a, ServerView>, timings: Vec<SessionTiming>, extras: ViewExtras },
}

/// A known name, or a new one.
#[derive(Serialize, Deserialize)]
pub enum StoredName<T> {
    Known(u32),
    New(T),
}

#[derive(Serialize, Deserialize)]
pub enum StoredPath<'a> {
    /// A path that was named and whose node was not deleted since.
    Known(u32),
    /// A name below a parent. Its id, if any, is stored with the other ids.
    New {
        parent: StoredName<Cow<'a, str>>,
        pattern: StoredName<NamePattern>,
        /// The difference to the last number below that parent.
        number: Option<i64>,
    },
}

/// A node as a read found it.
#[derive(Serialize, Deserialize)]
pub enum StoredNode<'a> {
    /// A node unchanged since its creation.
    Fresh {
        /// The difference to the last transaction.
        zxid: i64,
        /// The time from the creation to the entry, in milliseconds.
        created_before: i64,
        owner: StoredName<Option<SessionId>>,
        /// The kept part of the data and the length of all data; `None` if equal to those of the
        /// owner's last node.
        data: Option<(Cow<'a, [u8]>, i32)>,
    },
    /// Any other node.
    Any(Cow<'a, Node>),
}

/// The digits of the number that ZooKeeper appends to the name of a sequential node.
const SEQUENCE_DIGITS: usize = 10;

/// The notation of an id in a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum IdFormat {
    /// With hyphens, as Curator writes it.
    Hyphenated,
    /// Without hyphens, as kazoo writes it.
    Simple,
}

impl IdFormat {
    fn write(self, id: Uuid, to: &mut [u8; 36]) -> &str {
        match self {
            Self::Hyphenated => id.hyphenated().encode_lower(to),
            Self::Simple => id.simple().encode_lower(to),
        }
    }

    fn len(self) -> usize {
        match self {
            Self::Hyphenated => 36,
            Self::Simple => 32,
        }
    }

    /// Reads the id at this place of a name, if writing it again gives exactly the same letters.
    fn read(self, name: &str, at: usize) -> Option<Uuid> {
        let text = name.get(at..at + self.len())?;
        let id = Uuid::try_parse(text).ok()?;
        (self.write(id, &mut [0; 36]) == text).then_some(id)
    }
}

/// The common part of names of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NamePattern {
    before: Box<str>,
    /// The notation of the id between `before` and `after`, if there is one.
    id: Option<IdFormat>,
    /// The text up to the number, if there is one.
    after: Box<str>,
}

impl NamePattern {
    /// Splits a name into its common part, its id, and its number.
    pub fn split(name: &str) -> (Self, Option<Uuid>, Option<i64>) {
        let (name, number) = split_number(name);
        let (before, id, after) = split_id(name);
        let pattern = Self { before: before.into(), id: id.map(|(_, format)| format), after: after.into() };
        (pattern, id.map(|(id, _)| id), number)
    }

    /// Returns whether the names have an id.
    pub fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// Returns the name with this id and number.
    pub fn join(&self, id: Uuid, number: Option<i64>) -> String {
        let mut name = String::from(&*self.before);
        if let Some(format) = self.id {
            name.push_str(format.write(id, &mut [0; 36]));
        }
        name.push_str(&self.after);
        if let Some(number) = number {
            write!(name, "{number:010}").expect("writing to a string");
        }
        name
    }
}

fn split_number(name: &str) -> (&str, Option<i64>) {
    let split = name.len().checked_sub(SEQUENCE_DIGITS).and_then(|at| name.split_at_checked(at));
    match split {
        Some((before, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => (before, digits.parse().ok()),
        _ => (name, None),
    }
}

fn split_id(name: &str) -> (&str, Option<(Uuid, IdFormat)>, &str) {
    for format in [IdFormat::Hyphenated, IdFormat::Simple] {
        for at in 0..(name.len() + 1).saturating_sub(format.len()) {
            if let Some(id) = format.read(name, at) {
                return (&name[..at], Some((id, format)), &name[at + format.len()..]);
            }
        }
    }
    (name, None, "")
}

/// All names introduced so far.
#[derive(Debug, Default)]
pub struct Named {
    /// The nodes that were not deleted since. The numbers of deleted ones are reused.
    nodes: Slab<ZnodePath>,
    node_numbers: FxHashMap<ZnodePath, u32>,
    parents: Numbered<Box<str>>,
    /// The last sequence number below each parent.
    sequences: Vec<i64>,
    patterns: Numbered<NamePattern>,
    owners: Numbered<Option<SessionId>>,
    /// The data of each owner's last node, and their original length.
    data: Vec<(NodeData, i32)>,
    /// The last transaction.
    zxid: i64,
}

/// Values numbered in the order of their introduction. The writer looks up numbers by values, the
/// reader values by numbers.
#[derive(Debug)]
struct Numbered<T> {
    things: Vec<T>,
    numbers: FxHashMap<T, u32>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { things: Vec::new(), numbers: FxHashMap::default() }
    }
}

impl<T: Eq + Hash> Numbered<T> {
    /// Numbers a value that has no number yet.
    fn number(&mut self, thing: T) -> u32 {
        let number = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        self.numbers.insert(thing, number);
        number
    }

    /// Adds the value of the next number.
    fn add(&mut self, thing: T) -> u32 {
        self.things.push(thing);
        u32::try_from(self.things.len() - 1).unwrap_or(u32::MAX)
    }

    fn get(&self, number: u32) -> Result<&T, SegmentDamage> {
        self.things.get(number as usize).ok_or(SegmentDamage::Entries)
    }
}

// Writing: how entries are stored.
impl Named {
    /// Returns the stored form of an entry of time `at`. The id of a new name is appended to `ids`.
    pub fn store<'a>(&mut self, entry: &'a StoreEntry<'_>, at: Timestamp, ids: &mut Vec<u8>) -> StoredEntry<'a> {
        let change = match entry {
            StoreEntry::Examined => return StoredEntry::Examined,
            StoreEntry::FindingsForgotten => return StoredEntry::FindingsForgotten,
            StoreEntry::Change(change) => &**change,
        };
        match change {
            Change::Seen { path, node } if !path.is_root() => {
                StoredEntry::Seen { path: self.store_path(path, ids), node: self.store_node(node, at) }
            }
            Change::Appeared { path } if !path.is_root() => StoredEntry::Appeared { path: self.store_path(path, ids) },
            Change::Deleted { path, zxid } if !path.is_root() => {
                let stored = self.store_path(path, ids);
                self.forget(path);
                StoredEntry::Deleted { path: stored, zxid: zxid.map(|zxid| self.store_zxid(zxid)) }
            }
            Change::DeletedBy { path, zxid, by } if !path.is_root() => {
                let stored = self.store_path(path, ids);
                self.forget(path);
                StoredEntry::DeletedBy { path: stored, zxid: self.store_zxid(*zxid), by: *by }
            }
            Change::Surveyed { view } => {
                StoredEntry::SurveyedWith { view: Cow::Borrowed(view), timings: view.timings(), extras: view.extras() }
            }
            rare => StoredEntry::Change(Cow::Borrowed(rare)),
        }
    }

    fn store_path<'a>(&mut self, path: &'a ZnodePath, ids: &mut Vec<u8>) -> StoredPath<'a> {
        if let Some(number) = self.node_numbers.get(path) {
            return StoredPath::Known(*number);
        }
        let parent_path = path.parent_str().unwrap_or_default();
        let (parent, parent_number) = if let Some(number) = self.parents.numbers.get(parent_path) {
            (StoredName::Known(*number), *number)
        } else {
            self.sequences.push(0);
            (StoredName::New(Cow::Borrowed(parent_path)), self.parents.number(parent_path.into()))
        };
        let (pattern, id, number) = NamePattern::split(path.name());
        ids.extend(id.iter().flat_map(Uuid::as_bytes));
        let pattern = if let Some(number) = self.patterns.numbers.get(&pattern) {
            StoredName::Known(*number)
        } else {
            self.patterns.number(pattern.clone());
            StoredName::New(pattern)
        };
        let last = &mut self.sequences[parent_number as usize];
        let number = number.map(|number| number.wrapping_sub(std::mem::replace(last, number)));
        self.add_node(path.clone());
        StoredPath::New { parent, pattern, number }
    }

    fn store_node<'a>(&mut self, node: &'a Node, at: Timestamp) -> StoredNode<'a> {
        let ZnodeStat { czxid, ctime, ephemeral_owner, data_length, .. } = node.stat;
        if node.stat != (ZnodeStat { data_length, ..ZnodeStat::of_new(czxid, ctime, ephemeral_owner) }) {
            return StoredNode::Any(Cow::Borrowed(node));
        }
        let (owner, number) = if let Some(number) = self.owners.numbers.get(&ephemeral_owner) {
            (StoredName::Known(*number), *number)
        } else {
            self.data.push((NodeData::default(), 0));
            (StoredName::New(ephemeral_owner), self.owners.number(ephemeral_owner))
        };
        let data = self.data_of(number).filter(|before| **before != (node.data.clone(), data_length)).map(|before| {
            *before = (node.data.clone(), data_length);
            (Cow::Borrowed(node.data.bytes()), data_length)
        });
        let created_before = at.0.wrapping_sub(ctime.0);
        StoredNode::Fresh { zxid: self.store_zxid(czxid), created_before, owner, data }
    }

    fn store_zxid(&mut self, zxid: Zxid) -> i64 {
        zxid.0.wrapping_sub(std::mem::replace(&mut self.zxid, zxid.0))
    }
}

// Reading: the same steps.
impl Named {
    /// Returns the entry of time `at`. The id of a new name is read from `ids`.
    pub fn restore(
        &mut self,
        stored: StoredEntry<'_>,
        at: Timestamp,
        ids: &mut Ids<'_>,
    ) -> Result<StoreEntry<'static>, SegmentDamage> {
        let change = match stored {
            StoredEntry::Examined => return Ok(StoreEntry::Examined),
            StoredEntry::FindingsForgotten => return Ok(StoreEntry::FindingsForgotten),
            StoredEntry::Change(change) => change.into_owned(),
            StoredEntry::Surveyed { view, timings } => surveyed(view, &timings, &ViewExtras::default()),
            StoredEntry::SurveyedWith { view, timings, extras } => surveyed(view, &timings, &extras),
            StoredEntry::Seen { path, node } => {
                Change::Seen { path: self.restore_path(path, ids)?, node: self.restore_node(node, at)? }
            }
            StoredEntry::Appeared { path } => Change::Appeared { path: self.restore_path(path, ids)? },
            StoredEntry::Deleted { path, zxid } => {
                let path = self.restore_path(path, ids)?;
                self.forget(&path);
                Change::Deleted { path, zxid: zxid.map(|zxid| self.restore_zxid(zxid)) }
            }
            StoredEntry::DeletedBy { path, zxid, by } => {
                let path = self.restore_path(path, ids)?;
                self.forget(&path);
                Change::DeletedBy { path, zxid: self.restore_zxid(zxid), by }
            }
        };
        Ok(StoreEntry::Change(Cow::Owned(change)))
    }

    fn restore_path(&mut self, stored: StoredPath<'_>, ids: &mut Ids<'_>) -> Result<ZnodePath, SegmentDamage> {
        let (parent, pattern, number) = match stored {
            StoredPath::Known(number) => return self.nodes.get(number as usize).cloned().ok_or(SegmentDamage::Entries),
            StoredPath::New { parent, pattern, number } => (parent, pattern, number),
        };
        let parent = match parent {
            StoredName::Known(number) => number,
            StoredName::New(parent) => {
                self.sequences.push(0);
                self.parents.add(parent.into())
            }
        };
        let pattern = match pattern {
            StoredName::Known(number) => number,
            StoredName::New(pattern) => self.patterns.add(pattern),
        };
        let (parent_path, pattern) = (self.parents.get(parent)?, self.patterns.get(pattern)?);
        let id = if pattern.has_id() { ids.next()? } else { Uuid::nil() };
        let sequence = self.sequences.get_mut(parent as usize).ok_or(SegmentDamage::Entries)?;
        *sequence = sequence.wrapping_add(number.unwrap_or(0));
        let separator = if parent_path.ends_with('/') { "" } else { "/" };
        let path = format!("{parent_path}{separator}{}", pattern.join(id, number.map(|_| *sequence)));
        let path = ZnodePath::new(&path).map_err(|_| SegmentDamage::Entries)?;
        self.add_node(path.clone());
        Ok(path)
    }

    fn restore_node(&mut self, stored: StoredNode<'_>, at: Timestamp) -> Result<Node, SegmentDamage> {
        let (zxid, created_before, owner, data) = match stored {
            StoredNode::Any(node) => return Ok(node.into_owned()),
            StoredNode::Fresh { zxid, created_before, owner, data } => (zxid, created_before, owner, data),
        };
        let number = match owner {
            StoredName::Known(number) => number,
            StoredName::New(owner) => {
                self.data.push((NodeData::default(), 0));
                self.owners.add(owner)
            }
        };
        let owner = *self.owners.get(number)?;
        let before = self.data_of(number).ok_or(SegmentDamage::Entries)?;
        if let Some((data, length)) = data {
            *before = (NodeData::keep(&data), length);
        }
        let (data, data_length) = before.clone();
        let (czxid, ctime) = (self.restore_zxid(zxid), Timestamp(at.0.wrapping_sub(created_before)));
        Ok(Node { stat: ZnodeStat { data_length, ..ZnodeStat::of_new(czxid, ctime, owner) }, data })
    }

    fn restore_zxid(&mut self, after: i64) -> Zxid {
        self.zxid = self.zxid.wrapping_add(after);
        Zxid(self.zxid)
    }
}

/// Returns the survey whose view was stored without its timings and extras.
fn surveyed(view: Cow<'_, ServerView>, timings: &[SessionTiming], extras: &ViewExtras) -> Change {
    let mut view = view.into_owned();
    view.set_timings(timings);
    view.set_extras(extras);
    Change::Surveyed { view: view.into() }
}

// Steps that writer and reader share.
impl Named {
    fn data_of(&mut self, owner: u32) -> Option<&mut (NodeData, i32)> {
        self.data.get_mut(owner as usize)
    }

    fn add_node(&mut self, path: ZnodePath) {
        let number = self.nodes.insert(path.clone());
        self.node_numbers.insert(path, u32::try_from(number).unwrap_or(u32::MAX));
    }

    fn forget(&mut self, path: &ZnodePath) {
        if let Some(number) = self.node_numbers.remove(path) {
            self.nodes.try_remove(number as usize);
        }
    }
}
