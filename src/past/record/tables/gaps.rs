//! Gaps as rows: the times in which nothing was seen, with the reasons.

use lockscope_base::znode::Timestamp;
use lockscope_model::queue::LockTable;

/// The reason of a gap between two runs.
const NOT_RUNNING: &str = "the recorder was not running";

/// The reason of a gap before the first reading.
pub(in crate::record) const NOT_READ: &str = "not everything was read yet";

/// The most rows kept while nothing can be written.
const MAX_CHANGED: usize = 10_000;

/// A time in which nothing was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapRecord {
    /// The number of the gap. An excerpt numbers the gaps that it takes over anew.
    pub(in crate::record) id: i64,
    pub(in crate::record) began_at: Timestamp,
    /// `None` while it lasts.
    pub(in crate::record) ended_at: Option<Timestamp>,
    pub(in crate::record) reason: String,
}

/// Tracks when the table of locks stops being live, and when it is live again.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    next_id: i64,
    open: Option<GapRecord>,
    pub changed: Vec<GapRecord>,
    /// Whether the gaps are given by the caller, and only tracked here.
    are_given: bool,
}

impl Gaps {
    /// Starts a run, before anything is read. `open` is a gap that was open already; without one,
    /// the last run ended at `until`.
    pub fn new(next_id: i64, open: Option<GapRecord>, until: Option<Timestamp>) -> Self {
        let mut gaps = Self { next_id, open, changed: Vec::new(), are_given: false };
        if let (None, Some(until)) = (&gaps.open, until) {
            gaps.begin(until, NOT_RUNNING.to_owned());
        }
        gaps
    }

    /// Writes no gaps but those that are [given](Self::give). `unseen` is a gap that is open
    /// already.
    pub fn will_be_given(&mut self, unseen: Option<GapRecord>) {
        self.are_given = true;
        self.changed.clear();
        if let Some(GapRecord { began_at, reason, .. }) = unseen {
            self.begin(began_at, reason);
        }
    }

    /// Sets the gaps, oldest first.
    pub fn give(&mut self, gaps: Vec<GapRecord>) {
        self.changed = gaps;
    }

    /// Returns the time up to which everything had been seen; `None` while everything is seen, and
    /// before anything was.
    pub fn since(&self) -> Option<Timestamp> {
        self.open.as_ref().map(|gap| gap.began_at)
    }

    /// Returns the gap that the end of a run leaves behind: the open one, or one that begins at
    /// `last_true`.
    pub fn left(&self, last_true: Option<Timestamp>) -> Option<GapRecord> {
        let begins =
            |began_at| GapRecord { id: self.next_id, began_at, ended_at: None, reason: NOT_RUNNING.to_owned() };
        self.open.clone().or_else(|| last_true.map(begins))
    }

    fn begin(&mut self, began_at: Timestamp, reason: String) {
        let gap = GapRecord { id: self.next_id, began_at, ended_at: None, reason };
        self.next_id += 1;
        self.push(gap.clone());
        self.open = Some(gap);
    }

    fn push(&mut self, gap: GapRecord) {
        if self.changed.len() < MAX_CHANGED && !self.are_given {
            self.changed.push(gap);
        }
    }

    /// Begins a gap because the table is no longer live, unless one is open. The gap begins at
    /// `last_true`, or at `now` before the first reading.
    pub fn begins(&mut self, last_true: Option<Timestamp>, table: &LockTable, now: Timestamp) {
        if self.open.is_some() {
            return;
        }
        let reason = last_true.map_or(NOT_READ, |_| table.connection().why_not_seen()).to_owned();
        self.begin(last_true.unwrap_or(now), reason);
    }

    /// Ends the gap because everything was read.
    pub fn ends(&mut self, at: Timestamp) {
        let Some(mut gap) = self.open.take() else { return };
        // A gap without a length that nobody has seen yet is none.
        let unwritten = self.changed.iter().position(|changed| changed.id == gap.id && at <= gap.began_at);
        if let Some(unwritten) = unwritten {
            self.changed.remove(unwritten);
            return;
        }
        gap.ended_at = Some(at.max(gap.began_at));
        self.push(gap);
    }

    /// Records that events between these times could not be written. If the rows were read again
    /// from the file, the gap since the last row gets the reason, because the recorder was running.
    pub fn lost(&mut self, from: Timestamp, to: Timestamp, reason: &str) {
        match &mut self.open {
            Some(open) if open.reason == NOT_RUNNING => {
                reason.clone_into(&mut open.reason);
                let open = open.clone();
                self.changed.retain(|gap| gap.id != open.id);
                self.push(open);
            }
            _ => self.add(from, to, reason),
        }
    }

    /// Adds a gap that the recorder itself caused.
    pub fn add(&mut self, from: Timestamp, to: Timestamp, reason: &str) {
        let gap =
            GapRecord { id: self.next_id, began_at: from, ended_at: Some(to.max(from)), reason: reason.to_owned() };
        self.next_id += 1;
        self.push(gap);
    }
}
