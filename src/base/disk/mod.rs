//! Decodes the files of a server's `version-2` folder: transaction logs and snapshots of ZooKeeper
//! 3.4 to 3.9. Pure: it reads from any reader, and knows no folder and no clock.
//!
//! - [`FileName`] reads what a file's name says.
//! - [`LogReader`] reads a log record by record, passes over damage, and tells where it ends.
//! - [`Txn`] is what a record says, borrowed from the reader's buffer.
//! - [`SnapshotReader`] reads a snapshot's sessions and nodes one by one.
//!
//! Input is untrusted. Memory grows with the bytes that are really there, never with a length that
//! the input claims. Compressed snapshots are unpacked by the caller.

mod file;
mod log;
mod snapshot;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
mod txn;

pub use file::{Compression, FileHead, FileKind, FileName, HeadError, NodeKind};
pub use log::{Damage, LogEnd, LogItem, LogReader, MAX_RECORD, Record, Why};
pub use snapshot::{Fault, SnapshotEnd, SnapshotItem, SnapshotNode, SnapshotReader, ZxidDigest};
pub use txn::{Acl, AclEntry, CreateTxn, Entry, MultiTxn, Paths, Txn, TxnDigest, TxnHeader};
