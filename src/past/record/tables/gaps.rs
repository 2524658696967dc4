//! Gaps as rows: when nothing was seen, and why.

use lockscope_base::znode::Timestamp;
use lockscope_model::queue::{ConnectionState, LockTable};

/// Why nothing was seen between two runs.
const NOT_RUNNING: &str = "the recorder was not running";

/// Why nothing is known before the first reading.
const NOT_READ: &str = "not everything was read yet";

/// More gaps are not kept where nothing can be written.
const MAX_CHANGED: usize = 10_000;

/// One gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GapRecord {
    pub id: i64,
    pub began_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub reason: String,
}

/// Notices when the table of locks stops to be true, and when it is true again.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    next_id: i64,
    open: Option<GapRecord>,
    pub changed: Vec<GapRecord>,
    /// Whether the gaps come from elsewhere, and are only kept in mind here.
    are_given: bool,
}

impl Gaps {
    /// At the start of a run, when nothing was read: `open` lasted already, else the earlier run ended at `until`.
    pub fn new(next_id: i64, open: Option<(i64, Timestamp, String)>, until: Option<Timestamp>) -> Self {
        let mut gaps = Self { next_id, open: None, changed: Vec::new(), are_given: false };
        gaps.open = open.map(|(id, began_at, reason)| GapRecord { id, began_at, ended_at: None, reason });
        if let (None, Some(until)) = (&gaps.open, until) {
            gaps.begin(until, NOT_RUNNING.to_owned());
        }
        gaps
    }

    /// None are written but those that are [given](Self::give). `unseen`: one lasts since then.
    pub fn will_be_given(&mut self, unseen: Option<(Timestamp, String)>) {
        self.are_given = true;
        self.changed.clear();
        if let Some((began_at, reason)) = unseen {
            self.begin(began_at, reason);
        }
    }

    /// These are the gaps, oldest first.
    pub fn give(&mut self, gaps: Vec<GapRecord>) {
        self.changed = gaps;
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
        if self.changed.len() < MAX_CHANGED && !self.are_given {
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
            | ConnectionState::Lagging { reason, .. }
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

    /// The recorder could not write what happened between these times. Where rows were read again from the file, the gap since the last of them
    /// says so: the recorder was running.
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

    /// What the recorder itself missed.
    pub fn add(&mut self, from: Timestamp, to: Timestamp, reason: &str) {
        let gap =
            GapRecord { id: self.next_id, began_at: from, ended_at: Some(to.max(from)), reason: reason.to_owned() };
        self.next_id += 1;
        self.push(gap);
    }
}
