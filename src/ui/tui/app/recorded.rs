//! The result of writing recorded batches.

use lockscope_base::znode::Timestamp;
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
