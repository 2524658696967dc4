//! What came of writing what was taken down.

use lockscope_base::znode::Timestamp;
use lockscope_past::record::LostBatches;

/// What came of an [`Effect::Record`](super::Effect::Record).
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The first moment that one can go back to.
    pub since: Option<Timestamp>,
    /// Why nothing is written at the moment, as a sentence without a full stop.
    pub trouble: Option<String>,
    /// What was given up.
    pub lost: Option<LostBatches>,
}
