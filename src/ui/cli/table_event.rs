//! The events printed by the headless commands, one per line.

use std::sync::Arc;

use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::Finding;
use lockscope_model::queue::{Happening, LockName, SampledCounts};
use lockscope_model::report::Initial;

/// The meaning of a change of the table.
pub(super) enum TableEvent {
    /// An event of a lock or of the connection, with its reason where known.
    Happening(Happening, Option<String>),
    /// A part of the state when everything was first read.
    Initial(Initial),
    /// A count of a lock that is the first one or has changed.
    Sampled(LockName, SampledCounts),
    /// A time in which nothing was recorded.
    Gap { from: Timestamp, until: Timestamp },
    /// A finding that was raised or cleared.
    Finding { finding: Arc<Finding>, raised: bool, at: Timestamp },
}
