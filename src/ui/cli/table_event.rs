//! What the commands without a screen print, line by line.

use std::sync::Arc;

use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::Finding;
use lockscope_model::queue::{Happening, LockName, SampledCounts};
use lockscope_model::report::Initial;

/// What a change of the table means.
pub(super) enum TableEvent {
    /// What happened to a lock or to the connection, and why, where that is known.
    Happening(Happening, Option<String>),
    /// What was there already when everything was read the first time.
    Initial(Initial),
    /// A lock was counted, and the count is the first one or another than before.
    Sampled(LockName, SampledCounts),
    /// Nothing was recorded in this time.
    Gap { from: Timestamp, until: Timestamp },
    /// A finding was raised, or cleared.
    Finding { finding: Arc<Finding>, raised: bool, at: Timestamp },
}
