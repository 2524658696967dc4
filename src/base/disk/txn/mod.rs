//! What a record of a log says.

mod body;
mod entry;
mod header;
mod parts;
#[cfg(test)]
mod tests;

pub use body::{Create, Multi, Txn};
pub use entry::Entry;
pub use header::{TxnDigest, TxnHeader};
pub use parts::{Acl, AclEntry, Paths};
