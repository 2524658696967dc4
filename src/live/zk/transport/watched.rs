//! The watches that the client library holds, as the relay sees them set, fire and end. Pure.
//!
//! The library answers an event without a watch by a request that removes the watch, and queues
//! these requests without a bound. So a server could make it send, and hold, as much as it likes.
//! The relay drops exactly the events that the library would answer in this way. No watch of the
//! library loses an event: what is dropped here, the library would drop, too.
//!
//! A watch begins with the reply to the request that sets it, because the library knows it only
//! from then on. It ends with the event that it waits for, or with the request that removes it,
//! which the library sends after it has forgotten the watch.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use lockscope_base::wire::{ErrorCode, EventKind, Malformed, Reader, op};

/// The most watched paths of one connection, at most 48 MiB with the map's spare room. The program
/// sets one watch for each root, and with servers before 3.6 one for each node that may have
/// children, whose names take more memory than this. Beyond the bound every event passes.
const MAX_WATCHED: usize = 1 << 20;

/// The watches of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WatchBits(u8);

impl WatchBits {
    const DATA: Self = Self(1);
    const EXIST: Self = Self(2);
    const CHILD: Self = Self(4);
    const PERSISTENT: Self = Self(8);
    const RECURSIVE: Self = Self(16);
    const ALL: Self = Self(31);

    /// The kinds in the order of the lists in a request that sets watches again.
    const AS_SET_AGAIN: [Self; 5] = [Self::DATA, Self::EXIST, Self::CHILD, Self::PERSISTENT, Self::RECURSIVE];

    fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the watches that end with an event of their path.
    fn fired_by(kind: EventKind) -> Self {
        match kind {
            EventKind::Created | EventKind::DataChanged => Self::DATA.with(Self::EXIST),
            EventKind::ChildrenChanged => Self::CHILD,
            EventKind::Deleted => Self::DATA.with(Self::EXIST).with(Self::CHILD),
        }
    }

    /// Returns the watches that a request removes.
    fn removed_by(mode: i32) -> Self {
        match mode {
            1 => Self::CHILD,
            2 => Self::DATA.with(Self::EXIST),
            4 => Self::PERSISTENT,
            5 => Self::RECURSIVE,
            _ => Self::ALL,
        }
    }
}

/// The watch that an unanswered request sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedWatch {
    path: u64,
    bits: WatchBits,
}

/// The watched paths of one connection. Keeps a number for each path and not the path: two paths
/// with the same number only let an event pass.
#[derive(Debug, Default)]
pub struct WatchedPaths {
    bits: HashMap<u64, WatchBits>,
    hasher: RandomState,
    recursive: usize,
    /// Whether there were more watches than can be kept.
    passes_all: bool,
}

/// Returns whether a request of this kind sets or removes watches.
pub fn is_about_watches(operation: i32) -> bool {
    matches!(
        operation,
        op::EXISTS
            | op::GET_DATA
            | op::GET_CHILDREN
            | op::GET_CHILDREN2
            | op::ADD_WATCH
            | op::REMOVE_WATCHES
            | op::SET_WATCHES
            | op::SET_WATCHES2
    )
}

impl WatchedPaths {
    /// Reads a request of the client from its arguments. Returns the watch that its reply begins.
    pub fn asked(&mut self, operation: i32, arguments: &[u8]) -> Option<WantedWatch> {
        // The client is this program. If its request cannot be read, what it watches is unknown.
        self.read(operation, arguments).unwrap_or_else(|_| {
            self.pass_all();
            None
        })
    }

    /// Lets every event pass from now on: what the client watches is not known.
    pub fn pass_all(&mut self) {
        *self = Self { passes_all: true, ..Self::default() };
    }

    fn read(&mut self, operation: i32, arguments: &[u8]) -> Result<Option<WantedWatch>, Malformed> {
        let mut from = Reader::new(arguments);
        match operation {
            op::EXISTS | op::GET_DATA | op::GET_CHILDREN | op::GET_CHILDREN2 => {
                let path = from.buffer()?.unwrap_or_default();
                let bits = match operation {
                    op::EXISTS | op::GET_DATA => WatchBits::DATA,
                    _ => WatchBits::CHILD,
                };
                Ok(from.bool()?.then(|| self.wanted(path, bits)))
            }
            op::ADD_WATCH => {
                let path = from.buffer()?.unwrap_or_default();
                let bits = if from.int()? == 0 { WatchBits::PERSISTENT } else { WatchBits::RECURSIVE };
                Ok(Some(self.wanted(path, bits)))
            }
            op::REMOVE_WATCHES => {
                let path = from.buffer()?.unwrap_or_default();
                let WantedWatch { path, .. } = self.wanted(path, WatchBits::ALL);
                self.remove(path, WatchBits::removed_by(from.int()?));
                Ok(None)
            }
            op::SET_WATCHES | op::SET_WATCHES2 => {
                from.long()?;
                let kinds = if operation == op::SET_WATCHES { 3 } else { 5 };
                for bits in &WatchBits::AS_SET_AGAIN[..kinds] {
                    for _ in 0..from.int()? {
                        let path = from.buffer()?.unwrap_or_default();
                        let wanted = self.wanted(path, *bits);
                        self.add(wanted);
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn wanted(&self, path: &[u8], bits: WatchBits) -> WantedWatch {
        let mut hasher = self.hasher.build_hasher();
        for name in names(path) {
            hasher.write(name);
        }
        WantedWatch { path: hasher.finish(), bits }
    }

    /// Begins a watch, if the server's reply to the request says so.
    pub fn answered(&mut self, wanted: WantedWatch, operation: i32, error: i32) {
        if error == 0 {
            self.add(wanted);
        } else if operation == op::EXISTS && error == ErrorCode::NoNode.number() {
            self.add(WantedWatch { bits: WatchBits::EXIST, ..wanted });
        }
    }

    fn add(&mut self, WantedWatch { path, bits }: WantedWatch) {
        if self.passes_all {
            return;
        }
        let known = self.bits.entry(path).or_default();
        self.recursive += usize::from(bits.has(WatchBits::RECURSIVE) && !known.has(WatchBits::RECURSIVE));
        *known = known.with(bits);
        if self.bits.len() > MAX_WATCHED {
            self.pass_all();
        }
    }

    fn remove(&mut self, path: u64, bits: WatchBits) {
        let Some(known) = self.bits.get_mut(&path) else { return };
        self.recursive -= usize::from(bits.has(WatchBits::RECURSIVE) && known.has(WatchBits::RECURSIVE));
        *known = known.without(bits);
        if *known == WatchBits::default() {
            self.bits.remove(&path);
        }
    }

    /// Returns whether the library has a watch for an event, and ends the watches that waited for
    /// it.
    pub fn takes(&mut self, kind: EventKind, path: &[u8]) -> bool {
        if self.passes_all {
            return true;
        }
        let mut hasher = self.hasher.build_hasher();
        // The library takes no event about children for one of a recursive watch further up.
        let mut is_taken = kind != EventKind::ChildrenChanged && self.recursive > 0 && path.len() > 1 && self.root_is();
        for name in names(path) {
            let above = hasher.finish();
            is_taken |= kind != EventKind::ChildrenChanged && self.recursive > 0 && self.is_recursive(above);
            hasher.write(name);
        }
        let path = hasher.finish();
        is_taken |= self.bits.contains_key(&path);
        self.remove(path, WatchBits::fired_by(kind));
        is_taken
    }

    /// Returns whether the root has a recursive watch.
    fn root_is(&self) -> bool {
        self.is_recursive(self.wanted(b"/", WatchBits::ALL).path)
    }

    fn is_recursive(&self, path: u64) -> bool {
        self.bits.get(&path).is_some_and(|bits| bits.has(WatchBits::RECURSIVE))
    }
}

/// Returns the pieces of a path, each with the slash before it. A hash of the first pieces is the
/// hash of the node that they name.
fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.chunk_by(|_, next| *next != b'/')
}

#[cfg(test)]
mod tests;
