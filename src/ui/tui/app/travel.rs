//! From one moment of a recording to another: where to go, and what there is.

use super::World;
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::Severity;
use lockscope_model::queue::LockName;
use lockscope_past::record::TimedEntry;
use lockscope_past::record::history::PastGap;

/// What a recording has, from its beginning to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub from: Timestamp,
    pub until: Timestamp,
    /// How much happened in each of some equal parts of it.
    pub density: Vec<u32>,
    /// When nothing was recorded, and why.
    pub gaps: Vec<PastGap>,
    /// When findings were raised.
    pub findings: Vec<RaisedFinding>,
}

/// That something was found to be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaisedFinding {
    pub at: Timestamp,
    pub severity: Severity,
    /// Its code.
    pub code: String,
}

/// Where to go in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Travel {
    /// To a moment that somebody named; nowhere, where it lies before the beginning.
    At(Timestamp),
    /// To a moment, or to the one next to it of which something is known.
    To(Timestamp),
    /// To the first moment of which everything is known.
    Start,
    /// To the next or the previous event, of all locks or of one.
    Event { forward: bool, lock: Option<LockName> },
    /// To the next or the previous finding that was raised.
    Finding { forward: bool },
    /// On, up to this moment.
    Play { until: Timestamp },
}

/// Where one has got to.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub at: Timestamp,
    pub what: Arrived,
    /// What the recording has, where that has changed.
    pub outline: Option<Outline>,
}

/// What there is at a moment of a recording.
#[derive(Clone, Debug)]
pub enum Arrived {
    /// All of it.
    World(Box<World>),
    /// What happened since the moment that was shown.
    Entries(Vec<TimedEntry>),
    /// Nothing: why one stays where one is, as a sentence.
    Nowhere(String),
}
