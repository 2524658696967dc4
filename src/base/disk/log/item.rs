//! What reading a log yields.

use crate::disk::txn::Entry;
use crate::wire::Malformed;
use crate::znode::Zxid;

/// What stands in a log.
#[derive(Clone, Debug)]
pub enum LogItem<'a> {
    /// A record.
    Record(Record<'a>),
    /// Bytes that were passed over. Good records follow.
    Damage(Damage),
    /// Nothing more, for now.
    End(LogEnd),
}

/// A good record.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// Where it begins in the file.
    pub offset: u64,
    /// Its contents, undecoded.
    pub bytes: &'a [u8],
    /// Its contents.
    pub entry: Entry<'a>,
}

/// Bytes between good records that cannot be read. One damage can hold several records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where the first damaged record begins in the file.
    pub offset: u64,
    /// The number of bytes up to the next good record.
    pub bytes: u64,
    /// The last good transaction before, if there is one.
    pub after: Option<Zxid>,
    /// The next good transaction.
    pub next: Zxid,
    /// Whether the next good record begins within the bytes that the damaged one claims. Then
    /// either the length is damaged, or a part of a node's data looks like a record, which a client
    /// can bring about on purpose.
    pub is_next_inside: bool,
    /// What is wrong with the first damaged record.
    pub why: Why,
}

/// How a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEnd {
    /// Behind a whole record: zeros follow, or nothing.
    Whole {
        /// Where the next record will be written.
        offset: u64,
    },
    /// With a record that is not whole, and no good one behind it. A server is writing it, was
    /// killed while it wrote, or the last record is damaged.
    Torn {
        /// Where the record begins.
        offset: u64,
        /// What is wrong with it.
        why: Why,
    },
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The file ends within it.
    #[error("the file ends within the record")]
    Cut,
    /// Its length is out of bounds.
    #[error("the record's length is out of bounds")]
    Length,
    /// Its last byte is missing.
    #[error("the record's last byte is missing")]
    NoLastByte,
    /// Its checksum is wrong.
    #[error("the record's checksum is wrong")]
    Checksum,
    /// Its checksum is right, but it cannot be decoded.
    #[error("the record cannot be decoded, although its checksum is right: {0}")]
    Entry(#[from] Malformed),
}
