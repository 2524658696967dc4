//! A time in which nothing was recorded, as a line of `lockscope watch`.

use serde::Serialize;

use super::rfc3339;
use lockscope_base::znode::Timestamp;

/// A time in which nothing was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GapLine {
    at: Option<String>,
    event: &'static str,
    until: Option<String>,
}

impl GapLine {
    /// From the last moment of which everything is known to the one when recording went on.
    pub fn new(from: Timestamp, until: Timestamp) -> Self {
        Self { at: rfc3339(from), event: "gap", until: rfc3339(until) }
    }
}
