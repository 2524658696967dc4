//! Gaps as rows: when nothing was seen, and why.

use crate::queue::{ConnectionState, LockTable};
use crate::znode::Timestamp;

/// Why nothing was seen between two runs.
const NOT_RUNNING: &str = "the recorder was not running";

/// Why nothing is known before the first reading.
const NOT_READ: &str = "not everything was read yet";

/// More gaps are not kept where nothing can be written.
const MAX_CHANGED: usize = 10_000;

/// One gap.
#[derive(Clone, Debug)]
pub(super) struct GapRecord {
    pub id: i64,
    pub began_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub reason: String,
}

/// Notices when the table of locks stops to be true, and when it is true again.
#[derive(Debug)]
pub(super) struct Gaps {
    next_id: i64,
    open: Option<GapRecord>,
    pub changed: Vec<GapRecord>,
}

impl Gaps {
    /// At the start of a run, when nothing was read: `open` lasted already, else the earlier run ended at `until`.
    pub fn new(next_id: i64, open: Option<(i64, Timestamp, String)>, until: Option<Timestamp>) -> Self {
        let mut gaps = Self { next_id, open: None, changed: Vec::new() };
        gaps.open = open.map(|(id, began_at, reason)| GapRecord { id, began_at, ended_at: None, reason });
        if let (None, Some(until)) = (&gaps.open, until) {
            gaps.begin(until, NOT_RUNNING.to_owned());
        }
        gaps
    }

    /// Up to when everything had been seen; `None` while everything is, and before anything was.
    pub fn since(&self) -> Option<Timestamp> {
        self.open.as_ref().map(|gap| gap.began_at)
    }

    fn begin(&mut self, began_at: Timestamp, reason: String) {
        let gap = GapRecord { id: self.next_id, began_at, ended_at: None, reason };
        self.next_id += 1;
        self.push(gap.clone());
        self.open = Some(gap);
    }

    fn push(&mut self, gap: GapRecord) {
        if self.changed.len() < MAX_CHANGED {
            self.changed.push(gap);
        }
    }

    /// The table is not true any more, and was until then. Before the first reading nothing was true: that is said when it begins.
    pub fn begins(&mut self, last_true: Option<Timestamp>, table: &LockTable, now: Timestamp) {
        if self.open.is_some() {
            return;
        }
        let reason = match table.connection() {
            _ if last_true.is_none() => NOT_READ.to_owned(),
            ConnectionState::Lost { reason }
            | ConnectionState::Overloaded { reason }
            | ConnectionState::Refused { reason }
            | ConnectionState::Connecting { reason: Some(reason), .. } => reason.clone(),
            ConnectionState::Connecting { reason: None, .. } => "there is no connection".to_owned(),
            ConnectionState::Connected { .. } => "everything is read again".to_owned(),
        };
        self.begin(last_true.unwrap_or(now), reason);
    }

    /// Everything was read: what comes now is seen.
    pub fn ends(&mut self, at: Timestamp) {
        if let Some(mut gap) = self.open.take() {
            gap.ended_at = Some(at.max(gap.began_at));
            self.push(gap);
        }
    }

    /// What the recorder itself missed.
    pub fn add(&mut self, from: Timestamp, to: Timestamp, reason: &str) {
        let gap =
            GapRecord { id: self.next_id, began_at: from, ended_at: Some(to.max(from)), reason: reason.to_owned() };
        self.next_id += 1;
        self.push(gap);
    }
}
