//! Reads a snapshot.

mod item;
mod reader;
mod source;
mod stop;
mod tail;
#[cfg(test)]
mod tests;

pub use item::{Fault, SnapshotEnd, SnapshotItem, SnapshotNode, ZxidDigest};
pub use reader::SnapshotReader;
