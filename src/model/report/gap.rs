//! A gap in a recording, as a line of `lockscope watch`.

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
    /// Creates the line for a gap from the last recorded moment to the moment when recording went
    /// on.
    pub fn new(from: Timestamp, until: Timestamp) -> Self {
        Self { at: rfc3339(from), event: "gap", until: rfc3339(until) }
    }
}
