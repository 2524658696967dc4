//! What an import has read and written.

use lockscope_base::znode::{Timestamp, Zxid};

use super::Defect;
use crate::record::Merged;

/// Transactions that no file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingTransactions {
    /// The last transaction before them.
    pub after: Zxid,
    /// The first transaction behind them.
    pub before: Zxid,
    /// The time of the transaction before them.
    pub from: Timestamp,
    /// The time of the transaction behind them.
    pub to: Timestamp,
}

/// What an import has read and written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The number of logs and snapshots that were read.
    pub files: usize,
    /// The number of transactions.
    pub transactions: u64,
    /// The time of the first and of the last moment in the recording.
    pub time: Option<(Timestamp, Timestamp)>,
    /// The first and the last transaction in the recording.
    pub zxids: Option<(Zxid, Zxid)>,
    /// The number of changes that were recorded.
    pub changes: u64,
    /// The number of contenders that held.
    pub holds: u64,
    /// The number of contenders that did not hold.
    pub waits: u64,
    /// The number of attempts in vain at locks that are single nodes.
    pub attempts: u64,
    /// The transactions that no file has.
    pub missing: Vec<MissingTransactions>,
    /// What is wrong with the files.
    pub defects: Vec<Defect>,
    /// What became of a recording that was completed; `None` for a new one.
    pub merged: Option<Merged>,
}

/// How far an import is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The bytes of logs that were read.
    pub bytes: u64,
    /// The bytes of all logs.
    pub all_bytes: u64,
    /// The number of transactions so far.
    pub transactions: u64,
    /// The time that the import has reached.
    pub at: Timestamp,
}
