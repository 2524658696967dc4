//! What is written into the past, and with which result.

use std::path::PathBuf;

use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};
use lockscope_model::queue::LedBefore;
use lockscope_past::record::LostBatches;

/// The result of an [`Effect::Record`](super::Effect::Record).
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The earliest moment that can be replayed; `None` when there is none.
    pub since: Option<Timestamp>,
    /// Why writing fails at the moment, as a sentence without a full stop.
    pub trouble: Option<String>,
    /// Batches that could not be written and were dropped.
    pub lost: Option<LostBatches>,
}

/// What to take in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeIn {
    /// The places of the logs.
    pub folders: Vec<PathBuf>,
    /// The console's session, which the right logs know.
    pub session: SessionId,
    /// The beginning of the console's own past.
    pub until: Timestamp,
    /// The elections that nobody leads and whose last leader is wanted.
    pub leaderless: Vec<ZnodePath>,
}

/// What was taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenIn {
    /// The new beginning of the past.
    pub since: Timestamp,
    /// The number of transactions that were read.
    pub transactions: u64,
    /// The last leaders of the wanted elections.
    pub leaders: Vec<LedBefore>,
}
