//! Imports the transaction logs and snapshots of ZooKeeper servers as a recording.
//!
//! A server keeps every write of the last hours or days: who created which node when, who deleted it,
//! and how each session ended. [`import`] rebuilds the tree from them, transaction by transaction,
//! and records the changes that an observer would have seen, at the leader's times. Where an
//! observer must guess, a log is certain: how a contender ended ([`Deleter`]), and when.
//!
//! A create that was refused because the node existed is an attempt in vain. The log names its
//! session and not the node: the lock is named where only one can be meant.
//!
//! Not in the files: reads, watches, the addresses of clients, and whether a client was alive.
//!
//! # Beginnings and gaps
//!
//! A recording begins with the tree of a snapshot, with an empty one before the first transaction
//! of a new server, or within a log. Within a log, the nodes that stood are those of the next
//! snapshot that are older, and those that were deleted in between. Nothing describes the latter:
//! the locks are read once the last contender among them is gone, because one may be a holder. The
//! same holds behind missing transactions, and while a snapshot was written. Where no later
//! snapshot exists, a beginning follows only locks whose parents were created later, and a gap
//! lasts to the end; behind a few missing transactions, the known nodes are taken to stand still.
//!
//! # Files
//!
//! - `files` finds the files, `snappy` unpacks snapshots, `transactions` merges logs.
//! - `tree` is the tree, `ahead` finds what stood before a transaction.
//! - `taken` tells which lock a refused create was for.
//! - `target` says where the recording goes: into a new file, or into one that is completed.
//! - `followed` turns transactions into changes, `player` plays them, `recording` writes them.
//!
//! Input is untrusted: memory grows with the nodes that stand, never with a length in a file.
//!
//! [`Deleter`]: lockscope_model::queue::Deleter

mod ahead;
mod epochs;
mod error;
mod files;
mod followed;
mod importer;
mod options;
mod player;
mod recording;
mod snappy;
mod summary;
mod taken;
mod target;
#[cfg(test)]
mod tests;
mod transactions;
mod tree;

pub use error::ImportError;
pub use files::ServerFiles;
pub use options::ImportOptions;
pub use summary::{Imported, MissingTransactions, Progress};
pub use target::import;
pub use transactions::Defect;
