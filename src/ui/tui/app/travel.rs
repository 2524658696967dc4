//! Moving through a recording: the destinations, and the results of a move.

use super::World;
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::Severity;
use lockscope_model::queue::LockName;
use lockscope_past::record::TimedEntry;
use lockscope_past::record::history::PastGap;

/// The outline of a recording, from its beginning to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub from: Timestamp,
    pub until: Timestamp,
    /// The number of events in each of several equal periods.
    pub density: Vec<u32>,
    /// The gaps, with their reasons.
    pub gaps: Vec<PastGap>,
    /// The raised findings, with their times.
    pub findings: Vec<RaisedFinding>,
}

/// A finding, and when it was raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaisedFinding {
    pub at: Timestamp,
    pub severity: Severity,
    /// The code of the finding.
    pub code: String,
}

/// A destination in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Travel {
    /// To a moment that the user named. Fails if it is before the beginning.
    At(Timestamp),
    /// To a moment, or to the nearest known one.
    To(Timestamp),
    /// To the first moment whose state is completely known.
    Start,
    /// To the next or the previous event, of all locks or of one.
    Event { forward: bool, lock: Option<LockName> },
    /// To the next or the previous finding that was raised.
    Finding { forward: bool },
    /// Forwards to this moment, during playback.
    Play { until: Timestamp },
}

/// The result of a move through a recording.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub at: Timestamp,
    pub what: Arrived,
    /// The outline of the recording, if it has changed.
    pub outline: Option<Outline>,
}

/// The state at the new moment of a recording.
#[derive(Clone, Debug)]
pub enum Arrived {
    /// The whole state.
    World(Box<World>),
    /// The entries since the moment shown before.
    Entries(Vec<TimedEntry>),
    /// The move failed: why the shown moment stays, as a sentence.
    Nowhere(String),
}
